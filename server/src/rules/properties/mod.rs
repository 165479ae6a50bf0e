//! The rules, held against what must be true of any sequence of requests, by
//! any number of holders, with time moving as it likes.
//!
//! [`steps`] draws what happens, [`World`] lets it happen as the store would,
//! and after every step [`step`] checks what became of the lease and its log,
//! and [`probe`] tries out, on copies, what would be answered next.

pub mod log;
mod probe;
mod step;
mod steps;
mod whole;

use baton_client::{
    Actor, Generation, Handover, HandoverEvent, HolderId, LeaseName, RawJson, Timestamp,
};
use proptest::prelude::*;

use super::*;
use crate::chain::Head;
use steps::{LEASES, Move, Step, Whole};

/// A grant that was answered.
#[derive(Debug, Clone)]
struct Grant {
    asker: Asker,
    holder: HolderId,
    claim_id: Option<String>,
    generation: Generation,
}

/// A lease table, its log and the database's clock.
struct World {
    rows: [Option<LeaseRow>; LEASES],
    log: Vec<Handover>,
    head: Head,
    now: Timestamp,
    floor: Generation,
    grants: [Vec<Grant>; LEASES],
}

/// One request and everything about it, for the checks.
struct Happened<'a> {
    request: &'a Request,
    moment: Moment,
    before: Option<LeaseRow>,
    /// The row before, with what was due settled, and the entries of that.
    settled: Option<LeaseRow>,
    settling: Vec<Draft>,
    after: Option<LeaseRow>,
    drafts: Vec<Draft>,
    result: Result<(), Refusal>,
}

impl World {
    fn new(floor: u64) -> Self {
        Self {
            rows: Default::default(),
            log: Vec::new(),
            head: Head::genesis(),
            now: Timestamp::from_micros(1_800_000_000_000_000),
            floor: Generation::try_from(floor).expect("is small"),
            grants: Default::default(),
        }
    }

    fn name(lease: usize) -> LeaseName {
        format!("lease-{lease}").parse().expect("is a name")
    }

    fn moment(&self, now: Timestamp) -> Moment {
        Moment {
            now,
            at: now.max(self.head.at),
        }
    }

    fn turn_clock(&mut self, lease: usize, clock: Move) {
        let by = |at: Timestamp, micros: i64| Timestamp::from_micros(at.micros() + micros);
        let row = self.rows[lease].as_ref();
        let ahead =
            |at: Option<Timestamp>, micros| at.map_or(self.now, |at| by(at, micros).max(self.now));
        self.now = match clock {
            Move::Stands => self.now,
            Move::Forward(micros) => by(self.now, micros),
            Move::Back(micros) => by(self.now, -micros),
            Move::Due(micros) => ahead(row.and_then(due_at), micros),
            Move::Takeable(micros) => ahead(
                row.and_then(|row| acquirable_at(row, None, self.now)),
                micros,
            ),
        };
    }

    /// What the log knows of a request, as the store reads it.
    fn known(&self, lease: usize, request: &Request) -> Known {
        let past_claim = match request {
            Request::Acquire(asker, acquire) => self.log.iter().rev().find(|entry| {
                entry.event == HandoverEvent::Granted
                    && entry.lease == Some(Self::name(lease))
                    && entry.actor == asker.actor
                    && entry.holder.as_ref() == Some(&acquire.holder)
                    && acquire.claim_id.is_some()
                    && entry.details["claim_id"].as_str() == acquire.claim_id.as_deref()
            }),
            _ => None,
        };
        Known {
            floor: self.floor,
            past_claim: past_claim.map(|entry| entry.generation),
            behind: None,
        }
    }

    /// Lets a step happen, and checks everything about it.
    fn take(&mut self, step: &Step) {
        self.turn_clock(step.lease, step.clock);
        if let Some(whole) = step.whole {
            self.take_whole(whole);
        }
        let request = self.request(step.lease, &step.op);
        let moment = self.moment(self.now);
        let known = self.known(step.lease, &request);
        let before = self.rows[step.lease].clone();
        let mut settled = before.clone();
        let mut settling = Vec::new();
        if let Some(row) = &mut settled {
            settle(row, moment, &mut settling);
        }
        let slot = &mut self.rows[step.lease];
        let mut drafts = Vec::new();
        let name = Self::name(step.lease);
        let result = apply(slot, &name, &request, moment, known, &mut drafts);
        let happened = Happened {
            request: &request,
            moment,
            before,
            settled,
            settling,
            after: slot.clone(),
            drafts,
            result,
        };
        happened.check();
        self.seal(step.lease, &happened);
        self.check_rebuilt(step.lease);
        self.probe(step.lease);
    }

    /// Writes down what happened.
    fn seal(&mut self, lease: usize, happened: &Happened<'_>) {
        for draft in &happened.drafts {
            let entry = self.head.seal(draft.clone()).expect("has a canonical form");
            self.log.push(entry);
        }
        let granted = happened
            .drafts
            .last()
            .filter(|draft| draft.event == HandoverEvent::Granted);
        if let (Some(draft), Request::Acquire(asker, acquire)) = (granted, happened.request) {
            self.grants[lease].push(Grant {
                asker: asker.clone(),
                holder: acquire.holder.clone(),
                claim_id: acquire.claim_id.clone(),
                generation: draft.generation,
            });
        }
    }

    /// The log rebuilt into rows is the table.
    fn check_rebuilt(&self, lease: usize) {
        let name = Self::name(lease);
        let others = |entry: &&Handover| entry.lease.as_ref().is_none_or(|lease| *lease == name);
        assert_eq!(
            rebuild(self.log.iter().filter(others)).get(&name),
            self.rows[lease].as_ref().map(Rebuilt::from).as_ref(),
        );
    }
}

fn run(floor: u64, steps: &[Step]) {
    let mut world = World::new(floor);
    for step in steps {
        world.take(step);
    }
    log::check_log(&world.log);
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 128,
        // What is found becomes a story.
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn the_rules_hold_on_a_clock_that_goes_forward(
        floor in 0..20u64,
        steps in steps::steps(true),
    ) {
        run(floor, &steps);
    }

    #[test]
    fn the_rules_hold_on_a_clock_that_steps_back(
        floor in 0..20u64,
        steps in steps::steps(false),
    ) {
        run(floor, &steps);
    }
}
