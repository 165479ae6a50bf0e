//! What stands out first: leases in the order of how much they need somebody's
//! attention. The ranks are `baton_client::Attention`'s, but a lease counts as
//! lapsed here from when its lapse is in the log, a moment later: for that there
//! is an index. Were it its expiry, every page would read every lease, for no
//! index covers what renewals change.

use baton_client::{Lease, Timestamp};

use crate::rules::{FLAPPING_WINDOW_MS, LeaseRow};

use super::statement::{Arg, Statement};

/// For how long a change of hands counts as recent, in microseconds.
const FLAPPING_WINDOW: i64 = (FLAPPING_WINDOW_MS * 1_000) as i64;

/// The first rank; the others follow in their order.
pub const LAPSED: i64 = 0;
const FLAPPING: i64 = 1;
const BLOCKED: i64 = 2;
const STEPPING_DOWN: i64 = 3;
/// The rank of leases that need nobody.
pub const CALM: i64 = 4;

/// The condition that a lease changes hands again and again.
pub fn flapping(statement: &mut Statement, now: Timestamp) {
    statement
        .push("sixth_hand_at > ")
        .bind(Arg::Int(Some(now.micros() - FLAPPING_WINDOW)));
}

/// The condition for one rank.
fn is(statement: &mut Statement, rank: i64, now: Timestamp) {
    match rank {
        LAPSED => {
            statement.push("lapsed");
        }
        FLAPPING => flapping(statement, now),
        BLOCKED => {
            statement
                .push("blocked_until > ")
                .bind(Arg::Int(Some(now.micros())));
        }
        _ => {
            statement.push("step_down is not null");
        }
    }
}

/// The condition that a lease needs attention.
pub fn any(statement: &mut Statement, now: Timestamp) {
    for rank in LAPSED..CALM {
        statement.push(if rank == LAPSED { "" } else { " or " });
        is(statement, rank, now);
    }
}

/// The condition that a lease has this rank, and none before it.
pub fn ranks(statement: &mut Statement, rank: i64, now: Timestamp) {
    if rank == CALM {
        statement.push("true");
    } else {
        is(statement, rank, now);
    }
    for before in LAPSED..rank {
        statement.push(" and (");
        is(statement, before, now);
        statement.push(") is not true");
    }
}

/// What orders the leases of a rank by name. The indexes of two ranks are not in
/// that order, and SQLite would rather read all leases in it than sort these few.
pub fn by_name(rank: i64) -> &'static str {
    match rank {
        FLAPPING | BLOCKED => "name || ''",
        _ => "name",
    }
}

/// A lease's rank.
pub fn rank(row: &LeaseRow, now: Timestamp) -> i64 {
    if row.tenure.as_ref().is_some_and(|tenure| tenure.lapsed) {
        LAPSED
    } else if row.flapping(now) >= Lease::FLAPPING_FROM {
        FLAPPING
    } else if row
        .blocked
        .as_ref()
        .is_some_and(|blocked| now < blocked.until)
    {
        BLOCKED
    } else if row.step_down.is_some() {
        STEPPING_DOWN
    } else {
        CALM
    }
}
