//! How far a long command is, on a line that is written over again and again; only
//! where somebody looks at a terminal.

use std::{
    io::{self, IsTerminal as _, Write as _},
    time::{Duration, Instant},
};

/// How often the line is written.
const EVERY: Duration = Duration::from_millis(200);

/// A line that says how far it is.
pub struct Progress {
    shown: bool,
    started: Instant,
    last: Option<Instant>,
}

impl Progress {
    /// Starts to count.
    pub fn start() -> Self {
        Self {
            shown: io::stderr().is_terminal(),
            started: Instant::now(),
            last: None,
        }
    }

    /// So many entries were done, and so much of it all, in percent if that is
    /// known.
    pub fn show(&mut self, count: u64, percent: Option<u64>) {
        if !self.shown || self.last.is_some_and(|last| last.elapsed() < EVERY) {
            return;
        }
        self.last = Some(Instant::now());
        let text = line(count, self.started.elapsed(), percent);
        // Nobody listening is fine.
        let _ = write!(io::stderr().lock(), "\r\x1b[K{text}");
    }
}

impl Drop for Progress {
    /// Takes the line away, for what is said next.
    fn drop(&mut self) {
        if self.last.is_some() {
            let _ = write!(io::stderr().lock(), "\r\x1b[K");
        }
    }
}

fn line(count: u64, took: Duration, percent: Option<u64>) -> String {
    let rate = (count as f64 / took.as_secs_f64().max(0.001)) as u64;
    let share = percent.map_or(String::new(), |percent| format!(", {percent} %"));
    format!("{} entries, {}/s{share}", grouped(count), grouped(rate))
}

/// A number in groups of three digits.
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_says_how_many_how_fast_and_how_far() {
        let took = Duration::from_secs(2);
        assert_eq!(
            line(2_400_000, took, Some(24)),
            "2,400,000 entries, 1,200,000/s, 24 %"
        );
        assert_eq!(line(0, Duration::ZERO, None), "0 entries, 0/s");
        assert_eq!(grouped(999), "999");
    }
}
