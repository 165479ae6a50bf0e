//! What each answer changes. An answer counts only for the call that is under
//! way: whatever was given up meanwhile, a late one does not bring it back.

use super::{
    AcquireAnswer, Action, Asked, CallId, Confirmed, Grant, Key, LetGo, Machine, Over,
    ReleaseAnswer, RenewAnswer,
    slot::{Next, Phase, Slot},
};
use crate::{
    Ended,
    keeper::timing::{Jitter, Moment, back_off},
};
use std::{collections::BTreeMap, time::Duration};

/// First and longest wait after an acquire that failed.
const ACQUIRE_AGAIN: (Duration, Duration) = (Duration::from_millis(200), Duration::from_secs(5));
/// How long to stay out of a line that one has just waited in, at most.
const LINE_AGAIN: Duration = Duration::from_millis(100);
/// Shortest wait after a refusal.
const REFUSED_AGAIN_MIN: Duration = Duration::from_millis(20);
/// Longest wait after a refusal: somebody may let go at any time.
const REFUSED_AGAIN_MAX: Duration = Duration::from_secs(2);
/// As often a release is tried.
const RELEASES_MAX: u32 = 3;

impl Machine {
    /// An acquire was answered, or ran out of time ([`AcquireAnswer::Failed`]).
    pub(crate) fn acquired(
        &mut self,
        key: Key,
        call: CallId,
        answer: AcquireAnswer,
        now: Moment,
        jitter: Jitter,
    ) {
        if let Some(slot) = self.slots.get_mut(&key)
            && let Phase::Contending(next) = slot.phase
            && let Some(sent) = next.sent(call)
        {
            slot.acquired(sent, answer, now, jitter, &mut self.actions);
        }
    }

    /// A renewal call was answered: for each lease that it renewed, in any
    /// order. Leases that are left out count as [`RenewAnswer::Failed`].
    pub(crate) fn renewed(
        &mut self,
        call: CallId,
        answers: Vec<(Key, RenewAnswer)>,
        now: Moment,
        jitter: Jitter,
    ) {
        let mut answers: BTreeMap<Key, RenewAnswer> = answers.into_iter().collect();
        for (key, reported) in self.renewals.remove(&call).unwrap_or_default() {
            let answer = answers
                .remove(&key)
                .unwrap_or(RenewAnswer::Failed { retry_after: None });
            let Some(slot) = self.slots.get_mut(&key) else {
                continue;
            };
            // Time comes first: what was not confirmed by now is over.
            slot.settle(now, &mut self.actions);
            slot.renewed(call, reported, answer, now, jitter, &mut self.actions);
        }
    }

    /// A release was answered, or ran out of time.
    pub(crate) fn released(
        &mut self,
        key: Key,
        call: CallId,
        answer: ReleaseAnswer,
        now: Moment,
        jitter: Jitter,
    ) {
        if let Some(slot) = self.slots.get_mut(&key)
            && let Phase::Releasing { next, .. } = slot.phase
            && next.sent(call).is_some()
        {
            slot.released(answer, now, jitter, &mut self.actions);
        }
    }
}

impl Slot {
    fn acquired(
        &mut self,
        sent: Moment,
        answer: AcquireAnswer,
        now: Moment,
        jitter: Jitter,
        actions: &mut Vec<Action>,
    ) {
        let wait = match answer {
            AcquireAnswer::Granted(grant, confirmed) => {
                return self.granted(grant, confirmed, sent, now, jitter, actions);
            }
            AcquireAnswer::Never => {
                self.wanted = false;
                self.phase = Phase::Halted;
                actions.push(Action::Halted { key: self.key });
                return;
            }
            AcquireAnswer::NotNow { retry_after } => {
                self.failures = 0;
                self.after_refusal(now.since(sent), retry_after, jitter)
            }
            AcquireAnswer::ClaimOver => {
                self.claim += 1;
                Duration::ZERO
            }
            AcquireAnswer::Failed { retry_after } => {
                self.failures += 1;
                let (first, most) = ACQUIRE_AGAIN;
                back_off(self.failures, first, most, jitter)
                    .max(retry_after.unwrap_or_default().min(most))
            }
        };
        self.phase = Phase::Contending(Next::At(now.plus(wait)));
    }

    /// Back into the line at once, if there is one; otherwise when time may
    /// help, with as much jitter as keeps contenders apart.
    fn after_refusal(
        &self,
        waited: Duration,
        retry_after: Option<Duration>,
        jitter: Jitter,
    ) -> Duration {
        let line = Duration::from_millis(self.wait_ms);
        if !line.is_zero() && waited >= line / 2 {
            return jitter.of(LINE_AGAIN);
        }
        let most = REFUSED_AGAIN_MAX.min(self.timing.interval());
        let wait = retry_after.unwrap_or(most).clamp(REFUSED_AGAIN_MIN, most);
        wait + jitter.of(wait / 4)
    }

    /// A grant that came at once starts the work. One that came after a wait
    /// in line is renewed first: its time counts from before the wait.
    fn granted(
        &mut self,
        grant: Grant,
        confirmed: Confirmed,
        sent: Moment,
        now: Moment,
        jitter: Jitter,
        actions: &mut Vec<Action>,
    ) {
        let waited = now.since(sent) > self.timing.call_bound();
        if waited {
            self.phase = Phase::Unconfirmed {
                grant,
                renewal: Next::At(now),
            };
            return;
        }
        let bounds = self.timing.bounds(sent, now, confirmed.remaining_ms);
        let whole = self.timing.bounds(sent, now, u64::MAX);
        // Of a claim repeated, only a part of the ttl may be left.
        let renewal = if bounds == whole {
            self.timing.next_renewal(sent, jitter)
        } else {
            now
        };
        let asked = confirmed.step_down.is_some();
        self.start(grant, bounds, renewal, asked, now, actions);
    }

    fn renewed(
        &mut self,
        call: CallId,
        reported: Option<u64>,
        answer: RenewAnswer,
        now: Moment,
        jitter: Jitter,
        actions: &mut Vec<Action>,
    ) {
        let under_way = match &self.phase {
            Phase::Unconfirmed { renewal, .. } | Phase::Holding { renewal, .. } => {
                renewal.sent(call)
            }
            _ => None,
        };
        let Some(sent) = under_way else {
            return;
        };
        match answer {
            RenewAnswer::Confirmed(confirmed) => {
                if reported.is_some() && self.status.as_ref().map(|(n, _)| *n) == reported {
                    self.status = None;
                }
                self.failures = 0;
                self.confirmed(confirmed, sent, now, jitter, actions);
            }
            RenewAnswer::Lost(ended) => self.lost(ended, now, actions),
            RenewAnswer::NotAllowed if matches!(self.phase, Phase::Unconfirmed { .. }) => {
                self.halt(actions);
            }
            RenewAnswer::NotAllowed => self.try_again(None, now, jitter),
            RenewAnswer::Failed { retry_after } => self.try_again(retry_after, now, jitter),
        }
    }

    /// Tells who waits that waiting does not help. The tenure may still be
    /// there when they ask again.
    fn halt(&mut self, actions: &mut Vec<Action>) {
        if let Phase::Unconfirmed { grant, .. } = std::mem::replace(&mut self.phase, Phase::Idle) {
            self.wanted = false;
            self.phase = Phase::GivenUp { grant };
            actions.push(Action::Halted { key: self.key });
        }
    }

    fn try_again(&mut self, retry_after: Option<Duration>, now: Moment, jitter: Jitter) {
        let again = now.plus(self.renew_again(retry_after, jitter));
        if let Phase::Unconfirmed { renewal, .. } | Phase::Holding { renewal, .. } = &mut self.phase
        {
            *renewal = Next::At(again);
        }
    }

    fn lost(&mut self, ended: Ended, now: Moment, actions: &mut Vec<Action>) {
        if matches!(self.phase, Phase::Holding { .. }) {
            self.stop(Over::Ended(ended), actions);
        } else {
            self.claim += 1;
            self.phase = Phase::Contending(Next::At(now));
        }
    }

    fn confirmed(
        &mut self,
        confirmed: Confirmed,
        sent: Moment,
        now: Moment,
        jitter: Jitter,
        actions: &mut Vec<Action>,
    ) {
        let new_bounds = self.timing.bounds(sent, now, confirmed.remaining_ms);
        let due = self.timing.next_renewal(sent, jitter);
        let new_asked = confirmed.step_down.map(|asked| Asked {
            words: asked.words,
            deadline: sent.plus(asked.within),
        });
        match std::mem::replace(&mut self.phase, Phase::Idle) {
            Phase::Unconfirmed { grant, .. } => {
                self.start(grant, new_bounds, due, new_asked.is_some(), now, actions);
            }
            Phase::Holding { grant, asked, .. } => {
                let (key, epoch) = (self.key, self.epoch);
                let words = |asked: &Option<Asked>| asked.as_ref().map(|a| a.words.clone());
                if words(&asked) != words(&new_asked) {
                    let asked = new_asked.clone();
                    actions.push(Action::StepDown { key, asked });
                }
                let bounds = new_bounds;
                actions.push(Action::Extend { key, epoch, bounds });
                self.phase = Phase::Holding {
                    grant,
                    bounds,
                    renewal: Next::At(due),
                    asked: new_asked,
                };
                // The end that was asked for may be too near to go on.
                self.settle(now, actions);
            }
            other => self.phase = other,
        }
    }

    fn released(
        &mut self,
        answer: ReleaseAnswer,
        now: Moment,
        jitter: Jitter,
        actions: &mut Vec<Action>,
    ) {
        let Phase::Releasing {
            grant,
            failures,
            stepped_down,
            ..
        } = std::mem::replace(&mut self.phase, Phase::Idle)
        else {
            return;
        };
        let went = match answer {
            ReleaseAnswer::Done | ReleaseAnswer::Lost(Ended::Released) => LetGo::Done,
            ReleaseAnswer::Lost(ended) => LetGo::Lost(ended),
            ReleaseAnswer::Failed if failures + 1 < RELEASES_MAX => {
                let bound = self.timing.call_bound();
                let wait = back_off(failures + 1, bound / 4, bound, jitter);
                self.phase = Phase::Releasing {
                    grant,
                    next: Next::At(now.plus(wait)),
                    failures: failures + 1,
                    stepped_down,
                };
                return;
            }
            ReleaseAnswer::Failed => LetGo::Unconfirmed,
        };
        actions.push(Action::Released {
            key: self.key,
            went,
        });
        // Also if nobody knows: the release may still arrive, and would end a
        // tenure that was renewed meanwhile. So this one is never taken up again.
        self.claim += 1;
        if stepped_down {
            self.stay_away_until = now.plus(self.timing.interval());
        }
    }
}
