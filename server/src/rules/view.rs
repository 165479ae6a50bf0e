//! A row as it is shown at a time.

use baton_client::{HolderId, Lease, LeaseState, StepDown, Timestamp};

use super::{LeaseRow, row::PendingStepDown};

/// What a lease is at `now`.
pub fn state(row: &LeaseRow, now: Timestamp) -> LeaseState {
    match &row.tenure {
        None => LeaseState::Free,
        Some(tenure) if now < tenure.expires_at => LeaseState::Held,
        Some(_) => LeaseState::Lapsed,
    }
}

/// When `holder` (or, without one, anybody else) could acquire, as far as time
/// decides; `None` if only an operator can change it. Never before `now`.
pub fn acquirable_at(
    row: &LeaseRow,
    holder: Option<&HolderId>,
    now: Timestamp,
) -> Option<Timestamp> {
    if row.paused.is_some() {
        return None;
    }
    let mut at = now;
    if let Some(tenure) = &row.tenure {
        let lapsed = tenure.expires_at.plus_ms(tenure.grace_ms);
        let asked = row.step_down.as_ref();
        at = at.max(asked.map_or(lapsed, |asked| lapsed.min(asked.deadline)));
        // The successor of a step-down comes first, whenever the tenure ends.
        if let Some((PendingStepDown { deadline, .. }, (successor, reserve_ms))) =
            asked.and_then(|asked| Some((asked, asked.successor.as_ref()?)))
            && holder != Some(successor)
        {
            at = at.max(deadline.plus_ms(*reserve_ms));
        }
    }
    if let Some(bar) = &row.barred
        && bar
            .holder
            .as_ref()
            .is_none_or(|barred| Some(barred) == holder)
    {
        at = at.max(bar.until);
    }
    if let Some(kept) = &row.reserved
        && Some(&kept.holder) != holder
    {
        at = at.max(kept.until);
    }
    Some(at)
}

/// The lease as the wire shows it at `now`, without its payload.
pub fn view(row: &LeaseRow, now: Timestamp) -> Lease {
    let tenure = row.tenure.as_ref();
    Lease {
        lease: row.name.clone(),
        state: state(row, now),
        holder: tenure.map(|tenure| tenure.holder.clone()),
        generation: row.generation,
        granted_at: tenure.map(|tenure| tenure.granted_at),
        renewed_at: tenure.map(|tenure| tenure.renewed_at),
        expires_at: tenure.map(|tenure| tenure.expires_at),
        takeable_at: acquirable_at(row, None, now),
        remaining_ms: tenure.map(|tenure| now.ms_until(tenure.expires_at)),
        ttl_ms: tenure.map(|tenure| tenure.ttl_ms),
        grace_ms: tenure.map(|tenure| tenure.grace_ms),
        attempt: row.attempt,
        principal: row.principal.clone(),
        status: tenure.and_then(|tenure| tenure.status.clone()),
        protected: row.protected,
        step_down: row.step_down.as_ref().map(|asked| StepDown {
            at: asked.at,
            deadline: asked.deadline,
            actor: asked.actor.clone(),
            reason: asked.reason.clone(),
            incident: asked.incident.clone(),
            successor: asked.successor.as_ref().map(|(holder, _)| holder.clone()),
        }),
        paused: row.paused.clone(),
        barred: row.barred.clone().filter(|bar| now < bar.until),
        reserved: row.reserved.clone().filter(|kept| now < kept.until),
        blocked: row
            .blocked
            .as_ref()
            .filter(|blocked| now < blocked.until)
            .map(|blocked| blocked.by.clone()),
        flapping: row.flapping(now),
        now,
        payload: None,
    }
}
