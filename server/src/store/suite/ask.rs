//! What the suite asks, in few words.

use baton_client::{Actor, Generation, HolderId, RawJson};

use crate::rules::{
    Acquire, Asker, Bar, ForceRelease, Release, Renew, Request, Reservation, StepDown, Why,
};

pub fn generation(number: u64) -> Generation {
    Generation::try_from(number).expect("is a generation")
}

pub fn holder(name: &str) -> HolderId {
    name.parse().expect("is a holder")
}

pub fn raw(text: &str) -> RawJson {
    serde_json::value::RawValue::from_string(text.into()).expect("is JSON")
}

pub fn by(actor: Actor) -> Asker {
    Asker {
        actor,
        address: Some("192.0.2.1".into()),
        request_id: Some("r-1".into()),
    }
}

/// The token that all holders use, unless it matters.
pub fn ci() -> Asker {
    by(Actor::Token("ci".into()))
}

pub fn ana() -> Asker {
    by(Actor::User("ana".into()))
}

pub fn why() -> Why {
    Why {
        reason: "the deploy is stuck".into(),
        incident: Some("INC-7".into()),
    }
}

/// An acquire for a minute.
pub fn taking(name: &str) -> Acquire {
    Acquire {
        holder: holder(name),
        ttl_ms: 60_000,
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

/// An acquire for so short that it lapses soon.
pub fn taking_for(name: &str, ttl_ms: u64) -> Acquire {
    Acquire {
        ttl_ms,
        ..taking(name)
    }
}

pub fn claiming(name: &str, claim_id: &str) -> Acquire {
    Acquire {
        claim_id: Some(claim_id.into()),
        ..taking(name)
    }
}

pub fn acquire(acquire: Acquire) -> Request {
    Request::Acquire(ci(), acquire)
}

pub fn renew(name: &str, number: u64) -> Request {
    renew_with(name, number, None, None)
}

pub fn renew_with(
    name: &str,
    number: u64,
    ttl_ms: Option<u64>,
    status: Option<Option<RawJson>>,
) -> Request {
    let renew = Renew {
        holder: holder(name),
        generation: generation(number),
        ttl_ms,
        status,
    };
    Request::Renew(ci().into(), renew)
}

pub fn release(name: &str, number: u64) -> Request {
    let release = Release {
        holder: holder(name),
        generation: generation(number),
        reason: None,
    };
    Request::Release(ci(), release)
}

pub fn force(number: u64, bar: Option<Bar>, successor: Option<(&str, u64)>) -> Request {
    let force = ForceRelease {
        expected_generation: generation(number),
        why: why(),
        bar,
        reservation: reservation(successor),
    };
    Request::ForceRelease(ana(), force)
}

pub fn step_down(number: u64, deadline_ms: u64, successor: Option<(&str, u64)>) -> Request {
    let ask = StepDown {
        expected_generation: generation(number),
        why: why(),
        deadline_ms,
        reservation: reservation(successor),
    };
    Request::StepDown(ana(), ask)
}

fn reservation(successor: Option<(&str, u64)>) -> Option<Reservation> {
    successor.map(|(name, ms)| Reservation {
        holder: holder(name),
        ms,
    })
}
