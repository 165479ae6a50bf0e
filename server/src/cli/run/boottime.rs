//! The clock that the work is judged by, which is the keeper's: it goes on while
//! the machine is suspended or a process is stopped, and every process of the
//! machine reads it alike. Unlike Rust's `Instant` it can be told to another
//! process as a number, and this is that number; and how to wait by it.

use std::{io, os::fd::OwnedFd, time::Duration};

use baton_client::keeper::boot_time;
use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create,
    timerfd_settime,
};
use tokio::io::unix::AsyncFd;

/// A moment, in nanoseconds since the machine started.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Moment(u64);

impl Moment {
    /// A moment that does not come.
    pub const NEVER: Self = Self(u64::MAX);

    /// Now.
    pub fn now() -> Self {
        Self::at(boot_time())
    }

    /// As the keeper tells it.
    pub fn at(since_boot: Duration) -> Self {
        Self(0).after(since_boot)
    }

    /// From its number.
    pub const fn from_ns(ns: u64) -> Self {
        Self(ns)
    }

    /// Its number.
    pub const fn as_ns(self) -> u64 {
        self.0
    }

    /// So many nanoseconds later.
    pub const fn after_ns(self, ns: u64) -> Self {
        Self(self.0.saturating_add(ns))
    }

    /// So much later.
    pub fn after(self, wait: Duration) -> Self {
        self.after_ns(u64::try_from(wait.as_nanos()).unwrap_or(u64::MAX))
    }
}

/// Waits for moments. A timer of Tokio's would not count suspend.
#[derive(Debug)]
pub struct Alarm {
    timer: AsyncFd<OwnedFd>,
    set_to: Moment,
}

impl Alarm {
    /// An alarm that is not set.
    ///
    /// # Errors
    /// The system has no such timer.
    pub fn new() -> io::Result<Self> {
        let timer = timerfd_create(
            TimerfdClockId::Boottime,
            TimerfdFlags::CLOEXEC | TimerfdFlags::NONBLOCK,
        )?;
        // Deprecated, since a type could change its descriptor behind Tokio's
        // back. This one owns just one; what replaces it needs `unsafe`.
        #[expect(deprecated)]
        let timer = AsyncFd::new(timer)?;
        Ok(Self {
            timer,
            set_to: Moment::NEVER,
        })
    }

    /// Waits until the moment has come. May be dropped and called again with
    /// another one.
    pub async fn at(&mut self, moment: Moment) {
        loop {
            if Moment::now() >= moment {
                return;
            }
            if self.set_to != moment {
                self.set(moment);
            }
            match self.timer.readable().await {
                // Read or not: the clock decides, at the top of the loop.
                Ok(mut ready) => {
                    ready.clear_ready();
                    self.set_to = Moment::NEVER;
                }
                Err(_) => tokio::time::sleep(Duration::from_millis(20)).await,
            }
        }
    }

    fn set(&mut self, moment: Moment) {
        const NOT_AGAIN: Timespec = Timespec {
            tv_sec: 0,
            tv_nsec: 0,
        };
        let value = Timespec {
            tv_sec: i64::try_from(moment.0 / 1_000_000_000).unwrap_or(i64::MAX),
            tv_nsec: (moment.0 % 1_000_000_000) as _,
        };
        let spec = Itimerspec {
            it_interval: NOT_AGAIN,
            it_value: value,
        };
        if timerfd_settime(self.timer.get_ref(), TimerfdTimerFlags::ABSTIME, &spec).is_ok() {
            self.set_to = moment;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn an_alarm_rings_at_its_moment_and_can_be_set_anew() {
        let mut alarm = Alarm::new().expect("there is such a timer");
        let start = Moment::now();
        let far = start.after(Duration::from_secs(600));
        let waited = tokio::time::timeout(Duration::from_millis(30), alarm.at(far)).await;
        assert!(waited.is_err(), "it rang early");
        let near = Moment::now().after(Duration::from_millis(30));
        alarm.at(near).await;
        assert!(Moment::now() >= near);
        alarm.at(start).await;
    }
}
