//! What a holder does with its own tenure: renew it, let it go.

use baton_client::{Actor, Generation, HandoverEvent, HolderId};
use serde_json::json;

use super::{
    Asker, Draft, LastEnd, LeaseRow, Moment, Refusal, Release, Renew, Tenure,
    draft::{Before, time},
};

/// The row and its tenure, if that is the one presented.
fn presented<'a>(
    row: Option<&'a mut LeaseRow>,
    asker: &Asker,
    holder: &HolderId,
    generation: Generation,
) -> Result<&'a mut LeaseRow, Refusal> {
    let row = row.ok_or(Refusal::Lost(generation))?;
    let current = |tenure: &&Tenure| tenure.holder == *holder && row.generation == generation;
    let tenure = row
        .tenure
        .as_ref()
        .filter(current)
        .ok_or(Refusal::Lost(generation))?;
    match &asker.actor {
        Actor::Token(token) if *token == tenure.token => Ok(row),
        _ => Err(Refusal::OtherToken),
    }
}

pub(super) fn renew(
    row: Option<&mut LeaseRow>,
    asker: &Asker,
    renew: &Renew,
    moment: Moment,
    log: &mut Vec<Draft>,
) -> Result<(), Refusal> {
    let row = presented(row, asker, &renew.holder, renew.generation)?;
    let deadline = row.step_down.as_ref().map(|asked| asked.deadline);
    let Some(tenure) = &mut row.tenure else {
        return Err(Refusal::Lost(renew.generation));
    };
    if let Some(ttl_ms) = renew.ttl_ms {
        tenure.ttl_ms = ttl_ms;
    }
    if let Some(status) = &renew.status {
        tenure.status.clone_from(status);
    }
    let expires_at = moment.now.plus_ms(tenure.ttl_ms);
    tenure.expires_at = deadline.map_or(expires_at, |deadline| expires_at.min(deadline));
    tenure.renewed_at = moment.now;
    if tenure.lapsed {
        tenure.lapsed = false;
        let details = json!({ "expires_at": tenure.expires_at, "ttl_ms": tenure.ttl_ms });
        row.changed_at = moment.at;
        row.blocked = None;
        log.push(
            Draft::of(
                HandoverEvent::Recovered,
                Before::of(row),
                row,
                moment.at,
                asker.clone(),
                "renewed after a lapse",
            )
            .details(details),
        );
    }
    Ok(())
}

pub(super) fn release(
    row: Option<&mut LeaseRow>,
    asker: &Asker,
    release: &Release,
    moment: Moment,
    log: &mut Vec<Draft>,
) -> Result<(), Refusal> {
    let row = presented(row, asker, &release.holder, release.generation)?;
    let next = row.generation.next().ok_or(Refusal::GenerationsExhausted)?;
    let before = Before::of(row);
    let Some(tenure) = row.tenure.take() else {
        return Err(Refusal::Lost(release.generation));
    };
    row.generation = next;
    row.last_end = Some(LastEnd::Released);
    row.attempt = 0;
    row.payload = None;
    row.principal = None;
    row.blocked = None;
    if row.step_down.is_some() {
        row.reserved = row.take_step_down_reservation(moment.now);
    }
    row.changed_at = moment.at;
    row.note_hands(moment.at);
    let kept = row.reserved.as_ref();
    let details = json!({
        "reserved_for": kept.map(|kept| kept.holder.clone()),
        "reserved_until": time(kept.map(|kept| kept.until)),
    });
    log.push(
        Draft::of(
            HandoverEvent::Released,
            before,
            row,
            moment.at,
            asker.clone(),
            release
                .reason
                .clone()
                .unwrap_or_else(|| "released by its holder".into()),
        )
        .held(tenure.granted_at, tenure.expires_at)
        .details(details),
    );
    Ok(())
}
