//! A lease, as it is shown.

use serde::{Deserialize, Serialize};

use crate::{Actor, Generation, HolderId, LeaseName, RawJson, Timestamp};

/// What a lease is at a database time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LeaseState {
    /// Nobody holds it.
    Free,
    /// It has a holder, and the expiry is ahead.
    Held,
    /// It has a holder that did not renew in time, and nobody took it yet.
    Lapsed,
}

impl LeaseState {
    /// The word for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Free => "free",
            Self::Held => "held",
            Self::Lapsed => "lapsed",
        }
    }
}

/// A holder was asked to let go.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StepDown {
    /// When it was asked.
    pub at: Timestamp,
    /// When the server forces the release.
    pub deadline: Timestamp,
    /// Who asked.
    pub actor: Actor,
    /// Why.
    pub reason: String,
    /// The incident, if one was named.
    pub incident: Option<String>,
    /// For whom the lease is then reserved.
    pub successor: Option<HolderId>,
}

/// Nobody can acquire.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Paused {
    /// Since when.
    pub at: Timestamp,
    /// By whom.
    pub actor: Actor,
    /// Why.
    pub reason: String,
    /// The incident, if one was named.
    pub incident: Option<String>,
}

/// After a forced release: who must stay away for a time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Barred {
    /// The deposed holder; `None` means everyone.
    pub holder: Option<HolderId>,
    /// Until when.
    pub until: Timestamp,
    /// By whom.
    pub actor: Actor,
    /// Why.
    pub reason: String,
}

/// After a forced release: who alone may acquire for a time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reserved {
    /// The successor.
    pub holder: HolderId,
    /// Until when.
    pub until: Timestamp,
    /// By whom.
    pub actor: Actor,
    /// Why.
    pub reason: String,
}

/// A lease at the database time `now`. Absent values are `null` on the wire and
/// never left out, `payload` excepted, which only acquire and the single lease
/// carry.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Lease {
    /// Its name.
    pub lease: LeaseName,
    /// What it is at `now`.
    pub state: LeaseState,
    /// Who has it.
    pub holder: Option<HolderId>,
    /// The fencing token.
    pub generation: Generation,
    /// When the current tenure began.
    pub granted_at: Option<Timestamp>,
    /// When it was last renewed (or granted).
    pub renewed_at: Option<Timestamp>,
    /// When it lapses unless renewed.
    pub expires_at: Option<Timestamp>,
    /// When someone else could acquire, as far as time decides; `None` if
    /// nothing but an operator can change it.
    pub takeable_at: Option<Timestamp>,
    /// `max(0, expires_at − now)`, rounded down.
    pub remaining_ms: Option<u64>,
    /// How long a tenure lasts without renewal.
    pub ttl_ms: Option<u64>,
    /// How long past the expiry everyone must still wait.
    pub grace_ms: Option<u64>,
    /// How many lapses in a row this work has seen.
    pub attempt: u64,
    /// On whose behalf, as the holder says.
    pub principal: Option<String>,
    /// What the holder reports.
    pub status: Option<RawJson>,
    /// An admin wants the name typed before it is forced.
    pub protected: bool,
    /// The holder was asked to let go.
    pub step_down: Option<StepDown>,
    /// Nobody can acquire.
    pub paused: Option<Paused>,
    /// Someone, or everyone, must stay away.
    pub barred: Option<Barred>,
    /// Only one may acquire.
    pub reserved: Option<Reserved>,
    /// A change of hands waits for fenced transactions; what it waits for.
    pub blocked: Option<String>,
    /// Changes of hands in the last five minutes.
    pub flapping: u64,
    /// The database time that all of this is true for.
    pub now: Timestamp,
    /// What the work is, as the holder sent it.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "crate::requests::present"
    )]
    pub payload: Option<Option<RawJson>>,
}

/// Why a lease asks for a look, the most pressing first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Attention {
    /// Its holder did not renew in time.
    Lapsed,
    /// It changes hands again and again.
    Flapping,
    /// A change of hands waits for fenced transactions.
    Blocked,
    /// Its holder was asked to let go.
    SteppingDown,
}

impl Lease {
    /// As many changes of hands in five minutes as make a lease flapping.
    pub const FLAPPING_FROM: u64 = 6;

    /// Why this lease asks for a look, if it does.
    pub fn attention(&self) -> Option<Attention> {
        if self.state == LeaseState::Lapsed {
            Some(Attention::Lapsed)
        } else if self.flapping >= Self::FLAPPING_FROM {
            Some(Attention::Flapping)
        } else if self.blocked.is_some() {
            Some(Attention::Blocked)
        } else if self.step_down.is_some() {
            Some(Attention::SteppingDown)
        } else {
            None
        }
    }
}
