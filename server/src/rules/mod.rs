//! The rules of leases, and nothing else.
//!
//! In go the rows as they are, one request after the other and the database's
//! time; out come the rows as they shall be, the entries of the log and the
//! answers. Nothing here reads a clock, a database or a socket, so that both
//! databases run exactly these rules and a test can run a year of them in a
//! second.
//!
//! Start at [`apply`]. Every operation first settles what is due ([`settle`]),
//! then checks in the order that the design gives, and only then changes the
//! row: a refusal changes nothing but what was due anyway.

mod row;
pub use row::{Blocked, FLAPPING_WINDOW_MS, LastEnd, LeaseRow, PendingStepDown, Tenure};

mod request;
pub use request::{
    Acquire, Asker, Bar, ForceRelease, Release, Renew, Request, Reservation, StepDown, Why,
};

mod refusal;
pub use refusal::Refusal;

mod draft;
pub use draft::Draft;

mod settle;
pub use settle::{due_at, settle};

mod acquire;
mod operator;
mod tenure;

pub mod keeping;

mod view;
pub use view::{acquirable_at, state, view};

mod rebuild;
pub use rebuild::{Rebuilder, Rebuilt, rebuild};

#[cfg(test)]
pub mod properties;
#[cfg(test)]
mod stories;

use baton_client::{Generation, LeaseName, Timestamp};

/// The two times of a transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Moment {
    /// The database's clock, read after the rows were locked. Decides.
    pub now: Timestamp,
    /// What the log says: `now`, but never less than the entry's before it.
    pub at: Timestamp,
}

/// What a request's answer depends on besides its own row.
#[derive(Debug, Clone, Copy, Default)]
pub struct Known {
    /// A lease that springs into being starts above this.
    pub floor: Generation,
    /// The generation that was granted earlier to the very same claim (token,
    /// holder and claim id), the newest if there were several.
    pub past_claim: Option<Generation>,
    /// A checkpoint at this `seq` is ahead of the log: nothing is granted.
    pub behind: Option<u64>,
}

/// Carries out one request on its lease, which is `None` while it does not
/// exist. Entries of the log are added to `log` in the order they happened.
///
/// # Errors
/// The rule that stands against it. Then only what was due anyway has changed.
pub fn apply(
    slot: &mut Option<LeaseRow>,
    name: &LeaseName,
    request: &Request,
    moment: Moment,
    known: Known,
    log: &mut Vec<Draft>,
) -> Result<(), Refusal> {
    if let Some(row) = slot {
        settle(row, moment, log);
    }
    match request {
        Request::Acquire(asker, acquire) => {
            acquire::acquire(slot, name, asker, acquire, moment, known, log)
        }
        Request::Renew(asker, renew) => tenure::renew(slot.as_mut(), asker, renew, moment, log),
        Request::Release(asker, release) => {
            tenure::release(slot.as_mut(), asker, release, moment, log)
        }
        Request::ForceRelease(asker, force) => {
            operator::force_release(slot.as_mut(), asker, force, moment, log)
        }
        Request::StepDown(asker, ask) => {
            operator::step_down(slot.as_mut(), asker, ask, moment, log)
        }
        Request::CancelStepDown(asker, why) => {
            operator::cancel_step_down(slot.as_mut(), asker, why, moment, log)
        }
        Request::Pause(asker, why) => operator::pause(slot, name, asker, why, moment, log),
        Request::Unpause(asker, why) => operator::unpause(slot.as_mut(), asker, why, moment, log),
        Request::Protect(asker, why) => {
            operator::protect(slot.as_mut(), asker, why, true, moment, log)
        }
        Request::Unprotect(asker, why) => {
            operator::protect(slot.as_mut(), asker, why, false, moment, log)
        }
        Request::Settle => Ok(()),
    }
}

/// Carries out a renewal on its row, exactly as [`apply`] does, without moving
/// the row.
///
/// # Errors
/// As [`apply`].
pub fn renew(
    mut row: Option<&mut LeaseRow>,
    asker: &Asker,
    renew: &Renew,
    moment: Moment,
    log: &mut Vec<Draft>,
) -> Result<(), Refusal> {
    if let Some(row) = &mut row {
        settle(row, moment, log);
    }
    tenure::renew(row, asker, renew, moment, log)
}
