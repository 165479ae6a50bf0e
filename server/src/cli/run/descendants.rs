//! Everything that a process started, found by walking `/proc` from parent to
//! child, and signals to all of it. With a subreaper at the root nothing
//! escapes the walk: whoever loses its parent becomes the subreaper's child.
//!
//! One walk is not atomic, and processes may be born behind its back. So killing
//! is done again and again until nothing is left; a single round proves nothing.

use std::{
    collections::{HashMap, HashSet},
    fs,
    time::Duration,
};

use rustix::{
    io::Errno,
    process::{
        Pid, PidfdFlags, Signal, WaitOptions, kill_process_group, pidfd_open, pidfd_send_signal,
        waitpid,
    },
};

use crate::cli::output;

/// A process, as `/proc` tells it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Process {
    /// Its number.
    pub pid: Pid,
    parent: i32,
    group: i32,
    /// When it started, in ticks: with the number, who it is.
    started: u64,
    zombie: bool,
}

/// Every living descendant of `root`.
pub fn below(root: Pid) -> Vec<Process> {
    let (living, _) = walk(root);
    living
}

/// Asks every descendant of `root` to end. One that is stopped could not hear it.
pub fn terminate(root: Pid) {
    for process in below(root) {
        send(&process, Signal::TERM);
        send(&process, Signal::CONT);
    }
}

/// Killing, round after round.
#[derive(Debug, Default)]
pub struct Rounds {
    count: u32,
    /// Those that this user may not end. Each is complained about once.
    beyond: HashSet<Pid>,
}

impl Rounds {
    /// One round: kills every descendant of `root`.
    pub fn kill(&mut self, root: Pid) {
        self.count = self.count.saturating_add(1);
        let own_group = rustix::process::getpgrp();
        let mut groups = HashSet::new();
        for process in below(root) {
            match send(&process, Signal::KILL) {
                Sent::Yes => {}
                Sent::Gone => continue,
                Sent::Forbidden => {
                    self.complain(process.pid);
                    continue;
                }
            }
            // Those that start each other faster than they can be found are
            // killed in one go. A group lies within a session, and theirs began
            // below the root, so there is nobody else in it.
            if let Some(group) = Pid::from_raw(process.group)
                && group != own_group
                && groups.insert(group)
            {
                let _ = kill_process_group(group, Signal::KILL);
            }
        }
    }

    /// How long until the next round: what does not die at once is waiting for
    /// a disk or somebody else's.
    pub fn pause(&self) -> Duration {
        Duration::from_millis(if self.count < 200 { 5 } else { 200 })
    }

    /// A program that runs as somebody else, such as sudo, cannot be ended from
    /// here, and silence would hide that.
    fn complain(&mut self, pid: Pid) {
        if self.beyond.insert(pid) {
            // Beside, for whoever reads it may be stopped, and killing goes on.
            let pid = pid.as_raw_nonzero();
            let _ = std::thread::Builder::new().spawn(move || {
                output::note(&format!(
                    "baton: process {pid} runs as somebody else and cannot be ended"
                ));
            });
        }
    }
}

/// Takes note of the end of `root`'s children, `except` aside.
pub fn reap(root: Pid, except: Option<Pid>) {
    let (_, dead) = walk(root);
    for process in dead {
        if process.parent == root.as_raw_nonzero().get() && Some(process.pid) != except {
            let _ = waitpid(Some(process.pid), WaitOptions::NOHANG);
        }
    }
}

enum Sent {
    Yes,
    Gone,
    Forbidden,
}

/// Sends a signal to that very process, not to another one that has its number
/// by now.
fn send(process: &Process, signal: Signal) -> Sent {
    let Ok(handle) = pidfd_open(process.pid, PidfdFlags::empty()) else {
        return Sent::Gone;
    };
    if read(process.pid).is_none_or(|now| now.started != process.started) {
        return Sent::Gone;
    }
    match pidfd_send_signal(&handle, signal) {
        Ok(()) => Sent::Yes,
        Err(Errno::PERM) => Sent::Forbidden,
        Err(_) => Sent::Gone,
    }
}

/// The living and the dead below `root`.
fn walk(root: Pid) -> (Vec<Process>, Vec<Process>) {
    let mut children: HashMap<i32, Vec<Process>> = HashMap::new();
    for process in all() {
        children.entry(process.parent).or_default().push(process);
    }
    let (mut living, mut dead) = (Vec::new(), Vec::new());
    let mut parents = vec![root.as_raw_nonzero().get()];
    while let Some(parent) = parents.pop() {
        // Removed, so that a walk that saw a number twice ends all the same.
        for process in children.remove(&parent).unwrap_or_default() {
            parents.push(process.pid.as_raw_nonzero().get());
            if process.zombie {
                dead.push(process);
            } else {
                living.push(process);
            }
        }
    }
    (living, dead)
}

fn all() -> impl Iterator<Item = Process> {
    fs::read_dir("/proc")
        .into_iter()
        .flatten()
        .filter_map(|entry| {
            let number = entry.ok()?.file_name().to_str()?.parse().ok()?;
            read(Pid::from_raw(number)?)
        })
}

fn read(pid: Pid) -> Option<Process> {
    let stat = fs::read(format!("/proc/{}/stat", pid.as_raw_nonzero())).ok()?;
    parse(pid, &String::from_utf8_lossy(&stat))
}

/// Reads `/proc/PID/stat`. The program's name stands in parentheses and may
/// hold anything, parentheses and line breaks included.
fn parse(pid: Pid, stat: &str) -> Option<Process> {
    let (_, fields) = stat.rsplit_once(") ")?;
    let mut fields = fields.split_ascii_whitespace();
    let state = fields.next()?;
    let parent = fields.next()?.parse().ok()?;
    let group = fields.next()?.parse().ok()?;
    // The 20th field, the next one after five; then the 22nd.
    let threads: u32 = fields.nth(14)?.parse().ok()?;
    let started = fields.nth(1)?.parse().ok()?;
    Some(Process {
        pid,
        parent,
        group,
        started,
        // A process whose first thread has ended looks dead while others work on.
        zombie: matches!(state, "Z" | "X" | "x") && threads <= 1,
    })
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    fn a_program_may_be_called_anything() {
        let pid = Pid::from_raw(77).expect("a number");
        let stat = "77 (a) S 1 (\nb)) Z 5 6 7 0 -1 4194560 1 0 0 0 0 0 0 0 20 0 1 0 12345 0 0";
        let process = parse(pid, stat).expect("it can be read");
        assert_eq!((process.parent, process.group), (5, 6));
        assert_eq!(process.started, 12_345);
        assert!(process.zombie);
        assert_eq!(parse(pid, "77 (cut off"), None);
    }

    #[test]
    fn a_process_whose_first_thread_has_ended_is_killed_too() {
        // The raw call ends the thread that makes it, and no other.
        let script = "import ctypes, platform, threading, time
threading.Thread(target=time.sleep, args=(600,)).start()
ctypes.CDLL(None).syscall(93 if platform.machine() == 'aarch64' else 60, 0)";
        let mut child = Command::new("python3")
            .args(["-c", script])
            .spawn()
            .expect("Python starts");
        let pid = Pid::from_child(&child);
        let state = || {
            let stat = fs::read_to_string(format!("/proc/{}/stat", pid.as_raw_nonzero()));
            stat.expect("it is not waited for yet")
        };
        while !state().contains(") Z ") {
            std::thread::yield_now();
        }
        assert!(!read(pid).expect("it is there").zombie, "{}", state());
        let here = rustix::process::getpid();
        let process = below(here).into_iter().find(|process| process.pid == pid);
        assert!(matches!(
            send(&process.expect("it is seen"), Signal::KILL),
            Sent::Yes
        ));
        assert!(!child.wait().expect("it ends").success());
    }

    #[test]
    fn grandchildren_are_found_and_killed() {
        let mut child = Command::new("sh")
            .args(["-c", "sleep 600 & sleep 600 & wait"])
            .spawn()
            .expect("sh starts");
        let root = Pid::from_child(&child);
        while below(root).len() < 2 {
            std::thread::yield_now();
        }
        Rounds::default().kill(root);
        // The shell was waiting for just these.
        assert!(child.wait().expect("it ends").success());
        assert_eq!(below(root).len(), 0);
    }
}
