//! What concerns all leases at once: raising every generation after a restored
//! backup, and forgetting leases that nobody uses. Their entries name no lease;
//! `generation` in them is the floor, that new leases' generations start above.

use baton_client::{Generation, Handover, HandoverEvent, LeaseName, Timestamp};
use serde_json::{Value, json};

use super::{Asker, Draft, LastEnd, LeaseRow, Moment, Refusal};

/// What raising adds to every generation and to the floor: more than anything
/// that was lost can have granted.
pub const RAISED_BY: u64 = 1 << 32;
/// Most leases that are forgotten in one step.
pub const FORGOTTEN_MAX: usize = 1_000;
/// Most letters that their names have together, for they stand in one entry.
pub const FORGOTTEN_LETTERS_MAX: usize = 64 * 1_024;

/// Where a log was seen to end: somebody outside remembers it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Seen {
    /// The entry's `seq`.
    pub seq: u64,
    /// The entry's hash.
    pub hash: String,
}

/// What raising did to leases.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Raised {
    /// Leases whose generation was raised.
    pub leases: u64,
    /// Tenures that ended by it.
    pub tenures: u64,
}

/// A generation, raised. What was never granted stays at 0: the floor is raised
/// for it.
///
/// # Errors
/// It cannot grow so far.
pub fn raised(generation: Generation) -> Result<Generation, Refusal> {
    if generation == Generation::ZERO {
        return Ok(generation);
    }
    raised_floor(generation)
}

/// A floor, raised.
///
/// # Errors
/// It cannot grow so far.
pub fn raised_floor(floor: Generation) -> Result<Generation, Refusal> {
    Generation::try_from(floor.get().saturating_add(RAISED_BY))
        .map_err(|_| Refusal::GenerationsExhausted)
}

/// Raises a lease's generation and ends its tenure, as a forced release would.
///
/// # Errors
/// The generation cannot grow so far; the row is as it was.
pub fn raise(row: &mut LeaseRow, at: Timestamp, count: &mut Raised) -> Result<(), Refusal> {
    let generation = raised(row.generation)?;
    if generation == row.generation {
        return Ok(());
    }
    row.generation = generation;
    row.changed_at = at;
    count.leases += 1;
    if row.tenure.take().is_none() {
        return Ok(());
    }
    count.tenures += 1;
    row.last_end = Some(LastEnd::Forced);
    row.blocked = None;
    if row.step_down.is_some() {
        row.reserved = row.take_step_down_reservation(at);
    }
    row.note_hands(at);
    Ok(())
}

/// The entry of raising everything. `answered` is the checkpoint that was ahead
/// of the log.
///
/// # Errors
/// The floor cannot grow so far.
pub fn floor_raised(
    floor: Generation,
    at: Timestamp,
    asker: Asker,
    reason: String,
    count: Raised,
    answered: Option<&Seen>,
) -> Result<Draft, Refusal> {
    let details = json!({
        "added": RAISED_BY,
        "checkpoint_hash": answered.map(|seen| &seen.hash),
        "checkpoint_seq": answered.map(|seen| seen.seq),
        "leases": count.leases,
        "tenures": count.tenures,
    });
    let to = raised_floor(floor)?;
    Ok(Draft::of_all(HandoverEvent::FloorRaised, (floor, to), at, asker, reason).details(details))
}

/// Whether an entry raised everything because this checkpoint was ahead.
pub fn answers(entry: &Handover, seen: &Seen) -> bool {
    let text = |key: &str| entry.details.get(key).and_then(Value::as_str);
    let number = |key: &str| entry.details.get(key).and_then(Value::as_u64);
    entry.event == HandoverEvent::FloorRaised
        && number("checkpoint_seq") == Some(seen.seq)
        && text("checkpoint_hash") == Some(seen.hash.as_str())
}

/// The entry of cutting off the log's older part, up to and with `last`.
pub fn archived(
    floor: Generation,
    at: Timestamp,
    asker: Asker,
    reason: String,
    last: &Seen,
    count: u64,
) -> Draft {
    let details = json!({
        "archived_hash": last.hash,
        "archived_seq": last.seq,
        "count": count,
    });
    Draft::of_all(HandoverEvent::Archived, (floor, floor), at, asker, reason).details(details)
}

/// Whether a lease may be forgotten that nobody touched since `idle_since`: free,
/// or lapsed, with nothing on it that somebody relies on.
pub fn may_forget(row: &LeaseRow, idle_since: Timestamp, now: Timestamp) -> bool {
    let over = match &row.tenure {
        None => true,
        Some(tenure) => tenure.lapsed && tenure.expires_at <= idle_since,
    };
    let bound = row.paused.is_some()
        || row.protected
        || row.step_down.is_some()
        || row.barred.as_ref().is_some_and(|bar| now < bar.until)
        || row.reserved.as_ref().is_some_and(|kept| now < kept.until)
        || row.blocked.as_ref().is_some_and(|mark| now < mark.until);
    over && !bound && row.changed_at <= idle_since
}

/// The entry of forgetting these leases, which raises the floor above all of
/// their generations.
pub fn forgotten(
    rows: &[LeaseRow],
    floor: Generation,
    moment: Moment,
    asker: Asker,
    reason: String,
) -> Draft {
    let highest = rows.iter().map(|row| row.generation).max();
    let to = floor.max(highest.unwrap_or(Generation::ZERO));
    let names: Vec<&str> = rows.iter().map(|row| row.name.as_str()).collect();
    let details = json!({
        "count": rows.len(),
        // Names have no blanks in them.
        "leases": names.join(" "),
    });
    Draft::of_all(
        HandoverEvent::Forgotten,
        (floor, to),
        moment.at,
        asker,
        reason,
    )
    .details(details)
}

/// The leases that an entry says were forgotten.
pub fn forgotten_leases(entry: &Handover) -> impl Iterator<Item = LeaseName> {
    let names = match entry.event {
        HandoverEvent::Forgotten => entry.details.get("leases").and_then(Value::as_str),
        _ => None,
    };
    let names = names.unwrap_or_default().split(' ');
    names.filter_map(|name| name.parse().ok())
}
