//! What a holder is told: how a tenure ended, what an operator asks, why there
//! is none.

use std::time::Duration;

use super::{
    clock,
    machine::{Asked, Over},
    timing::{Bounds, Moment},
};
use crate::{Ended, Problem, StepDown};

/// Why a tenure is over.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Loss {
    /// It lapsed, and somebody else took the lease.
    #[error("somebody else has taken the lease")]
    Taken,
    /// It was released, by this holder's name and generation.
    #[error("the lease was released")]
    Released,
    /// An operator, or a step-down's deadline, took it away.
    #[error("an operator took the lease away")]
    Forced,
    /// The server says that it is over, and not how.
    #[error("the server does not know this tenure")]
    Unknown,
    /// Nobody confirmed it in time. The server may still have it; nobody knows.
    #[error("the tenure was not confirmed in time")]
    ExpiredLocally,
    /// The end that an operator asked for is near.
    #[error("an operator asked to let go: {}", .0.words.reason)]
    StepDown(StepDownAsked),
}

impl From<Ended> for Loss {
    fn from(ended: Ended) -> Self {
        match ended {
            Ended::Taken => Self::Taken,
            Ended::Released => Self::Released,
            Ended::Forced => Self::Forced,
            Ended::Unknown => Self::Unknown,
        }
    }
}

impl Loss {
    pub(super) fn of(over: Over, asked: Option<StepDownAsked>) -> Self {
        match (over, asked) {
            (Over::Ended(ended), _) => ended.into(),
            (Over::Expired, _) | (Over::SteppedDown, None) => Self::ExpiredLocally,
            (Over::SteppedDown, Some(asked)) => Self::StepDown(asked),
        }
    }
}

/// An operator asks the holder to let go.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StepDownAsked {
    /// Who asks, why, and for whom; the deadline on the server's clock.
    pub words: StepDown,
    deadline: Moment,
}

impl StepDownAsked {
    pub(super) fn of(asked: Asked) -> Self {
        Self {
            words: asked.words,
            deadline: asked.deadline,
        }
    }

    /// From now until the server forces the release. The tenure is given up a
    /// third of the ttl before that.
    pub fn time_left(&self) -> Duration {
        self.deadline.since(clock::now())
    }
}

/// Until when a confirmed request lets the holder rely on its tenure, both on
/// the clock of [`boot_time`](super::boot_time).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Until {
    /// From here on [`Tenure::holds`](super::Tenure::holds) is false.
    pub holds: Duration,
    /// From here on time may let somebody else acquire: whatever the work
    /// started must be gone by then.
    pub deadline: Duration,
}

impl Until {
    pub(super) fn of(bounds: Bounds) -> Self {
        Self {
            holds: Duration::from_nanos(bounds.give_up.nanos()),
            deadline: Duration::from_nanos(bounds.deadline.nanos()),
        }
    }
}

/// Why there is no tenure, and will not be by waiting.
#[derive(Debug, thiserror::Error)]
pub enum HoldError {
    /// The work lapsed as often as [`HoldOptions::attempts_max`](super::HoldOptions)
    /// allows: it may be what ends its holders. The answer carries the lease.
    #[error("no attempts are left: {}", .0.detail)]
    AttemptsExhausted(Box<Problem>),
    /// Somebody else was faster: the generation is not the expected one. The
    /// answer carries the lease and the entry that moved it.
    #[error("the lease changed hands meanwhile: {}", .0.detail)]
    GenerationMoved(Box<Problem>),
    /// The server will not have it: who asks may not, or the values are wrong.
    #[error("{}: {}", .0.title, .0.detail)]
    Refused(Box<Problem>),
    /// The keeper is gone, most likely with its runtime.
    #[error("the keeper has ended")]
    Closed,
}

/// A release that did not do what it should.
#[derive(Debug, thiserror::Error)]
pub enum ReleaseError {
    /// The tenure was over before: nothing was left to release.
    #[error("the tenure was over before it was released")]
    Lost(#[source] Loss),
    /// Nobody answered. The tenure lapses by itself, if it was not released.
    #[error("nobody confirmed the release; the tenure lapses by itself")]
    Unconfirmed,
}
