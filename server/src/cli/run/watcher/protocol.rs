//! What `baton run` and its watcher say to each other: lines of text over the
//! socket that is the watcher's standard input. Times are nanoseconds of the
//! clock that counts suspend.

use std::{fmt, str::FromStr};

use crate::cli::run::boottime::Moment;

/// What `baton run` tells the watcher.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// The lease was confirmed: the work may go on until `stop_at`, and has to
    /// be killed at `kill_at`.
    Deadline {
        /// When to ask the work to stop.
        stop_at: Moment,
        /// When to kill it.
        kill_at: Moment,
    },
    /// Ask the work to stop now, and kill it at `kill_by` (or at the deadline).
    Stop {
        /// When patience ends.
        kill_by: Moment,
    },
    /// Pass this signal on.
    Signal(i32),
}

/// What the watcher tells `baton run`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Report {
    /// It asked the work to stop.
    Stopping,
    /// The command ended with this code, or 128 and the signal's number.
    Ended(u8),
    /// Nothing is left of the work.
    Gone,
}

impl fmt::Display for Order {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Deadline { stop_at, kill_at } => {
                write!(f, "deadline {} {}", stop_at.as_ns(), kill_at.as_ns())
            }
            Self::Stop { kill_by } => write!(f, "stop {}", kill_by.as_ns()),
            Self::Signal(number) => write!(f, "signal {number}"),
        }
    }
}

impl FromStr for Order {
    type Err = String;

    fn from_str(line: &str) -> Result<Self, String> {
        let moment = |text: &str| text.parse().map(Moment::from_ns).ok();
        let words: Vec<&str> = line.split(' ').collect();
        match words[..] {
            ["deadline", stop_at, kill_at] => moment(stop_at)
                .zip(moment(kill_at))
                .map(|(stop_at, kill_at)| Self::Deadline { stop_at, kill_at }),
            ["stop", kill_by] => moment(kill_by).map(|kill_by| Self::Stop { kill_by }),
            ["signal", number] => number.parse().map(Self::Signal).ok(),
            _ => None,
        }
        .ok_or_else(|| format!("`{line}` is no order"))
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Stopping => f.write_str("stopping"),
            Self::Ended(code) => write!(f, "ended {code}"),
            Self::Gone => f.write_str("gone"),
        }
    }
}

impl FromStr for Report {
    type Err = String;

    fn from_str(line: &str) -> Result<Self, String> {
        match line.split_once(' ') {
            None if line == "stopping" => Some(Self::Stopping),
            None if line == "gone" => Some(Self::Gone),
            Some(("ended", code)) => code.parse().map(Self::Ended).ok(),
            _ => None,
        }
        .ok_or_else(|| format!("`{line}` is no report"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_said_is_understood() {
        let at = Moment::from_ns;
        for order in [
            Order::Deadline {
                stop_at: at(1),
                kill_at: at(u64::MAX),
            },
            Order::Stop {
                kill_by: Moment::NEVER,
            },
            Order::Signal(15),
        ] {
            assert_eq!(order.to_string().parse(), Ok(order));
        }
        for report in [Report::Stopping, Report::Ended(143), Report::Gone] {
            assert_eq!(report.to_string().parse(), Ok(report));
        }
        for wrong in ["", "deadline", "deadline 1", "stop x", "signal 15 2"] {
            assert!(wrong.parse::<Order>().is_err(), "{wrong}");
        }
    }
}
