//! `baton run`'s end of the watcher: starts it, tells it deadlines, hears how
//! the work goes. Should the watcher itself be killed or stopped, this end kills
//! what it can find in its place.

use std::{
    ffi::OsString,
    io::{self, Write as _},
    net::Shutdown,
    os::{fd::AsFd as _, unix::net::UnixStream as StdStream},
    process::Stdio,
    time::Duration,
};

use rustix::process::{Pid, getpid, set_child_subreaper};
use tokio::{
    io::{AsyncBufReadExt as _, BufReader, Lines},
    net::UnixStream,
    process::{Child, Command},
};

use super::{
    descendants::{self, Rounds},
    environment::Environment,
    watcher::{Order, Report, send_stdin},
};

/// A running watcher and the work below it.
#[derive(Debug)]
pub struct Watched {
    child: Child,
    pid: Option<Pid>,
    orders: StdStream,
    reports: Option<Lines<BufReader<UnixStream>>>,
}

/// What became of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum News {
    /// As the watcher says.
    Report(Report),
    /// The watcher ended without having said that nothing is left.
    Died,
}

impl Watched {
    /// Starts the watcher, which starts the command when it hears the first
    /// deadline.
    ///
    /// # Errors
    /// The system refuses.
    pub fn start(
        command: &[OsString],
        environment: &Environment,
        patience: Duration,
    ) -> io::Result<Self> {
        // Should the watcher be killed, its children become this process's.
        set_child_subreaper(Some(getpid()))?;
        let (ours, theirs) = StdStream::pair()?;
        let mut watcher = Command::new("/proc/self/exe");
        watcher
            .arg0("baton")
            .args(["watcher", "--patience-ms"])
            .arg(patience.as_millis().to_string())
            .arg("--")
            .args(command)
            .stdin(Stdio::from(std::os::fd::OwnedFd::from(theirs)));
        environment.put(&mut watcher);
        let child = watcher.spawn()?;
        send_stdin(&ours, io::stdin().as_fd())?;
        ours.set_nonblocking(true)?;
        let orders = ours.try_clone()?;
        let reports = UnixStream::from_std(ours)?;
        Ok(Self {
            pid: child.id().and_then(|id| Pid::from_raw(id as i32)),
            child,
            orders,
            reports: Some(BufReader::new(reports).lines()),
        })
    }

    /// Tells the watcher. It does not wait: the socket takes thousands of
    /// orders, and a watcher that has not read those will not read this one. Nor
    /// does it ask the runtime, which takes a new socket for full until it has
    /// looked: the first order would be lost.
    pub fn tell(&self, order: Order) {
        let _ = (&self.orders).write(format!("{order}\n").as_bytes());
    }

    /// What happens next. After [`Report::Gone`] and [`News::Died`] nothing
    /// does. May be dropped and called again.
    pub async fn next(&mut self) -> News {
        while let Some(reports) = &mut self.reports {
            match reports.next_line().await {
                Ok(Some(line)) => {
                    if let Ok(report) = line.parse() {
                        return News::Report(report);
                    }
                }
                Ok(None) | Err(_) => self.reports = None,
            }
        }
        let _ = self.child.wait().await;
        News::Died
    }

    /// Kills the watcher and everything else below this process. Returns when
    /// nothing is left.
    pub async fn kill_everything(&mut self) {
        let own = getpid();
        let mut rounds = Rounds::default();
        let mut empty = 0;
        // One walk may miss who just lost its parent; the second one does not.
        while empty < 2 {
            rounds.kill(own);
            // Tokio waits for the watcher; the others were left behind.
            let _ = self.child.try_wait();
            descendants::reap(own, self.pid);
            if descendants::below(own).is_empty() {
                empty += 1;
            } else {
                empty = 0;
            }
            tokio::time::sleep(rounds.pause()).await;
        }
    }

    /// Waits for the watcher's own end, after it said that nothing is left.
    pub async fn finish(mut self) {
        let _ = self.orders.shutdown(Shutdown::Write);
        let _ = self.child.wait().await;
    }
}
