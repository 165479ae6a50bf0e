//! Batches that only renew: nothing is logged, so the log's end is not needed.

use std::{collections::HashSet, sync::Arc};

use baton_client::{LeaseName, Timestamp};

use crate::{
    metrics,
    rules::{self, Known, LeaseRow, Moment, Refusal, due_at},
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
    let (mut names, jobs) = by_name(jobs);
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
    let renewed = renew_all(lanes, jobs, locked, now);
    let written = if renewed.rows.is_empty() {
        Ok(())
    } else {
        let rows: Vec<&LeaseRow> = renewed.rows.iter().map(|row| &**row).collect();
        match bounded(tx.renew(&rows)).await {
            Ok(()) => commit(tx).await,
            Err(broken) => Err(broken),
        }
    };
    let answers = renewed.answers;
    match written {
        Ok(()) => {
            metrics::wrote("renew", answers.len(), started.elapsed());
            metrics::renewed(renewed.rows.len());
            for (job, answer) in answers {
                job.reply.send(answer);
            }
        }
        Err(broken) => give_back(answers.into_iter().map(|(job, _)| job).collect(), &broken),
    }
}

/// Sorts by name, and those of one lease in the order of their arrival. A job is
/// large: it is moved once.
fn by_name(jobs: Vec<Job>) -> (Vec<LeaseName>, Vec<Job>) {
    let names = jobs.iter().map(|job| job.name.clone());
    let mut order: Vec<(LeaseName, usize)> = names.zip(0..).collect();
    order.sort_unstable();
    let mut jobs: Vec<Option<Job>> = jobs.into_iter().map(Some).collect();
    let sorted = order.iter().filter_map(|(_, at)| jobs[*at].take());
    let sorted = sorted.collect();
    (order.into_iter().map(|(name, _)| name).collect(), sorted)
}

/// What came of a batch of renewals.
struct Renewed {
    /// Rows to write, one for each lease.
    rows: Vec<Arc<LeaseRow>>,
    /// What to answer once they are written.
    answers: Vec<(Job, Answer)>,
}

impl Renewed {
    fn answer(&mut self, (job, result): Played, row: Option<Arc<LeaseRow>>, now: Timestamp) {
        let answer = match (result, row) {
            (Ok(()), Some(row)) => Ok(Done { row, now }),
            (Ok(()), None) => Err(Failure::Internal),
            (Err(refusal), row) => Err(Failure::Refused { refusal, row, now }),
        };
        self.answers.push((job, answer));
    }
}

/// A renewal, and what the rules said.
type Played = (Job, Result<(), Refusal>);

/// Plays renewals that are sorted by name, and sends on what is not for this
/// lane.
fn renew_all(lanes: &Arc<Lanes>, jobs: Vec<Job>, locked: Locked, now: Timestamp) -> Renewed {
    let busy: HashSet<LeaseName> = locked.busy.into_iter().collect();
    let mut locked = locked.rows;
    locked.sort_unstable_by(|one, other| one.name.cmp(&other.name));
    let mut locked = locked.into_iter().peekable();
    let mut renewed = Renewed {
        rows: Vec::with_capacity(jobs.len()),
        answers: Vec::with_capacity(jobs.len()),
    };
    let mut jobs = jobs.into_iter().peekable();
    while let Some(name) = jobs.peek().map(|job| job.name.clone()) {
        while locked.next_if(|row| row.name < name).is_some() {}
        let mut row = locked.next_if(|row| row.name == name);
        let is_busy = !busy.is_empty() && busy.contains(&name);
        let mut last: Option<Played> = None;
        let mut touched = false;
        while let Some(job) = jobs.next_if(|job| job.name == name) {
            if is_busy {
                lanes.aside(name.clone(), vec![job]);
                continue;
            }
            if row.as_ref().is_some_and(|row| would_log(row, now)) {
                drop(lanes.changes.send(vec![job]));
                continue;
            }
            if let Some(earlier) = last.take() {
                // Its answer shows the row as it was then.
                renewed.answer(earlier, row.clone().map(Arc::new), now);
            }
            let result = renew_one(&mut row, &job, now);
            touched |= result.is_ok();
            last = Some((job, result));
        }
        let row = row.map(Arc::new);
        if let Some(last) = last {
            renewed.answer(last, row.clone(), now);
        }
        renewed.rows.extend(row.filter(|_| touched));
    }
    renewed
}

fn would_log(row: &LeaseRow, now: Timestamp) -> bool {
    due_at(row).is_some_and(|due| due <= now)
        || row.tenure.as_ref().is_some_and(|tenure| tenure.lapsed)
}

fn renew_one(row: &mut Option<LeaseRow>, job: &Job, now: Timestamp) -> Result<(), Refusal> {
    // Renewals in this lane log nothing, so the log's time is not needed.
    let moment = Moment { now, at: now };
    let mut log = Vec::new();
    let known = Known::default();
    let result = rules::apply(row, &job.name, &job.request, moment, known, &mut log);
    debug_assert!(log.is_empty(), "a renewal that logs is in the other lane");
    result
}
