//! `--status-cmd`: a script that says how far the work is.

use std::{process::Stdio, time::Duration};

use baton_client::keeper::Tenure;
use rustix::process::{Pid, Signal, WaitOptions, kill_process_group, waitpgid};
use tokio::{
    io::{AsyncBufReadExt as _, AsyncReadExt as _, BufReader},
    process::Command,
};

use super::{environment::Environment, work::Job};
use crate::cli::{output, words::json_or_word};

/// As much of a line is read; the server takes a little less.
const LINE_BYTES_MAX: u64 = 4 * 1024;

/// Reports until it is dropped, every interval. Without a script it just waits.
pub async fn report(tenure: &Tenure, job: &Job, environment: &Environment) {
    let Some(script) = &job.status_command else {
        return std::future::pending().await;
    };
    // A script that hangs leaves time for the next one.
    let bound = job.status_interval / 2;
    let mut turns = tokio::time::interval(job.status_interval);
    turns.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    let mut complained = false;
    let mut group = Group::default();
    loop {
        turns.tick().await;
        let problem = match ask(script, environment, bound, &mut group).await {
            Ok(line) => tell(tenure, &line).err(),
            Err(problem) => Some(problem),
        };
        // Once is enough: it comes again at every renewal.
        if let Some(problem) = problem
            && !std::mem::replace(&mut complained, true)
        {
            output::note(&format!("baton: --status-cmd: {problem}"));
        }
    }
}

fn tell(tenure: &Tenure, line: &str) -> Result<(), String> {
    if line.is_empty() {
        return Ok(());
    }
    let status = json_or_word(line)?;
    tenure.status(status).map_err(|error| error.to_string())
}

/// The first line of what the script says.
async fn ask(
    script: &str,
    environment: &Environment,
    bound: Duration,
    group: &mut Group,
) -> Result<String, String> {
    group.reap();
    let mut command = Command::new("sh");
    command
        .args(["-c", script])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .process_group(0)
        .kill_on_drop(true);
    environment.put(&mut command);
    let mut child = command.spawn().map_err(|error| error.to_string())?;
    *group = Group {
        pid: child.id().and_then(|id| Pid::from_raw(id as i32)),
        ended: false,
    };
    let stdout = child.stdout.take();
    let reading = async {
        let mut line = String::new();
        if let Some(stdout) = stdout {
            let mut reader = BufReader::new(stdout.take(LINE_BYTES_MAX));
            reader
                .read_line(&mut line)
                .await
                .map_err(|error| error.to_string())?;
        }
        let status = child.wait().await.map_err(|error| error.to_string())?;
        match status.success() {
            true => Ok(line.trim().to_owned()),
            false => Err(format!("it failed ({status})")),
        }
    };
    let read = tokio::time::timeout(bound, reading).await;
    group.kill();
    read.unwrap_or_else(|_| Err(format!("it took longer than {} ms", bound.as_millis())))
}

/// What the script started. It is ended with it, also when it is not waited for any
/// more.
#[derive(Debug, Default)]
struct Group {
    pid: Option<Pid>,
    /// It was ended: its number may be somebody else's by now.
    ended: bool,
}

impl Group {
    fn kill(&mut self) {
        if let Some(group) = self.pid
            && !std::mem::replace(&mut self.ended, true)
        {
            let _ = kill_process_group(group, Signal::KILL);
        }
    }

    /// Takes note of the end of those in it that lost their parent: they are this
    /// process's children then.
    fn reap(&self) {
        if let Some(group) = self.pid {
            while let Ok(Some(_)) = waitpgid(group, WaitOptions::NOHANG) {}
        }
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        self.kill();
    }
}
