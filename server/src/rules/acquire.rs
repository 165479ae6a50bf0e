//! Taking a lease.

use baton_client::{Generation, HandoverEvent, LeaseName};
use serde_json::json;

use super::{
    Acquire, Asker, Draft, Known, LastEnd, LeaseRow, Moment, Refusal, Tenure, draft::Before,
    row::PendingStepDown, view::acquirable_at,
};
use baton_client::Actor;

pub(super) fn acquire(
    slot: &mut Option<LeaseRow>,
    name: &LeaseName,
    asker: &Asker,
    acquire: &Acquire,
    moment: Moment,
    known: Known,
    log: &mut Vec<Draft>,
) -> Result<(), Refusal> {
    let Actor::Token(token) = &asker.actor else {
        return Err(Refusal::OtherToken);
    };
    if let Some(row) = slot
        && is_repeat(row, token, acquire)
    {
        return Ok(());
    }
    if let Some(seq) = known.behind {
        return Err(Refusal::HistoryBehind(seq));
    }
    if let Some(generation) = known.past_claim {
        return Err(Refusal::Lost(generation));
    }
    check(slot.as_ref(), acquire, moment)?;
    let current = slot.as_ref().map_or(Generation::ZERO, |row| row.generation);
    let floor = if current == Generation::ZERO {
        known.floor
    } else {
        Generation::ZERO
    };
    let generation = current
        .max(floor)
        .max(acquire.above.unwrap_or(Generation::ZERO))
        .next()
        .ok_or(Refusal::GenerationsExhausted)?;
    let row = slot.get_or_insert_with(|| LeaseRow::new(name.clone(), moment.at));
    grant(row, generation, token, asker, acquire, moment, log);
    Ok(())
}

/// The same token, holder and claim id get the same grant back.
fn is_repeat(row: &LeaseRow, token: &str, acquire: &Acquire) -> bool {
    acquire.claim_id.is_some()
        && row.tenure.as_ref().is_some_and(|tenure| {
            tenure.token == token
                && tenure.holder == acquire.holder
                && tenure.claim_id == acquire.claim_id
        })
}

/// The checks of an acquire, in their order.
fn check(row: Option<&LeaseRow>, acquire: &Acquire, moment: Moment) -> Result<(), Refusal> {
    let now = moment.now;
    let current = row.map_or(Generation::ZERO, |row| row.generation);
    if let Some(expected) = acquire.expected_generation
        && expected != current
    {
        return Err(Refusal::GenerationMoved(expected));
    }
    let Some(row) = row else { return Ok(()) };
    if row.paused.is_some() {
        return Err(Refusal::Paused);
    }
    let until = acquirable_at(row, Some(&acquire.holder), now);
    if row.barred.as_ref().is_some_and(|bar| {
        now < bar.until && bar.holder.as_ref().is_none_or(|h| *h == acquire.holder)
    }) {
        return Err(Refusal::Barred(until));
    }
    if kept_for_another(row, acquire, moment) {
        return Err(Refusal::Reserved(until));
    }
    let Some(tenure) = &row.tenure else {
        return Ok(());
    };
    if now < tenure.expires_at.plus_ms(tenure.grace_ms) {
        return Err(Refusal::Held(until));
    }
    if let Some(max_attempts) = acquire.max_attempts
        && row.attempt >= max_attempts
    {
        return Err(Refusal::AttemptsExhausted {
            attempt: row.attempt,
            max_attempts,
        });
    }
    Ok(())
}

/// Whether the lease is reserved for somebody else, or would be from the moment
/// that this takeover ended the lapsed tenure (a step-down names a successor,
/// and its reservation starts however the tenure ends).
fn kept_for_another(row: &LeaseRow, acquire: &Acquire, moment: Moment) -> bool {
    let reserved = row
        .reserved
        .as_ref()
        .filter(|kept| moment.now < kept.until)
        .map(|kept| &kept.holder);
    let promised = row
        .tenure
        .as_ref()
        .filter(|tenure| tenure.lapsed)
        .and(row.step_down.as_ref())
        .and_then(PendingStepDown::promised_to);
    reserved.or(promised).is_some_and(|h| *h != acquire.holder)
}

impl PendingStepDown {
    fn promised_to(&self) -> Option<&baton_client::HolderId> {
        self.successor.as_ref().map(|(holder, _)| holder)
    }
}

fn grant(
    row: &mut LeaseRow,
    generation: Generation,
    token: &str,
    asker: &Asker,
    acquire: &Acquire,
    moment: Moment,
    log: &mut Vec<Draft>,
) {
    let before = Before::of(row);
    let (reason, inherits) = match (&row.tenure, row.last_end) {
        (Some(_), _) => {
            row.attempt += 1;
            ("after lapse", true)
        }
        (None, Some(LastEnd::Forced)) => ("after forced release", true),
        (None, Some(LastEnd::Released)) => ("after release", false),
        (None, None) => ("first", false),
    };
    if !inherits {
        row.attempt = 0;
        row.payload = None;
        row.principal = None;
    }
    if acquire.payload.is_some() {
        row.payload.clone_from(&acquire.payload);
    }
    if acquire.principal.is_some() {
        row.principal.clone_from(&acquire.principal);
    }
    row.generation = generation;
    row.step_down = None;
    row.blocked = None;
    row.reserved = None;
    row.changed_at = moment.at;
    row.note_hands(moment.at);
    let expires_at = moment.now.plus_ms(acquire.ttl_ms);
    row.tenure = Some(Tenure {
        holder: acquire.holder.clone(),
        token: token.to_owned(),
        claim_id: acquire.claim_id.clone(),
        granted_at: moment.at,
        renewed_at: moment.now,
        expires_at,
        ttl_ms: acquire.ttl_ms,
        grace_ms: acquire.grace_ms,
        status: acquire.status.clone(),
        lapsed: false,
    });
    log.push(
        Draft::of(
            HandoverEvent::Granted,
            before,
            row,
            moment.at,
            asker.clone(),
            reason,
        )
        .details(json!({
            "attempt": row.attempt,
            "claim_id": acquire.claim_id,
            "expires_at": expires_at,
            "grace_ms": acquire.grace_ms,
            "principal": row.principal,
            "ttl_ms": acquire.ttl_ms,
        })),
    );
}
