//! What is done to the whole store at once: holding a checkpoint against the
//! log, raising every generation after a restored backup, forgetting leases that
//! nobody uses. Each step is one transaction with one entry in the log.
//!
//! The rules are in [`crate::rules::keeping`]; here is only what is read, locked
//! and written, in the order that all writers keep: rows, then the log's end.

use std::{sync::Arc, time::Duration};

use tokio::time::Instant;

use baton_client::{
    Forget, Forgot, Generation, Handover, HandoverEvent, HandoverQuery, LeaseName, Timestamp,
};

use crate::{
    chain::Head,
    database::Database,
    rules::{
        Asker, Draft, LeaseRow, Moment, Refusal,
        keeping::{self, FORGOTTEN_LETTERS_MAX, FORGOTTEN_MAX, Raised, Seen},
    },
};

use super::{
    LogEnd, Reader, Store,
    backend::{Backend, Busy, DbResult, End, Lock, Transaction},
    history, listing, sql,
};

/// Leases that are read and written at a time.
const CHUNK: usize = 1_000;
/// How long everybody else may be kept waiting for all leases to be locked.
const LOCK_ALL_MS: u32 = 250;
/// How long they go on then, before that is tried again.
const GIVE_WAY: Duration = Duration::from_millis(750);
/// For how long it is tried.
const LOCK_ALL_WITHIN: Duration = Duration::from_secs(10);

/// The way to the whole store. Works beside servers, except where it says so.
#[derive(Clone)]
pub struct Keeping {
    backend: Arc<dyn Backend>,
}

/// What a log has to say about a checkpoint.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Standing {
    /// The log contains it.
    Contained,
    /// It is of a part that was archived.
    Archived,
    /// It was ahead once, and everything was raised because of it.
    Answered,
    /// The log does not contain it: grants stop, on all servers, until everything is
    /// raised.
    Lacking(Lacking),
}

/// How a log lacks a checkpoint.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Lacking {
    /// It ends before, at this `seq`.
    Shorter {
        /// The last entry's.
        head: u64,
    },
    /// It has another entry in that place, or none.
    Other {
        /// The hash of that entry.
        hash: Option<String>,
    },
}

/// A part of the log, from its beginning on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Older {
    /// It begins after this `seq`: what is up to there was archived before.
    pub after: u64,
    /// Its last entry, and when that was found.
    pub end: LogEnd,
}

/// Why a step was not done. Nothing has changed then, unless the answer to the
/// commit was lost.
#[derive(Debug, thiserror::Error)]
pub enum KeepError {
    /// The database does not answer.
    #[error("the database does not answer")]
    Store(#[from] sqlx::Error),
    /// A transaction of somebody else keeps leases locked.
    #[error(
        "a transaction of somebody else keeps leases locked, as a fenced one may: {0}; \
         nothing was done: try again when it has ended, or end it"
    )]
    Locked(String),
    /// What was written is not what the log has.
    #[error("the log is not as it was when it was written to the file; nothing was removed")]
    Moved,
    /// Only the owner of the log can lift what guards it.
    #[error("only the role that owns the log can archive it: use its address; nothing was removed")]
    NotOwner,
    /// A generation is too high to be raised.
    #[error("a generation cannot be raised any more: it is close to 2^53; nothing was done")]
    Exhausted,
}

impl Keeping {
    /// Of a database that no server of this process serves.
    ///
    /// # Errors
    /// The database does not answer.
    pub async fn open(database: &Database) -> sqlx::Result<Self> {
        if let Database::Sqlite(sqlite) = database {
            super::sqlite_checkpoint::keep_short(sqlite);
        }
        Ok(Self {
            backend: super::backend_of(database).await?,
        })
    }

    /// The way to read the same log.
    pub fn reader(&self) -> Reader {
        Reader::new(self.backend.clone(), Arc::default())
    }

    pub(super) fn on(backend: Arc<dyn Backend>) -> Self {
        Self { backend }
    }

    /// Holds a checkpoint against the log. If that is behind it, notes so, and
    /// no server grants anything until [`Self::raise_floor`].
    ///
    /// # Errors
    /// The database does not answer.
    pub async fn check(&self, seen: &Seen) -> Result<Standing, KeepError> {
        if seen.seq == 0 {
            // There was nothing yet, which holds of every log.
            return Ok(Standing::Contained);
        }
        let mut tx = self.backend.begin().await?;
        let end = tx.end().await?;
        let found = tx.handovers(history::handover(seen.seq)).await?;
        if found.iter().any(|entry| entry.hash == seen.hash) {
            return Ok(Standing::Contained);
        }
        if seen.seq <= end.archived {
            return Ok(Standing::Archived);
        }
        if is_answered(&mut *tx, seen).await? {
            return Ok(Standing::Answered);
        }
        tx.run(sql::note_behind(Some(seen))).await?;
        tx.commit().await?;
        let found = found.into_iter().next();
        Ok(Standing::Lacking(lacking(seen, &end.head, found)))
    }

    /// The checkpoint that stops all grants, and how the log lacks it; `None` if none
    /// does.
    ///
    /// # Errors
    /// The database does not answer.
    pub async fn lacks(&self) -> DbResult<Option<(Seen, Lacking)>> {
        let mut reading = self.backend.read().await?;
        let end = reading.end().await?;
        let Some(seen) = end.behind else {
            return Ok(None);
        };
        let found = reading.handovers(history::handover(seen.seq)).await?.pop();
        let how = lacking(&seen, &end.head, found);
        Ok(Some((seen, how)))
    }

    /// Adds 2^32 to every generation and to the floor, and ends all tenures, in
    /// one step. `ahead` is a checkpoint that is ahead of the log; one that a
    /// server noted counts by itself.
    ///
    /// # Errors
    /// Leases are locked, or a generation cannot be raised, or the database does
    /// not answer.
    pub async fn raise_floor(
        &self,
        asker: Asker,
        reason: String,
        ahead: Option<Seen>,
    ) -> Result<Handover, KeepError> {
        let mut tx = self.all_locked().await?;
        let end = tx.end().await?;
        let now = tx.now().await?;
        let at = now.max(end.head.at);
        let count = raise_all(&mut *tx, at).await?;
        let ahead = end.behind.clone().or(ahead);
        let draft = keeping::floor_raised(end.floor, at, asker, reason, count, ahead.as_ref())?;
        tx.run(sql::move_floor(draft.generation)).await?;
        tx.run(sql::note_behind(None)).await?;
        append(tx, end, draft).await
    }

    /// A transaction that has all leases. Whoever comes while it waits for them waits
    /// too, so it gives way again and again to those who need them only for a moment.
    async fn all_locked(&self) -> Result<Box<dyn Transaction>, KeepError> {
        let started = Instant::now();
        loop {
            let mut tx = self.backend.begin().await?;
            let Err(error) = tx.lock_all(LOCK_ALL_MS).await else {
                return Ok(tx);
            };
            if !self.backend.is_lock_timeout(&error) {
                return Err(error.into());
            }
            tx.undo().await?;
            if started.elapsed() > LOCK_ALL_WITHIN {
                let by = self.backend.in_the_way().await?;
                return Err(KeepError::Locked(by.unwrap_or("it is over now".into())));
            }
            tokio::time::sleep(GIVE_WAY).await;
        }
    }

    /// The part of the log from before a time, which could be archived; `None` if
    /// there is nothing from before.
    ///
    /// # Errors
    /// The database does not answer.
    pub async fn older(&self, before: Timestamp) -> DbResult<Option<Older>> {
        let mut reading = self.backend.read().await?;
        let now = reading.now().await?;
        let end = reading.end().await?;
        let last = reading.handovers(sql::last_before(before)).await?.pop();
        Ok(last.map(|last| Older {
            after: end.archived,
            end: LogEnd {
                head: Head::of(&last),
                now,
                behind: false,
            },
        }))
    }

    /// Removes a part of the log that was written elsewhere, and leaves an entry that
    /// says where it ended. `count` is how many entries were written.
    ///
    /// # Errors
    /// The log is not as it was written, or this role does not own it, or the
    /// database does not answer.
    pub async fn archive(
        &self,
        older: &Older,
        count: u64,
        asker: Asker,
        reason: String,
    ) -> Result<Handover, KeepError> {
        let mut tx = self.backend.begin().await?;
        let end = tx.end().await?;
        let last = Seen {
            seq: older.end.head.seq,
            hash: older.end.head.hash.clone(),
        };
        let found = tx.handovers(history::handover(last.seq)).await?;
        if end.archived != older.after || !found.iter().any(|entry| entry.hash == last.hash) {
            return Err(KeepError::Moved);
        }
        let now = tx.now().await?;
        let at = now.max(end.head.at);
        if tx.cut(last.seq).await.map_err(cut_failed)? != count {
            return Err(KeepError::Moved);
        }
        let draft = keeping::archived(end.floor, at, asker, reason, &last, count);
        tx.run(sql::note_archived(last.seq)).await?;
        append(tx, end, draft).await
    }

    /// Forgets up to 1,000 leases that nobody touched for so long.
    ///
    /// # Errors
    /// The database does not answer.
    pub async fn forget(&self, asker: &Asker, wanted: &Forget) -> Result<Forgot, KeepError> {
        let idle_ms = wanted.idle_ms;
        let reason = wanted.reason.clone();
        let reason = reason.unwrap_or_else(|| format!("not used for {}", span(idle_ms)));
        let mut after = None;
        loop {
            let (rows, now, floor) = self.idle(idle_ms, after.as_ref()).await?;
            let since = before(now, idle_ms);
            let Some(last) = rows.last() else {
                return Ok(Forgot {
                    forgotten: 0,
                    floor,
                    more: false,
                });
            };
            after = Some((last.changed_at, last.name.clone()));
            let names = some_of(&rows, since, now);
            if names.is_empty() {
                continue;
            }
            if let Some(forgot) = self.forget_these(&names, idle_ms, asker, &reason).await? {
                return Ok(forgot);
            }
        }
    }

    /// Leases that may have been idle for so long, and the floor.
    async fn idle(
        &self,
        idle_ms: u64,
        after: Option<&(Timestamp, LeaseName)>,
    ) -> DbResult<(Vec<LeaseRow>, Timestamp, Generation)> {
        let mut reading = self.backend.read().await?;
        let now = reading.now().await?;
        let select = sql::idle_leases(before(now, idle_ms), after, CHUNK);
        let rows = reading.leases(select).await?;
        Ok((rows, now, reading.end().await?.floor))
    }

    /// Forgets those of the leases that are still idle and that nobody else has
    /// locked; `None` if there are none.
    async fn forget_these(
        &self,
        names: &[LeaseName],
        idle_ms: u64,
        asker: &Asker,
        reason: &str,
    ) -> Result<Option<Forgot>, KeepError> {
        let mut tx = self.backend.begin().await?;
        let locked = tx.lock(names, Lock::Change, Busy::Skip).await?.rows;
        let now = tx.now().await?;
        let mut rows: Vec<LeaseRow> = locked.into_iter().map(Arc::unwrap_or_clone).collect();
        rows.retain(|row| keeping::may_forget(row, before(now, idle_ms), now));
        if rows.is_empty() {
            return Ok(None);
        }
        let end = tx.end().await?;
        let now = tx.now().await?;
        let moment = Moment {
            now,
            at: now.max(end.head.at),
        };
        let draft = keeping::forgotten(&rows, end.floor, moment, asker.clone(), reason.to_owned());
        let names: Vec<LeaseName> = rows.iter().map(|row| row.name.clone()).collect();
        tx.run(sql::drop_payloads(&names)).await?;
        tx.run(sql::drop_leases(&names)).await?;
        tx.run(sql::move_floor(draft.generation)).await?;
        let entry = append(tx, end, draft).await?;
        Ok(Some(Forgot {
            forgotten: names.len() as u64,
            floor: entry.generation,
            more: true,
        }))
    }
}

impl Store {
    /// The way to the whole store, beside this one.
    pub fn keeping(&self) -> Keeping {
        Keeping::on(self.lanes.backend.clone())
    }
}

impl From<Refusal> for KeepError {
    fn from(_: Refusal) -> Self {
        Self::Exhausted
    }
}

fn lacking(seen: &Seen, head: &Head, found: Option<Handover>) -> Lacking {
    match found {
        None if seen.seq > head.seq => Lacking::Shorter { head: head.seq },
        found => Lacking::Other {
            hash: found.map(|entry| entry.hash),
        },
    }
}

fn cut_failed(error: sqlx::Error) -> KeepError {
    const INSUFFICIENT_PRIVILEGE: &str = "42501";
    let code = error.as_database_error().and_then(|error| error.code());
    if code.is_some_and(|code| code == INSUFFICIENT_PRIVILEGE) {
        KeepError::NotOwner
    } else {
        error.into()
    }
}

/// A duration in words, for the log.
fn span(ms: u64) -> String {
    match ms {
        _ if ms >= 86_400_000 => format!("{} days", ms / 86_400_000),
        _ if ms >= 3_600_000 => format!("{} hours", ms / 3_600_000),
        _ => format!("{} s", ms / 1_000),
    }
}

/// The moment so long before.
fn before(now: Timestamp, ms: u64) -> Timestamp {
    let micros = i64::try_from(ms.saturating_mul(1_000)).unwrap_or(i64::MAX);
    Timestamp::from_micros(now.micros().saturating_sub(micros))
}

/// The names, in order, of as many leases as are forgotten in one step.
fn some_of(rows: &[LeaseRow], since: Timestamp, now: Timestamp) -> Vec<LeaseName> {
    let mut letters = 0;
    let mut names: Vec<LeaseName> = rows
        .iter()
        .filter(|row| keeping::may_forget(row, since, now))
        .map(|row| row.name.clone())
        .take_while(|name| {
            letters += name.as_str().len() + 1;
            letters <= FORGOTTEN_LETTERS_MAX
        })
        .take(FORGOTTEN_MAX)
        .collect();
    names.sort_unstable();
    names
}

async fn is_answered(tx: &mut dyn Transaction, seen: &Seen) -> DbResult<bool> {
    let mut query = HandoverQuery {
        event: Some(HandoverEvent::FloorRaised),
        limit: Some(CHUNK as u64),
        ..HandoverQuery::default()
    };
    loop {
        // There is no cursor that could be bad.
        let select = history::handovers(&query).unwrap_or_default();
        let mut raised = tx.handovers(select).await?;
        let more = listing::cut(&mut raised, query.limit);
        if raised.iter().any(|entry| keeping::answers(entry, seen)) {
            return Ok(true);
        }
        if !more {
            return Ok(false);
        }
        query.cursor = raised.last().map(|entry| history::seq_cursor(entry.seq));
    }
}

async fn raise_all(tx: &mut dyn Transaction, at: Timestamp) -> Result<Raised, KeepError> {
    let mut count = Raised::default();
    let mut after: Option<LeaseName> = None;
    loop {
        let mut rows = tx.leases(sql::leases_after(after.as_ref(), CHUNK)).await?;
        let Some(last) = rows.last() else {
            return Ok(count);
        };
        after = Some(last.name.clone());
        for row in &mut rows {
            keeping::raise(row, at, &mut count)?;
        }
        tx.save(&rows.iter().collect::<Vec<_>>()).await?;
    }
}

/// Writes the step's entry, and commits.
async fn append(
    mut tx: Box<dyn Transaction>,
    end: End,
    draft: Draft,
) -> Result<Handover, KeepError> {
    let mut head = end.head;
    let sealed = head.seal(draft);
    let entry = sealed.map_err(|why| sqlx::Error::Decode(Box::new(why)))?;
    tx.append(std::slice::from_ref(&entry), &head).await?;
    tx.commit().await?;
    Ok(entry)
}
