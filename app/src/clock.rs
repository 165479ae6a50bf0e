//! The database's clock, as far as the page knows it: what the server said,
//! carried forward on the browser's monotonic clock. It never reads a clock
//! itself, and nothing in it comes from the browser's date.

use std::collections::VecDeque;

use baton_client::Timestamp;

/// How long a word of the server counts. A clock in the browser drifts by less
/// than a millisecond in that time.
const KEPT_MS: f64 = 60_000.0;
/// Most words that are kept.
const KEPT_MAX: usize = 64;

/// A database time that was heard.
#[derive(Debug, Clone, Copy)]
struct Heard {
    /// When, on the monotonic clock, in milliseconds.
    at_ms: f64,
    /// The database time less the monotonic time, in microseconds.
    ahead_us: i64,
}

/// The database's clock, read through delayed messages.
///
/// A message is never early, so the one that puts the clock furthest ahead was
/// delayed least: of those of the last minute that one is believed.
#[derive(Debug, Default)]
pub struct Clock {
    heard: VecDeque<Heard>,
}

impl Clock {
    /// The server said that it was `now`, and that arrived at `at_ms`.
    pub fn hear(&mut self, now: Timestamp, at_ms: f64) {
        self.heard.push_back(Heard {
            at_ms,
            ahead_us: now.micros() - to_us(at_ms),
        });
        while self.heard.len() > KEPT_MAX
            || (self.heard.len() > 1 && self.heard[0].at_ms < at_ms - KEPT_MS)
        {
            self.heard.pop_front();
        }
    }

    /// What the database's clock shows at `at_ms`; `None` before anything was
    /// heard.
    pub fn read(&self, at_ms: f64) -> Option<Timestamp> {
        let ahead_us = self.heard.iter().map(|heard| heard.ahead_us).max()?;
        Some(Timestamp::from_micros(ahead_us + to_us(at_ms)))
    }

    /// Forgets everything: the monotonic clock may have stood still.
    pub fn forget(&mut self) {
        self.heard.clear();
    }
}

fn to_us(ms: f64) -> i64 {
    (ms * 1_000.0) as i64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: i64) -> Timestamp {
        Timestamp::from_micros(1_000_000_000 + ms * 1_000)
    }

    #[test]
    fn it_knows_nothing_before_it_heard_something() {
        assert_eq!(Clock::default().read(0.0), None);
    }

    #[test]
    fn it_goes_on_between_messages() {
        let mut clock = Clock::default();
        clock.hear(at(0), 500.0);
        assert_eq!(clock.read(750.0), Some(at(250)));
    }

    #[test]
    fn a_delayed_message_does_not_set_it_back() {
        let mut clock = Clock::default();
        clock.hear(at(0), 10.0);
        clock.hear(at(1_000), 1_900.0);
        assert_eq!(clock.read(2_010.0), Some(at(2_000)));
    }

    #[test]
    fn an_old_message_is_believed_no_longer() {
        let mut clock = Clock::default();
        clock.hear(at(0), 10.0);
        clock.hear(at(70_000), 70_060.0);
        assert_eq!(clock.read(70_060.0), Some(at(70_000)));
    }

    #[test]
    fn after_a_sleep_it_starts_anew() {
        let mut clock = Clock::default();
        clock.hear(at(0), 10.0);
        clock.forget();
        assert_eq!(clock.read(20.0), None);
        clock.hear(at(600_000), 30.0);
        assert_eq!(clock.read(30.0), Some(at(600_000)));
    }
}
