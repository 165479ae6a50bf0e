//! Signals to `baton run`: which are passed on to the command, and which of them
//! ask for the end.

use std::{fs, io};

use rustix::process::Signal;
use tokio::{
    signal::unix::{SignalKind, signal},
    sync::mpsc,
};

/// Passed on, and while there is no command they end `baton run`.
const ENDING: [Signal; 4] = [Signal::HUP, Signal::INT, Signal::QUIT, Signal::TERM];

/// Passed on.
const OTHERS: [Signal; 5] = [
    Signal::USR1,
    Signal::USR2,
    Signal::CONT,
    Signal::WINCH,
    Signal::POWER,
];

/// The signals that come in.
#[derive(Debug)]
pub struct Incoming {
    numbers: mpsc::Receiver<i32>,
}

impl Incoming {
    /// Catches them from now on. Those that were ignored when this program
    /// started (`nohup`, a shell's background jobs) stay so, also for the command.
    ///
    /// # Errors
    /// The system refuses.
    pub fn open() -> io::Result<Self> {
        let before = ignored();
        // Room for many; whoever sends more without a pause repeats himself.
        let (sender, numbers) = mpsc::channel(256);
        for number in ENDING.into_iter().chain(OTHERS).map(Signal::as_raw) {
            if before.contains(number) {
                continue;
            }
            let mut signals = signal(SignalKind::from_raw(number))?;
            let sender = sender.clone();
            tokio::spawn(async move {
                while signals.recv().await.is_some() {
                    let _ = sender.try_send(number);
                }
            });
        }
        Ok(Self { numbers })
    }

    /// The next one. May be dropped and called again.
    pub async fn next(&mut self) -> i32 {
        match self.numbers.recv().await {
            Some(number) => number,
            None => std::future::pending().await,
        }
    }

    /// The next one that asks for the end; the others mean nothing without a
    /// command.
    pub async fn ending(&mut self) -> i32 {
        loop {
            let number = self.next().await;
            if asks_to_end(number) {
                return number;
            }
        }
    }
}

/// Whether this signal asks for the end.
pub fn asks_to_end(number: i32) -> bool {
    ENDING.iter().any(|signal| signal.as_raw() == number)
}

/// The signals that this process ignores.
#[derive(Debug, Clone, Copy, Default)]
pub struct Ignored(u64);

impl Ignored {
    /// Whether this one is among them.
    pub fn contains(self, number: i32) -> bool {
        self.0 >> (number - 1) & 1 == 1
    }
}

/// Which signals this process ignores by now. Before it catches any: what its
/// parent wanted ignored.
pub fn ignored() -> Ignored {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    parse(&status)
}

fn parse(status: &str) -> Ignored {
    let mask = status
        .lines()
        .find_map(|line| line.strip_prefix("SigIgn:"))
        .and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    Ignored(mask.unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mask_of_ignored_signals_is_read() {
        let ignored = parse("Name:\tbaton\nSigIgn:\t0000000000001001\nSigCgt:\t0\n");
        for (number, expected) in [(1, true), (2, false), (13, true), (15, false)] {
            assert_eq!(ignored.contains(number), expected, "{number}");
        }
    }
}
