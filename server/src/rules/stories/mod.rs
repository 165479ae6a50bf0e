//! The table of the design's rules, row by row, each as a short story.

mod acquire;
mod operator;
mod tenure;

use baton_client::{Actor, Generation, HandoverEvent, HolderId, RawJson, Timestamp};

use super::*;

/// One lease, its entries and the database's clock.
struct Story {
    row: Option<LeaseRow>,
    log: Vec<Draft>,
    now: Timestamp,
    /// Log time, which never goes back.
    at: Timestamp,
    floor: u64,
    behind: Option<u64>,
}

impl Story {
    fn begins() -> Self {
        let now = Timestamp::from_micros(1_800_000_000_000_000);
        Self {
            row: None,
            log: Vec::new(),
            now,
            at: now,
            floor: 0,
            behind: None,
        }
    }

    fn pass_ms(&mut self, ms: u64) {
        self.now = self.now.plus_ms(ms);
    }

    fn ask(&mut self, request: Request) -> Result<(), Refusal> {
        self.ask_again(request, None)
    }

    fn ask_again(&mut self, request: Request, past_claim: Option<u64>) -> Result<(), Refusal> {
        self.at = self.at.max(self.now);
        let moment = Moment {
            now: self.now,
            at: self.at,
        };
        let known = Known {
            floor: generation(self.floor),
            past_claim: past_claim.map(generation),
            behind: self.behind,
        };
        let name = "deploy".parse().expect("is a name");
        apply(&mut self.row, &name, &request, moment, known, &mut self.log)
    }

    fn row(&self) -> &LeaseRow {
        self.row.as_ref().expect("there is a lease")
    }

    fn generation(&self) -> u64 {
        self.row().generation.get()
    }

    fn events(&self) -> Vec<&'static str> {
        self.log.iter().map(|draft| draft.event.as_str()).collect()
    }
}

fn generation(number: u64) -> Generation {
    Generation::try_from(number).expect("is a generation")
}

fn raw(text: &str) -> RawJson {
    serde_json::value::RawValue::from_string(text.into()).expect("is JSON")
}

fn holder(name: &str) -> HolderId {
    name.parse().expect("is a holder")
}

fn by(actor: Actor) -> Asker {
    Asker {
        actor,
        address: None,
        request_id: None,
    }
}

fn ci() -> Asker {
    by(Actor::Token("ci".into()))
}

fn ana() -> Asker {
    by(Actor::User("ana".into()))
}

fn why() -> Why {
    Why {
        reason: "the deploy is stuck".into(),
        incident: None,
    }
}

/// An acquire for ten seconds.
fn taking(name: &str) -> Acquire {
    Acquire {
        holder: holder(name),
        ttl_ms: 10_000,
        grace_ms: 0,
        claim_id: None,
        above: None,
        expected_generation: None,
        max_attempts: None,
        payload: None,
        principal: None,
        status: None,
    }
}

fn acquire(name: &str) -> Request {
    Request::Acquire(ci(), taking(name))
}

fn renew(name: &str, number: u64) -> Request {
    let renew = Renew {
        holder: holder(name),
        generation: generation(number),
        ttl_ms: None,
        status: None,
    };
    Request::Renew(ci().into(), renew)
}

fn release(name: &str, number: u64) -> Request {
    let release = Release {
        holder: holder(name),
        generation: generation(number),
        reason: None,
    };
    Request::Release(ci(), release)
}

fn force(number: u64, bar: Option<Bar>, successor: Option<(&str, u64)>) -> Request {
    let force = ForceRelease {
        expected_generation: generation(number),
        why: why(),
        bar,
        reservation: successor.map(|(name, ms)| Reservation {
            holder: holder(name),
            ms,
        }),
    };
    Request::ForceRelease(ana(), force)
}

fn step_down(number: u64, deadline_ms: u64, successor: Option<(&str, u64)>) -> Request {
    let ask = StepDown {
        expected_generation: generation(number),
        why: why(),
        deadline_ms,
        reservation: successor.map(|(name, ms)| Reservation {
            holder: holder(name),
            ms,
        }),
    };
    Request::StepDown(ana(), ask)
}

fn lost(number: u64) -> Result<(), Refusal> {
    Err(Refusal::Lost(generation(number)))
}
