//! Acquires that wait in line, first come, first served on one server.
//!
//! A line belongs to a lease. It is looked at whenever its lease is written,
//! when time makes the lease takeable, and, as other servers write too, once a
//! second.

use std::{
    collections::{HashMap, VecDeque},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::Duration,
};

use baton_client::LeaseName;
use tokio::{sync::Notify, time::Instant};

use super::queue::{Job, Place};

/// How long a line waits for a sign before it looks by itself.
const POLL: Duration = Duration::from_secs(1);

/// Acquires that wait, by lease.
#[derive(Default)]
pub struct Lines {
    lines: Mutex<HashMap<LeaseName, Line>>,
    /// Somebody joined, so the next look may be earlier.
    pub changed: Notify,
    /// How many wait, those included that are being looked at.
    waiting: Arc<AtomicUsize>,
    /// The server stops: nobody waits any longer.
    stopping: AtomicBool,
}

struct Line {
    waiters: VecDeque<Job>,
    /// When to look again.
    look_at: Instant,
}

impl Lines {
    fn lock(&self) -> MutexGuard<'_, HashMap<LeaseName, Line>> {
        self.lines.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes a lease's waiters out, to offer the lease to them. Who is gone is
    /// left out for good.
    pub fn take(&self, name: &LeaseName) -> VecDeque<Job> {
        let mut waiters = self
            .lock()
            .remove(name)
            .map_or_else(VecDeque::new, |line| line.waiters);
        waiters.retain(|waiter| !waiter.reply.is_gone());
        waiters
    }

    /// Puts waiters that were taken out back in line, before whoever joined
    /// meanwhile. Within `takeable` (if that is known), and when the first of them
    /// must be answered, they are looked at again.
    pub fn put_back(&self, name: LeaseName, waiters: VecDeque<Job>, takeable: Option<Duration>) {
        self.put(name, waiters, takeable, |line, waiters| {
            let joined = std::mem::replace(line, waiters);
            line.extend(joined);
        });
    }

    /// Has acquires join the line, behind everybody.
    pub fn join(&self, name: LeaseName, waiters: VecDeque<Job>, takeable: Option<Duration>) {
        self.put(name, waiters, takeable, |line, waiters| {
            line.extend(waiters)
        });
    }

    fn put(
        &self,
        name: LeaseName,
        waiters: VecDeque<Job>,
        takeable: Option<Duration>,
        put: impl FnOnce(&mut VecDeque<Job>, VecDeque<Job>),
    ) {
        if waiters.is_empty() {
            return;
        }
        let now = Instant::now();
        let first_deadline = waiters.iter().filter_map(|waiter| waiter.wait_until).min();
        let look_at =
            (now + takeable.unwrap_or(POLL).min(POLL)).min(first_deadline.unwrap_or(now + POLL));
        let mut waiters = waiters;
        let mut look_at = look_at;
        if self.stopping.load(Ordering::Acquire) {
            look_at = now;
            for waiter in &mut waiters {
                waiter.wait_until = Some(now);
            }
        }
        let mut lines = self.lock();
        let line = lines.entry(name).or_insert_with(|| Line {
            waiters: VecDeque::new(),
            look_at,
        });
        put(&mut line.waiters, waiters);
        line.look_at = line.look_at.min(look_at);
        drop(lines);
        self.changed.notify_one();
    }

    /// Has the lines of these leases looked at now.
    pub fn look_now<'a>(&self, names: impl Iterator<Item = &'a LeaseName>) {
        let now = Instant::now();
        let mut lines = self.lock();
        let mut any = false;
        for name in names {
            if let Some(line) = lines.get_mut(name) {
                line.look_at = now;
                any = true;
            }
        }
        drop(lines);
        if any {
            self.changed.notify_one();
        }
    }

    /// Has every waiter answered now, whatever the answer is.
    pub fn hurry(&self) {
        self.stopping.store(true, Ordering::Release);
        let now = Instant::now();
        for line in self.lock().values_mut() {
            line.look_at = now;
            for waiter in &mut line.waiters {
                waiter.wait_until = Some(now);
            }
        }
        self.changed.notify_one();
    }

    /// The leases whose lines are to be looked at by `now`, at most so many.
    pub fn due(&self, now: Instant, most: usize) -> Vec<LeaseName> {
        let mut lines = self.lock();
        let mut due = Vec::new();
        for (name, line) in lines.iter_mut() {
            if due.len() == most {
                break;
            }
            if line.look_at <= now {
                due.push(name.clone());
                // Not again before it was looked at, unless that fails.
                line.look_at = now + POLL;
            }
        }
        due
    }

    /// When to look next; never, while nobody waits.
    pub fn next_look(&self) -> Option<Instant> {
        self.lock().values().map(|line| line.look_at).min()
    }

    /// A place in line, to be kept by who waits.
    pub fn place(&self) -> Place {
        Place::new(&self.waiting)
    }

    /// How many wait.
    pub fn len(&self) -> usize {
        self.waiting.load(Ordering::Acquire)
    }
}
