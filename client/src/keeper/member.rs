//! One lease on the side of the runtime: who waits for it, whose guard is out,
//! and how what the machine says reaches them.

use std::sync::Arc;

use tokio::sync::{mpsc, oneshot};

use super::{
    HoldError, HoldOptions, Loss, StepDownAsked, Tenure,
    guard::Local,
    machine::{Action, Epoch, LetGo},
    runtime::Command,
};
use crate::LeaseName;

/// One lease, as the runtime knows it.
pub(super) struct Member {
    pub(super) lease: LeaseName,
    pub(super) options: Box<HoldOptions>,
    /// The claim ids' common part.
    pub(super) claims: String,
    pub(super) wanted: Option<oneshot::Sender<Result<Tenure, HoldError>>>,
    /// Why contending stopped.
    pub(super) error: Option<HoldError>,
    pub(super) local: Option<Arc<Local>>,
    pub(super) releases: Vec<oneshot::Sender<LetGo>>,
}

impl Member {
    pub(super) fn new(lease: LeaseName, options: Box<HoldOptions>) -> Self {
        Self {
            lease,
            options,
            claims: format!("{:032x}", fastrand::u128(..)),
            wanted: None,
            error: None,
            local: None,
            releases: Vec::new(),
        }
    }

    /// Passes on what concerns one lease. Gives back the local tenure that
    /// noticed by itself that it is over, if that is so.
    pub(super) fn tell(
        &mut self,
        action: Action,
        sender: &mpsc::WeakUnboundedSender<Command>,
    ) -> Option<Epoch> {
        match action {
            Action::Start {
                key,
                epoch,
                grant,
                bounds,
            } => {
                // Without a sender nobody is there to get it.
                let commands = sender.upgrade()?;
                let lease = self.lease.clone();
                let local = Arc::new(Local::new(lease, key, epoch, grant, bounds));
                self.local = Some(local.clone());
                let tenure = Tenure::new(local, commands);
                if let Some(reply) = self.wanted.take() {
                    // Unread, it is dropped, and with that released.
                    let _ = reply.send(Ok(tenure));
                }
            }
            Action::Extend { epoch, bounds, .. } => {
                let over = self
                    .local
                    .as_ref()
                    .is_some_and(|local| !local.extend(bounds));
                return over.then_some(epoch);
            }
            Action::StepDown { asked, .. } => {
                if let Some(local) = &self.local {
                    local.ask(asked.map(StepDownAsked::of));
                }
            }
            Action::Stop { epoch, over, .. } => {
                if let Some(local) = self.local.as_ref().filter(|l| l.epoch() == epoch) {
                    local.end(Loss::of(over, local.asked()));
                }
            }
            Action::Released { went, .. } => {
                for reply in self.releases.drain(..) {
                    let _ = reply.send(went);
                }
            }
            Action::Halted { .. } => {
                if let Some(reply) = self.wanted.take() {
                    let error = self.error.take().unwrap_or(HoldError::Closed);
                    let _ = reply.send(Err(error));
                }
            }
            _ => {}
        }
        None
    }
}
