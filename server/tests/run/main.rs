//! `baton run`, as processes: the real program, a real server, real signals.
//! Nothing of a command outlives its lease (`gone`), and it is told and heard as
//! the help says (`turns`).
#![cfg(target_os = "linux")]

#[path = "../support/running.rs"]
mod running;
#[path = "../support/served.rs"]
mod served;

mod gone;
mod turns;

use std::{fs, path::PathBuf};

use baton_client::{Acquire, Client, Lease};
use running::{Running, until};
use served::Served;

/// A command that ignores SIGTERM, with children and grandchildren, and a daemon
/// in a session of its own whose parents are gone.
const STUBBORN: &str = r#"
trap '' TERM
sleep 1000 &
( sleep 1000 & wait ) &
setsid sh -c 'sh -c "while :; do sleep 1; done" & exit 0'
echo ready >> "$1"
wait
"#;

/// Starts the stubborn command under this lease, and waits until all of it runs.
fn stubborn(served: &Served, lease: &str, holder: &str, arguments: &[&str]) -> Running {
    let mark = served.folder().join(holder);
    let mark = mark.to_str().expect("a path of letters");
    let all: Vec<&str> = [lease]
        .into_iter()
        .chain(arguments.iter().copied())
        .chain(["--", "sh", "-c", STUBBORN, "sh", mark])
        .collect();
    let running = Running::start(served.baton(), holder, &all);
    until_stubborn(&running, mark, 1);
    running
}

/// Waits until all of the command runs, for the `turn`th time.
fn until_stubborn(running: &Running, mark: &str, turn: usize) {
    until("the command is ready", || {
        let said = fs::read_to_string(mark).unwrap_or_default();
        (said.lines().count() >= turn).then_some(())
    });
    let living = running.until_living(5);
    let watcher = running.watcher().expect("there is a watcher");
    assert!(
        living
            .iter()
            .any(|process| process.parent == watcher.pid && process.session != watcher.session),
        "one of them is a daemon, and below the watcher all the same: {living:?}"
    );
}

/// Waits in line as somebody else until the lease is granted.
async fn next_holder(client: &Client, lease: &str) -> Lease {
    let mut acquire = Acquire::new("next".parse().expect("a holder"), 60_000);
    acquire.wait_ms = 30_000;
    client
        .acquire(&lease.parse().expect("a lease"), &acquire)
        .await
        .expect("it is granted when time lets it")
}

/// A file that a command writes to.
fn file(served: &Served, name: &str) -> (PathBuf, String) {
    let path = served.folder().join(name);
    let text = path.to_str().expect("a path of letters").to_owned();
    (path, text)
}

/// What a command wrote, once it did.
fn written(path: &PathBuf) -> String {
    until("the command has written", || {
        fs::read_to_string(path)
            .ok()
            .filter(|text| text.ends_with('\n'))
    })
}
