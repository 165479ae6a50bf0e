//! A `baton run` as a process of its own, and what is left of its command:
//! everything that the command starts inherits `BATON_HOLDER`, by which it is
//! found however it was daemonised.

// Every test program uses some of it.
#![allow(dead_code)]

use std::{
    fs,
    process::{Child, Command, ExitStatus, Stdio},
    time::{Duration, Instant},
};

/// A `baton run`. Killed when dropped; its watcher ends the rest.
pub struct Running {
    child: Child,
    /// Who it is.
    pub holder: String,
}

/// A process of the command's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Process {
    pub pid: i32,
    pub parent: i32,
    pub session: i32,
    pub name: String,
}

impl Running {
    /// Starts it: `command` is `baton` with its environment, to which `run` and
    /// the arguments are added.
    pub fn start(mut command: Command, holder: &str, arguments: &[&str]) -> Self {
        let (lease, rest) = arguments.split_first().expect("a lease comes first");
        let child = command
            .args(["run", lease, "--holder", holder])
            .args(rest)
            .spawn()
            .expect("the program starts");
        Self {
            child,
            holder: holder.into(),
        }
    }

    /// Sends it a signal by its name. Only before its end was noticed: until
    /// then its number is its own.
    pub fn signal(&self, name: &str) {
        signal(self.pid(), name);
    }

    pub fn pid(&self) -> i32 {
        self.child.id() as i32
    }

    /// Everything of its command that lives, the watcher aside.
    pub fn living(&self) -> Vec<Process> {
        let mut living = of_holder(&self.holder);
        living.retain(|process| process.name != "baton-watcher");
        living
    }

    /// Its watcher.
    pub fn watcher(&self) -> Option<Process> {
        of_holder(&self.holder)
            .into_iter()
            .find(|process| process.name == "baton-watcher")
    }

    /// Waits until so many processes of its command live.
    pub fn until_living(&self, least: usize) -> Vec<Process> {
        until("the command has started", || {
            Some(self.living()).filter(|living| living.len() >= least)
        })
    }

    /// Waits for its end.
    pub fn wait(&mut self) -> ExitStatus {
        until("baton run has ended", || {
            self.child.try_wait().expect("our child")
        })
    }

    /// Whether it has ended.
    pub fn has_ended(&mut self) -> bool {
        self.child.try_wait().expect("our child").is_some()
    }

    /// Waits for its exit code.
    pub fn code(&mut self) -> i32 {
        self.wait().code().expect("it was not killed")
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Sends a signal by its name.
pub fn signal(pid: i32, name: &str) {
    let sent = Command::new("kill")
        .args(["-s", name, &pid.to_string()])
        .status();
    assert!(sent.expect("kill can run").success(), "{name} to {pid}");
}

/// As [`signal`], to a process that may be gone.
pub fn signal_if_there(pid: i32, name: &str) {
    let _ = Command::new("kill")
        .args(["-s", name, &pid.to_string()])
        .stderr(Stdio::null())
        .status();
}

/// Waits for something, a minute at most.
pub fn until<T>(what: &str, mut found: impl FnMut() -> Option<T>) -> T {
    let started = Instant::now();
    loop {
        if let Some(found) = found() {
            return found;
        }
        assert!(
            started.elapsed() < Duration::from_secs(60),
            "waited in vain until {what}"
        );
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Every living process that works under this holder's tenure.
pub fn of_holder(holder: &str) -> Vec<Process> {
    let mark = format!("BATON_HOLDER={holder}");
    fs::read_dir("/proc")
        .expect("this is Linux")
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
        .filter(|pid: &i32| {
            let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
            environment
                .split(|byte| *byte == 0)
                .any(|variable| variable == mark.as_bytes())
        })
        .filter_map(read)
        .collect()
}

fn read(pid: i32) -> Option<Process> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let (before, after) = stat.rsplit_once(") ")?;
    let fields: Vec<&str> = after.split(' ').collect();
    (fields[0] != "Z").then(|| Process {
        pid,
        parent: fields[1].parse().unwrap_or(0),
        session: fields[3].parse().unwrap_or(0),
        name: before.split_once('(').map_or("", |(_, name)| name).into(),
    })
}
