//! The clock of a SQLite server, which is the database's clock.

use std::time::{Instant, SystemTime, UNIX_EPOCH};

use baton_client::Timestamp;

/// Where the wall stood at the start, carried forward on the monotonic clock:
/// a step of the wall clock, either way, neither expires nor extends a lease.
#[derive(Debug, Clone)]
pub struct Clock {
    base: Timestamp,
    since: Instant,
}

impl Clock {
    /// Starts from the wall clock, but never below `newest`, the newest past
    /// time in the file: a wall clock that went back while no server ran must
    /// not give out the same times again.
    pub fn start(newest: Timestamp) -> Self {
        let wall = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .map_or(0, |since| since.as_micros() as i64);
        Self {
            base: Timestamp::from_micros(wall).max(newest),
            since: Instant::now(),
        }
    }

    /// The time.
    pub fn now(&self) -> Timestamp {
        let elapsed = self.since.elapsed().as_micros() as i64;
        Timestamp::from_micros(self.base.micros() + elapsed)
    }
}
