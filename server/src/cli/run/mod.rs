//! `baton run`: a command that runs only while its lease is held.
//!
//! Three processes stand in a row. `baton run` itself contends and renews, with
//! the client's keeper, and decides no deadline of its own. The [`watcher`] is
//! told each confirmed deadline and ends the work at it, whatever has become of
//! `baton run`. Below it is the command, with everything that it starts.
//!
//! [`contend`] waits for a tenure, [`work`] is one tenure's work, [`watched`] is
//! this side of the watcher. Linux only: it takes a subreaper, and a clock that
//! counts suspend.

mod contend;
mod work;

mod watched;
mod watcher;

mod boottime;
mod descendants;
mod environment;
mod signals;
mod status;

use std::{ffi::OsString, process::ExitCode, time::Duration};

use baton_client::{
    HolderId, LeaseName, RawJson,
    keeper::{Handle, HoldOptions, Keeper, KeeperOptions, Loss, ReleaseError, Tenure},
    limits::{GRACE_MS_MAX, TTL_MS_MAX, TTL_MS_MIN},
};

use super::{
    Exit, Failure, Millis,
    connection::{ConnectionArgs, Session},
    holder::default_holder,
    output,
    safe::safe_lines,
    words,
};
use contend::{Got, contend};
use environment::Environment;
use signals::Incoming;
pub use watcher::between;
use work::{Done, Job};

/// The longest that a call is waited for when the time for waiting is over.
const CALL_MAX: Duration = Duration::from_secs(5);

const AFTER_HELP: &str = "\
While it holds the lease, baton run renews it every third of the ttl. When the lease is lost, when
the server cannot be reached in time, and also when baton run is stopped or killed, the command and
everything it started get SIGTERM, and what is still there gets SIGKILL, before time lets anybody
else have the lease. Then it contends again, and runs the command anew, unless --once is given. When
the command ends by itself, whatever it left running is ended too, the lease is released, and that
is all. It cannot end what runs as another user (sudo), nor containers that a daemon started; and if
it and its watcher are killed at once, only the command itself dies with them. Fence what matters.

An operator's step-down shows as SIGTERM: the command has until the deadline (less a third of the
ttl) to finish; the lease is released as soon as it has.

Signals: HUP, INT, QUIT, TERM, USR1, USR2, CONT, WINCH and PWR are passed on. The command runs in a
session of its own: Ctrl-C reaches it through baton run, job control and /dev/tty do not.

The command finds BATON_LEASE, BATON_HOLDER, BATON_GENERATION (the fencing token), BATON_URL,
BATON_ATTEMPT and, if there is one, BATON_PAYLOAD in its environment; not BATON_TOKEN.

Exit codes: the command's own, or 128 and the number of the signal that ended it; 127 and 126 if it
cannot be found or run; 75 if the lease could not be had (--wait is over, or --max-attempts are used
up); 3 if it was lost, with --once; 2 wrong usage; 4 not authorised; 5 the server could not be
reached while --wait lasted.";

/// Run a command only while holding a lease
///
/// Waits for the lease, runs the command, and makes sure that neither it nor
/// anything it started outlives the hold.
#[derive(Debug, clap::Args)]
#[command(after_help = AFTER_HELP)]
pub struct RunArgs {
    /// The lease: 1 to 200 of A–Z a–z 0–9 . _ : @ -
    lease: LeaseName,

    /// Who takes it; must be unique per process [default: USER@HOST/PID-RANDOM]
    #[arg(long)]
    holder: Option<HolderId>,

    /// How long it lasts without renewal: 1s to 24h. A third of it is kept for the command to stop
    #[arg(long, default_value = "10s", value_name = "DURATION", value_parser = ttl)]
    ttl: Millis,

    /// How long past the expiry everyone must still wait: up to 1h
    #[arg(long, default_value = "0", value_name = "DURATION", value_parser = grace)]
    grace: Millis,

    /// Wait for the lease this long; 0 to try once [default: as long as it takes]
    #[arg(long, value_name = "DURATION")]
    wait: Option<Millis>,

    /// Do not take work over that has lapsed this many times in a row
    #[arg(long, value_name = "N")]
    max_attempts: Option<u64>,

    /// What the work is, for whoever takes it over: JSON, up to 64 KiB
    #[arg(long, value_name = "JSON", value_parser = words::json)]
    payload: Option<RawJson>,

    /// On whose behalf
    #[arg(long, value_name = "NAME")]
    principal: Option<String>,

    /// Run this by `sh` at every renewal; its first line of output is shown as the status
    #[arg(long, value_name = "SCRIPT")]
    status_cmd: Option<String>,

    /// How long the command may take to stop before it is killed, if there is that much time
    #[arg(long, default_value = "5s", value_name = "DURATION")]
    kill_after: Millis,

    /// End when the lease is lost, instead of contending again
    #[arg(long)]
    once: bool,

    /// Let the command have BATON_TOKEN
    #[arg(long)]
    pass_token: bool,

    #[command(flatten)]
    connection: ConnectionArgs,

    /// The command and its arguments
    #[arg(last = true, required = true, value_name = "COMMAND")]
    command: Vec<OsString>,
}

fn ttl(text: &str) -> Result<Millis, String> {
    within(text, TTL_MS_MIN, TTL_MS_MAX, "1s to 24h")
}

fn grace(text: &str) -> Result<Millis, String> {
    within(text, 0, GRACE_MS_MAX, "0 to 1h")
}

fn within(text: &str, least: u64, most: u64, words: &str) -> Result<Millis, String> {
    let millis: Millis = text.parse()?;
    if (least..=most).contains(&millis.0) {
        Ok(millis)
    } else {
        Err(format!("it can be {words}"))
    }
}

/// Runs the command.
pub async fn run(args: RunArgs) -> Result<ExitCode, Failure> {
    let session = args.connection.session(false)?;
    let mut signals = Incoming::open()
        .map_err(|error| Failure::new(Exit::Failed, format!("cannot catch signals: {error}")))?;
    let holder = match &args.holder {
        Some(holder) => holder.clone(),
        None => default_holder()
            .parse()
            .map_err(|error| Failure::new(Exit::Failed, format!("{error}")))?,
    };
    let keeper = Keeper::new(session.client().clone(), KeeperOptions::new(holder.clone()));
    let mut handle = keeper.hold(args.lease.clone(), options(&args));
    let job = job(&args, &session, &holder)?;
    let ended = turns(&args, &session, &job, &mut handle, &mut signals).await;
    // What is still to be given back is given back before the end.
    drop(handle);
    let flushed = tokio::time::timeout(Duration::from_secs(5), keeper.flush()).await;
    if flushed.is_err() {
        output::note(&format!("baton: {}.", ReleaseError::Unconfirmed));
    }
    ended.map(ExitCode::from)
}

fn options(args: &RunArgs) -> HoldOptions {
    let mut options = HoldOptions::ttl(Duration::from_millis(args.ttl.0));
    options.grace = Duration::from_millis(args.grace.0);
    if let Some(wait) = args.wait {
        options.wait = options.wait.min(Duration::from_millis(wait.0));
    }
    options.attempts_max = args.max_attempts;
    options.payload = args.payload.clone();
    options.principal = args.principal.clone();
    options
}

fn job(args: &RunArgs, session: &Session, holder: &HolderId) -> Result<Job, Failure> {
    let token = if args.pass_token {
        args.connection.token()?
    } else {
        None
    };
    Ok(Job {
        command: args.command.clone(),
        patience: Duration::from_millis(args.kill_after.0),
        status_command: args.status_cmd.clone(),
        status_interval: Duration::from_millis(args.ttl.0 / 3),
        environment: Environment::default()
            .with("BATON_LEASE", Some(args.lease.as_str()))
            .with("BATON_HOLDER", Some(holder.as_str()))
            .with("BATON_URL", Some(session.client().address()))
            .with("BATON_TOKEN", token),
    })
}

/// Contends and works, turn by turn, until there is an exit code.
async fn turns(
    args: &RunArgs,
    session: &Session,
    job: &Job,
    handle: &mut Handle,
    signals: &mut Incoming,
) -> Result<u8, Failure> {
    let wait = args.wait.map(|wait| Duration::from_millis(wait.0));
    let call = Duration::from_millis(args.ttl.0 / 6).min(CALL_MAX);
    loop {
        let tenure = match contend(handle, session, wait, call, signals).await? {
            Got::Tenure(tenure) => tenure,
            Got::Signal(number) => return Ok(code_of_signal(number)),
        };
        let done = work::work(&tenure, job, signals).await.map_err(|error| {
            Failure::new(Exit::Failed, format!("cannot start the watcher: {error}"))
        })?;
        match next(done, args.once) {
            Next::Exit(code) => {
                release(tenure, signals).await;
                return Ok(code);
            }
            Next::Lost => {
                let loss = loss(&tenure);
                release(tenure, signals).await;
                return Err(Failure::new(
                    Exit::Refused,
                    format!("lost {}: {loss}. The command was stopped.", args.lease),
                ));
            }
            Next::Again => {
                let (loss, asked) = (loss(&tenure), tenure.step_down().is_some());
                output::note(&format!(
                    "baton: lost {}: {loss}. The command was stopped; contending again.",
                    args.lease
                ));
                if asked && let Some(number) = release(tenure, signals).await {
                    return Ok(code_of_signal(number));
                }
                // Otherwise it is just dropped: should nobody have taken it,
                // it goes on under its generation.
            }
        }
    }
}

/// What follows from a turn.
#[derive(Debug, PartialEq, Eq)]
enum Next {
    Exit(u8),
    Lost,
    Again,
}

fn next(done: Done, once: bool) -> Next {
    match done {
        Done::WatcherDied => Next::Exit(code_of_signal(9)),
        Done::Gone {
            code: Some(code),
            stopped: false,
            ..
        } => Next::Exit(code),
        // Stopped for want of the lease, and somebody wants the end anyway.
        Done::Gone {
            code,
            signal: Some(number),
            ..
        } => Next::Exit(code.unwrap_or(code_of_signal(number))),
        Done::Gone { .. } if once => Next::Lost,
        Done::Gone { .. } => Next::Again,
    }
}

fn code_of_signal(number: i32) -> u8 {
    u8::try_from(128 + number).unwrap_or(u8::MAX)
}

fn loss(tenure: &Tenure) -> String {
    let loss = match (tenure.lost(), tenure.step_down()) {
        (Some(loss), _) => loss,
        (None, Some(asked)) => Loss::StepDown(asked),
        (None, None) => Loss::ExpiredLocally,
    };
    safe_lines(&loss.to_string())
}

/// Lets the lease go, now that the work has stopped. Who asks for the end meanwhile,
/// by the signal that this gives back, need not wait for a server that does not
/// answer: it is tried a little longer while everything ends.
async fn release(tenure: Tenure, signals: &mut Incoming) -> Option<i32> {
    let released = tokio::select! {
        biased;
        released = tenure.release() => released,
        number = signals.ending() => return Some(number),
    };
    match released {
        Ok(()) | Err(ReleaseError::Lost(_)) => {}
        Err(unconfirmed @ ReleaseError::Unconfirmed) => {
            output::note(&format!("baton: {unconfirmed}."));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gone(code: Option<u8>, stopped: bool, signal: Option<i32>) -> Done {
        Done::Gone {
            code,
            stopped,
            signal,
        }
    }

    #[test]
    fn a_command_that_ends_by_itself_is_the_end() {
        for once in [true, false] {
            assert_eq!(next(gone(Some(7), false, None), once), Next::Exit(7));
            assert_eq!(next(gone(Some(0), false, Some(15)), once), Next::Exit(0));
            assert_eq!(next(Done::WatcherDied, once), Next::Exit(137));
        }
    }

    #[test]
    fn a_lost_lease_is_contended_for_again_unless_somebody_wants_the_end() {
        assert_eq!(next(gone(Some(143), true, None), false), Next::Again);
        assert_eq!(next(gone(None, false, None), false), Next::Again);
        assert_eq!(next(gone(Some(143), true, None), true), Next::Lost);
        let asked = gone(Some(143), true, Some(15));
        assert_eq!(next(asked, false), Next::Exit(143));
        assert_eq!(next(gone(None, false, Some(2)), true), Next::Exit(130));
    }
}
