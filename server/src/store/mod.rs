//! The lease store: requests in, answers out once they are on disk.
//!
//! [`Store`] is the door. Behind it, requests queue ([`queue`]) for the writers
//! ([`writer`], [`renew`]), which play them through the rules ([`play`]) and write
//! what came of it through a [`backend`]; readers go straight to the backend; and
//! [`events`] follows what changes. No SQL stands outside the two backends,
//! [`sql`] and [`listing`].

mod above;
mod alike;
pub mod attention;
pub mod backend;
mod checked;
mod clock;
pub mod events;
mod history;
mod inquiry;
pub mod keeping;
mod kept;
mod lease_page;
mod line;
mod listing;
mod play;
mod postgres;
mod postgres_renew;
mod queue;
mod raises;
mod reader;
mod record;
mod renew;
mod sent;
mod shown;
mod sql;
mod sqlite;
mod sqlite_checkpoint;
mod sqlite_renew;
mod statement;
mod sweeper;
mod totals;
mod verifying;
mod writer;

#[cfg(test)]
mod suite;

use std::{sync::Arc, time::Duration};

use baton_client::{
    Ended, Generation, Handover, HandoverEvent, HandoverPage, HandoverQuery, Lease, LeaseName,
    LeasePage, LeaseQuery, Outcome, Timestamp,
};
use futures_util::{StreamExt as _, stream};
use tokio::{
    sync::oneshot,
    time::{Instant, timeout_at},
};

use crate::{
    database::{Database, POSTGRES_WRITERS, is_undecodable, postgres_pool_like},
    metrics,
    rules::{LeaseRow, Refusal, Request, view},
};

pub use checked::VerifiedTo;
pub(crate) use history::{read_seq_cursor, seq_cursor};
pub use listing::BadCursor;
pub(crate) use listing::{cut, page};
pub use queue::Failure;
pub use raises::TO_THE_END;
pub use reader::{LogEnd, Reader};
pub use shown::show;
pub(crate) use statement::bind_all;
pub use statement::{Arg, Statement};
pub use totals::Totals;

use above::Above;
use backend::Backend;
use checked::Checked;
use events::Hub;
use queue::{Answer, Done, Job, Many, Reply, Room};
use writer::Lanes;

/// Requests that may be under way at once; beyond, they are turned away.
const ROOM: usize = 16_384;
/// Acquires that may wait in line at once; beyond, they are turned away.
const WAITING_MAX: usize = 10_000;
/// How long a read may take.
const READ_TIMEOUT: Duration = Duration::from_secs(8);
/// How long a request waits for a row that somebody else has locked.
const LOCKED_PATIENCE: Duration = Duration::from_secs(5);
/// How long renewals that are done wait for those that were asked for with them, and
/// after that for what the log knows of those that were refused.
const NEIGHBOURS_PATIENCE: Duration = Duration::from_millis(200);
/// How many refusals of one call are looked up at once.
const EXPLAINED_AT_ONCE: usize = 8;
/// How long a refusal waits for what the log knows about it.
const EXPLAINED_WITHIN: Duration = Duration::from_secs(1);

/// The lease store. Cheap to clone.
#[derive(Clone)]
pub struct Store {
    lanes: Arc<Lanes>,
    hub: Arc<Hub>,
    room: Room,
    reader: Reader,
    counter: Arc<totals::Counter>,
    checked: Checked,
    above: Arc<Above>,
}

/// A request was not carried out, with all that its answer says about it.
#[derive(Debug, Clone)]
pub enum StoreError {
    /// A rule stands against it.
    Refused(Box<Refused>),
    /// Somebody else keeps the row locked; the lease as it is.
    Blocked(Option<Box<Lease>>),
    /// Too many requests wait.
    Crowded,
    /// The database does not answer.
    Unavailable(Outcome),
    /// A bug, or a damaged database.
    Internal,
}

/// What a refusal's answer says.
#[derive(Debug, Clone)]
pub struct Refused {
    /// The rule.
    pub refusal: Refusal,
    /// The lease as it is.
    pub lease: Option<Lease>,
    /// The database's time of the decision.
    pub now: Timestamp,
    /// How the presented tenure ended, for `lost`.
    pub ended: Option<Ended>,
    /// The entry that moved the generation, for `generation_moved`.
    pub handover: Option<Handover>,
}

/// A list could not be read.
#[derive(Debug, Clone)]
pub enum ListError {
    /// The cursor is not one of this list.
    Cursor(BadCursor),
    /// The database does not answer.
    Store(StoreError),
}

impl From<StoreError> for ListError {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

impl From<BadCursor> for ListError {
    fn from(bad: BadCursor) -> Self {
        Self::Cursor(bad)
    }
}

impl Store {
    /// Starts the store on a database: its writers, its sweeper and the tail
    /// of its log.
    ///
    /// # Errors
    /// The database does not answer.
    pub async fn start(database: &Database) -> sqlx::Result<Self> {
        if let Database::Sqlite(sqlite) = database {
            sqlite_checkpoint::keep_short(sqlite);
        }
        Self::on(backend_of(database).await?).await
    }

    /// Starts the store on a backend.
    async fn on(backend: Arc<dyn Backend>) -> sqlx::Result<Self> {
        let lanes = Lanes::start(backend.clone());
        let reader = Reader::new(backend, lanes.batches.clone());
        let hub = Hub::start(&lanes).await?;
        let store = Self {
            lanes,
            hub,
            room: Room::new(ROOM),
            reader,
            counter: Arc::default(),
            checked: Checked::default(),
            above: Arc::default(),
        };
        tokio::spawn(sweeper::run(store.clone()));
        Ok(store)
    }

    /// Carries out one request on a lease.
    ///
    /// # Errors
    /// It was refused, or may not have happened; see [`StoreError`].
    pub async fn submit(&self, name: LeaseName, request: Request) -> Result<Done, StoreError> {
        self.submit_until(name, request, None).await
    }

    /// As [`Self::submit`], for an acquire that waits in line for so long.
    ///
    /// # Errors
    /// As [`Self::submit`].
    pub async fn submit_waiting(
        &self,
        name: LeaseName,
        request: Request,
        wait: Duration,
    ) -> Result<Done, StoreError> {
        if wait.is_zero() {
            return self.submit(name, request).await;
        }
        if self.lanes.lines.len() >= WAITING_MAX {
            return Err(StoreError::Crowded);
        }
        self.submit_until(name, request, Some(Instant::now() + wait))
            .await
    }

    async fn submit_until(
        &self,
        name: LeaseName,
        request: Request,
        wait_until: Option<Instant>,
    ) -> Result<Done, StoreError> {
        let (sender, receiver) = oneshot::channel();
        let mut places = self.room.enter(1).ok_or(StoreError::Crowded)?;
        self.lanes.send(vec![Job {
            name: name.clone(),
            request,
            reply: Reply::One(sender),
            wait_until,
            give_up: Instant::now() + LOCKED_PATIENCE,
            place: places.pop(),
        }]);
        // A writer that ended without an answer has lost it.
        let answer = receiver.await.unwrap_or(Err(Failure::Internal));
        let by = Instant::now() + EXPLAINED_WITHIN;
        self.explain(&name, answer, by).await
    }

    /// Carries out many requests, each by itself: one's refusal does not fail
    /// another. Answers come in the order of the requests.
    pub async fn submit_all(
        &self,
        requests: Vec<(LeaseName, Request)>,
    ) -> Vec<Result<Done, StoreError>> {
        self.submit_within(None, requests).await
    }

    /// As [`Self::submit_all`], and no lease keeps its neighbours from their answers:
    /// a renewal that is still open a fifth of a second after the first answer is given
    /// up, and may be done or not.
    pub async fn renew_all(
        &self,
        renewals: Vec<(LeaseName, Request)>,
    ) -> Vec<Result<Done, StoreError>> {
        self.submit_within(Some(NEIGHBOURS_PATIENCE), renewals)
            .await
    }

    async fn submit_within(
        &self,
        patience: Option<Duration>,
        requests: Vec<(LeaseName, Request)>,
    ) -> Vec<Result<Done, StoreError>> {
        let count = requests.len();
        let Some(places) = self.room.enter(count) else {
            return vec![Err(StoreError::Crowded); count];
        };
        let names: Vec<LeaseName> = requests.iter().map(|(name, _)| name.clone()).collect();
        let (many, answers) = Many::new(count);
        let give_up = Instant::now() + LOCKED_PATIENCE;
        let jobs = requests.into_iter().zip(places).enumerate();
        self.lanes.send(
            jobs.map(|(i, ((name, request), place))| Job {
                name,
                request,
                reply: Reply::Part(many.clone(), i),
                wait_until: None,
                give_up,
                place: Some(place),
            })
            .collect(),
        );
        drop(many);
        let answers = match patience {
            Some(patience) => answers.soon(patience).await,
            None => answers.all().await,
        };
        let answers = answers.unwrap_or_else(|| vec![Err(Failure::Internal); count]);
        let by = Instant::now() + patience.unwrap_or(EXPLAINED_WITHIN);
        let answered = names.into_iter().zip(answers);
        let explained =
            answered.map(|(name, answer)| async move { self.explain(&name, answer, by).await });
        stream::iter(explained)
            .buffered(EXPLAINED_AT_ONCE)
            .collect()
            .await
    }

    /// Settles what is due on leases, each with so much patience if somebody
    /// else has locked it. Says which stayed locked.
    async fn settle(&self, names: Vec<LeaseName>, patience: Duration) -> Vec<LeaseName> {
        let (many, answers) = Many::new(names.len());
        let give_up = Instant::now() + patience;
        for (i, name) in names.iter().enumerate() {
            self.lanes.send(vec![Job {
                name: name.clone(),
                request: Request::Settle,
                reply: Reply::Part(many.clone(), i),
                wait_until: None,
                give_up,
                place: None,
            }]);
        }
        drop(many);
        // Whatever is still due will be found again.
        let answers = answers.all().await.unwrap_or_default();
        let answered = names.into_iter().zip(answers);
        answered
            .filter(|(_, answer)| matches!(answer, Err(Failure::Locked)))
            .map(|(name, _)| name)
            .collect()
    }

    /// Adds to an answer what the log knows about it, if that is to be had `by` then.
    async fn explain(
        &self,
        name: &LeaseName,
        answer: Answer,
        by: Instant,
    ) -> Result<Done, StoreError> {
        let (refusal, row, now) = match answer {
            Ok(done) => return Ok(done),
            Err(Failure::Refused { refusal, row, now }) => (refusal, row, now),
            Err(Failure::Locked) => {
                let lease = timeout_at(by, self.lease(name)).await;
                let lease = lease.ok().and_then(|read| read.ok().flatten());
                let lease = lease.map(|mut lease| {
                    lease.payload = None;
                    Box::new(lease)
                });
                return Err(StoreError::Blocked(lease));
            }
            Err(Failure::Crowded) => return Err(StoreError::Crowded),
            Err(Failure::Unavailable(outcome)) => return Err(StoreError::Unavailable(outcome)),
            Err(Failure::Internal) => return Err(StoreError::Internal),
        };
        let mut refused = Refused {
            lease: row.map(|row| view(&row, now)),
            now,
            ended: None,
            handover: None,
            refusal,
        };
        match refused.refusal {
            Refusal::Lost(generation) => {
                metrics::presented_stale();
                if let Some(lease) = &refused.lease {
                    self.above.noticed(name, generation, lease.generation);
                }
                // Lost it is, also if nobody can tell how.
                let moved = match Instant::now() < by {
                    true => timeout_at(by, self.moved(name, generation)).await.ok(),
                    false => None,
                };
                let moved = moved.and_then(|read| read.ok().flatten());
                refused.ended = Some(ended(moved.as_ref()));
            }
            Refusal::GenerationMoved(expected) => {
                metrics::presented_stale();
                refused.handover = self.moved(name, expected).await?;
            }
            Refusal::GenerationsExhausted => {
                tracing::error!(lease = %name, "the generation cannot grow any more");
            }
            _ => {}
        }
        Err(StoreError::Refused(Box::new(refused)))
    }

    /// The entry that moved a lease on from a generation.
    async fn moved(
        &self,
        lease: &LeaseName,
        from: Generation,
    ) -> Result<Option<Handover>, StoreError> {
        let found = async {
            let mut reading = self.lanes.backend.read().await?;
            reading.handovers(history::moved(lease, from)).await
        };
        Ok(in_time(found).await.map_err(read_failed)?.pop())
    }

    /// The database's time, and whether it answers.
    ///
    /// # Errors
    /// It does not.
    pub async fn now(&self) -> Result<Timestamp, StoreError> {
        let now = async { self.lanes.backend.read().await?.now().await };
        in_time(now).await.map_err(read_failed)
    }

    /// One lease with its payload.
    ///
    /// # Errors
    /// The database does not answer.
    pub async fn lease(&self, name: &LeaseName) -> Result<Option<Lease>, StoreError> {
        let read = async {
            let mut reading = self.lanes.backend.read().await?;
            let row = reading.leases(listing::lease(name)).await?.pop();
            let now = reading.now().await?;
            Ok(row.map(|row| with_payload(&row, now)))
        };
        in_time(read).await.map_err(read_failed)
    }

    /// The database's time, together with a lease if there is one.
    ///
    /// # Errors
    /// The database does not answer.
    pub async fn check(
        &self,
        name: &LeaseName,
        generation: Generation,
    ) -> Result<(bool, Timestamp), StoreError> {
        let read = async {
            let mut reading = self.lanes.backend.read().await?;
            let row = reading.leases(listing::lease(name)).await?.pop();
            let now = reading.now().await?;
            if let Some(row) = &row {
                self.above.noticed(name, generation, row.generation);
            }
            let current = |row: LeaseRow| row.tenure.is_some() && row.generation == generation;
            Ok((row.is_some_and(current), now))
        };
        in_time(read).await.map_err(read_failed)
    }

    /// A page of leases.
    ///
    /// # Errors
    /// The cursor is not of this list, or the database does not answer.
    pub async fn leases(&self, query: &LeaseQuery) -> Result<LeasePage, ListError> {
        let (page, _) = self.leases_and_seq(query).await?;
        Ok(page)
    }

    /// A page of leases, and the log's last `seq` at that moment.
    ///
    /// # Errors
    /// As [`Self::leases`].
    pub async fn leases_and_seq(&self, query: &LeaseQuery) -> Result<(LeasePage, u64), ListError> {
        lease_page::read_page(&*self.lanes.backend, query).await
    }

    /// Numbers of leases.
    ///
    /// # Errors
    /// The database does not answer.
    pub async fn totals(&self) -> Result<Totals, StoreError> {
        self.counter.totals(&*self.lanes.backend).await
    }

    /// A page of the history.
    ///
    /// # Errors
    /// The cursor is not of this list, or the database does not answer.
    pub async fn handovers(&self, query: &HandoverQuery) -> Result<HandoverPage, ListError> {
        let select = history::handovers(query)?;
        let read = async {
            let mut reading = self.lanes.backend.read().await?;
            let items = reading.handovers(select).await?;
            Ok((items, reading.now().await?))
        };
        let (mut items, now) = in_time(read).await.map_err(read_failed)?;
        let more = listing::cut(&mut items, query.limit);
        let next = items.last().filter(|_| more);
        let next = next.map(|entry| history::seq_cursor(entry.seq));
        Ok(HandoverPage { items, next, now })
    }

    /// The last entry of each of these leases, in no order. At most a page of them.
    ///
    /// # Errors
    /// The database does not answer.
    pub async fn last_handovers(&self, leases: &[LeaseName]) -> Result<Vec<Handover>, StoreError> {
        lease_page::last_handovers(&*self.lanes.backend, leases.iter()).await
    }

    /// One entry of the log.
    ///
    /// # Errors
    /// The database does not answer.
    pub async fn handover(&self, seq: u64) -> Result<Option<Handover>, StoreError> {
        let read = async {
            let mut reading = self.lanes.backend.read().await?;
            Ok(reading.handovers(history::handover(seq)).await?.pop())
        };
        in_time(read).await.map_err(read_failed)
    }

    /// Up to where the log was verified, with the database's time and the log's
    /// last `seq` now.
    ///
    /// # Errors
    /// The database does not answer.
    pub async fn verified(&self) -> Result<(VerifiedTo, LogEnd), StoreError> {
        let end = self.reader.end().await?;
        Ok((self.checked.now(), end))
    }

    /// Verifies the log as it grows, for ever.
    pub async fn keep_verified(self) {
        self.checked.follow(self.reader).await;
    }

    /// Who reads the log from end to end.
    pub fn reader(&self) -> &Reader {
        &self.reader
    }

    /// What changes.
    pub fn hub(&self) -> &Arc<Hub> {
        &self.hub
    }

    /// Answers every acquire that waits in line, because the server stops.
    pub fn hurry(&self) {
        self.lanes.lines.hurry();
    }

    /// Puts how full the ways are into the metrics.
    pub fn measure(&self) {
        metrics::queued(self.room.taken(), self.lanes.lines.len());
    }
}

/// What keeps a database's leases and log.
async fn backend_of(database: &Database) -> sqlx::Result<Arc<dyn Backend>> {
    Ok(match database {
        Database::Sqlite(sqlite) => Arc::new(sqlite::SqliteBackend::start(sqlite.clone()).await?),
        Database::Postgres(readers) => {
            let writers = postgres_pool_like(readers, POSTGRES_WRITERS);
            Arc::new(postgres::PostgresBackend::new(writers, readers.clone()))
        }
    })
}

/// Bounds a read: a host that went away without a word must not hold up who asks
/// until its packets are given up.
async fn in_time<T>(read: impl Future<Output = sqlx::Result<T>>) -> sqlx::Result<T> {
    match tokio::time::timeout(READ_TIMEOUT, read).await {
        Ok(result) => result,
        Err(_) => Err(sqlx::Error::PoolTimedOut),
    }
}

/// A lease with its payload, as acquire and the single lease carry it.
pub fn with_payload(row: &LeaseRow, now: Timestamp) -> Lease {
    let mut lease = view(row, now);
    lease.payload = Some(row.payload.clone());
    lease
}

impl Done {
    /// The lease, without its payload.
    pub fn lease(&self) -> Lease {
        view(&self.row, self.now)
    }

    /// The lease, with its payload.
    pub fn lease_with_payload(&self) -> Lease {
        with_payload(&self.row, self.now)
    }
}

/// How a tenure ended, by the entry that ended it.
fn ended(moved: Option<&Handover>) -> Ended {
    match moved {
        Some(entry) if entry.previous_holder.is_some() => match entry.event {
            HandoverEvent::Granted => Ended::Taken,
            HandoverEvent::Released => Ended::Released,
            HandoverEvent::Forced => Ended::Forced,
            _ => Ended::Unknown,
        },
        _ => Ended::Unknown,
    }
}

/// A read that failed has done nothing.
fn read_failed(error: sqlx::Error) -> StoreError {
    if is_undecodable(&error) {
        tracing::error!(%error, "the database holds what Baton did not write");
        return StoreError::Internal;
    }
    tracing::warn!(%error, "the database did not answer");
    StoreError::Unavailable(Outcome::NotDone)
}
