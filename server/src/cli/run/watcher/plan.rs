//! When the watcher stops the work and when it kills it: the whole of its
//! judgement, as a pure state machine. Times come in, an [`Act`] comes out; it
//! reads no clock, knows no process and sends nothing.
//!
//! Three things end the work: the deadline passes (nobody confirmed the lease in
//! time), `baton run` says so or is gone, or the command itself ended and left
//! processes behind. Each asks politely first ([`Act::Terminate`]) and then not
//! ([`Act::Kill`]), and nothing ever goes back: once asked to stop, the work is
//! not revived by a later confirmation; once killing, only killing.

use super::protocol::Order;
use crate::cli::run::boottime::Moment;

/// What the watcher has to do now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Act {
    /// Nothing, until something happens or [`Plan::wake_at`] comes.
    Wait,
    /// SIGTERM to everything that is there.
    Terminate,
    /// SIGKILL to everything that is there, again and again until nothing is.
    Kill,
}

/// How far the end has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    Running,
    /// Asked to stop. `kill_by` is when patience ends, if that is before the
    /// deadline. Later deadlines count only while `baton run` still renews,
    /// which it does for a command that it asked to step down.
    Stopping {
        kill_by: Moment,
        renewable: bool,
    },
    Killing,
}

/// When to stop and when to kill.
#[derive(Debug)]
pub struct Plan {
    /// From here on the lease may not be relied on: the work is asked to stop.
    stop_at: Moment,
    /// From here on it is killed: early enough to be dead before anyone else
    /// can have the lease.
    kill_at: Moment,
    /// How long the work may take to stop when it is asked, in nanoseconds.
    patience_ns: u64,
    phase: Phase,
}

impl Plan {
    /// A plan for work that may run until these deadlines.
    pub fn new(stop_at: Moment, kill_at: Moment, patience_ns: u64) -> Self {
        Self {
            stop_at,
            kill_at: kill_at.max(stop_at),
            patience_ns,
            phase: Phase::Running,
        }
    }

    /// Whether the work may still run.
    #[cfg(test)]
    fn is_running(&self) -> bool {
        self.phase == Phase::Running
    }

    /// `baton run` said something.
    pub fn ordered(&mut self, now: Moment, order: Order) -> Act {
        // What is due comes first: an order that was late on its way, or sent
        // by a process that was stopped, changes nothing about it.
        let due = self.tick(now);
        match order {
            Order::Deadline { stop_at, kill_at } => self.confirmed(stop_at, kill_at),
            Order::Stop { kill_by } => return self.stop(kill_by, true).max(due),
            Order::Signal(_) => {}
        }
        due
    }

    fn confirmed(&mut self, stop_at: Moment, kill_at: Moment) {
        match self.phase {
            Phase::Running
            | Phase::Stopping {
                renewable: true, ..
            } => {
                self.stop_at = stop_at;
                self.kill_at = kill_at.max(stop_at);
            }
            Phase::Stopping { .. } | Phase::Killing => {}
        }
    }

    /// `baton run` is gone: nobody renews any more.
    pub fn abandoned(&mut self, now: Moment) -> Act {
        let due = self.tick(now);
        self.stop(now.after_ns(self.patience_ns), false).max(due)
    }

    /// The command ended. What it left behind goes too.
    pub fn ended(&mut self, now: Moment) -> Act {
        let due = self.tick(now);
        self.stop(now.after_ns(self.patience_ns), true).max(due)
    }

    fn stop(&mut self, by: Moment, by_renewing: bool) -> Act {
        match &mut self.phase {
            Phase::Running => {
                self.phase = Phase::Stopping {
                    kill_by: by,
                    renewable: by_renewing,
                };
                Act::Terminate
            }
            Phase::Stopping { kill_by, renewable } => {
                *kill_by = (*kill_by).min(by);
                *renewable &= by_renewing;
                Act::Wait
            }
            Phase::Killing => Act::Kill,
        }
    }

    /// Time has passed.
    pub fn tick(&mut self, now: Moment) -> Act {
        match self.phase {
            Phase::Running if now >= self.kill_at => {
                self.phase = Phase::Killing;
                Act::Kill
            }
            Phase::Running if now >= self.stop_at => {
                self.stop(now.after_ns(self.patience_ns), false)
            }
            Phase::Stopping { kill_by, .. } if now >= kill_by.min(self.kill_at) => {
                self.phase = Phase::Killing;
                Act::Kill
            }
            Phase::Stopping { kill_by, .. } if now >= self.stop_at => {
                self.phase = Phase::Stopping {
                    kill_by,
                    renewable: false,
                };
                Act::Wait
            }
            Phase::Killing => Act::Kill,
            Phase::Running | Phase::Stopping { .. } => Act::Wait,
        }
    }

    /// When [`Self::tick`] is due next; `None` while killing, which is done
    /// without a pause.
    pub fn wake_at(&self) -> Option<Moment> {
        match self.phase {
            Phase::Running => Some(self.stop_at),
            Phase::Stopping { kill_by, .. } => Some(kill_by.min(self.kill_at)),
            Phase::Killing => None,
        }
    }
}

impl Act {
    /// The harsher of the two.
    fn max(self, other: Self) -> Self {
        match (self, other) {
            (Self::Kill, _) | (_, Self::Kill) => Self::Kill,
            (Self::Terminate, _) | (_, Self::Terminate) => Self::Terminate,
            (Self::Wait, Self::Wait) => Self::Wait,
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn at(ns: u64) -> Moment {
        Moment::from_ns(ns)
    }

    fn deadline(stop_at: u64, kill_at: u64) -> Order {
        Order::Deadline {
            stop_at: at(stop_at),
            kill_at: at(kill_at),
        }
    }

    /// Stop at 100, kill at 150, patience 30.
    fn plan() -> Plan {
        Plan::new(at(100), at(150), 30)
    }

    #[test]
    fn confirmations_move_the_deadline() {
        let mut plan = plan();
        assert_eq!(plan.ordered(at(90), deadline(190, 240)), Act::Wait);
        assert_eq!(plan.tick(at(189)), Act::Wait);
        assert_eq!(plan.wake_at(), Some(at(190)));
        assert_eq!(plan.tick(at(190)), Act::Terminate);
        assert_eq!(plan.wake_at(), Some(at(220)), "patience is the shorter");
        assert_eq!(plan.tick(at(219)), Act::Wait);
        assert_eq!(plan.tick(at(220)), Act::Kill);
    }

    #[test]
    fn patience_never_outlasts_the_deadline() {
        let mut plan = Plan::new(at(100), at(150), 1_000);
        assert_eq!(plan.tick(at(100)), Act::Terminate);
        assert_eq!(plan.wake_at(), Some(at(150)));
        assert_eq!(plan.tick(at(150)), Act::Kill);
    }

    #[test]
    fn a_late_confirmation_revives_nothing() {
        let mut late = plan();
        assert_eq!(late.ordered(at(100), deadline(900, 950)), Act::Terminate);
        assert_eq!(late.wake_at(), Some(at(130)));

        let mut stopped = plan();
        stopped.tick(at(100));
        stopped.ordered(at(101), deadline(900, 950));
        assert_eq!(stopped.tick(at(130)), Act::Kill);
        stopped.ordered(at(131), deadline(900, 950));
        assert_eq!(stopped.tick(at(132)), Act::Kill);
    }

    #[test]
    fn waking_long_after_the_deadline_kills_at_once() {
        assert_eq!(plan().tick(at(400)), Act::Kill);
        assert_eq!(plan().ordered(at(400), deadline(900, 950)), Act::Kill);
        assert_eq!(plan().abandoned(at(400)), Act::Kill);
    }

    #[test]
    fn whoever_was_asked_to_step_down_has_as_long_as_renewals_last() {
        let mut plan = plan();
        let forever = Order::Stop {
            kill_by: Moment::NEVER,
        };
        assert_eq!(plan.ordered(at(50), forever), Act::Terminate);
        assert_eq!(plan.ordered(at(90), deadline(190, 240)), Act::Wait);
        assert_eq!(plan.ordered(at(200), deadline(900, 950)), Act::Wait, "late");
        assert_eq!(plan.tick(at(239)), Act::Wait);
        assert_eq!(plan.tick(at(240)), Act::Kill);
    }

    #[test]
    fn what_the_command_left_behind_gets_patience_only() {
        let mut plan = plan();
        assert_eq!(plan.ended(at(50)), Act::Terminate);
        assert_eq!(plan.tick(at(80)), Act::Kill);
    }

    #[test]
    fn without_baton_run_nothing_is_renewed() {
        let mut plan = plan();
        assert_eq!(plan.abandoned(at(50)), Act::Terminate);
        plan.ordered(at(51), deadline(900, 950));
        assert_eq!(plan.tick(at(80)), Act::Kill);
    }

    fn order() -> impl Strategy<Value = Order> {
        prop_oneof![
            (0..1_000u64, 0..1_000u64).prop_map(|(stop, more)| deadline(stop, stop + more)),
            (0..1_000u64).prop_map(|by| Order::Stop { kill_by: at(by) }),
            Just(Order::Signal(15)),
        ]
    }

    proptest! {
        /// Whatever is said, and however late: past the last confirmed deadlines
        /// the work is asked to stop, and killed; and it is never let go again.
        #[test]
        fn the_deadline_holds(steps in proptest::collection::vec((order(), 0..200u64), 1..40)) {
            let mut plan = plan();
            let (mut now, mut confirmed) = (0, (100, 150));
            let mut worst = Act::Wait;
            for (order, later) in steps {
                now += later;
                let in_time = now < confirmed.0 && plan.is_running();
                let act = plan.ordered(at(now), order);
                if let (Order::Deadline { stop_at, kill_at }, true) = (order, in_time) {
                    confirmed = (stop_at.as_ns(), kill_at.as_ns());
                    prop_assert_eq!(act, Act::Wait);
                }
                prop_assert!(!(worst == Act::Kill && act != Act::Kill), "killing went on");
                worst = worst.max(act).max(plan.tick(at(now)));
                if plan.is_running() {
                    prop_assert!(now < confirmed.0);
                }
                prop_assert_eq!(plan.is_running(), worst == Act::Wait);
                // It wakes up by itself, and then something happens.
                if let Some(wake) = plan.wake_at() {
                    prop_assert!(wake > at(now));
                }
            }
        }
    }
}
