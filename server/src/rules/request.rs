//! What is asked, checked field by field before it comes here.

use std::sync::Arc;

use baton_client::{Actor, Generation, HolderId, RawJson};

/// Who asks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Asker {
    /// The person, the token, or the server itself.
    pub actor: Actor,
    /// From where.
    pub address: Option<String>,
    /// The server's id of the request.
    pub request_id: Option<String>,
}

impl Asker {
    /// The server, for its own acts.
    pub fn baton() -> Self {
        Self {
            actor: Actor::Baton,
            address: None,
            request_id: None,
        }
    }
}

/// One request about one lease.
#[derive(Debug, Clone)]
pub enum Request {
    /// Take it.
    Acquire(Asker, Acquire),
    /// Keep it.
    Renew(Arc<Asker>, Renew),
    /// Let it go.
    Release(Asker, Release),
    /// Take it away.
    ForceRelease(Asker, ForceRelease),
    /// Ask the holder to let it go.
    StepDown(Asker, StepDown),
    /// Take that back.
    CancelStepDown(Asker, Why),
    /// Let nobody acquire.
    Pause(Asker, Why),
    /// Take that back.
    Unpause(Asker, Why),
    /// Want the name typed before it is forced.
    Protect(Asker, Why),
    /// Take that back.
    Unprotect(Asker, Why),
    /// Nothing but what is due: lapses and deadlines.
    Settle,
}

/// Take a lease.
#[derive(Debug, Clone)]
pub struct Acquire {
    /// For whom.
    pub holder: HolderId,
    /// How long the tenure lasts without renewal.
    pub ttl_ms: u64,
    /// How long past the expiry everyone must still wait.
    pub grace_ms: u64,
    /// Tells a repeated call from a new one.
    pub claim_id: Option<String>,
    /// The new generation is above this.
    pub above: Option<Generation>,
    /// Only if this is the generation.
    pub expected_generation: Option<Generation>,
    /// Only while fewer lapses in a row than this.
    pub max_attempts: Option<u64>,
    /// What the work is.
    pub payload: Option<RawJson>,
    /// On whose behalf.
    pub principal: Option<String>,
    /// What the holder reports.
    pub status: Option<RawJson>,
}

/// Keep a lease.
#[derive(Debug, Clone)]
pub struct Renew {
    /// Who holds it.
    pub holder: HolderId,
    /// The tenure's generation.
    pub generation: Generation,
    /// A new ttl.
    pub ttl_ms: Option<u64>,
    /// A new status; `Some(None)` clears it.
    pub status: Option<Option<RawJson>>,
}

/// Let a lease go.
#[derive(Debug, Clone)]
pub struct Release {
    /// Who holds it.
    pub holder: HolderId,
    /// The tenure's generation.
    pub generation: Generation,
    /// Why.
    pub reason: Option<String>,
}

/// An operator's words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Why {
    /// Why.
    pub reason: String,
    /// Link or number of the incident.
    pub incident: Option<String>,
}

/// Who must stay away after a forced release, and for how long.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Bar {
    /// Everyone, for this many milliseconds.
    Everyone(u64),
    /// The deposed holder, for this many milliseconds.
    Holder(u64),
}

/// Who alone may acquire, and for how many milliseconds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reservation {
    /// The successor.
    pub holder: HolderId,
    /// For how long.
    pub ms: u64,
}

/// Take a lease away.
#[derive(Debug, Clone)]
pub struct ForceRelease {
    /// The generation that the operator saw.
    pub expected_generation: Generation,
    /// The operator's words.
    pub why: Why,
    /// Keep someone out. Never together with `Bar::Everyone` and a reservation.
    pub bar: Option<Bar>,
    /// Keep it for someone.
    pub reservation: Option<Reservation>,
}

/// Ask a holder to let go.
#[derive(Debug, Clone)]
pub struct StepDown {
    /// The generation that the operator saw.
    pub expected_generation: Generation,
    /// The operator's words.
    pub why: Why,
    /// How long the holder has.
    pub deadline_ms: u64,
    /// For whom to keep it then.
    pub reservation: Option<Reservation>,
}
