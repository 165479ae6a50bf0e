//! What time alone does to a lease: a lapse at the expiry, a forced release at
//! a step-down's deadline.

use baton_client::{HandoverEvent, Timestamp};
use serde_json::json;

use super::{
    Asker, LastEnd, LeaseRow, Moment,
    draft::{Before, Draft, time},
};

/// When something next becomes due, if nothing else happens.
pub fn due_at(row: &LeaseRow) -> Option<Timestamp> {
    let tenure = row.tenure.as_ref()?;
    let lapse = (!tenure.lapsed).then_some(tenure.expires_at);
    let deadline = row.step_down.as_ref().map(|asked| asked.deadline);
    match (lapse, deadline) {
        (Some(lapse), Some(deadline)) => Some(lapse.min(deadline)),
        (lapse, deadline) => lapse.or(deadline),
    }
}

/// Carries out what is due at `moment`, in order of due time, and logs it.
pub fn settle(row: &mut LeaseRow, moment: Moment, log: &mut Vec<Draft>) {
    while due_at(row).is_some_and(|due| due <= moment.now) {
        let Some(tenure) = &row.tenure else { return };
        let deadline = row.step_down.as_ref().map(|asked| asked.deadline);
        let lapse_first =
            !tenure.lapsed && deadline.is_none_or(|deadline| tenure.expires_at <= deadline);
        if lapse_first {
            lapse(row, moment, log);
        } else {
            force_at_deadline(row, moment, log);
        }
    }
}

fn lapse(row: &mut LeaseRow, moment: Moment, log: &mut Vec<Draft>) {
    let before = Before::of(row);
    row.changed_at = moment.at;
    let Some(tenure) = &mut row.tenure else {
        return;
    };
    tenure.lapsed = true;
    let tenure = tenure.clone();
    let silent_ms = tenure.renewed_at.ms_until(tenure.expires_at);
    log.push(
        Draft::of(
            HandoverEvent::Lapsed,
            before,
            row,
            moment.at,
            Asker::baton(),
            format!(
                "no renewal for {}.{} s",
                silent_ms / 1_000,
                silent_ms % 1_000 / 100
            ),
        )
        .held(tenure.granted_at, tenure.expires_at)
        .details(json!({
            "expires_at": tenure.expires_at,
            "renewed_at": tenure.renewed_at,
            "ttl_ms": tenure.ttl_ms,
        })),
    );
}

fn force_at_deadline(row: &mut LeaseRow, moment: Moment, log: &mut Vec<Draft>) {
    let Some(asked) = row.step_down.clone() else {
        return;
    };
    // Nobody asked for an earlier bar to be lifted: it stays until its time.
    let barred = row.barred.clone();
    let reserved = row.take_step_down_reservation(moment.now);
    end_by_force(
        row,
        moment,
        Asker::baton(),
        super::Why {
            reason: asked.reason,
            incident: asked.incident,
        },
        (barred, reserved),
        true,
        log,
    );
}

/// Ends the tenure by force and leaves a bar or a reservation behind. The
/// caller made sure that there is a tenure and that the generation can grow.
pub(super) fn end_by_force(
    row: &mut LeaseRow,
    moment: Moment,
    asker: Asker,
    why: super::Why,
    (barred, reserved): (Option<baton_client::Barred>, Option<baton_client::Reserved>),
    by_deadline: bool,
    log: &mut Vec<Draft>,
) {
    let before = Before::of(row);
    let ended = row.tenure.take();
    if ended.is_some() {
        if let Some(next) = row.generation.next() {
            row.generation = next;
        }
        row.last_end = Some(LastEnd::Forced);
        row.note_hands(moment.at);
    } else {
        // Forcing a free lease is how an operator resets the attempts.
        row.attempt = 0;
    }
    row.step_down = None;
    row.blocked = None;
    row.changed_at = moment.at;
    let details = json!({
        "attempt": row.attempt,
        "barred": barred.as_ref().map(|bar| if bar.holder.is_some() { "holder" } else { "everyone" }),
        "barred_holder": barred.as_ref().and_then(|bar| bar.holder.clone()),
        "barred_until": time(barred.as_ref().map(|bar| bar.until)),
        "deadline_passed": by_deadline,
        "reserved_for": reserved.as_ref().map(|kept| kept.holder.clone()),
        "reserved_until": time(reserved.as_ref().map(|kept| kept.until)),
    });
    row.barred = barred;
    row.reserved = reserved;
    let mut entry = Draft::of(
        HandoverEvent::Forced,
        before,
        row,
        moment.at,
        asker,
        why.reason,
    )
    .incident(why.incident)
    .details(details);
    if let Some(tenure) = ended {
        entry = entry.held(tenure.granted_at, tenure.expires_at);
    }
    log.push(entry);
}
