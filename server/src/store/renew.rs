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
    writer::{Lanes, bounded, commit, give_back},
};

/// Commits a batch of renewals. What would log something (a lapse that is due,
/// a recovery) goes on to the other lane.
pub async fn renew(lanes: &Arc<Lanes>, jobs: Vec<Job>) {
    let started = std::time::Instant::now();
    // Those of one lease in the order of their arrival. Jobs are large, and are
    // not moved for this.
    let mut order: Vec<usize> = (0..jobs.len()).collect();
    order.sort_by(|one, other| jobs[*one].name.cmp(&jobs[*other].name));
    let mut names: Vec<LeaseName> = order.iter().map(|at| jobs[*at].name.clone()).collect();
    names.dedup();
    let reading = async {
        let mut tx = lanes.backend.begin().await?;
        let locked = tx.lock(&names, Lock::Renew, Busy::Skip).await?;
        let now = tx.now().await?;
        Ok((tx, locked, now))
    };
    let (mut tx, locked, now) = match bounded(reading).await {
        Ok(read) => read,
        Err(broken) => return give_back(jobs, &broken),
    };
    let (rows, fates) = renew_all(&jobs, &order, locked, now);
    let written = if rows.is_empty() {
        bounded(tx.undo()).await
    } else {
        match bounded(tx.renew(&rows)).await {
            Ok(()) => commit(tx).await,
            Err(broken) => Err(broken),
        }
    };
    let mut answered = 0;
    let mut broken_jobs = Vec::new();
    for (job, fate) in jobs.into_iter().zip(fates) {
        match fate {
            Fate::Answered(answer) if written.is_ok() => {
                answered += 1;
                job.reply.send(answer);
            }
            Fate::Answered(_) => broken_jobs.push(job),
            Fate::Aside => lanes.aside(job.name.clone(), vec![job]),
            Fate::Changes => drop(lanes.changes.send(vec![job])),
        }
    }
    match written {
        Ok(()) => {
            metrics::wrote("renew", answered, started.elapsed());
            metrics::renewed(rows.len());
        }
        Err(broken) => give_back(broken_jobs, &broken),
    }
}

/// What becomes of a renewal.
enum Fate {
    /// It gets this answer once the batch is on disk.
    Answered(Answer),
    /// Somebody else has locked the row.
    Aside,
    /// It would log something.
    Changes,
}

/// Plays renewals, sorted by name as `order` has them. Gives the rows to write,
/// one for each lease, and the fate of each job.
fn renew_all(
    jobs: &[Job],
    order: &[usize],
    locked: Locked,
    now: Timestamp,
) -> (Vec<Arc<LeaseRow>>, Vec<Fate>) {
    let busy: HashSet<LeaseName> = locked.busy.into_iter().collect();
    let mut locked = locked.rows;
    locked.sort_unstable_by(|one, other| one.name.cmp(&other.name));
    let mut locked = locked.into_iter().peekable();
    let mut rows = Vec::with_capacity(order.len());
    let mut fates = Vec::new();
    fates.resize_with(jobs.len(), || Fate::Aside);
    let of_one_lease = |one: &usize, other: &usize| jobs[*one].name == jobs[*other].name;
    for part in order.chunk_by(of_one_lease) {
        let name = &jobs[part[0]].name;
        while locked.next_if(|row| row.name < *name).is_some() {}
        let mut row = locked.next_if(|row| row.name == *name);
        if row.is_none() && busy.contains(name) {
            continue;
        }
        let mut touched = false;
        for at in part {
            fates[*at] = if row.as_ref().is_some_and(|row| would_log(row, now)) {
                Fate::Changes
            } else {
                let answer = renew_one(&mut row, &jobs[*at], now);
                touched |= answer.is_ok();
                Fate::Answered(answer)
            };
        }
        rows.extend(row.filter(|_| touched));
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
