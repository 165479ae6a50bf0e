//! Reads the log from end to end, beside a server or without one. In short reads
//! by key, each a transaction of its own: whoever reads slowly holds nothing in
//! the database, and what is in memory does not grow with the log. It gives way to
//! who writes: leases are renewed in time, or lost.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Instant,
};

use baton_client::{Handover, HandoverQuery, Outcome, Timestamp};
use tokio::sync::{Semaphore, mpsc};

use crate::{chain::Head, database::Database};

use super::{StoreError, backend::Backend, history, in_time, read_failed, sqlite::SqliteBackend};

/// Entries in one read.
const PAGE: u64 = 200;
/// How much of the log one read looks through, when little of it matches.
const STRETCH: u64 = 20_000;
/// Reads of this kind at once, of all that read from end to end: the rest of the
/// connections is for pages and calls.
const READS_MAX: usize = 2;
/// While somebody writes, rests are so many times as long as reads.
const REST: u32 = 2;
/// Pages that are read ahead.
const AHEAD: usize = 1;

/// Where the log ended, and when.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogEnd {
    /// The last entry's place.
    pub head: Head,
    /// The database's time when it was read.
    pub now: Timestamp,
    /// A checkpoint is known that is ahead of the log.
    pub behind: bool,
}

/// Reads the log. Cheap to clone.
#[derive(Clone)]
pub struct Reader {
    pub(super) backend: Arc<dyn Backend>,
    reads: Arc<Semaphore>,
    /// How many batches were written beside it.
    batches: Arc<AtomicU64>,
}

impl Reader {
    /// A reader of what a backend keeps, beside the writer of so many `batches`.
    pub(super) fn new(backend: Arc<dyn Backend>, batches: Arc<AtomicU64>) -> Self {
        Self {
            backend,
            reads: Arc::new(Semaphore::new(READS_MAX)),
            batches,
        }
    }

    /// A reader of a database, without a store beside it.
    ///
    /// # Errors
    /// The database does not answer.
    pub async fn of(database: &Database) -> sqlx::Result<Self> {
        let backend: Arc<dyn Backend> = match database {
            Database::Sqlite(sqlite) => Arc::new(SqliteBackend::look(sqlite.clone()).await?),
            Database::Postgres(_) => super::backend_of(database).await?,
        };
        Ok(Self::new(backend, Arc::default()))
    }

    /// Where the log ends now.
    ///
    /// # Errors
    /// The database does not answer.
    pub async fn end(&self) -> Result<LogEnd, StoreError> {
        let read = async {
            let mut reading = self.backend.read().await?;
            let end = reading.end().await?;
            Ok(LogEnd {
                head: end.head,
                now: reading.now().await?,
                behind: end.behind.is_some(),
            })
        };
        in_time(read).await.map_err(read_failed)
    }

    /// The entries that match, oldest first, up to and with `upto`, page by page.
    /// After an error there is nothing more. The order, limit and cursor of the
    /// query do not count.
    pub fn pages(
        &self,
        query: HandoverQuery,
        upto: u64,
    ) -> mpsc::Receiver<Result<Vec<Handover>, StoreError>> {
        let (sender, receiver) = mpsc::channel(AHEAD);
        tokio::spawn(self.clone().read_pages(query, upto, sender));
        receiver
    }

    async fn read_pages(
        self,
        query: HandoverQuery,
        upto: u64,
        sender: mpsc::Sender<Result<Vec<Handover>, StoreError>>,
    ) {
        let mut after = query.after.unwrap_or(0);
        let mut archived = None;
        while after < upto && !sender.is_closed() {
            let end = upto.min(after.saturating_add(STRETCH));
            let (began, batches) = (Instant::now(), self.batches.load(Ordering::Relaxed));
            let page = self.stretch(&query, after, end, &mut archived).await;
            let took = began.elapsed();
            match &page {
                Ok(entries) if entries.is_empty() => after = end,
                Ok(entries) => {
                    let full = entries.len() as u64 == PAGE;
                    let last = entries.last().filter(|_| full);
                    after = last.map_or(end, |last| last.seq);
                }
                Err(_) => after = upto,
            }
            let nothing = page.as_ref().is_ok_and(Vec::is_empty);
            // A receiver that is gone wants no more.
            if !nothing && sender.send(page).await.is_err() {
                return;
            }
            if self.batches.load(Ordering::Relaxed) != batches {
                tokio::time::sleep(took * REST).await;
            }
        }
    }

    /// One read. Fails if entries that were still to be read were archived since the
    /// first one, which found up to where they are `archived`.
    async fn stretch(
        &self,
        query: &HandoverQuery,
        after: u64,
        upto: u64,
        archived: &mut Option<u64>,
    ) -> Result<Vec<Handover>, StoreError> {
        let _turn = self.reads.acquire().await;
        let read = async {
            let mut reading = self.backend.read().await?;
            let found = reading.end().await?.archived;
            let is_there = found <= *archived.get_or_insert(found) || found <= after;
            let select = history::stretch(query, after, upto, PAGE);
            let entries = reading.handovers(select).await?;
            Ok(is_there.then_some(entries))
        };
        let entries = in_time(read).await.map_err(read_failed)?;
        entries.ok_or_else(|| {
            tracing::warn!(
                after,
                "entries were archived that were still to be exported"
            );
            StoreError::Unavailable(Outcome::NotDone)
        })
    }
}
