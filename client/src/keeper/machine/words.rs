//! What goes into the machine and what comes out of it. Answers are already
//! judged: what the server decided, and what nobody knows.

use std::time::Duration;

use crate::{
    Ended, Generation, RawJson, StepDown,
    keeper::timing::{Bounds, Moment},
};

/// One lease that a keeper looks after; two of them may be for one name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Key(pub(crate) u64);

/// One request. Its answer carries it back, so that a late one is recognised.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct CallId(pub(crate) u64);

/// One local tenure of a lease. A tenure that was given up and then confirmed
/// again keeps its generation and becomes another local tenure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub(crate) struct Epoch(pub(crate) u64);

/// What came with a grant.
#[derive(Debug, Clone)]
pub(crate) struct Grant {
    pub(crate) generation: Generation,
    pub(crate) attempt: u64,
    pub(crate) payload: Option<RawJson>,
    pub(crate) principal: Option<String>,
}

/// That a tenure is current, and for how long.
#[derive(Debug, Clone)]
pub(crate) struct Confirmed {
    pub(crate) remaining_ms: u64,
    pub(crate) step_down: Option<AskedRemotely>,
}

/// A step-down as the server tells it.
#[derive(Debug, Clone)]
pub(crate) struct AskedRemotely {
    pub(crate) words: StepDown,
    /// From the answer's `now` to the deadline.
    pub(crate) within: Duration,
}

/// A step-down, its deadline on the holder's clock.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Asked {
    pub(crate) words: StepDown,
    pub(crate) deadline: Moment,
}

/// What an acquire came to.
#[derive(Debug, Clone)]
pub(crate) enum AcquireAnswer {
    Granted(Grant, Confirmed),
    /// Not now: held, paused, barred, reserved or blocked.
    NotNow {
        retry_after: Option<Duration>,
    },
    /// The claim was granted once, and that tenure is over.
    ClaimOver,
    /// No time will help: attempts exhausted, generation moved, not allowed.
    Never,
    /// It did not happen, or nobody knows: the claim makes that the same.
    Failed {
        retry_after: Option<Duration>,
    },
}

/// What a renewal came to.
#[derive(Debug, Clone)]
pub(crate) enum RenewAnswer {
    Confirmed(Confirmed),
    Lost(Ended),
    /// The server will not decide it for who asks. Nothing is confirmed, and
    /// who waits for a tenure should know.
    NotAllowed,
    /// Unconfirmed, nothing more.
    Failed {
        retry_after: Option<Duration>,
    },
}

/// What a release came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ReleaseAnswer {
    Done,
    Lost(Ended),
    Failed,
}

/// Why a local tenure is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Over {
    /// The server said how it ended.
    Ended(Ended),
    /// Nobody confirmed it in time.
    Expired,
    /// A step-down's deadline is near.
    SteppedDown,
}

/// How a release that somebody waits for went.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LetGo {
    /// The lease is free, or on to the next.
    Done,
    /// The tenure was over already, in this way.
    Lost(Ended),
    /// The server did not answer; the tenure lapses on its own.
    Unconfirmed,
}

/// A renewal that is to be sent.
#[derive(Debug, Clone)]
pub(crate) struct Due {
    pub(crate) key: Key,
    pub(crate) generation: Generation,
    /// Absent if the server has it already.
    pub(crate) status: Option<RawJson>,
}

/// What the machine wants done. Calls are sent at once: their deadline counts
/// from the moment that the machine was given.
#[derive(Debug, Clone)]
pub(crate) enum Action {
    Acquire {
        key: Key,
        call: CallId,
        /// The same number means the same claim id.
        claim: u64,
        /// Of the answer, once the wait in line is over.
        bound: Duration,
    },
    /// The answer is no longer of interest.
    Abort { call: CallId },
    /// One `POST /renewals`.
    Renew {
        call: CallId,
        renewals: Vec<Due>,
        bound: Duration,
    },
    Release {
        key: Key,
        call: CallId,
        generation: Generation,
        bound: Duration,
    },
    /// The work may start.
    Start {
        key: Key,
        epoch: Epoch,
        grant: Grant,
        bounds: Bounds,
    },
    /// It may go on, until later (or, with a step-down, only until earlier).
    Extend {
        key: Key,
        epoch: Epoch,
        bounds: Bounds,
    },
    /// An operator asks it to end, or no longer does.
    StepDown { key: Key, asked: Option<Asked> },
    /// It must stop now.
    Stop { key: Key, epoch: Epoch, over: Over },
    /// A release is through.
    Released { key: Key, went: LetGo },
    /// Contending stopped; it goes on when a tenure is wanted again.
    Halted { key: Key },
    /// Nothing more will come for this lease.
    Forgotten { key: Key },
}
