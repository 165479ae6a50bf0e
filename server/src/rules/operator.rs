//! What operators and admins do: force, ask to step down, pause, protect.

use baton_client::{Barred, Generation, HandoverEvent, LeaseName, Paused, Reserved};
use serde_json::json;

use super::{
    Asker, Bar, Draft, ForceRelease, LeaseRow, Moment, Refusal, Reservation, StepDown, Why,
    draft::Before, row::PendingStepDown, settle::end_by_force,
};

/// The row, if it is at the generation that the operator saw.
fn seen(row: Option<&mut LeaseRow>, expected: Generation) -> Result<&mut LeaseRow, Refusal> {
    let row = row.ok_or(Refusal::UnknownLease)?;
    if row.generation == expected {
        Ok(row)
    } else {
        Err(Refusal::GenerationMoved(expected))
    }
}

pub(super) fn force_release(
    row: Option<&mut LeaseRow>,
    asker: &Asker,
    force: &ForceRelease,
    moment: Moment,
    log: &mut Vec<Draft>,
) -> Result<(), Refusal> {
    let row = seen(row, force.expected_generation)?;
    if row.tenure.is_some() && row.generation.next().is_none() {
        return Err(Refusal::GenerationsExhausted);
    }
    let barred = match force.bar {
        None => None,
        Some(Bar::Everyone(ms)) => Some(bar(None, ms, asker, force, moment)),
        Some(Bar::Holder(ms)) => {
            let deposed = row.holder().cloned().ok_or(Refusal::NotHeld)?;
            Some(bar(Some(deposed), ms, asker, force, moment))
        }
    };
    let promised = row.take_step_down_reservation(moment.now);
    let reserved = match &force.reservation {
        Some(reservation) => Some(keep(reservation, asker, &force.why, moment)),
        // The promise cannot be kept to a successor who must stay away too.
        None if matches!(force.bar, Some(Bar::Everyone(_))) => None,
        None => promised.map(|kept| Reserved {
            actor: asker.actor.clone(),
            reason: force.why.reason.clone(),
            ..kept
        }),
    };
    end_by_force(
        row,
        moment,
        asker.clone(),
        force.why.clone(),
        (barred, reserved),
        false,
        log,
    );
    Ok(())
}

fn bar(
    holder: Option<baton_client::HolderId>,
    ms: u64,
    asker: &Asker,
    force: &ForceRelease,
    moment: Moment,
) -> Barred {
    Barred {
        holder,
        until: moment.now.plus_ms(ms),
        actor: asker.actor.clone(),
        reason: force.why.reason.clone(),
    }
}

fn keep(reservation: &Reservation, asker: &Asker, why: &Why, moment: Moment) -> Reserved {
    Reserved {
        holder: reservation.holder.clone(),
        until: moment.now.plus_ms(reservation.ms),
        actor: asker.actor.clone(),
        reason: why.reason.clone(),
    }
}

pub(super) fn step_down(
    row: Option<&mut LeaseRow>,
    asker: &Asker,
    ask: &StepDown,
    moment: Moment,
    log: &mut Vec<Draft>,
) -> Result<(), Refusal> {
    let row = seen(row, ask.expected_generation)?;
    if row.tenure.is_none() {
        return Err(Refusal::NotHeld);
    }
    let deadline = moment.now.plus_ms(ask.deadline_ms);
    let successor = ask
        .reservation
        .as_ref()
        .map(|kept| (kept.holder.clone(), kept.ms));
    let details = json!({
        "deadline": deadline,
        "reserve_ms": successor.as_ref().map(|(_, ms)| *ms),
        "successor": successor.as_ref().map(|(holder, _)| holder.clone()),
    });
    row.step_down = Some(PendingStepDown {
        at: moment.at,
        deadline,
        actor: asker.actor.clone(),
        reason: ask.why.reason.clone(),
        incident: ask.why.incident.clone(),
        successor,
    });
    note(
        row,
        HandoverEvent::StepDown,
        asker,
        &ask.why,
        details,
        moment,
        log,
    );
    Ok(())
}

pub(super) fn cancel_step_down(
    row: Option<&mut LeaseRow>,
    asker: &Asker,
    why: &Why,
    moment: Moment,
    log: &mut Vec<Draft>,
) -> Result<(), Refusal> {
    let row = row.ok_or(Refusal::UnknownLease)?;
    if row.step_down.take().is_some() {
        note(
            row,
            HandoverEvent::StepDownCancelled,
            asker,
            why,
            json!({}),
            moment,
            log,
        );
    }
    Ok(())
}

pub(super) fn pause(
    slot: &mut Option<LeaseRow>,
    name: &LeaseName,
    asker: &Asker,
    why: &Why,
    moment: Moment,
    log: &mut Vec<Draft>,
) -> Result<(), Refusal> {
    let row = slot.get_or_insert_with(|| LeaseRow::new(name.clone(), moment.at));
    row.paused = Some(Paused {
        at: moment.at,
        actor: asker.actor.clone(),
        reason: why.reason.clone(),
        incident: why.incident.clone(),
    });
    note(
        row,
        HandoverEvent::Paused,
        asker,
        why,
        json!({}),
        moment,
        log,
    );
    Ok(())
}

pub(super) fn unpause(
    row: Option<&mut LeaseRow>,
    asker: &Asker,
    why: &Why,
    moment: Moment,
    log: &mut Vec<Draft>,
) -> Result<(), Refusal> {
    let row = row.ok_or(Refusal::UnknownLease)?;
    if row.paused.take().is_some() {
        note(
            row,
            HandoverEvent::Unpaused,
            asker,
            why,
            json!({}),
            moment,
            log,
        );
    }
    Ok(())
}

pub(super) fn protect(
    row: Option<&mut LeaseRow>,
    asker: &Asker,
    why: &Why,
    protected: bool,
    moment: Moment,
    log: &mut Vec<Draft>,
) -> Result<(), Refusal> {
    let row = row.ok_or(Refusal::UnknownLease)?;
    if row.protected != protected {
        row.protected = protected;
        let event = if protected {
            HandoverEvent::Protected
        } else {
            HandoverEvent::Unprotected
        };
        note(row, event, asker, why, json!({}), moment, log);
    }
    Ok(())
}

/// Logs an event that changes no hands.
fn note(
    row: &mut LeaseRow,
    event: HandoverEvent,
    asker: &Asker,
    why: &Why,
    details: serde_json::Value,
    moment: Moment,
    log: &mut Vec<Draft>,
) {
    row.changed_at = moment.at;
    log.push(
        Draft::of(
            event,
            Before::of(row),
            row,
            moment.at,
            asker.clone(),
            why.reason.clone(),
        )
        .incident(why.incident.clone())
        .details(details),
    );
}
