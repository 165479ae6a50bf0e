//! The access log: who signed in, who changed users and tokens, who exported
//! what, and whose operator's action was refused. A second log beside the
//! handovers, append-only and chained like it, on both databases.
//!
//! What is done in a transaction is written in that transaction ([`sqlite`],
//! [`postgres`]). What has none, because it was refused or only read, is written
//! by [`AccessLog::record`]. What a stranger could repeat without end is counted
//! and written once a minute ([`counted`]), so that nobody can fill the disk.

mod counted;
mod entry;
mod listing;
pub mod postgres;
pub mod sqlite;
mod verify;

#[cfg(test)]
mod tests;

use std::{
    net::IpAddr,
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use baton_client::{AccessEntry, AccessPage, AccessQuery, Timestamp};

pub use entry::{Draft, Tip};
pub use verify::{AccessLine, AccessVerifier, read_line};

use crate::{
    database::{self, Database},
    store::{BadCursor, Statement},
};
use counted::Counted;

/// How often it is looked whether a minute is over.
const FLUSH_EVERY: Duration = Duration::from_secs(5);
/// Entries in one read of an export.
const PAGE: u64 = 500;

/// The access log of a database. Cheap to clone.
#[derive(Clone, Debug)]
pub struct AccessLog {
    database: Database,
    counted: Arc<Mutex<Counted>>,
}

/// The access log cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum AccessLogError {
    /// The cursor is not of this list.
    #[error(transparent)]
    Cursor(#[from] BadCursor),
    /// The database does not answer.
    #[error("the database does not answer")]
    Store(#[from] sqlx::Error),
}

/// Where the access log ends, and the database's time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ends {
    /// The last entry's place.
    pub tip: Tip,
    /// When that was read.
    pub now: Timestamp,
}

impl AccessLog {
    /// The access log of `database`.
    pub fn new(database: &Database) -> Self {
        Self {
            database: database.clone(),
            counted: Arc::default(),
        }
    }

    /// Writes down what had no transaction of its own.
    ///
    /// # Errors
    /// The database does not answer.
    pub async fn record(&self, drafts: &[Draft]) -> sqlx::Result<()> {
        if drafts.is_empty() {
            return Ok(());
        }
        match &self.database {
            Database::Sqlite(sqlite) => {
                let mut tx = sqlite.writer.begin_with("begin immediate").await?;
                sqlite::append(&mut tx, drafts).await?;
                tx.commit().await
            }
            Database::Postgres(pool) => {
                let mut tx = database::begin(pool, "begin").await?;
                postgres::append(&mut tx, drafts).await?;
                tx.commit().await
            }
        }
    }

    /// Writes down that an action was refused, or counts it if the same asker was
    /// refused often within this minute. That this fails is only said: the action
    /// is refused either way.
    pub async fn refused(&self, draft: Draft) {
        let first = self.counted().refused(draft, Instant::now());
        if let Some(draft) = first {
            self.record_or_say(&[draft]).await;
        }
    }

    /// Counts a sign-in that failed. `known` is the account, if there is one of
    /// that name: what is typed otherwise may be a password.
    pub fn sign_in_failed(&self, address: IpAddr, known: Option<&str>) {
        self.counted().failed(address, known, Instant::now());
    }

    /// Writes what was counted, once its minute is over. Runs as long as a server
    /// does.
    pub async fn follow(self) {
        loop {
            tokio::time::sleep(FLUSH_EVERY).await;
            let due = self.counted().due(Instant::now());
            self.record_or_say(&due).await;
        }
    }

    /// Writes all that was counted, because the server stops.
    pub async fn finish(&self) {
        let all = self.counted().all();
        self.record_or_say(&all).await;
    }

    async fn record_or_say(&self, drafts: &[Draft]) {
        if let Err(error) = self.record(drafts).await {
            for draft in drafts {
                tracing::error!(%error, ?draft, "this could not be written to the access log");
            }
        }
    }

    fn counted(&self) -> std::sync::MutexGuard<'_, Counted> {
        self.counted.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A page.
    ///
    /// # Errors
    /// The cursor is not of this list, or the database does not answer.
    pub async fn page(&self, query: &AccessQuery) -> Result<AccessPage, AccessLogError> {
        let mut items = self.select(listing::page(query)?).await?;
        let next = listing::cut(&mut items, query);
        let now = self.ends().await?.now;
        Ok(AccessPage { items, next, now })
    }

    /// Where it ends.
    ///
    /// # Errors
    /// The database does not answer.
    pub async fn ends(&self) -> sqlx::Result<Ends> {
        match &self.database {
            Database::Sqlite(sqlite) => sqlite::ends(&sqlite.readers).await,
            Database::Postgres(pool) => postgres::ends(pool).await,
        }
    }

    /// Some entries that match, oldest first, of those after one `seq` and up to
    /// another.
    ///
    /// # Errors
    /// The database does not answer.
    pub async fn stretch(
        &self,
        query: &AccessQuery,
        after: u64,
        upto: u64,
    ) -> sqlx::Result<Vec<AccessEntry>> {
        self.select(listing::stretch(query, after, upto, PAGE))
            .await
    }

    async fn select(&self, select: Statement) -> sqlx::Result<Vec<AccessEntry>> {
        match &self.database {
            Database::Sqlite(sqlite) => sqlite::select(&sqlite.readers, select).await,
            Database::Postgres(pool) => postgres::select(pool, select).await,
        }
    }
}
