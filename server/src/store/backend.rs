//! What a database must do for the store. One implementation each for SQLite
//! and PostgreSQL; both are SQL and row mapping only, and neither knows a rule.
//!
//! Everything fails with what the driver says. Whether something may have
//! happened is for the writer to judge, by where it failed.

use std::sync::Arc;

use async_trait::async_trait;
use baton_client::{Generation, Handover, LeaseName, Timestamp};

use crate::{
    chain::Head,
    rules::{LeaseRow, keeping::Seen},
};

use super::{
    record::{ClaimRecord, TotalsRecord},
    statement::Statement,
};

/// What the driver says.
pub type DbResult<T> = Result<T, sqlx::Error>;

/// How rows are locked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lock {
    /// To renew: fenced transactions may go on beside it.
    Renew,
    /// To change hands: waits for fenced transactions.
    Change,
}

/// What to do about a row that somebody else has locked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Busy {
    /// Leave it out.
    Skip,
    /// Wait for it, at most this many milliseconds, then fail.
    Wait(u32),
}

/// Rows that were locked.
#[derive(Debug, Default)]
pub struct Locked {
    /// The rows, with their payloads if they were locked to change.
    pub rows: Vec<Arc<LeaseRow>>,
    /// Leases that exist, but that somebody else has locked.
    pub busy: Vec<LeaseName>,
}

/// Where a part of the table of leases begins. The whole is read in parts, for
/// nothing finds what is due by an index: renewals change when that is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Place {
    /// At the table's beginning.
    Start,
    /// After this lease.
    After(String),
    /// At this block.
    Block(i64),
}

/// What is due in one part of the table.
#[derive(Debug)]
pub struct Due {
    /// The leases.
    pub names: Vec<LeaseName>,
    /// Where the next part begins; `None` after the last one.
    pub next: Option<Place>,
}

/// The log's end, and what stands beside it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct End {
    /// What the next entry follows.
    pub head: Head,
    /// A lease that springs into being starts above this.
    pub floor: Generation,
    /// A checkpoint that is ahead of the log: nothing is granted.
    pub behind: Option<Seen>,
    /// Entries up to this `seq` were archived.
    pub archived: u64,
}

/// Where the two databases' dialects differ in lists.
#[derive(Debug, Clone, Copy)]
pub struct Dialect {
    /// A function that gives the place of a text in a text, 0 if it is not there.
    pub position: &'static str,
}

/// A transaction that renews, and rows as this server remembers them.
pub type Recalled = (Box<dyn Transaction>, Vec<Arc<LeaseRow>>);

/// A database.
#[async_trait]
pub trait Backend: Send + Sync + 'static {
    /// Begins a transaction that writes.
    async fn begin(&self) -> DbResult<Box<dyn Transaction>>;

    /// Begins a transaction that renews leases of which it was this server that
    /// wrote last, and gives their rows as it remembers them: the database is not
    /// asked, and nothing is locked. What it renews is compared as it is written.
    /// Waits for locked rows only for a moment, then fails. `None` if it remembers
    /// none of them.
    async fn recall(&self, names: &[LeaseName]) -> DbResult<Option<Recalled>>;

    /// Begins a transaction that sees one moment of the database.
    async fn read(&self) -> DbResult<Box<dyn Reading>>;

    /// Leases with something due at the database's time, among those of the
    /// next part of the table. Whatever moves to another part meanwhile is
    /// found in the next round.
    async fn due(&self, from: &Place) -> DbResult<Due>;

    /// Waits until another server may have added to the log. Only a hint:
    /// nothing relies on it.
    async fn notified(&self);

    /// How many batches of renewals may be under way at once.
    fn renew_lanes(&self) -> usize;

    /// Ends the fenced transactions on a lease, and says how many.
    async fn end_fences(&self, lease: &LeaseName) -> DbResult<u64>;

    /// The transactions that keep [`Transaction::lock_all`] waiting, in words; `None`
    /// if there are none.
    async fn in_the_way(&self) -> DbResult<Option<String>>;

    /// Whether a failure means that a row stayed locked for too long.
    fn is_lock_timeout(&self, error: &sqlx::Error) -> bool;

    /// How lists are written.
    fn dialect(&self) -> Dialect;
}

/// A transaction that writes. Dropping it undoes it.
#[async_trait]
pub trait Transaction: Send {
    /// Locks leases in name order; `names` are sorted. Leases that do not
    /// exist are in neither part of the answer.
    async fn lock(&mut self, names: &[LeaseName], lock: Lock, busy: Busy) -> DbResult<Locked>;

    /// The database's time, now.
    async fn now(&mut self) -> DbResult<Timestamp>;

    /// Locks the log's end, and reads it.
    async fn end(&mut self) -> DbResult<End>;

    /// Keeps every lease from changing, and new ones from springing into being,
    /// until the end. Waits for what is under way, at most this many milliseconds,
    /// during which all that comes later waits, too. Comes before the log's end.
    async fn lock_all(&mut self, wait_ms: u32) -> DbResult<()>;

    /// The leases that a statement selects.
    async fn leases(&mut self, select: Statement) -> DbResult<Vec<LeaseRow>>;

    /// The entries that a statement selects.
    async fn handovers(&mut self, select: Statement) -> DbResult<Vec<Handover>>;

    /// Removes the log's entries up to and with `last`, and says how many. Lifts
    /// what guards the log, inside this transaction, which only its owner may.
    /// The log's end is locked.
    async fn cut(&mut self, last: u64) -> DbResult<u64>;

    /// Runs a statement that changes something.
    async fn run(&mut self, statement: Statement) -> DbResult<()>;

    /// The earlier grants that a statement selects.
    async fn claims(&mut self, select: Statement) -> DbResult<Vec<ClaimRecord>>;

    /// The fenced transactions that are open on a lease, in words; `None` if
    /// there are none.
    async fn fences(&mut self, lease: &LeaseName) -> DbResult<Option<String>>;

    /// Writes what renewals change. The rows are locked, or recalled. Says whether
    /// all of them still were as they were recalled; otherwise this is to be undone.
    async fn renew(&mut self, rows: &[Arc<LeaseRow>]) -> DbResult<bool>;

    /// Writes rows whole, new ones too. The rows are locked, and so is the head.
    async fn save(&mut self, rows: &[&LeaseRow]) -> DbResult<()>;

    /// Writes a lease's payload, or that it has none. The row is locked.
    async fn save_payload(&mut self, row: &LeaseRow) -> DbResult<()>;

    /// Adds to the log and moves its end. The head is locked.
    async fn append(&mut self, entries: &[Handover], head: &Head) -> DbResult<()>;

    /// Makes it so, on disk.
    async fn commit(self: Box<Self>) -> DbResult<()>;

    /// Undoes it, and has let go of every lock when it is done. Dropping does the
    /// same, but a moment later, and meanwhile the next batch finds its rows locked.
    async fn undo(self: Box<Self>) -> DbResult<()>;
}

/// A view of one moment of the database.
#[async_trait]
pub trait Reading: Send {
    /// The database's time, now.
    async fn now(&mut self) -> DbResult<Timestamp>;

    /// The log's end.
    async fn end(&mut self) -> DbResult<End>;

    /// The leases that a statement selects.
    async fn leases(&mut self, select: Statement) -> DbResult<Vec<LeaseRow>>;

    /// The entries that a statement selects.
    async fn handovers(&mut self, select: Statement) -> DbResult<Vec<Handover>>;

    /// The numbers that a statement selects.
    async fn totals(&mut self, select: Statement) -> DbResult<TotalsRecord>;
}
