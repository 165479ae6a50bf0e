//! One batch of changes, played through the rules: still no SQL, and nothing
//! happens by it. The writer plays a batch to learn whether it logs anything,
//! and plays it again once the log's end is locked.

use std::{
    collections::{BTreeMap, VecDeque},
    sync::Arc,
};

use baton_client::{Actor, Generation, HandoverEvent, LeaseName};
use tokio::time::Instant;

use crate::rules::{self, Draft, Known, LeaseRow, Moment, Refusal, Request, acquirable_at};

use super::{
    queue::{Answer, Done, Failure, Job},
    record::ClaimRecord,
};

/// What a batch is about: leases, who asks something of each, and who waits in
/// line for it, in order.
pub struct Part {
    /// The lease as it was read; `None` if there is none.
    pub row: Option<LeaseRow>,
    /// What is asked, in order of arrival.
    pub jobs: Vec<Job>,
    /// Who waits, in order of arrival.
    pub waiters: VecDeque<Job>,
    /// Earlier grants to claims.
    pub claims: Vec<ClaimRecord>,
}

/// What the log's end says about grants.
#[derive(Debug, Clone, Copy, Default)]
pub struct Ends {
    /// A lease that springs into being starts above this.
    pub floor: Generation,
    /// A checkpoint at this `seq` is ahead of the log.
    pub behind: Option<u64>,
}

/// What came of a batch.
#[derive(Default)]
pub struct Played {
    /// Rows that differ from what was read, with whether their payload does.
    pub changed: Vec<(Arc<LeaseRow>, bool)>,
    /// Entries for the log.
    pub log: Vec<Draft>,
    /// For each lease, the fate of its jobs and of its waiters.
    pub fates: BTreeMap<LeaseName, Fates>,
}

/// What becomes of who asked about a lease.
#[derive(Default)]
pub struct Fates {
    /// One for each job.
    pub jobs: Vec<Fate>,
    /// One for each waiter.
    pub waiters: Vec<Fate>,
    /// The row after the batch.
    pub row: Option<Arc<LeaseRow>>,
}

/// What becomes of one who asked.
#[derive(Debug, Clone)]
pub enum Fate {
    /// Gets this answer.
    Answered(Box<Answer>),
    /// Waits in line.
    Waits,
}

/// Plays a batch.
pub fn play(
    batch: &BTreeMap<LeaseName, Part>,
    moment: Moment,
    ends: Ends,
    clock: Instant,
) -> Played {
    let mut played = Played::default();
    for (name, part) in batch {
        let mut stage = Stage {
            name,
            part,
            row: part.row.clone(),
            fates: Fates {
                jobs: vec![Fate::Waits; part.jobs.len()],
                waiters: vec![Fate::Waits; part.waiters.len()],
                row: None,
            },
            log: Vec::new(),
            touched: false,
            moment,
            ends,
            clock,
        };
        stage.run();
        let row = stage.row.map(Arc::new);
        if let Some(row) = row.as_ref().filter(|_| stage.touched) {
            let payload = |row: Option<&LeaseRow>| {
                row.and_then(|row| row.payload.as_ref().map(|payload| payload.get().to_owned()))
            };
            let differs = payload(part.row.as_ref()) != payload(Some(row));
            played.changed.push((row.clone(), differs));
        }
        stage.fates.row = row;
        played.log.append(&mut stage.log);
        played.fates.insert(name.clone(), stage.fates);
    }
    played
}

/// One lease's part of a batch, being played.
struct Stage<'a> {
    name: &'a LeaseName,
    part: &'a Part,
    row: Option<LeaseRow>,
    fates: Fates,
    log: Vec<Draft>,
    touched: bool,
    moment: Moment,
    ends: Ends,
    clock: Instant,
}

/// Somebody who asked, by place.
#[derive(Clone, Copy)]
enum Who {
    Job(usize),
    Waiter(usize),
}

impl Stage<'_> {
    fn run(&mut self) {
        // Time may have made the lease takeable: who waits comes before who
        // arrives.
        self.offer(0);
        for i in 0..self.part.jobs.len() {
            let logged = self.log.len();
            let answer = self.apply(Who::Job(i));
            self.settle_fate(Who::Job(i), answer);
            let granted = self.log.last().is_some_and(|entry| {
                self.log.len() > logged && entry.event == HandoverEvent::Granted
            });
            if self.log.len() > logged && !granted {
                self.offer(i + 1);
            }
        }
    }

    /// Offers the lease to who waits in line, in order, until somebody takes
    /// it: those who waited before, then those of the first `arrived` jobs that
    /// wait since.
    fn offer(&mut self, arrived: usize) {
        let waiters = (0..self.part.waiters.len()).map(Who::Waiter);
        for who in waiters.chain((0..arrived).map(Who::Job)) {
            if !matches!(self.fate(who), Fate::Waits) {
                continue;
            }
            let answer = self.apply(who);
            let granted = answer.is_ok();
            self.settle_fate(who, answer);
            if granted {
                return;
            }
        }
    }

    fn job(&self, who: Who) -> &Job {
        match who {
            Who::Job(i) => &self.part.jobs[i],
            Who::Waiter(i) => &self.part.waiters[i],
        }
    }

    fn fate(&mut self, who: Who) -> &mut Fate {
        match who {
            Who::Job(i) => &mut self.fates.jobs[i],
            Who::Waiter(i) => &mut self.fates.waiters[i],
        }
    }

    fn apply(&mut self, who: Who) -> Result<(), Refusal> {
        let job = match who {
            Who::Job(i) => &self.part.jobs[i],
            Who::Waiter(i) => &self.part.waiters[i],
        };
        let known = Known {
            floor: self.ends.floor,
            past_claim: self.past_claim(job),
            behind: self.ends.behind,
        };
        let logged = self.log.len();
        let result = rules::apply(
            &mut self.row,
            self.name,
            &job.request,
            self.moment,
            known,
            &mut self.log,
        );
        let renewed = result.is_ok() && matches!(job.request, Request::Renew(..));
        self.touched |= renewed || self.log.len() > logged;
        result
    }

    fn settle_fate(&mut self, who: Who, result: Result<(), Refusal>) {
        let now = self.moment.now;
        let answer = match result {
            Err(refusal) => {
                let waits = self
                    .job(who)
                    .wait_until
                    .is_some_and(|until| self.clock < until);
                if waits && refusal.can_wait() {
                    return;
                }
                Err(Failure::Refused {
                    refusal,
                    row: self.row.clone().map(Arc::new),
                    now,
                })
            }
            Ok(()) => match &self.row {
                Some(row) => Ok(Done {
                    row: Arc::new(row.clone()),
                    now,
                }),
                // Nothing was due on a lease that does not exist.
                None => Err(Failure::Internal),
            },
        };
        *self.fate(who) = Fate::Answered(Box::new(answer));
    }

    /// What the same token and holder were granted under the same claim id.
    fn past_claim(&self, job: &Job) -> Option<Generation> {
        let Request::Acquire(asker, acquire) = &job.request else {
            return None;
        };
        let claim_id = acquire.claim_id.as_ref()?;
        let same = |holder: Option<&str>, actor: &Actor| {
            holder == Some(acquire.holder.as_str()) && *actor == asker.actor
        };
        let logged = self.part.claims.iter().filter_map(|grant| {
            let actor: Actor = grant.actor.parse().ok()?;
            (grant.claim_id == *claim_id && same(grant.holder.as_deref(), &actor))
                .then(|| Generation::try_from(grant.generation.unsigned_abs()).ok())?
        });
        let drafted = self.log.iter().filter_map(|entry| {
            let id = entry.details.get("claim_id")?.as_str()?;
            let holder = entry.holder.as_ref().map(|holder| holder.as_str());
            (id == claim_id && same(holder, &entry.asker.actor)).then_some(entry.generation)
        });
        logged.chain(drafted).max()
    }
}

/// How long until somebody in a line could acquire, as far as time decides.
pub fn takeable_in(
    row: Option<&LeaseRow>,
    waiters: &VecDeque<Job>,
    now: baton_client::Timestamp,
) -> Option<std::time::Duration> {
    let row = row?;
    waiters
        .iter()
        .filter_map(|waiter| {
            let Request::Acquire(_, acquire) = &waiter.request else {
                return None;
            };
            acquirable_at(row, Some(&acquire.holder), now)
        })
        .min()
        .map(|at| std::time::Duration::from_micros((at.micros() - now.micros()).max(0) as u64))
}
