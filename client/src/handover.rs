//! An entry of the handover log.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize};

use crate::{Actor, Generation, HolderId, LeaseName, Timestamp};

/// What happened.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HandoverEvent {
    /// Somebody acquired the lease.
    Granted,
    /// The expiry passed without renewal.
    Lapsed,
    /// The holder renewed after a lapse that nobody took.
    Recovered,
    /// The holder let go.
    Released,
    /// An operator, or a step-down's deadline, took it away.
    Forced,
    /// The holder was asked to let go.
    StepDown,
    /// That was taken back.
    StepDownCancelled,
    /// Nobody can acquire.
    Paused,
    /// That was taken back.
    Unpaused,
    /// An admin wants the name typed before it is forced.
    Protected,
    /// That was taken back.
    Unprotected,
    /// The log's older part was cut off.
    Archived,
    /// Idle leases were dropped.
    Forgotten,
    /// Every generation was raised after a restored backup.
    FloorRaised,
}

impl HandoverEvent {
    /// Every event there is.
    pub const ALL: [Self; 14] = [
        Self::Granted,
        Self::Lapsed,
        Self::Recovered,
        Self::Released,
        Self::Forced,
        Self::StepDown,
        Self::StepDownCancelled,
        Self::Paused,
        Self::Unpaused,
        Self::Protected,
        Self::Unprotected,
        Self::Archived,
        Self::Forgotten,
        Self::FloorRaised,
    ];

    /// The word for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Granted => "granted",
            Self::Lapsed => "lapsed",
            Self::Recovered => "recovered",
            Self::Released => "released",
            Self::Forced => "forced",
            Self::StepDown => "step_down",
            Self::StepDownCancelled => "step_down_cancelled",
            Self::Paused => "paused",
            Self::Unpaused => "unpaused",
            Self::Protected => "protected",
            Self::Unprotected => "unprotected",
            Self::Archived => "archived",
            Self::Forgotten => "forgotten",
            Self::FloorRaised => "floor_raised",
        }
    }
}

impl fmt::Display for HandoverEvent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for HandoverEvent {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        Self::ALL
            .into_iter()
            .find(|event| event.as_str() == text)
            .ok_or_else(|| format!("`{text}` is not an event"))
    }
}

/// One entry of the append-only, hash-chained log.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Handover {
    /// 1, 2, 3 … in commit order, no gaps.
    pub seq: u64,
    /// Database time, never less than the entry's before it.
    pub at: Timestamp,
    /// Which lease; `None` for events of the whole log.
    pub lease: Option<LeaseName>,
    /// What happened.
    pub event: HandoverEvent,
    /// The generation after the event.
    pub generation: Generation,
    /// The holder after the event.
    pub holder: Option<HolderId>,
    /// The generation before it.
    pub previous_generation: Generation,
    /// The holder before it.
    pub previous_holder: Option<HolderId>,
    /// When the tenure began that this event ended or found lapsed.
    pub held_from: Option<Timestamp>,
    /// The earlier of that tenure's expiry and `at`.
    pub held_until: Option<Timestamp>,
    /// Why, always there.
    pub reason: String,
    /// Link or number of an incident, of an operator's event.
    pub incident: Option<String>,
    /// Who asked.
    pub actor: Actor,
    /// From where; `None` for the server's own acts.
    pub actor_address: Option<String>,
    /// The server's id of the request.
    pub request_id: Option<String>,
    /// Fixed keys per event: strings, booleans, null and whole numbers.
    pub details: serde_json::Map<String, serde_json::Value>,
    /// The hash of the entry before; 64 zeros for the first.
    pub prev_hash: String,
    /// SHA-256 over the RFC 8785 form of all the fields above.
    pub hash: String,
}
