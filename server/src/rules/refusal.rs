//! Why a rule stands against a request.

use baton_client::{Code, Generation, Timestamp};

/// The rule that stands against a request. What goes into the answer besides
/// (the lease as it is, the entry that moved it) is added by the store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Refusal {
    /// Somebody holds it, or its grace is not over; until then.
    Held(Option<Timestamp>),
    /// Nobody can acquire.
    Paused,
    /// The asker must stay away; until then.
    Barred(Option<Timestamp>),
    /// It is kept for somebody else; until then.
    Reserved(Option<Timestamp>),
    /// The work failed as often as the caller allows.
    AttemptsExhausted {
        /// Lapses in a row.
        attempt: u64,
        /// What the caller allows.
        max_attempts: u64,
    },
    /// The lease changed hands since the caller looked at this generation.
    GenerationMoved(Generation),
    /// Nobody holds it.
    NotHeld,
    /// The tenure with this generation is over, or never was.
    Lost(Generation),
    /// The tenure belongs to another API token.
    OtherToken,
    /// There is no such lease.
    UnknownLease,
    /// The generation cannot grow any more.
    GenerationsExhausted,
    /// A checkpoint at this `seq` is ahead of the log: generations could repeat.
    HistoryBehind(u64),
}

impl Refusal {
    /// The stable code for it.
    pub fn code(&self) -> Code {
        match self {
            Self::Held(_) => Code::Held,
            Self::Paused => Code::Paused,
            Self::Barred(_) => Code::Barred,
            Self::Reserved(_) => Code::Reserved,
            Self::AttemptsExhausted { .. } => Code::AttemptsExhausted,
            Self::GenerationMoved(_) => Code::GenerationMoved,
            Self::NotHeld => Code::NotHeld,
            Self::Lost(_) => Code::Lost,
            Self::OtherToken => Code::Forbidden,
            Self::UnknownLease => Code::UnknownLease,
            Self::GenerationsExhausted => Code::Internal,
            Self::HistoryBehind(_) => Code::HistoryBehind,
        }
    }

    /// When time alone will lift it.
    pub fn until(&self) -> Option<Timestamp> {
        match self {
            Self::Held(until) | Self::Barred(until) | Self::Reserved(until) => *until,
            _ => None,
        }
    }

    /// Whether an acquire may wait for it to pass.
    pub fn can_wait(&self) -> bool {
        matches!(
            self,
            Self::Held(_) | Self::Paused | Self::Barred(_) | Self::Reserved(_)
        )
    }
}
