//! Every deadline of a holder, computed in one place.
//!
//! A tenure lasts `ttl` on the **server's** clock, and the holder cannot read
//! that clock. It knows when it *sent* the last request that was confirmed, and
//! the server cannot have counted from an earlier moment. So:
//!
//! ```text
//! sent                    sent + ttl/3            sent + 2·ttl/3          sent + ttl
//!  │── renew again in here ──│── retry in here ──────│── work stops in here ──│
//!  │                         the next renewal        gives up:                the deadline:
//!  │                                                 `holds()` turns false    others may take it
//! ```
//!
//! # The margin for clocks that run at different rates
//!
//! Let the server's clock advance by at most `r` seconds in one second of the
//! holder's clock, let `T` be the ttl and let a request sent at `t` confirm the
//! tenure for `R ≤ T` (`R = T` for a renewal; less for a repeated claim, or when
//! a step-down cuts the tenure short).
//!
//! - The server handled it no earlier than `t`, so the tenure ends at least `R`
//!   of the server's seconds after `t`: at `t + R/r` of the holder's, or later.
//! - The holder counts itself as holding until `t + R − T/3`.
//! - That is safe if `R − T/3 ≤ R/r`. For `R = T` this is `2/3 ≤ 1/r`, so
//!   `r ≤ 3/2`. For `R < T` it allows more: the bound is `R / (R − T/3)`, which
//!   grows as `R` falls, and there is none at all for `R ≤ T/3`.
//!
//! So **`holds()` is right as long as the server's clock runs less than 1.5 times
//! as fast as the holder's**, however slow it is. Rates may change all the
//! time, for only what adds up over one tenure counts. A jump is a rate without bound: no
//! margin covers it, and neither does this one.
//!
//! Real clocks differ by less than 0.1 %. What is not used up by rates is time
//! for the work to stop: with equal rates a third of the ttl.

use std::time::Duration;

use crate::limits::{TTL_MS_MAX, TTL_MS_MIN};

/// A moment on the holder's clock, in nanoseconds since a start that does not
/// matter. Two moments of different machines have nothing to do with each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub(crate) struct Moment(u64);

impl Moment {
    pub(crate) const fn from_nanos(nanos: u64) -> Self {
        Self(nanos)
    }

    pub(crate) const fn nanos(self) -> u64 {
        self.0
    }

    pub(crate) fn plus(self, duration: Duration) -> Self {
        Self(self.0.saturating_add(nanos(duration)))
    }

    pub(crate) fn minus(self, duration: Duration) -> Self {
        Self(self.0.saturating_sub(nanos(duration)))
    }

    /// How long after `earlier` this is; nothing, if it is not.
    pub(crate) fn since(self, earlier: Self) -> Duration {
        Duration::from_nanos(self.0.saturating_sub(earlier.0))
    }
}

fn nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

/// Until when a confirmed request lets the holder rely on its tenure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Bounds {
    /// From here on the holder no longer counts itself as holding.
    pub(crate) give_up: Moment,
    /// From here on time may let somebody else acquire.
    pub(crate) deadline: Moment,
}

/// What tests take away from the computation, to see that it is needed.
#[cfg(test)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Flaw {
    /// Counts as holding right up to the deadline.
    NoMargin,
    /// Counts from when the answer came, not from when the request was sent.
    FromAnswer,
}

/// A fraction from 0 up to, but not including, 1. An input, so that the same
/// inputs always do the same.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Jitter(pub(crate) u16);

impl Jitter {
    /// This fraction of `whole`.
    pub(crate) fn of(self, whole: Duration) -> Duration {
        whole * u32::from(self.0) / (u32::from(u16::MAX) + 1)
    }
}

/// The longest that a call may take, in microseconds: a server gives up before.
const CALL_US_MAX: u64 = 20_000_000;

/// The durations that follow from a ttl.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Timing {
    ttl_ms: u64,
    #[cfg(test)]
    flaw: Option<Flaw>,
}

/// A third of the ttl, rounded up: also in milliseconds that do not divide by
/// three the holder gives up early rather than late.
const fn interval_ms(ttl_ms: u64) -> u64 {
    ttl_ms.div_ceil(3)
}

const _: () = {
    let mut ttl_ms = TTL_MS_MIN;
    while ttl_ms <= TTL_MS_MAX {
        let (renew, give_up) = (interval_ms(ttl_ms), ttl_ms - interval_ms(ttl_ms));
        assert!(renew < give_up + 1, "a renewal is due before giving up");
        assert!(renew + renew / 2 < give_up + 1, "one call may fail in time");
        assert!(give_up < ttl_ms, "giving up comes before the deadline");
        assert!(3 * give_up <= 2 * ttl_ms, "rates may differ by half");
        // Every length of the first second, then a sample of the rest.
        ttl_ms += if ttl_ms < 2_000 { 1 } else { ttl_ms / 2 };
    }
};

impl Timing {
    pub(crate) const fn new(ttl_ms: u64) -> Self {
        Self {
            ttl_ms,
            #[cfg(test)]
            flaw: None,
        }
    }

    #[cfg(test)]
    pub(crate) const fn flawed(ttl_ms: u64, flaw: Option<Flaw>) -> Self {
        Self { ttl_ms, flaw }
    }

    /// From one renewal to the next.
    pub(crate) const fn interval(self) -> Duration {
        Duration::from_millis(interval_ms(self.ttl_ms))
    }

    /// How long a call may take: half of what there is until the next one, and not
    /// for ever.
    pub(crate) const fn call_bound(self) -> Duration {
        let half_us = interval_ms(self.ttl_ms) * 1_000 / 2;
        Duration::from_micros(if half_us < CALL_US_MAX {
            half_us
        } else {
            CALL_US_MAX
        })
    }

    /// When the next renewal is due after one that was sent at `sent`: up to a
    /// tenth early, so that the holders of a fleet do not stay in step.
    pub(crate) fn next_renewal(self, sent: Moment, jitter: Jitter) -> Moment {
        let interval = self.interval();
        sent.plus(interval).minus(jitter.of(interval / 10))
    }

    /// Until when to rely on a tenure that a request sent at `sent` confirmed
    /// for `remaining_ms`. This is the only place that computes it.
    pub(crate) fn bounds(self, sent: Moment, answered: Moment, remaining_ms: u64) -> Bounds {
        let confirmed = Duration::from_millis(remaining_ms.min(self.ttl_ms));
        let deadline = self.counted_from(sent, answered).plus(confirmed);
        Bounds {
            give_up: deadline.minus(self.margin()),
            deadline,
        }
    }

    #[cfg(not(test))]
    fn margin(self) -> Duration {
        self.interval()
    }

    #[cfg(test)]
    fn margin(self) -> Duration {
        match self.flaw {
            Some(Flaw::NoMargin) => Duration::ZERO,
            _ => self.interval(),
        }
    }

    #[cfg(not(test))]
    fn counted_from(self, sent: Moment, _answered: Moment) -> Moment {
        sent
    }

    #[cfg(test)]
    fn counted_from(self, sent: Moment, answered: Moment) -> Moment {
        match self.flaw {
            Some(Flaw::FromAnswer) => answered,
            _ => sent,
        }
    }
}

/// How long to wait after the `failures`th failure in a row: from `first`,
/// doubling, up to `most`, of which half is jitter.
pub(crate) fn back_off(failures: u32, first: Duration, most: Duration, jitter: Jitter) -> Duration {
    let doubled = first.saturating_mul(1 << failures.saturating_sub(1).min(16));
    let whole = doubled.min(most);
    whole / 2 + jitter.of(whole / 2)
}

#[cfg(test)]
mod tests {
    use super::*;

    const T: Moment = Moment::from_nanos(1_000_000_000_000);

    fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    #[test]
    fn a_renewal_is_relied_on_until_two_thirds_of_the_ttl_after_it_was_sent() {
        let timing = Timing::new(30_000);
        let bounds = timing.bounds(T, T.plus(ms(4_000)), 30_000);
        assert_eq!(bounds.give_up, T.plus(ms(20_000)));
        assert_eq!(bounds.deadline, T.plus(ms(30_000)));
        assert_eq!(timing.next_renewal(T, Jitter(0)), T.plus(ms(10_000)));
        assert!(timing.next_renewal(T, Jitter(u16::MAX)) >= T.plus(ms(9_000)));
        assert_eq!(timing.call_bound(), ms(5_000));
    }

    #[test]
    fn a_repeated_claim_is_relied_on_for_what_remains_and_never_for_more_than_the_ttl() {
        let timing = Timing::new(30_000);
        assert_eq!(timing.bounds(T, T, 12_000).give_up, T.plus(ms(2_000)));
        assert_eq!(timing.bounds(T, T, 99_000).give_up, T.plus(ms(20_000)));
        assert!(timing.bounds(T, T, 0).give_up < T, "nothing left is over");
    }

    #[test]
    fn back_off_doubles_up_to_its_limit() {
        let wait = |failures| back_off(failures, ms(200), ms(5_000), Jitter(0));
        assert_eq!(wait(1), ms(100));
        assert_eq!(wait(2), ms(200));
        assert_eq!(wait(99), ms(2_500));
        assert!(back_off(99, ms(200), ms(5_000), Jitter(u16::MAX)) < ms(5_000));
    }
}
