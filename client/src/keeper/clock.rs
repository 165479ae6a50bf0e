//! The holder's clock: it only ever goes forward, nobody can set it, and on
//! Linux it goes on while the machine sleeps.
//!
//! Rust's `Instant` stands still during suspend, so a laptop that wakes after
//! an hour would believe that it still holds what it held before.
//! `CLOCK_BOOTTIME` counts that hour. Other systems have no such clock within
//! reach of safe code: there the monotonic clock is used, and what a machine
//! believes just after a suspend is for fencing to catch.

use std::time::Duration;

use super::timing::Moment;

/// Now, on the clock by which the keeper judges its tenures: the time since the
/// machine was started, suspend included (on Linux; elsewhere since this was
/// first asked, suspend left out).
pub fn boot_time() -> Duration {
    Duration::from_nanos(now().nanos())
}

#[cfg(any(target_os = "linux", target_os = "android"))]
pub(super) fn now() -> Moment {
    use rustix::time::{ClockId, clock_gettime};
    let time = clock_gettime(ClockId::Boottime);
    let seconds = u64::try_from(time.tv_sec).unwrap_or_default();
    let nanos = u64::try_from(time.tv_nsec).unwrap_or_default();
    Moment::from_nanos(seconds.saturating_mul(1_000_000_000).saturating_add(nanos))
}

#[cfg(not(any(target_os = "linux", target_os = "android")))]
pub(super) fn now() -> Moment {
    static START: std::sync::OnceLock<std::time::Instant> = std::sync::OnceLock::new();
    Moment::default().plus(START.get_or_init(std::time::Instant::now).elapsed())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_goes_forward() {
        let before = now();
        std::thread::sleep(Duration::from_millis(2));
        assert!(now().since(before) >= Duration::from_millis(2));
    }
}
