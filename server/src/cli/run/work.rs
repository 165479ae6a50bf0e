//! One tenure's work: the command runs below the watcher, which hears of every
//! confirmed renewal, of a loss, of a step-down, of signals. It ends when
//! nothing of the work is left.

use std::{ffi::OsString, io, time::Duration};

use baton_client::keeper::{Tenure, Until};

use super::{
    boottime::{Alarm, Moment},
    environment::Environment,
    signals::{Incoming, asks_to_end},
    status,
    watched::{News, Watched},
    watcher::{Order, Report},
};
use crate::cli::{output, safe::safe_lines};

/// What is run in every tenure.
#[derive(Debug)]
pub struct Job {
    pub command: Vec<OsString>,
    /// How long it may take to stop.
    pub patience: Duration,
    /// A script whose output is the status.
    pub status_command: Option<String>,
    pub status_interval: Duration,
    pub environment: Environment,
}

/// How the work of a tenure ended. In every case nothing of it is left.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Done {
    Gone {
        /// The command's; `None` if it was not started any more.
        code: Option<u8>,
        /// It was asked to stop before it ended.
        stopped: bool,
        /// Somebody asked for the end meanwhile, by this signal.
        signal: Option<i32>,
    },
    /// The watcher was killed, or could not do its work, and this process killed
    /// the rest.
    WatcherDied,
}

/// The moments that the work is judged by.
#[derive(Debug, Clone, Copy)]
struct Deadlines {
    /// It is asked to stop: the holder no longer counts itself as holding.
    stop_at: Moment,
    /// It is killed: in the middle of what is left until others may have the
    /// lease, so that stopping and dying both have their time.
    kill_at: Moment,
    /// This process kills it, should the watcher not have done so.
    backstop_at: Moment,
}

impl Deadlines {
    fn of(until: Until) -> Self {
        let margin = until.deadline.saturating_sub(until.holds);
        let stop_at = Moment::at(until.holds);
        Self {
            stop_at,
            kill_at: stop_at.after(margin / 2),
            backstop_at: stop_at.after(margin * 3 / 4),
        }
    }

    fn order(self) -> Order {
        Order::Deadline {
            stop_at: self.stop_at,
            kill_at: self.kill_at,
        }
    }
}

/// Does the work of this tenure, until nothing of it is left.
///
/// # Errors
/// The watcher cannot be started; then nothing was.
pub async fn work(tenure: &Tenure, job: &Job, signals: &mut Incoming) -> io::Result<Done> {
    let environment = of_tenure(&job.environment, tenure);
    let mut until = tenure.until();
    let mut deadlines = Deadlines::of(*until.borrow_and_update());
    let mut backstop = Alarm::new()?;
    let mut watched = Watched::start(&job.command, &environment, job.patience)?;
    watched.tell(deadlines.order());

    let reports = status::report(tenure, job, &environment);
    tokio::pin!(reports);
    let (mut code, mut stopped, mut signal) = (None, false, None);
    let (mut lost, mut asked_down) = (false, false);
    loop {
        tokio::select! {
            // What the watcher says comes first: after this process was
            // stopped for long, everything below is ready at once.
            biased;
            news = watched.next() => match news {
                News::Report(Report::Stopping) => stopped |= code.is_none(),
                News::Report(Report::Ended(ended)) => code = Some(ended),
                News::Report(Report::Gone) => {
                    watched.finish().await;
                    return Ok(Done::Gone { code, stopped, signal });
                }
                News::Died => {
                    watched.kill_everything().await;
                    output::note("baton: the watcher is gone, and the command was killed.");
                    return Ok(Done::WatcherDied);
                }
            },
            () = backstop.at(deadlines.backstop_at) => {
                watched.kill_everything().await;
                output::note("baton: the watcher did not move; killed the command and it.");
                return Ok(Done::Gone { code, stopped: true, signal });
            }
            Ok(()) = until.changed() => {
                deadlines = Deadlines::of(*until.borrow_and_update());
                watched.tell(deadlines.order());
            }
            () = tenure.cancelled(), if !lost => {
                lost = true;
                let kill_by = Moment::now().after(job.patience);
                watched.tell(Order::Stop { kill_by });
            }
            asked = tenure.step_down_asked(), if !asked_down => {
                asked_down = true;
                watched.tell(Order::Stop { kill_by: Moment::NEVER });
                output::note(&safe_lines(&format!(
                    "baton: {} asks to let {} go within {} s: {}",
                    asked.words.actor,
                    tenure.lease(),
                    asked.time_left().as_secs(),
                    asked.words.reason
                )));
            }
            number = signals.next() => {
                if asks_to_end(number) {
                    signal = Some(number);
                }
                watched.tell(Order::Signal(number));
            }
            () = &mut reports => {}
        }
    }
}

/// What the command is told of its tenure.
fn of_tenure(environment: &Environment, tenure: &Tenure) -> Environment {
    let payload = tenure.payload().map(|payload| payload.get().to_owned());
    environment
        .clone()
        .with("BATON_GENERATION", Some(tenure.generation().to_string()))
        .with("BATON_ATTEMPT", Some(tenure.attempt().to_string()))
        .with("BATON_PAYLOAD", payload)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_work_stops_dies_and_is_gone_in_that_order_before_the_deadline() {
        let until = Until {
            holds: Duration::from_millis(2_000),
            deadline: Duration::from_millis(3_000),
        };
        let deadlines = Deadlines::of(until);
        let ms = |moment: Moment| moment.as_ns() / 1_000_000;
        assert_eq!(ms(deadlines.stop_at), 2_000);
        assert_eq!(ms(deadlines.kill_at), 2_500);
        assert_eq!(ms(deadlines.backstop_at), 2_750);
    }
}
