//! Batches that only renew: nothing is logged, so the log's end is not needed.

use std::{collections::HashSet, sync::Arc};

use baton_client::{LeaseName, Timestamp};

use crate::{
    metrics,
    rules::{self, LeaseRow, Moment, Request, due_at},
};

use super::{
    backend::{Busy, Lock, Locked},
    queue::{Answer, Done, Failure, Job},
    writer::{Broken, Lanes, bounded, commit, give_back},
};

/// Commits a batch of renewals. What would log something (a lapse that is due,
/// a recovery) goes on to the other lane.
pub async fn renew(lanes: &Arc<Lanes>, jobs: Vec<Job>) {
    let left = renew_recalled(lanes, Batch::of(jobs)).await;
    if !left.jobs.is_empty() {
        renew_locked(lanes, left).await;
    }
}

/// Renewals by their leases. Jobs are large, and are not moved for this.
struct Batch {
    jobs: Vec<Job>,
    /// The order of the jobs by their leases, those of one lease as they arrived.
    order: Vec<usize>,
    /// The leases, in their order.
    names: Vec<LeaseName>,
}

impl Batch {
    fn of(jobs: Vec<Job>) -> Self {
        let mut order: Vec<usize> = (0..jobs.len()).collect();
        order.sort_by(|one, other| jobs[*one].name.cmp(&jobs[*other].name));
        let mut names: Vec<LeaseName> = order.iter().map(|at| jobs[*at].name.clone()).collect();
        names.dedup();
        Self { jobs, order, names }
    }
}

/// Renews leases whose rows this server remembers. Gives back the jobs that need
/// their rows locked: those about other leases, whatever is not simply granted, and
/// all of them if a row is not as it was remembered.
async fn renew_recalled(lanes: &Arc<Lanes>, batch: Batch) -> Batch {
    let started = std::time::Instant::now();
    let reading = async {
        let Some((mut tx, rows)) = lanes.backend.recall(&batch.names).await? else {
            return Ok(None);
        };
        let now = tx.now().await?;
        Ok(Some((tx, rows, now)))
    };
    let (mut tx, rows, now) = match bounded(reading).await {
        Ok(Some(begun)) => begun,
        Ok(None) => return batch,
        Err(broken) => {
            give_back(batch.jobs, &broken);
            return Batch::of(Vec::new());
        }
    };
    let (rows, fates) = renew_all(&batch, Rows::Recalled(rows), now);
    let as_remembered = if rows.is_empty() {
        Ok(false)
    } else {
        match bounded(tx.renew(&rows)).await {
            Err(Broken::NotDone(error)) if lanes.backend.is_lock_timeout(&error) => Ok(false),
            renewed => renewed,
        }
    };
    let written = match as_remembered {
        Ok(true) => commit(tx).await,
        // What comes next must not find its own rows locked.
        Ok(false) => match bounded(tx.undo()).await {
            Ok(()) => return batch,
            Err(broken) => Err(broken),
        },
        Err(broken) => Err(broken),
    };
    Batch::of(answer(
        lanes,
        batch.jobs,
        fates,
        written,
        started,
        rows.len(),
    ))
}

/// Renews leases with their rows locked, those that nobody else has locked.
async fn renew_locked(lanes: &Arc<Lanes>, batch: Batch) {
    let started = std::time::Instant::now();
    let reading = async {
        let mut tx = lanes.backend.begin().await?;
        let locked = tx.lock(&batch.names, Lock::Renew, Busy::Skip).await?;
        let now = tx.now().await?;
        Ok((tx, locked, now))
    };
    let (mut tx, locked, now) = match bounded(reading).await {
        Ok(read) => read,
        Err(broken) => return give_back(batch.jobs, &broken),
    };
    let (rows, fates) = renew_all(&batch, Rows::Locked(locked), now);
    let written = if rows.is_empty() {
        bounded(tx.undo()).await
    } else {
        match bounded(tx.renew(&rows)).await {
            Ok(_) => commit(tx).await,
            Err(broken) => Err(broken),
        }
    };
    for job in answer(lanes, batch.jobs, fates, written, started, rows.len()) {
        lanes.aside(job.name.clone(), vec![job]);
    }
}

/// Answers what was decided, and gives back what was not.
fn answer(
    lanes: &Lanes,
    jobs: Vec<Job>,
    fates: Vec<Fate>,
    written: Result<(), Broken>,
    started: std::time::Instant,
    rows: usize,
) -> Vec<Job> {
    let mut answered = 0;
    let mut broken_jobs = Vec::new();
    let mut left = Vec::new();
    for (job, fate) in jobs.into_iter().zip(fates) {
        match fate {
            Fate::Answered(answer) if written.is_ok() => {
                answered += 1;
                job.reply.send(answer);
            }
            Fate::Answered(_) => broken_jobs.push(job),
            Fate::Left => left.push(job),
            Fate::Changes => drop(lanes.changes.send(vec![job])),
        }
    }
    match written {
        Ok(()) => {
            lanes.wrote("renew", answered, started.elapsed());
            metrics::renewed(rows);
        }
        Err(broken) => give_back(broken_jobs, &broken),
    }
    left
}

/// Where the rows come from.
enum Rows {
    /// They are remembered, and may be others by now.
    Recalled(Vec<Arc<LeaseRow>>),
    /// They are locked.
    Locked(Locked),
}

/// What becomes of a renewal.
enum Fate {
    /// It gets this answer once the batch is on disk.
    Answered(Answer),
    /// Not decided: somebody else has locked the row, or it must be locked first.
    Left,
    /// It would log something.
    Changes,
}

/// Plays a batch. Gives the rows to write, one for each lease, and the fate of each
/// job. By rows that are only remembered nobody is refused anything.
fn renew_all(batch: &Batch, rows: Rows, now: Timestamp) -> (Vec<Arc<LeaseRow>>, Vec<Fate>) {
    let Batch { jobs, order, .. } = batch;
    let (mut known, busy, recalled) = match rows {
        Rows::Recalled(rows) => (rows, HashSet::new(), true),
        Rows::Locked(locked) => (locked.rows, locked.busy.into_iter().collect(), false),
    };
    known.sort_unstable_by(|one, other| one.name.cmp(&other.name));
    let mut known = known.into_iter().peekable();
    let mut rows = Vec::with_capacity(order.len());
    let mut fates = Vec::new();
    fates.resize_with(jobs.len(), || Fate::Left);
    let of_one_lease = |one: &usize, other: &usize| jobs[*one].name == jobs[*other].name;
    for part in order.chunk_by(of_one_lease) {
        let name = &jobs[part[0]].name;
        while known.next_if(|row| row.name < *name).is_some() {}
        let mut row = known.next_if(|row| row.name == *name);
        if row.is_none() && (recalled || busy.contains(name)) {
            continue;
        }
        let mut granted = 0;
        for at in part {
            fates[*at] = if row.as_ref().is_some_and(|row| would_log(row, now)) {
                Fate::Changes
            } else {
                let answer = renew_one(&mut row, &jobs[*at], now);
                granted += usize::from(answer.is_ok());
                Fate::Answered(answer)
            };
        }
        if recalled && granted < part.len() {
            part.iter().for_each(|at| fates[*at] = Fate::Left);
        } else if granted > 0 {
            rows.extend(row);
        }
    }
    (rows, fates)
}

fn would_log(row: &LeaseRow, now: Timestamp) -> bool {
    due_at(row).is_some_and(|due| due <= now)
        || row.tenure.as_ref().is_some_and(|tenure| tenure.lapsed)
}

fn renew_one(row: &mut Option<Arc<LeaseRow>>, job: &Job, now: Timestamp) -> Answer {
    let Request::Renew(asker, renew) = &job.request else {
        return Err(Failure::Internal);
    };
    // Renewals in this lane log nothing, so the log's time is not needed.
    let moment = Moment { now, at: now };
    let mut log = Vec::new();
    // In its place; where an earlier answer shows the row as it was, a copy is made.
    let result = rules::renew(
        row.as_mut().map(Arc::make_mut),
        asker,
        renew,
        moment,
        &mut log,
    );
    debug_assert!(log.is_empty(), "a renewal that logs is in the other lane");
    match (result, row.clone()) {
        (Ok(()), Some(row)) => Ok(Done { row, now }),
        (Ok(()), None) => Err(Failure::Internal),
        (Err(refusal), row) => Err(Failure::Refused { refusal, row, now }),
    }
}
