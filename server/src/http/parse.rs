//! Wire requests become requests of the rules, once every field holds.

use baton_client::{
    AccessQuery, Acquire, BarWhom, EventsQuery, ExportQuery, ForceRelease, Forget, Generation,
    HandoverQuery, HolderId, LeaseQuery, Protect, Reason, Release, Renew, ReportQuery,
    StepDownRequest, TenureQuery,
    limits::{
        ABOVE_MAX, ADDRESS_CHARS_MAX, CLAIM_ID_CHARS_MAX, FORGET_IDLE_MS_MIN, GRACE_MS_MAX,
        HOLDER_CHARS_MAX, INCIDENT_CHARS_MAX, LEASE_NAME_CHARS_MAX, NUMBER_MAX, OPERATOR_MS_MAX,
        OPERATOR_MS_MIN, PAGE_MAX, PAYLOAD_BYTES_MAX, PRINCIPAL_CHARS_MAX, REASON_CHARS_MAX,
        SEARCH_CHARS_MAX, STATUS_BYTES_MAX, TTL_MS_MAX, TTL_MS_MIN, WAIT_MS_MAX,
    },
};

use crate::rules;

use super::{answer::Oops, fields::Fields};

/// A number in a path or a header: digits, and at most what JSON carries exactly.
pub fn whole_number(text: &str) -> Option<u64> {
    let digits = text.bytes().all(|b| b.is_ascii_digit());
    let number = digits.then(|| text.parse().ok()).flatten()?;
    (number <= NUMBER_MAX).then_some(number)
}

/// Checks an acquire. `wait_ms` stays with the caller.
pub fn acquire(wire: Acquire) -> Result<rules::Acquire, Oops> {
    let mut fields = Fields::default();
    fields.number("ttl_ms", Some(wire.ttl_ms), TTL_MS_MIN, TTL_MS_MAX);
    fields.number("grace_ms", Some(wire.grace_ms), 0, GRACE_MS_MAX);
    fields.number("wait_ms", Some(wire.wait_ms), 0, WAIT_MS_MAX);
    fields.number("above", wire.above, 0, ABOVE_MAX);
    fields.any_number("max_attempts", wire.max_attempts);
    fields.words("claim_id", wire.claim_id.as_deref(), CLAIM_ID_CHARS_MAX);
    fields.words("principal", wire.principal.as_deref(), PRINCIPAL_CHARS_MAX);
    fields.json("payload", wire.payload.as_ref(), PAYLOAD_BYTES_MAX);
    fields.json("status", wire.status.as_ref(), STATUS_BYTES_MAX);
    fields.finish()?;
    Ok(rules::Acquire {
        holder: wire.holder,
        ttl_ms: wire.ttl_ms,
        grace_ms: wire.grace_ms,
        claim_id: wire.claim_id,
        above: wire
            .above
            .and_then(|above| Generation::try_from(above).ok()),
        expected_generation: wire.expected_generation,
        max_attempts: wire.max_attempts,
        payload: wire.payload,
        principal: wire.principal,
        status: wire.status,
    })
}

/// Notes what is wrong with a renewal.
pub fn check_renew(fields: &mut Fields, wire: &Renew) {
    fields.number("ttl_ms", wire.ttl_ms, TTL_MS_MIN, TTL_MS_MAX);
    let status = wire.status.as_ref().and_then(Option::as_ref);
    fields.json("status", status, STATUS_BYTES_MAX);
}

/// A renewal whose fields hold.
pub fn renew(wire: Renew) -> rules::Renew {
    rules::Renew {
        holder: wire.holder,
        generation: wire.generation,
        ttl_ms: wire.ttl_ms,
        status: wire.status,
    }
}

/// Checks a release.
pub fn release(wire: Release) -> Result<rules::Release, Oops> {
    let mut fields = Fields::default();
    fields.words("reason", wire.reason.as_deref(), REASON_CHARS_MAX);
    fields.finish()?;
    Ok(rules::Release {
        holder: wire.holder,
        generation: wire.generation,
        reason: wire.reason,
    })
}

/// Checks a forced release.
pub fn force_release(wire: ForceRelease) -> Result<rules::ForceRelease, Oops> {
    let mut fields = Fields::default();
    check_why(&mut fields, &wire.reason, wire.incident.as_deref());
    fields.number("bar_ms", wire.bar_ms, OPERATOR_MS_MIN, OPERATOR_MS_MAX);
    both(
        &mut fields,
        ("bar", wire.bar.is_some()),
        ("bar_ms", wire.bar_ms.is_some()),
    );
    if wire.bar == Some(BarWhom::Everyone) && wire.successor.is_some() {
        fields.wrong(
            "successor",
            "could not acquire while everyone is barred: use one of them",
        );
    }
    let reservation = reservation(&mut fields, wire.successor, wire.reserve_ms);
    fields.finish()?;
    Ok(rules::ForceRelease {
        expected_generation: wire.expected_generation,
        why: why(wire.reason, wire.incident),
        bar: wire.bar.zip(wire.bar_ms).map(|(whom, ms)| match whom {
            BarWhom::Everyone => rules::Bar::Everyone(ms),
            BarWhom::Holder => rules::Bar::Holder(ms),
        }),
        reservation,
    })
}

/// Checks a step-down.
pub fn step_down(wire: StepDownRequest) -> Result<rules::StepDown, Oops> {
    let mut fields = Fields::default();
    check_why(&mut fields, &wire.reason, wire.incident.as_deref());
    fields.number(
        "deadline_ms",
        Some(wire.deadline_ms),
        OPERATOR_MS_MIN,
        OPERATOR_MS_MAX,
    );
    let reservation = reservation(&mut fields, wire.successor, wire.reserve_ms);
    fields.finish()?;
    Ok(rules::StepDown {
        expected_generation: wire.expected_generation,
        why: why(wire.reason, wire.incident),
        deadline_ms: wire.deadline_ms,
        reservation,
    })
}

/// Checks an operator's words.
pub fn reason(wire: Reason) -> Result<rules::Why, Oops> {
    let mut fields = Fields::default();
    check_why(&mut fields, &wire.reason, wire.incident.as_deref());
    fields.finish()?;
    Ok(why(wire.reason, wire.incident))
}

/// Checks an admin's words.
pub fn protect(wire: Protect) -> Result<rules::Why, Oops> {
    reason(Reason {
        reason: wire.reason,
        incident: None,
    })
}

/// Checks what selects entries of the access log.
pub fn access_query(query: &AccessQuery) -> Result<(), Oops> {
    let mut fields = Fields::default();
    let actor = query.actor.as_ref().map(ToString::to_string);
    fields.text("actor", actor.as_deref(), HOLDER_CHARS_MAX);
    fields.text("address", query.address.as_deref(), ADDRESS_CHARS_MAX);
    fields.text("subject", query.subject.as_deref(), LEASE_NAME_CHARS_MAX);
    fields.any_number("after", query.after);
    fields.number("limit", query.limit, 1, PAGE_MAX);
    fields.text("cursor", query.cursor.as_deref(), CURSOR_CHARS_MAX);
    fields.finish()
}

/// Checks what is to be forgotten.
pub fn forget(wire: &Forget) -> Result<(), Oops> {
    let mut fields = Fields::default();
    fields.number(
        "idle_ms",
        Some(wire.idle_ms),
        FORGET_IDLE_MS_MIN,
        NUMBER_MAX,
    );
    fields.words("reason", wire.reason.as_deref(), REASON_CHARS_MAX);
    fields.finish()
}

/// Checks what selects leases.
pub fn lease_query(query: &LeaseQuery) -> Result<(), Oops> {
    let mut fields = Fields::default();
    check_lease_query(&mut fields, query);
    fields.finish()
}

/// Checks what selects events.
pub fn events_query(query: &EventsQuery) -> Result<(), Oops> {
    let mut fields = Fields::default();
    check_lease_query(&mut fields, &query.leases());
    fields.any_number("after", query.after);
    fields.finish()
}

/// Checks what selects entries of the history.
pub fn handover_query(query: &HandoverQuery) -> Result<(), Oops> {
    let mut fields = Fields::default();
    fields.prefix(query.prefix.as_deref());
    fields.text("holder", query.holder.as_deref(), HOLDER_CHARS_MAX);
    fields.text("incident", query.incident.as_deref(), INCIDENT_CHARS_MAX);
    let actor = query.actor.as_ref().map(ToString::to_string);
    fields.text("actor", actor.as_deref(), HOLDER_CHARS_MAX);
    fields.any_number("after", query.after);
    fields.number("limit", query.limit, 1, PAGE_MAX);
    fields.text("cursor", query.cursor.as_deref(), CURSOR_CHARS_MAX);
    fields.finish()
}

/// Checks what selects entries for an export.
pub fn export_query(query: &ExportQuery) -> Result<(), Oops> {
    handover_query(&query.filter())
}

/// Checks what a report is about.
pub fn report_query(query: &ReportQuery) -> Result<(), Oops> {
    let mut fields = Fields::default();
    if query.to <= query.from {
        fields.wrong("to", "is after `from`");
    }
    fields.finish()
}

/// Checks what selects tenures.
pub fn tenure_query(query: &TenureQuery) -> Result<(), Oops> {
    let mut fields = Fields::default();
    fields.number("limit", query.limit, 1, PAGE_MAX);
    fields.text("cursor", query.cursor.as_deref(), CURSOR_CHARS_MAX);
    fields.finish()
}

/// No cursor that was given out is longer.
const CURSOR_CHARS_MAX: usize = 1_000;

fn check_lease_query(fields: &mut Fields, query: &LeaseQuery) {
    fields.text("search", query.search.as_deref(), SEARCH_CHARS_MAX);
    fields.prefix(query.prefix.as_deref());
    fields.text("holder", query.holder.as_deref(), HOLDER_CHARS_MAX);
    fields.number("limit", query.limit, 1, PAGE_MAX);
    fields.text("cursor", query.cursor.as_deref(), CURSOR_CHARS_MAX);
}

fn check_why(fields: &mut Fields, reason: &str, incident: Option<&str>) {
    fields.words("reason", Some(reason), REASON_CHARS_MAX);
    fields.words("incident", incident, INCIDENT_CHARS_MAX);
}

fn why(reason: String, incident: Option<String>) -> rules::Why {
    rules::Why { reason, incident }
}

fn reservation(
    fields: &mut Fields,
    successor: Option<HolderId>,
    reserve_ms: Option<u64>,
) -> Option<rules::Reservation> {
    fields.number("reserve_ms", reserve_ms, OPERATOR_MS_MIN, OPERATOR_MS_MAX);
    both(
        fields,
        ("successor", successor.is_some()),
        ("reserve_ms", reserve_ms.is_some()),
    );
    successor
        .zip(reserve_ms)
        .map(|(holder, ms)| rules::Reservation { holder, ms })
}

/// Two fields that make sense only together.
fn both(fields: &mut Fields, one: (&str, bool), other: (&str, bool)) {
    for (here, there) in [(one, other), (other, one)] {
        if here.1 && !there.1 {
            fields.wrong(there.0, format!("is needed with `{}`", here.0));
        }
    }
}
