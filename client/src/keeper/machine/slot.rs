//! One lease: what the holder knows of it, and what follows from time.
//!
//! ```text
//!            wanted           granted at once
//!     Idle ─────────▶ Contending ─────────────▶ Holding ──▶ Releasing ─▶ Idle
//!                        │  ▲                    ▲   │ not confirmed in time,
//!   granted after a wait │  │ lost               │   │ or refused
//!                        ▼  │     confirmed      │   ▼
//!                     Unconfirmed ───────────────┘  Stopping (the work is told)
//!                        ▲         wanted            │ the work has stopped
//!                        └─────────────── GivenUp ◀──┘ (or Idle, if refused)
//! ```

use std::time::Duration;

use super::words::{Action, Asked, CallId, Epoch, Grant, Key, LetGo, Over};
use crate::{
    LeaseName, RawJson,
    keeper::timing::{Bounds, Jitter, Moment, Timing},
};

/// A call that is under way.
#[derive(Debug, Clone, Copy)]
pub(super) struct Sent {
    pub(super) call: CallId,
    pub(super) at: Moment,
}

/// When the next call of a kind goes out, or that it has.
#[derive(Debug, Clone, Copy)]
pub(super) enum Next {
    At(Moment),
    Sent(Sent),
}

impl Next {
    pub(super) fn due(self) -> Option<Moment> {
        match self {
            Self::At(at) => Some(at),
            Self::Sent(_) => None,
        }
    }

    /// The moment of sending, if `call` is what is under way.
    pub(super) fn sent(self, call: CallId) -> Option<Moment> {
        match self {
            Self::Sent(sent) if sent.call == call => Some(sent.at),
            _ => None,
        }
    }
}

#[derive(Debug)]
pub(super) enum Phase {
    /// Nothing is held and nobody wants it.
    Idle,
    /// Somebody wants it: an acquire is under way, or about to be.
    Contending(Next),
    /// A generation is known and no work runs. Work starts when a renewal
    /// confirms it.
    Unconfirmed { grant: Grant, renewal: Next },
    /// Work may run.
    Holding {
        grant: Grant,
        bounds: Bounds,
        renewal: Next,
        asked: Option<Asked>,
    },
    /// Work was told to stop, and has not said yet that it did. `grant` is
    /// there if the server may still have the tenure.
    Stopping {
        grant: Option<Grant>,
        stepped_down: bool,
    },
    /// Work has stopped; the server may still have the tenure.
    GivenUp { grant: Grant },
    /// Work has stopped, and the server is told.
    Releasing {
        grant: Grant,
        next: Next,
        failures: u32,
        /// Leave the lease to others for a while.
        stepped_down: bool,
    },
    /// An acquire got an answer that time does not change.
    Halted,
}

#[derive(Debug)]
pub(super) struct Slot {
    pub(super) key: Key,
    pub(super) lease: LeaseName,
    pub(super) timing: Timing,
    /// How long an acquire waits in line.
    pub(super) wait_ms: u64,
    /// Somebody waits for a tenure.
    pub(super) wanted: bool,
    /// Nobody will want one again.
    pub(super) closing: bool,
    /// Changes only when it is certain that no grant of it can be found.
    pub(super) claim: u64,
    /// After a step-down: leave the lease to others until then.
    pub(super) stay_away_until: Moment,
    /// Failed calls in a row.
    pub(super) failures: u32,
    pub(super) epoch: Epoch,
    pub(super) phase: Phase,
    /// What to report, with a number that tells one report from the next.
    pub(super) status: Option<(u64, RawJson)>,
    pub(super) statuses: u64,
}

impl Slot {
    pub(super) fn new(key: Key, lease: LeaseName, timing: Timing, wait_ms: u64) -> Self {
        Self {
            key,
            lease,
            timing,
            wait_ms,
            wanted: false,
            closing: false,
            claim: 0,
            stay_away_until: Moment::default(),
            failures: 0,
            epoch: Epoch::default(),
            phase: Phase::Idle,
            status: None,
            statuses: 0,
        }
    }

    /// Carries out what time and the caller's wishes decide, up to `now`.
    pub(super) fn settle(&mut self, now: Moment, actions: &mut Vec<Action>) {
        if let Phase::Holding { bounds, asked, .. } = &self.phase
            && bounds.give_up <= now
        {
            let over = match asked {
                Some(_) => Over::SteppedDown,
                None => Over::Expired,
            };
            self.stop(over, actions);
        }
        self.phase = match std::mem::replace(&mut self.phase, Phase::Idle) {
            Phase::Idle if self.wanted => {
                Phase::Contending(Next::At(now.max(self.stay_away_until)))
            }
            Phase::Contending(next) if !self.wanted => self.leave(next, actions),
            Phase::GivenUp { grant } if self.closing => Self::releasing(grant, false, now),
            Phase::GivenUp { grant } if self.wanted => Phase::Unconfirmed {
                grant,
                renewal: Next::At(now),
            },
            Phase::Unconfirmed { grant, .. } if !self.wanted => Self::releasing(grant, false, now),
            unchanged => unchanged,
        };
    }

    /// Leaves the line. A grant that is on its way all the same is found
    /// again by its claim, or lapses.
    fn leave(&self, next: Next, actions: &mut Vec<Action>) -> Phase {
        match next {
            // An answer that is near is better than not knowing.
            Next::Sent(_) if self.wait_ms == 0 && !self.closing => Phase::Contending(next),
            Next::Sent(sent) => {
                actions.push(Action::Abort { call: sent.call });
                Phase::Idle
            }
            Next::At(_) => Phase::Idle,
        }
    }

    pub(super) fn releasing(grant: Grant, stepped_down: bool, now: Moment) -> Phase {
        Phase::Releasing {
            grant,
            next: Next::At(now),
            failures: 0,
            stepped_down,
        }
    }

    /// Nothing more is to come: the slot can go.
    pub(super) fn is_over(&self) -> bool {
        self.closing && matches!(self.phase, Phase::Idle | Phase::Halted)
    }

    /// When something happens by itself.
    pub(super) fn next_at(&self) -> Option<Moment> {
        match &self.phase {
            Phase::Contending(next) | Phase::Releasing { next, .. } => next.due(),
            Phase::Unconfirmed { renewal, .. } => renewal.due(),
            Phase::Holding {
                bounds, renewal, ..
            } => Some(
                renewal
                    .due()
                    .map_or(bounds.give_up, |at| at.min(bounds.give_up)),
            ),
            Phase::Idle | Phase::Stopping { .. } | Phase::GivenUp { .. } | Phase::Halted => None,
        }
    }

    /// When a renewal is due, if one is to be sent.
    pub(super) fn renewal_due(&self) -> Option<Moment> {
        match &self.phase {
            Phase::Unconfirmed { renewal, .. } | Phase::Holding { renewal, .. } => renewal.due(),
            _ => None,
        }
    }

    /// The renewal was sent.
    pub(super) fn renewal_sent(&mut self, sent: Sent) -> Option<&Grant> {
        match &mut self.phase {
            Phase::Unconfirmed { grant, renewal } | Phase::Holding { grant, renewal, .. } => {
                *renewal = Next::Sent(sent);
                Some(grant)
            }
            _ => None,
        }
    }

    /// Tells the work to stop. What is under way is forgotten: no answer to it
    /// can bring this local tenure back.
    pub(super) fn stop(&mut self, over: Over, actions: &mut Vec<Action>) {
        let Phase::Holding { grant, .. } = std::mem::replace(&mut self.phase, Phase::Idle) else {
            return;
        };
        let grant = match over {
            Over::Ended(_) => None,
            Over::Expired | Over::SteppedDown => Some(grant),
        };
        if grant.is_none() {
            self.claim += 1;
        }
        self.phase = Phase::Stopping {
            grant,
            stepped_down: over == Over::SteppedDown,
        };
        actions.push(Action::Stop {
            key: self.key,
            epoch: self.epoch,
            over,
        });
    }

    /// The work has stopped: `let_go` if its tenure is to be given back, also
    /// when it was given up already.
    pub(super) fn work_stopped(&mut self, let_go: bool, now: Moment, actions: &mut Vec<Action>) {
        self.status = None;
        self.phase = match std::mem::replace(&mut self.phase, Phase::Idle) {
            Phase::Holding { grant, asked, .. } => Self::releasing(grant, asked.is_some(), now),
            Phase::Stopping {
                grant: Some(grant),
                stepped_down,
            } => {
                if let_go || stepped_down {
                    Self::releasing(grant, stepped_down, now)
                } else {
                    Phase::GivenUp { grant }
                }
            }
            Phase::Stopping { grant: None, .. } => {
                let went = LetGo::Lost(crate::Ended::Unknown);
                actions.push(Action::Released {
                    key: self.key,
                    went,
                });
                Phase::Idle
            }
            unchanged => unchanged,
        };
    }

    /// The work may start, if somebody still wants it and there is time left.
    /// Otherwise the tenure waits for another renewal, or is let go.
    pub(super) fn start(
        &mut self,
        grant: Grant,
        bounds: Bounds,
        renewal: Moment,
        asked: bool,
        now: Moment,
        actions: &mut Vec<Action>,
    ) {
        if !self.wanted || asked {
            self.phase = Self::releasing(grant, asked, now);
            return;
        }
        if bounds.give_up <= now {
            let renewal = Next::At(now.max(renewal));
            self.phase = Phase::Unconfirmed { grant, renewal };
            return;
        }
        self.wanted = false;
        self.failures = 0;
        self.epoch.0 += 1;
        actions.push(Action::Start {
            key: self.key,
            epoch: self.epoch,
            grant: grant.clone(),
            bounds,
        });
        self.phase = Phase::Holding {
            grant,
            bounds,
            renewal: Next::At(renewal),
            asked: None,
        };
    }

    /// After a failed renewal: soon, for the deadline runs, and never so soon
    /// that a server in trouble gets more of it.
    pub(super) fn renew_again(
        &mut self,
        retry_after: Option<Duration>,
        jitter: Jitter,
    ) -> Duration {
        self.failures += 1;
        let interval = self.timing.interval();
        let wait =
            crate::keeper::timing::back_off(self.failures, interval / 16, interval / 4, jitter);
        wait.max(retry_after.unwrap_or_default().min(interval / 2))
    }
}
