//! When the page may say that it is live, when it must say that it is not, and
//! when to open and close its stream. Plain state: times come in as arguments
//! and what is to be done goes out as an [`Act`]; `browser` does it.

/// A stream that says nothing for this long is broken. The server speaks at
/// least every five seconds, and the page has to admit it within fifteen.
const SILENCE_MS: f64 = 12_000.0;
/// A stream that does not begin within this time is given up.
const BEGIN_MS: f64 = 8_000.0;
/// A hiccup that is over within this time raises no alarm.
const HICCUP_MS: f64 = 2_500.0;
/// A hidden tab keeps its stream this long: a browser allows six to a server,
/// over HTTP/1.1, for all tabs together.
const HIDDEN_MS: f64 = 4_000.0;
/// If two readings of the clocks disagree by this much, the machine slept or
/// its date was set.
const JUMP_MS: f64 = 2_000.0;
/// If a shown page was not asked for this long, it was frozen.
const FROZEN_MS: f64 = 5_000.0;
/// The pauses between tries, in milliseconds; the last one repeats.
const BACK_OFF_MS: [f64; 6] = [250.0, 1_000.0, 2_000.0, 4_000.0, 8_000.0, 15_000.0];

/// What the page may say of itself.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Phase {
    /// What is shown was true as of its time. No alarm: it was only just
    /// opened, brought back to the front, or disturbed for a moment.
    #[default]
    Waiting,
    /// What is shown is true now.
    Live,
    /// The stream broke. What is shown may be wrong by now.
    Stale,
    /// The session ended.
    SignedOut,
}

/// What is to be done with the stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Act {
    /// Close it if it is open, and open it after what was heard last.
    Open,
    /// Close it.
    Close,
}

/// A reading of the browser's two clocks, in milliseconds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Reading {
    /// `performance.now()`: never set, but may stand still in sleep.
    pub steady_ms: f64,
    /// `Date.now()`: may be wrong and may jump, which is all it is asked for.
    pub date_ms: f64,
}

/// The stream of one page.
#[derive(Debug)]
pub struct Connection {
    phase: Phase,
    open: bool,
    /// It has said something since it was opened.
    begun: bool,
    /// When it last said something, or was opened.
    heard_ms: f64,
    /// The last moment at which what is shown was known to be true.
    true_until_ms: f64,
    /// Since when it is not live.
    troubled_ms: f64,
    /// When to try again, while it is closed.
    try_at_ms: Option<f64>,
    /// Failures in a row.
    failures: usize,
    hidden_since_ms: Option<f64>,
    /// Somebody wants to look at what is shown in peace.
    paused: bool,
    last: Reading,
}

impl Connection {
    /// A page that was opened at `now`, and what to do first.
    pub fn new(now: Reading, hidden: bool) -> (Self, Option<Act>) {
        let at = now.steady_ms;
        let connection = Self {
            phase: Phase::Waiting,
            open: !hidden,
            begun: false,
            heard_ms: at,
            true_until_ms: at,
            troubled_ms: at,
            try_at_ms: None,
            failures: 0,
            hidden_since_ms: hidden.then_some(at),
            paused: false,
            last: now,
        };
        (connection, (!hidden).then_some(Act::Open))
    }

    /// What the page may say of itself.
    pub fn phase(&self) -> Phase {
        self.phase
    }

    /// Whether the stream is open, or opening.
    pub fn is_open(&self) -> bool {
        self.open
    }

    /// The last moment, on the steady clock, at which what is shown was known
    /// to be true.
    pub fn true_until_ms(&self) -> f64 {
        self.true_until_ms
    }

    /// How long until the next try; `None` while one is under way.
    pub fn next_try_in_ms(&self, now: Reading) -> Option<f64> {
        self.try_at_ms.map(|at| (at - now.steady_ms).max(0.0))
    }

    /// The stream said something at `at_ms`. `current`: something that tells
    /// what is true now, and not the history that comes first.
    pub fn heard(&mut self, at_ms: f64, current: bool) {
        if !self.open {
            return;
        }
        self.begun = true;
        self.heard_ms = at_ms;
        if current {
            self.phase = Phase::Live;
            self.true_until_ms = at_ms;
            self.failures = 0;
        }
    }

    /// The stream broke at `at_ms`, or did not begin. `jitter`: 0 to 1.
    pub fn failed(&mut self, at_ms: f64, jitter: f64) {
        if !self.open {
            return;
        }
        if self.phase == Phase::Live {
            // It was well until it broke.
            self.trouble(at_ms, at_ms);
        }
        self.try_later(at_ms, jitter);
    }

    /// The session ended.
    pub fn signed_out(&mut self) -> Option<Act> {
        self.phase = Phase::SignedOut;
        self.try_at_ms = None;
        self.open.then(|| {
            self.open = false;
            Act::Close
        })
    }

    /// Somebody wants what is shown to stay as it is.
    pub fn pause(&mut self, at_ms: f64) -> Option<Act> {
        if self.phase == Phase::SignedOut {
            return None;
        }
        self.paused = true;
        self.trouble(at_ms, at_ms);
        self.try_at_ms = None;
        self.open.then(|| {
            self.open = false;
            Act::Close
        })
    }

    /// They want to see how things stand, and go on.
    pub fn resume(&mut self, now: Reading) -> Option<Act> {
        self.paused = false;
        self.last = now;
        self.troubled_ms = now.steady_ms;
        self.failures = 0;
        let rests = self.hidden_since_ms.is_some() || self.phase == Phase::SignedOut;
        (!rests).then(|| self.open_now(now.steady_ms))
    }

    /// Somebody wants to try at once.
    pub fn try_now(&mut self, at_ms: f64) -> Option<Act> {
        self.failures = 0;
        Some(self.open_now(at_ms))
    }

    /// The page shows other leases now: the stream has to be another one, but
    /// what is shown is as true as before.
    pub fn turn(&mut self, at_ms: f64) -> Option<Act> {
        let resting = self.paused || (self.hidden_since_ms.is_some() && !self.open);
        (!resting && self.phase != Phase::SignedOut).then(|| self.open_now(at_ms))
    }

    /// The tab went to the background.
    pub fn hidden(&mut self, at_ms: f64) {
        self.hidden_since_ms.get_or_insert(at_ms);
    }

    /// The tab came to the front.
    pub fn shown(&mut self, now: Reading) -> Option<Act> {
        self.hidden_since_ms = None;
        let slept = self.jumped(now);
        self.last = now;
        if self.paused || self.phase == Phase::SignedOut || (self.open && !slept) {
            return None;
        }
        if self.phase == Phase::Live {
            self.trouble(self.heard_ms, now.steady_ms);
        }
        self.troubled_ms = now.steady_ms;
        self.failures = 0;
        Some(self.open_now(now.steady_ms))
    }

    /// Time passed. To be asked several times a second. `jitter`: 0 to 1.
    pub fn tick(&mut self, now: Reading, jitter: f64) -> Option<Act> {
        let at = now.steady_ms;
        let frozen = at - self.last.steady_ms > FROZEN_MS;
        let jumped = self.jumped(now);
        self.last = now;
        if self.phase == Phase::SignedOut || self.paused {
            return None;
        }
        if let Some(since) = self.hidden_since_ms {
            // What a sleep made old must not pass for true when it is looked at again.
            let rests = jumped || at - since >= HIDDEN_MS;
            return rests.then(|| self.rest(at)).flatten();
        }
        if frozen || jumped {
            self.trouble(self.heard_ms, at);
            self.phase = Phase::Stale;
            self.failures = 0;
            return Some(self.open_now(at));
        }
        let patience = if self.begun { SILENCE_MS } else { BEGIN_MS };
        if self.open && at - self.heard_ms > patience {
            if self.phase == Phase::Live {
                self.trouble(self.heard_ms, at);
                self.phase = Phase::Stale;
            }
            self.try_later(at, jitter);
            return Some(Act::Close);
        }
        if self.phase == Phase::Waiting && at - self.troubled_ms > HICCUP_MS {
            self.phase = Phase::Stale;
        }
        let due = self.try_at_ms.is_some_and(|try_at| try_at <= at);
        due.then(|| self.open_now(at))
    }

    /// Whether the date moved otherwise than the steady clock since last time.
    fn jumped(&self, now: Reading) -> bool {
        let date = now.date_ms - self.last.date_ms;
        let steady = now.steady_ms - self.last.steady_ms;
        (date - steady).abs() > JUMP_MS
    }

    /// A hidden tab gives its stream back after a while.
    fn rest(&mut self, at_ms: f64) -> Option<Act> {
        if self.phase == Phase::Live {
            self.trouble(self.heard_ms, at_ms);
        }
        self.try_at_ms = None;
        self.open.then(|| {
            self.open = false;
            Act::Close
        })
    }

    fn trouble(&mut self, true_until_ms: f64, at_ms: f64) {
        if self.phase == Phase::Live {
            self.true_until_ms = true_until_ms;
            self.troubled_ms = at_ms;
        }
        self.phase = Phase::Waiting;
    }

    fn try_later(&mut self, at_ms: f64, jitter: f64) {
        let pause = BACK_OFF_MS[self.failures.min(BACK_OFF_MS.len() - 1)];
        self.open = false;
        self.failures += 1;
        self.try_at_ms = Some(at_ms + pause * (0.75 + jitter / 2.0));
    }

    fn open_now(&mut self, at_ms: f64) -> Act {
        self.open = true;
        self.begun = false;
        self.heard_ms = at_ms;
        self.try_at_ms = None;
        Act::Open
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: f64) -> Reading {
        // The browser's date is wrong by an hour, which must not matter.
        Reading {
            steady_ms: ms,
            date_ms: ms + 3_600_000.0,
        }
    }

    fn live_at(ms: f64) -> Connection {
        let (mut connection, act) = Connection::new(at(ms), false);
        assert_eq!(act, Some(Act::Open));
        connection.heard(ms, true);
        assert_eq!(connection.phase(), Phase::Live);
        connection
    }

    /// Ticks every quarter of a second from after `from` up to `to`.
    fn pass(connection: &mut Connection, from: f64, to: f64) -> Vec<(f64, Act)> {
        let mut acts = Vec::new();
        let mut ms = from;
        while ms < to {
            ms += 250.0;
            acts.extend(connection.tick(at(ms), 0.5).map(|act| (ms, act)));
        }
        acts
    }

    #[test]
    fn the_history_that_comes_first_does_not_make_it_live() {
        let (mut connection, _) = Connection::new(at(0.0), false);
        connection.heard(10.0, false);
        assert_eq!(connection.phase(), Phase::Waiting);
        connection.heard(20.0, true);
        assert_eq!(connection.phase(), Phase::Live);
    }

    #[test]
    fn silence_is_admitted_within_fifteen_seconds() {
        let mut connection = live_at(0.0);
        let acts = pass(&mut connection, 0.0, 12_500.0);
        assert_eq!(acts[0], (12_250.0, Act::Close));
        assert_eq!(connection.phase(), Phase::Stale);
        assert_eq!(connection.true_until_ms(), 0.0);
    }

    #[test]
    fn a_word_every_five_seconds_keeps_it_live() {
        let mut connection = live_at(0.0);
        for n in 0..10 {
            let ms = f64::from(n) * 5_000.0;
            connection.heard(ms, true);
            assert_eq!(pass(&mut connection, ms, ms + 5_000.0), []);
        }
        assert_eq!(connection.phase(), Phase::Live);
    }

    #[test]
    fn a_hiccup_raises_no_alarm_and_a_break_does() {
        let mut connection = live_at(0.0);
        connection.failed(1_000.0, 0.5);
        assert_eq!(connection.phase(), Phase::Waiting);
        assert_eq!(
            pass(&mut connection, 1_000.0, 1_500.0),
            [(1_250.0, Act::Open)]
        );
        connection.failed(1_600.0, 0.5);
        pass(&mut connection, 1_600.0, 3_750.0);
        assert_eq!(connection.phase(), Phase::Stale);
        // It was true until the stream broke, not until the last failure.
        assert_eq!(connection.true_until_ms(), 1_000.0);
        connection.heard(3_800.0, true);
        assert_eq!(connection.phase(), Phase::Live);
    }

    #[test]
    fn it_tries_less_and_less_often() {
        let (mut connection, _) = Connection::new(at(0.0), false);
        let mut ms = 0.0;
        let mut pauses = Vec::new();
        for _ in 0..8 {
            connection.failed(ms, 0.5);
            let pause = connection.next_try_in_ms(at(ms)).expect("a next try");
            pauses.push(pause);
            let acts = pass(&mut connection, ms, ms + pause);
            ms = acts[0].0;
        }
        assert_eq!(
            pauses,
            [
                250.0, 1_000.0, 2_000.0, 4_000.0, 8_000.0, 15_000.0, 15_000.0, 15_000.0
            ]
        );
        assert_eq!(connection.try_now(ms), Some(Act::Open));
    }

    #[test]
    fn an_answer_that_never_comes_is_given_up() {
        let (mut connection, _) = Connection::new(at(0.0), false);
        assert_eq!(pass(&mut connection, 0.0, 8_250.0), [(8_250.0, Act::Close)]);
        assert_eq!(connection.phase(), Phase::Stale);
    }

    #[test]
    fn after_a_sleep_nothing_is_claimed_until_it_is_heard() {
        // The steady clock stood still, the date did not.
        let mut connection = live_at(0.0);
        let woken = Reading {
            steady_ms: 250.0,
            date_ms: at(0.0).date_ms + 600_000.0,
        };
        assert_eq!(connection.tick(woken, 0.5), Some(Act::Open));
        assert_eq!(connection.phase(), Phase::Stale);

        // Both went on, but nobody asked: the timers were frozen.
        let mut connection = live_at(0.0);
        assert_eq!(connection.tick(at(600_000.0), 0.5), Some(Act::Open));
        assert_eq!(connection.phase(), Phase::Stale);
        assert_eq!(connection.true_until_ms(), 0.0);
        connection.heard(600_100.0, true);
        assert_eq!(connection.phase(), Phase::Live);
    }

    #[test]
    fn a_hidden_tab_gives_its_stream_back_and_asks_for_it_when_shown() {
        let mut connection = live_at(0.0);
        connection.hidden(1_000.0);
        assert_eq!(
            pass(&mut connection, 1_000.0, 9_000.0),
            [(5_000.0, Act::Close)]
        );
        assert_eq!(connection.phase(), Phase::Waiting);
        assert_eq!(connection.shown(at(9_100.0)), Some(Act::Open));
        assert_eq!(connection.phase(), Phase::Waiting);
        connection.heard(9_200.0, true);
        assert_eq!(connection.phase(), Phase::Live);
    }

    #[test]
    fn paused_it_stands_still_without_an_alarm_until_it_is_resumed() {
        let mut connection = live_at(0.0);
        assert_eq!(connection.pause(1_000.0), Some(Act::Close));
        assert_eq!(pass(&mut connection, 1_000.0, 60_000.0), []);
        assert_eq!(connection.phase(), Phase::Waiting);
        assert_eq!(connection.true_until_ms(), 1_000.0);
        // Neither a look elsewhere nor another filter wakes it.
        connection.hidden(61_000.0);
        assert_eq!(connection.shown(at(62_000.0)), None);
        assert_eq!(connection.turn(62_000.0), None);
        assert_eq!(connection.resume(at(63_000.0)), Some(Act::Open));
        connection.heard(63_100.0, true);
        assert_eq!(connection.phase(), Phase::Live);
    }

    #[test]
    fn a_glance_away_changes_nothing() {
        let mut connection = live_at(0.0);
        connection.hidden(1_000.0);
        assert_eq!(pass(&mut connection, 1_000.0, 3_000.0), []);
        assert_eq!(connection.shown(at(3_100.0)), None);
        assert_eq!(connection.phase(), Phase::Live);
    }

    #[test]
    fn a_tab_opened_in_the_background_waits() {
        let (mut connection, act) = Connection::new(at(0.0), true);
        assert_eq!(act, None);
        assert_eq!(pass(&mut connection, 0.0, 60_000.0), []);
        assert_eq!(connection.phase(), Phase::Waiting);
        assert_eq!(connection.shown(at(60_100.0)), Some(Act::Open));
    }

    #[test]
    fn after_the_session_ended_it_tries_no_more() {
        let mut connection = live_at(0.0);
        connection.failed(10.0, 0.5);
        assert_eq!(connection.signed_out(), None);
        assert_eq!(pass(&mut connection, 10.0, 60_000.0), []);
        assert_eq!(connection.phase(), Phase::SignedOut);
        assert_eq!(connection.next_try_in_ms(at(60_000.0)), None);
    }

    #[test]
    fn a_sleep_of_a_hidden_tab_is_seen_when_it_is_looked_at() {
        let mut connection = live_at(0.0);
        connection.hidden(1_000.0);
        // The steady clock stood still meanwhile.
        let slept = |ms: f64| Reading {
            steady_ms: ms,
            date_ms: at(ms).date_ms + 60_000.0,
        };
        assert_eq!(connection.tick(slept(1_250.0), 0.5), Some(Act::Close));
        assert_eq!(connection.phase(), Phase::Waiting);
        assert_eq!(connection.shown(slept(1_500.0)), Some(Act::Open));
        assert_ne!(connection.phase(), Phase::Live);
    }
}
