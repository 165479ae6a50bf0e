//! The watcher: a tiny process between `baton run` and the command, which makes
//! sure that the work does not outlive the lease, whatever becomes of `baton
//! run`.
//!
//! It is the same program, started again as `baton watcher`. It lives in a
//! session of its own, so that nothing that is meant for `baton run`'s process
//! group reaches it, and is a subreaper: whatever the command starts, daemons
//! included, stays below it. It is told each confirmed deadline over a socket
//! ([`protocol`]), judges by them alone ([`plan`]), and ends only when nothing is
//! left below it. It speaks to no server and knows no lease.

mod inbox;
mod plan;
mod protocol;
mod starter;

use std::{
    ffi::OsString,
    io,
    os::{
        fd::OwnedFd,
        unix::process::{CommandExt as _, ExitStatusExt as _},
    },
    process::{Command, ExitCode, ExitStatus, Stdio},
    time::Duration,
};

use rustix::process::{
    Pid, Signal, WaitOptions, WaitStatus, getpid, kill_process, kill_process_group,
    set_child_subreaper, setsid, wait,
};
use tokio::{
    io::AsyncWriteExt as _,
    net::unix::OwnedWriteHalf,
    signal::unix::{Signal as Signals, SignalKind, signal},
};

use inbox::Heard;
pub use inbox::send_stdin;
use plan::{Act, Plan};
pub use protocol::{Order, Report};
use starter::StarterArgs;

use crate::cli::output;

use super::{
    boottime::{Alarm, Moment},
    descendants::{self, Rounds},
    signals::ignored,
};

/// Signals that nobody may catch, or that mean that the program itself is broken.
const NOT_CAUGHT: [Signal; 7] = [
    Signal::ILL,
    Signal::TRAP,
    Signal::BUS,
    Signal::FPE,
    Signal::KILL,
    Signal::SEGV,
    Signal::STOP,
];

/// How long a report may take to leave.
const REPORTING: Duration = Duration::from_millis(5);

/// The processes between `baton run` and its command: not for people, and not
/// in the help.
#[derive(Debug, clap::Parser)]
#[command(name = "baton")]
enum Between {
    Watcher(WatcherArgs),
    Starter(StarterArgs),
}

/// If this process is one of those, its whole life. They have no use for the
/// threads that everything else of this program has.
pub fn between() -> Option<ExitCode> {
    let word = std::env::args_os().nth(1)?;
    if word != "watcher" && word != "starter" {
        return None;
    }
    Some(match <Between as clap::Parser>::parse() {
        Between::Watcher(args) => live(args),
        Between::Starter(args) => starter::start(args),
    })
}

/// Made by `baton run`.
#[derive(Debug, clap::Args)]
struct WatcherArgs {
    /// How long the work may take to stop when it is asked
    #[arg(long, value_name = "MILLISECONDS")]
    patience_ms: u64,

    /// The command and its arguments
    #[arg(last = true, required = true)]
    command: Vec<OsString>,
}

fn live(args: WatcherArgs) -> ExitCode {
    // One thread: the command's death signal is tied to the thread that starts
    // it, and there is little to do.
    let watched = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .and_then(|runtime| runtime.block_on(watch(args)));
    match watched {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            output::note(&format!("baton: the watcher cannot start: {error}"));
            ExitCode::FAILURE
        }
    }
}

async fn watch(args: WatcherArgs) -> io::Result<()> {
    // Or it would be called `exe`, after the way it was started.
    let _ = rustix::thread::set_name(c"baton-watcher");
    // Fails for who leads a process group already, and that is fine too.
    let _ = setsid();
    set_child_subreaper(Some(getpid()))?;
    let _deaf = deaf()?;
    let mut children = signal(SignalKind::child())?;
    let (stdin, mut inbox, outbox) = inbox::open().await?;
    let Some(Heard::Order(Order::Deadline { stop_at, kill_at })) = inbox.next().await else {
        return Err(io::Error::other("it was told no deadline"));
    };
    let patience_ns = args.patience_ms.saturating_mul(1_000_000);
    let mut plan = Plan::new(stop_at, kill_at, patience_ns);
    let mut work = Work::new(outbox);
    if plan.tick(Moment::now()) == Act::Wait {
        work.begin(&args.command, stdin)?;
    }
    let mut alarm = Alarm::new()?;
    let mut rounds = Rounds::default();
    loop {
        let ended = work.reap().await;
        if work.gone {
            return Ok(());
        }
        let act = if ended {
            plan.ended(Moment::now())
        } else {
            tokio::select! {
                heard = inbox.next() => match heard {
                    Some(Heard::Order(order)) => {
                        if let Order::Signal(number) = order {
                            work.pass_on(number);
                        }
                        plan.ordered(Moment::now(), order)
                    }
                    Some(Heard::Nonsense) => Act::Wait,
                    None => plan.abandoned(Moment::now()),
                },
                _ = children.recv() => plan.tick(Moment::now()),
                () = wake(&mut alarm, plan.wake_at(), &rounds) => plan.tick(Moment::now()),
            }
        };
        match act {
            Act::Wait => {}
            Act::Terminate => {
                work.report(Report::Stopping).await;
                descendants::terminate(getpid());
            }
            Act::Kill => rounds.kill(getpid()),
        }
    }
}

async fn wake(alarm: &mut Alarm, moment: Option<Moment>, rounds: &Rounds) {
    match moment {
        Some(moment) => alarm.at(moment).await,
        None => tokio::time::sleep(rounds.pause()).await,
    }
}

/// Catches every signal that can be caught, and does nothing about it: the
/// watcher outlives what it watches. Caught, not ignored, for the command
/// inherits what is ignored.
fn deaf() -> io::Result<Vec<Signals>> {
    let before = ignored();
    (1..=64)
        .filter(|number| !before.contains(*number))
        .filter(|number| !NOT_CAUGHT.iter().any(|not| not.as_raw() == *number))
        // The two that the C library keeps for itself.
        .filter(|number| !(32..=33).contains(number))
        .map(|number| signal(SignalKind::from_raw(number)))
        .collect()
}

/// The command, and what is known of it.
struct Work {
    outbox: OwnedWriteHalf,
    leader: Option<Pid>,
    /// Nothing is left below the watcher.
    gone: bool,
}

impl Work {
    fn new(outbox: OwnedWriteHalf) -> Self {
        Self {
            outbox,
            leader: None,
            gone: false,
        }
    }

    /// Starts the command, by way of the [`starter`], in a process group of its
    /// own.
    fn begin(&mut self, command: &[OsString], stdin: OwnedFd) -> io::Result<()> {
        let child = Command::new("/proc/self/exe")
            .arg0("baton")
            .args(["starter", "--parent"])
            .arg(getpid().as_raw_nonzero().to_string())
            .arg("--")
            .args(command)
            .stdin(Stdio::from(stdin))
            .process_group(0)
            .spawn()?;
        self.leader = Some(Pid::from_child(&child));
        Ok(())
    }

    /// Takes note of everyone who died. Whether the command is among them.
    async fn reap(&mut self) -> bool {
        let mut ended = false;
        loop {
            match wait(WaitOptions::NOHANG) {
                Ok(Some((pid, status))) if Some(pid) == self.leader => {
                    self.leader = None;
                    ended = true;
                    self.report(Report::Ended(code(status))).await;
                }
                Ok(Some(_)) | Err(rustix::io::Errno::INTR) => {}
                Ok(None) => return ended,
                // No child. Whoever is below a subreaper is a child of its, or
                // below one.
                Err(_) => {
                    self.gone = true;
                    self.report(Report::Gone).await;
                    return ended;
                }
            }
        }
    }

    /// Passes a signal on to the command; what a terminal would send to the
    /// whole group goes to the whole group.
    fn pass_on(&self, number: i32) {
        let (Some(leader), Some(signal)) = (self.leader, Signal::from_named_raw(number)) else {
            return;
        };
        // It may just have ended; then there is nobody to tell.
        let _ = match signal {
            Signal::INT | Signal::QUIT | Signal::WINCH => kill_process_group(leader, signal),
            _ => kill_process(leader, signal),
        };
    }

    async fn report(&mut self, report: Report) {
        // Nobody may be listening any more. A reader that does not read must
        // not hold the watcher up either; the socket takes far more than this.
        let line = format!("{report}\n");
        let _ = tokio::time::timeout(REPORTING, self.outbox.write_all(line.as_bytes())).await;
    }
}

/// The exit code that stands for this end, as shells count.
fn code(status: WaitStatus) -> u8 {
    let status = ExitStatus::from_raw(status.as_raw());
    let number = status
        .code()
        .or_else(|| status.signal().map(|number| 128 + number));
    number
        .and_then(|number| u8::try_from(number).ok())
        .unwrap_or(u8::MAX)
}
