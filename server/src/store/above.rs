//! Generations that were presented and are above the lease's own: anybody can
//! invent one, but after a restored backup they come from holders whose grants
//! the log has lost.

use std::sync::{Mutex, PoisonError};

use baton_client::{Generation, LeaseName};
use tokio::time::{Duration, Instant};

use crate::metrics;

/// How often it is said at most.
const SAY_EVERY: Duration = Duration::from_secs(10);

/// Says that a generation above the current one was presented, but not often.
#[derive(Debug, Default)]
pub struct Above {
    said: Mutex<Option<Instant>>,
}

impl Above {
    /// Notices a generation that was presented.
    pub fn noticed(&self, lease: &LeaseName, presented: Generation, current: Generation) {
        if presented <= current {
            return;
        }
        metrics::presented_above();
        let now = Instant::now();
        let mut said = self.said.lock().unwrap_or_else(PoisonError::into_inner);
        if said.is_some_and(|at| now - at < SAY_EVERY) {
            return;
        }
        *said = Some(now);
        tracing::warn!(
            %lease, %presented, %current,
            "a generation above the current one was presented: somebody made it up, or the \
             database lost grants; hold a checkpoint against it (serve --checkpoint)"
        );
    }
}
