//! One lease that a program wants to hold, again and again.

use tokio::sync::{mpsc, oneshot};

use super::{HoldError, Tenure, machine::Key, runtime::Command};
use crate::LeaseName;

/// A lease to hold. It contends only while [`Handle::tenure`] is awaited, so a
/// lease is never kept by a process that does nothing with it. When the handle
/// is dropped, what was given up but may still be held is released.
#[derive(Debug)]
pub struct Handle {
    key: Key,
    lease: LeaseName,
    commands: mpsc::UnboundedSender<Command>,
}

impl Handle {
    pub(super) fn new(
        key: Key,
        lease: LeaseName,
        commands: mpsc::UnboundedSender<Command>,
    ) -> Self {
        Self {
            key,
            lease,
            commands,
        }
    }

    /// Which lease.
    pub fn lease(&self) -> &LeaseName {
        &self.lease
    }

    /// Waits until this process holds the lease, however long that takes: for
    /// others to let go, for a server that is away. If the tenure before was
    /// given up and nobody took it, it is renewed and goes on under the same
    /// generation. The tenure before must be dropped first.
    ///
    /// Safe to cancel: what is granted all the same is what the next call comes back
    /// with, or lapses.
    ///
    /// # Errors
    /// Waiting will not help; see [`HoldError`]. To call it again is to try
    /// again.
    pub async fn tenure(&mut self) -> Result<Tenure, HoldError> {
        let (reply, answer) = oneshot::channel();
        let key = self.key;
        self.commands
            .send(Command::Want { key, reply })
            .map_err(|_| HoldError::Closed)?;
        let _wish = Wish { handle: self };
        answer.await.unwrap_or(Err(HoldError::Closed))
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        let _ = self.commands.send(Command::Close { key: self.key });
    }
}

/// Ends the wish when nobody waits for its answer any more.
struct Wish<'a> {
    handle: &'a Handle,
}

impl Drop for Wish<'_> {
    fn drop(&mut self) {
        let key = self.handle.key;
        let _ = self.handle.commands.send(Command::Unwant { key });
    }
}
