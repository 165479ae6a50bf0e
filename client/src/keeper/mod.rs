//! Holding leases safely: who holds, for how long that can be relied on, and
//! what happens when it no longer can.
//!
//! # Ten lines
//!
#![doc = include_str!("ten_lines.md")]
//!
//! `sweep` runs in at most one process at a time. If that process dies, or
//! cannot reach the server, another one takes over within the ttl (15 s by
//! default) plus the grace. The one that lost the lease stops by itself first,
//! and then waits for its next turn.
//!
//! # What it gives
//!
//! - **[`Tenure::holds`] is true only while time has let nobody else acquire.**
//!   It is computed from the moment that the last confirmed request was *sent*,
//!   on a clock that nobody can set and that counts suspend ([`boot_time`]), and
//!   it turns false a third of the ttl early, whether or not anybody answers.
//! - **The margin**: this is so as long as the server's clock runs less than
//!   **1.5 times as fast** as the holder's; a slower one does no harm. A request
//!   sent at `t` confirms the tenure until `t + ttl` on the server's clock or
//!   later; the holder gives up at `t + ⅔ ttl` on its own; if the server's
//!   clock is `r` times as fast, its ttl takes `ttl / r` of the holder's time;
//!   and `⅔ ttl ≤ ttl / r` exactly if `r ≤ 3/2`. Grace adds to it. With equal
//!   rates a third of the ttl is left for the work to stop.
//! - **It fails closed.** An error or a time-out confirms nothing, so the time
//!   keeps running. A refusal ends the tenure at once. A late answer never
//!   brings back a tenure that was given up: once false, `holds()` stays false.
//! - **The work is told**: [`Tenure::run`] drops the future and never polls it
//!   again, [`Tenure::token`] fires, [`Tenure::lost`] says why ([`Loss`]).
//! - **Losing the lease does not end the process**: [`Handle::tenure`] contends
//!   again. A tenure that was given up, and that nobody took, is renewed and goes
//!   on under its generation, once its guard is dropped.
//! - **Answers that were lost do no harm**: an acquire is repeated under the
//!   same claim id and gets the same grant back, safe only for what remains of
//!   it. A grant that came after a wait in line is renewed before work starts.
//! - **A handover can be graceful**: [`Tenure::step_down_asked`] says at the next
//!   renewal that an operator wants the lease, why, and by when; drop the tenure
//!   or [`Tenure::release`] it. Otherwise it is given up a third of the ttl before
//!   the deadline (at once, if the deadline is nearer than that).
//! - **Orphaned work can be taken over**: [`Tenure::payload`],
//!   [`Tenure::principal`] and [`Tenure::attempt`] come with the grant;
//!   [`HoldOptions::attempts_max`] ends in [`HoldError::AttemptsExhausted`]
//!   instead of one more dead holder; [`HoldOptions::expected_generation`] takes
//!   over only what was looked at.
//! - **Many leases cost one call**: all leases of a keeper are renewed in one
//!   `POST /renewals` per third of the ttl (per 1,000 of them), each answered by
//!   itself. [`Keeper::leader`] says who leads the others.
//! - **Every call is bounded** by a sixth of the ttl (a waiting acquire by its
//!   wait and that), so that one that hangs leaves time for another.
//!
//! # What it cannot give
//!
//! Between `if tenure.holds()` and the write that follows, any time can pass. And
//! `holds()` itself can be true although somebody else has the lease:
//!
//! - after a **forced release**, or when a step-down's deadline passes, for up to
//!   two thirds of the ttl if no renewal gets through meanwhile (one third
//!   otherwise). An operator who bars everyone until the old expiry excludes that;
//! - when the **database's clock jumps**, or the clocks differ by more than the
//!   margin;
//! - when a **virtual machine is frozen** or moved, and its clocks with it; and
//!   during suspend on systems other than Linux.
//!
//! Against all of these there is **fencing**: every write carries
//! [`Tenure::generation`], and whatever is written to refuses a generation lower
//! than the highest it has seen. A generation never comes twice and only grows,
//! so a holder of the past can do no harm, whatever it believes. The example
//! `session_log` shows it for a file; in the same PostgreSQL, `baton_fence(lease,
//! generation)` does it inside the transaction; and for what can do neither,
//! [`Client::check`](crate::Client::check) asks just before.
//!
//! And work must not block the thread: [`Tenure::run`] can only drop a future
//! that yields. Work that does not can ask `holds()` itself.
//!
//! # How it is made
//!
//! The decisions are a pure state machine, `machine`, which a simulation
//! drives through lost and late answers, pauses and clocks of every rate
//! (`simulation`); deadlines are computed in `timing` only; `runtime` carries
//! out what the machine says.

mod calls;
mod clock;
mod guard;
mod handle;
mod leaders;
mod machine;
mod member;
mod options;
mod runtime;
#[cfg(test)]
mod simulation;
mod status;
mod timing;
mod words;

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use tokio::sync::{mpsc, oneshot};

pub use clock::boot_time;
pub use guard::Tenure;
pub use handle::Handle;
pub use leaders::{Leader, LeaderError};
pub use options::{HoldOptions, KeeperOptions};
pub use status::StatusError;
pub use words::{HoldError, Loss, ReleaseError, StepDownAsked, Until};

use crate::{Client, HolderId, LeaseName};
use leaders::Leaders;
use machine::Key;
use runtime::{Command, Runtime};

/// Looks after every lease of a process. Cheap to clone; it works as long as
/// there is a keeper, a [`Handle`] or a [`Tenure`], and the tokio runtime.
#[derive(Debug, Clone)]
pub struct Keeper {
    holder: HolderId,
    commands: mpsc::UnboundedSender<Command>,
    keys: Arc<AtomicU64>,
    leaders: Arc<Leaders>,
}

impl Keeper {
    /// A keeper that calls through `client`.
    ///
    /// # Panics
    /// Outside of a tokio runtime.
    pub fn new(client: Client, options: KeeperOptions) -> Self {
        let (commands, received) = mpsc::unbounded_channel();
        let holder = options.holder;
        let sender = commands.downgrade();
        let runtime = Runtime::new(client.clone(), holder.clone(), received, sender);
        tokio::spawn(runtime.run());
        let leaders = Leaders::new(client, options.leaders_prefix, options.leaders_age_max);
        Self {
            holder,
            commands,
            keys: Arc::default(),
            leaders: Arc::new(leaders),
        }
    }

    /// Who holds the leases of this keeper.
    pub fn holder(&self) -> &HolderId {
        &self.holder
    }

    /// A lease to hold. Nothing is sent until [`Handle::tenure`] is awaited.
    pub fn hold(&self, lease: LeaseName, options: HoldOptions) -> Handle {
        let key = Key(self.keys.fetch_add(1, Ordering::Relaxed));
        // If the keeper is gone, awaiting a tenure says so.
        let _ = self.commands.send(Command::Add {
            key,
            lease: lease.clone(),
            options: Box::new(options),
        });
        Handle::new(key, lease, self.commands.clone())
    }

    /// Who leads a lease, as far as is known: from one read of all that is
    /// repeated when it is older than [`KeeperOptions::leaders_age_max`]. If
    /// that fails, the answer is older, and says so by its age.
    ///
    /// # Errors
    /// Nothing is known of it.
    pub async fn leader(&self, lease: &LeaseName) -> Result<Leader, LeaderError> {
        self.leaders.leader(lease).await
    }

    /// Waits until every release under way is through, those of dropped guards
    /// included: for the end of `main`. Takes a few bounded calls at most.
    pub async fn flush(&self) {
        let (reply, done) = oneshot::channel();
        if self.commands.send(Command::Flush { reply }).is_ok() {
            let _ = done.await;
        }
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_readme_shows_the_lines_that_the_doc_test_compiles() {
        let lines = include_str!("ten_lines.md").replace("rust,no_run", "rust");
        let readme = include_str!("../../../README.md");
        assert!(readme.contains(&lines), "the README has ten_lines.md");
        let code = lines.lines().filter(|line| !line.trim().is_empty());
        let fences = 2;
        assert!(code.count() - fences <= 10);
    }
}
