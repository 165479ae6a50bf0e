//! A tenure in the hands of the program: what it is, whether it still holds,
//! and the ways in which it ends.

#[cfg(test)]
mod tests;

use std::{
    future::poll_fn,
    pin::pin,
    sync::{
        Arc, OnceLock,
        atomic::{AtomicU64, Ordering},
    },
    task::Poll,
    time::Duration,
};

use serde::{Serialize, de::DeserializeOwned};
use tokio::sync::{mpsc, oneshot, watch};
use tokio_util::sync::CancellationToken;

use super::{
    Loss, ReleaseError, StatusError, StepDownAsked, Until, clock,
    machine::{Epoch, Grant, Key, LetGo},
    runtime::Command,
    status,
    timing::{Bounds, Moment},
};
use crate::{Generation, LeaseName, RawJson};

/// What guard and keeper share of one local tenure.
#[derive(Debug)]
pub(super) struct Local {
    lease: LeaseName,
    key: Key,
    epoch: Epoch,
    grant: Grant,
    /// Nanoseconds on the holder's clock. 0 once somebody saw that it is over:
    /// it then stays over, whatever is confirmed later.
    give_up: AtomicU64,
    loss: OnceLock<Loss>,
    over: CancellationToken,
    until: watch::Sender<Until>,
    step_down: watch::Sender<Option<StepDownAsked>>,
}

impl Local {
    pub(super) fn new(
        lease: LeaseName,
        key: Key,
        epoch: Epoch,
        grant: Grant,
        bounds: Bounds,
    ) -> Self {
        Self {
            lease,
            key,
            epoch,
            grant,
            give_up: AtomicU64::new(bounds.give_up.nanos()),
            loss: OnceLock::new(),
            over: CancellationToken::new(),
            until: watch::Sender::new(Until::of(bounds)),
            step_down: watch::Sender::new(None),
        }
    }

    pub(super) fn epoch(&self) -> Epoch {
        self.epoch
    }

    fn holds(&self) -> bool {
        let give_up = self.give_up.load(Ordering::Acquire);
        if clock::now().nanos() < give_up {
            return true;
        }
        // An extension that comes at this very moment finds a 0, or was there
        // first and counts.
        give_up != 0
            && match self
                .give_up
                .compare_exchange(give_up, 0, Ordering::AcqRel, Ordering::Acquire)
            {
                Ok(_) => {
                    self.over.cancel();
                    false
                }
                Err(newer) => clock::now().nanos() < newer,
            }
    }

    /// Moves the bounds, unless it is over. Only the keeper calls this.
    pub(super) fn extend(&self, bounds: Bounds) -> bool {
        let moved = self.holds()
            && self
                .give_up
                .fetch_update(Ordering::AcqRel, Ordering::Acquire, |give_up| {
                    (give_up != 0).then_some(bounds.give_up.nanos())
                })
                .is_ok();
        if moved {
            self.until.send_replace(Until::of(bounds));
        }
        moved
    }

    pub(super) fn ask(&self, asked: Option<StepDownAsked>) {
        self.step_down.send_replace(asked);
    }

    pub(super) fn asked(&self) -> Option<StepDownAsked> {
        self.step_down.borrow().clone()
    }

    /// Ends it, for this reason unless there is one.
    pub(super) fn end(&self, loss: Loss) {
        let _ = self.loss.set(loss);
        self.give_up.store(0, Ordering::Release);
        self.over.cancel();
    }

    fn lost(&self) -> Option<Loss> {
        if let Some(loss) = self.loss.get() {
            return Some(loss.clone());
        }
        // The keeper was not here yet to say it.
        (!self.holds()).then(|| self.asked().map_or(Loss::ExpiredLocally, Loss::StepDown))
    }
}

/// One hold of one lease. Dropping it lets the lease go in the background, as
/// far as that works; [`Tenure::release`] waits for it. Stop the work first.
#[derive(Debug)]
pub struct Tenure {
    local: Arc<Local>,
    commands: mpsc::UnboundedSender<Command>,
}

impl Tenure {
    pub(super) fn new(local: Arc<Local>, commands: mpsc::UnboundedSender<Command>) -> Self {
        Self { local, commands }
    }

    /// Whether this process still counts as the holder. Cheap: one read of the
    /// clock and of a number, no call. Once false it stays false.
    ///
    /// True means that time has not let anybody else acquire, as long as the
    /// clocks keep to the margin. It does not exclude a forced release of which
    /// nothing was heard yet: see [the limits](super#what-it-cannot-give).
    pub fn holds(&self) -> bool {
        self.local.holds()
    }

    /// Until [`Tenure::holds`] turns false, unless a renewal is confirmed.
    pub fn time_left(&self) -> Duration {
        if !self.holds() {
            return Duration::ZERO;
        }
        let give_up = self.local.give_up.load(Ordering::Acquire);
        Moment::from_nanos(give_up).since(clock::now())
    }

    /// The bounds that the last confirmed request gave, and each that follows.
    pub fn until(&self) -> watch::Receiver<Until> {
        self.local.until.subscribe()
    }

    /// Which lease.
    pub fn lease(&self) -> &LeaseName {
        &self.local.lease
    }

    /// The fencing token: send it with every write, and have the resource
    /// refuse lower ones.
    pub fn generation(&self) -> Generation {
        self.local.grant.generation
    }

    /// How many times in a row the work lapsed before this tenure.
    pub fn attempt(&self) -> u64 {
        self.local.grant.attempt
    }

    /// What the work is, as it came with the grant; `None` if nothing did.
    pub fn payload(&self) -> Option<&RawJson> {
        self.local.grant.payload.as_ref()
    }

    /// As [`Tenure::payload`], read.
    ///
    /// # Errors
    /// It is not what is to be read.
    pub fn payload_as<T: DeserializeOwned>(&self) -> Result<Option<T>, serde_json::Error> {
        self.payload()
            .map(|raw| serde_json::from_str(raw.get()))
            .transpose()
    }

    /// On whose behalf, as it came with the grant.
    pub fn principal(&self) -> Option<&str> {
        self.local.grant.principal.as_deref()
    }

    /// Why it is over; `None` as long as [`Tenure::holds`].
    pub fn lost(&self) -> Option<Loss> {
        self.local.lost()
    }

    /// Waits until it is over. Safe to cancel.
    pub async fn cancelled(&self) {
        self.local.over.cancelled().await;
    }

    /// Fires when it is over; for work that takes such a token.
    pub fn token(&self) -> CancellationToken {
        self.local.over.clone()
    }

    /// What an operator asks, if one asks the holder to let go.
    pub fn step_down(&self) -> Option<StepDownAsked> {
        self.local.asked()
    }

    /// Waits until an operator asks the holder to let go. Never ends if nobody
    /// does. Safe to cancel.
    pub async fn step_down_asked(&self) -> StepDownAsked {
        let mut asked = self.local.step_down.subscribe();
        loop {
            if let Some(asked) = asked.borrow_and_update().clone() {
                return asked;
            }
            if asked.changed().await.is_err() {
                std::future::pending::<()>().await;
            }
        }
    }

    /// What the page shall show of the work: a word, a number, any JSON of at
    /// most 1 KiB. It goes with the next renewal.
    ///
    /// # Errors
    /// It is not JSON that the server takes.
    pub fn status(&self, report: impl Serialize) -> Result<(), StatusError> {
        let status = status::check(&report)?;
        // Without a keeper there is no renewal either, and that shows.
        let _ = self.commands.send(Command::Report {
            key: self.local.key,
            epoch: self.local.epoch,
            status,
        });
        Ok(())
    }

    /// Runs `work` for as long as the tenure holds, and drops it when it no
    /// longer does. It is never polled after that, also if the process slept
    /// meanwhile.
    ///
    /// # Errors
    /// The tenure was over before `work` was.
    pub async fn run<F: Future>(&self, work: F) -> Result<F::Output, Loss> {
        let mut work = pin!(work);
        let mut over = pin!(self.local.over.cancelled());
        poll_fn(|context| {
            let told = over.as_mut().poll(context).is_ready();
            if told || !self.holds() {
                return Poll::Ready(Err(self.lost().unwrap_or(Loss::ExpiredLocally)));
            }
            work.as_mut().poll(context).map(Ok)
        })
        .await
    }

    /// Lets the lease go, also a tenure that was given up and that nobody took,
    /// and waits for the answer: a few bounded calls. When the caller is
    /// cancelled they go on.
    ///
    /// # Errors
    /// The tenure was over already, or nobody answered: then it lapses by itself.
    pub async fn release(self) -> Result<(), ReleaseError> {
        let (reply, answer) = oneshot::channel();
        self.stopped(true, Some(reply));
        let went = answer.await;
        match (went, self.local.loss.get().cloned()) {
            (Ok(LetGo::Done), _) => Ok(()),
            (Ok(LetGo::Lost(_)), Some(loss)) => Err(ReleaseError::Lost(loss)),
            (Ok(LetGo::Lost(ended)), None) => Err(ReleaseError::Lost(ended.into())),
            (Ok(LetGo::Unconfirmed) | Err(_), _) => Err(ReleaseError::Unconfirmed),
        }
    }

    fn stopped(&self, let_go: bool, reply: Option<oneshot::Sender<LetGo>>) {
        // An extension that is on its way finds it over. The keeper would take that
        // for a tenure that ran out, so it is told that this one is let go.
        let give_up = self.local.give_up.swap(0, Ordering::AcqRel);
        let let_go = let_go || clock::now().nanos() < give_up;
        let _ = self.commands.send(Command::Stopped {
            key: self.local.key,
            epoch: self.local.epoch,
            let_go,
            reply,
        });
    }
}

impl Drop for Tenure {
    fn drop(&mut self) {
        // After a release this says nothing new: the keeper knows the tenure
        // by its epoch, and that its work has stopped.
        self.stopped(false, None);
        self.local.over.cancel();
    }
}
