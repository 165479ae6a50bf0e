//! A backend that fails on purpose, at the place that a test names.

use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use baton_client::{Handover, LeaseName, Timestamp};
use tokio::sync::oneshot;

use super::super::{
    backend::{
        Backend, Busy, DbResult, Dialect, Due, End, Lock, Locked, Place as From, Reading, Recalled,
        Transaction,
    },
    postgres::PostgresBackend,
    record::{ClaimRecord, TotalsRecord},
    sqlite::SqliteBackend,
    statement::Statement,
};
use crate::{
    chain::Head,
    database::{Database, POSTGRES_WRITERS, postgres_pool_like},
    rules::LeaseRow,
};

/// Where a transaction meets its fate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    Begin,
    Lock,
    Head,
    /// When rows are written, whole or renewed.
    Write,
    Append,
    Commit,
    /// When entries are read, outside of a transaction that writes.
    Entries,
}

/// What happens there.
#[derive(Debug)]
pub enum Fault {
    /// It fails, and what it was to do is not done.
    Fails,
    /// It is done, and fails all the same, as when its answer gets lost.
    FailsAfter,
    /// It tells the test, and never ends.
    Hangs(oneshot::Sender<()>),
}

/// The fault that the next transaction to come to its place meets, if any.
#[derive(Debug, Clone, Default)]
pub struct Faults(Arc<Mutex<Option<(Place, Fault)>>>);

impl Faults {
    pub fn arm(&self, place: Place, fault: Fault) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some((place, fault));
    }

    /// Whether nobody has come to the place yet.
    pub fn are_armed(&self) -> bool {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .is_some()
    }

    fn take(&self, place: Place) -> Option<Fault> {
        let mut armed = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (_, fault) = armed.take_if(|(at, _)| *at == place)?;
        Some(fault)
    }

    /// Does `work`, or what the fault says.
    async fn meet<T>(&self, place: Place, work: impl Future<Output = DbResult<T>>) -> DbResult<T> {
        match self.take(place) {
            None => work.await,
            Some(Fault::Fails) => Err(broken()),
            Some(Fault::FailsAfter) => {
                work.await?;
                Err(broken())
            }
            Some(Fault::Hangs(tell)) => {
                let _ = tell.send(());
                std::future::pending().await
            }
        }
    }
}

fn broken() -> sqlx::Error {
    sqlx::Error::Io(std::io::Error::other("broken on purpose"))
}

/// A database's backend with faults in it.
pub struct Faulty {
    backend: Arc<dyn Backend>,
    faults: Faults,
}

impl Faulty {
    pub async fn on(database: &Database, faults: &Faults) -> Arc<Self> {
        let backend: Arc<dyn Backend> = match database {
            Database::Sqlite(sqlite) => {
                let started = SqliteBackend::start(sqlite.clone()).await;
                Arc::new(started.expect("it answers"))
            }
            Database::Postgres(readers) => {
                let writers = postgres_pool_like(readers, POSTGRES_WRITERS);
                Arc::new(PostgresBackend::new(writers, readers.clone()))
            }
        };
        Arc::new(Self {
            backend,
            faults: faults.clone(),
        })
    }
}

#[async_trait]
impl Backend for Faulty {
    async fn begin(&self) -> DbResult<Box<dyn Transaction>> {
        let tx = self.faults.meet(Place::Begin, self.backend.begin()).await?;
        Ok(Box::new(FaultyTransaction {
            tx,
            faults: self.faults.clone(),
        }))
    }

    async fn recall(&self, names: &[LeaseName]) -> DbResult<Option<Recalled>> {
        let begun = self.faults.meet(Place::Begin, self.backend.recall(names));
        let Some((tx, rows)) = begun.await? else {
            return Ok(None);
        };
        // To remember a row stands for locking it.
        self.faults.meet(Place::Lock, async { Ok(()) }).await?;
        let faults = self.faults.clone();
        Ok(Some((Box::new(FaultyTransaction { tx, faults }), rows)))
    }

    async fn read(&self) -> DbResult<Box<dyn Reading>> {
        Ok(Box::new(FaultyReading {
            reading: self.backend.read().await?,
            faults: self.faults.clone(),
        }))
    }

    async fn due(&self, from: &From) -> DbResult<Due> {
        self.backend.due(from).await
    }

    async fn notified(&self) {
        self.backend.notified().await;
    }

    fn renew_lanes(&self) -> usize {
        self.backend.renew_lanes()
    }

    async fn end_fences(&self, lease: &LeaseName) -> DbResult<u64> {
        self.backend.end_fences(lease).await
    }

    fn is_lock_timeout(&self, error: &sqlx::Error) -> bool {
        self.backend.is_lock_timeout(error)
    }

    async fn in_the_way(&self) -> DbResult<Option<String>> {
        self.backend.in_the_way().await
    }

    fn dialect(&self) -> Dialect {
        self.backend.dialect()
    }
}

struct FaultyTransaction {
    tx: Box<dyn Transaction>,
    faults: Faults,
}

#[async_trait]
impl Transaction for FaultyTransaction {
    async fn lock(&mut self, names: &[LeaseName], lock: Lock, busy: Busy) -> DbResult<Locked> {
        let faults = self.faults.clone();
        faults
            .meet(Place::Lock, self.tx.lock(names, lock, busy))
            .await
    }

    async fn now(&mut self) -> DbResult<Timestamp> {
        self.tx.now().await
    }

    async fn end(&mut self) -> DbResult<End> {
        let faults = self.faults.clone();
        faults.meet(Place::Head, self.tx.end()).await
    }

    async fn lock_all(&mut self, wait_ms: u32) -> DbResult<()> {
        let faults = self.faults.clone();
        faults.meet(Place::Lock, self.tx.lock_all(wait_ms)).await
    }

    async fn leases(&mut self, select: Statement) -> DbResult<Vec<LeaseRow>> {
        self.tx.leases(select).await
    }

    async fn handovers(&mut self, select: Statement) -> DbResult<Vec<Handover>> {
        self.tx.handovers(select).await
    }

    async fn cut(&mut self, last: u64) -> DbResult<u64> {
        let faults = self.faults.clone();
        faults.meet(Place::Write, self.tx.cut(last)).await
    }

    async fn run(&mut self, statement: Statement) -> DbResult<()> {
        let faults = self.faults.clone();
        faults.meet(Place::Write, self.tx.run(statement)).await
    }

    async fn claims(&mut self, select: Statement) -> DbResult<Vec<ClaimRecord>> {
        self.tx.claims(select).await
    }

    async fn fences(&mut self, lease: &LeaseName) -> DbResult<Option<String>> {
        self.tx.fences(lease).await
    }

    async fn renew(&mut self, rows: &[Arc<LeaseRow>]) -> DbResult<bool> {
        let faults = self.faults.clone();
        faults.meet(Place::Write, self.tx.renew(rows)).await
    }

    async fn save(&mut self, rows: &[&LeaseRow]) -> DbResult<()> {
        let faults = self.faults.clone();
        faults.meet(Place::Write, self.tx.save(rows)).await
    }

    async fn save_payload(&mut self, row: &LeaseRow) -> DbResult<()> {
        self.tx.save_payload(row).await
    }

    async fn append(&mut self, entries: &[Handover], head: &Head) -> DbResult<()> {
        let faults = self.faults.clone();
        faults
            .meet(Place::Append, self.tx.append(entries, head))
            .await
    }

    async fn undo(self: Box<Self>) -> DbResult<()> {
        self.tx.undo().await
    }

    async fn commit(self: Box<Self>) -> DbResult<()> {
        self.faults.meet(Place::Commit, self.tx.commit()).await
    }
}

struct FaultyReading {
    reading: Box<dyn Reading>,
    faults: Faults,
}

#[async_trait]
impl Reading for FaultyReading {
    async fn now(&mut self) -> DbResult<Timestamp> {
        self.reading.now().await
    }

    async fn end(&mut self) -> DbResult<End> {
        self.reading.end().await
    }

    async fn leases(&mut self, select: Statement) -> DbResult<Vec<LeaseRow>> {
        self.reading.leases(select).await
    }

    async fn handovers(&mut self, select: Statement) -> DbResult<Vec<Handover>> {
        let work = self.reading.handovers(select);
        self.faults.meet(Place::Entries, work).await
    }

    async fn totals(&mut self, select: Statement) -> DbResult<TotalsRecord> {
        self.reading.totals(select).await
    }
}
