//! The lease changed hands while somebody looked at its page: nothing was done,
//! and this says who has it and what moved it.

use baton_client::{Actor, Handover, Problem};
use leptos::prelude::*;

use crate::{incident::Incident, moment::utc, moment_view::sentence, sentence::by};

use super::Ask;

/// Whether the entry is the very act that is asked for again: an answer that was
/// lost on the way is no reason to be in doubt.
fn is_own(ask: &Ask, entry: &Handover) -> bool {
    let viewer = ask.viewer.as_ref().filter(|viewer| !viewer.anonymous);
    let own =
        matches!((&entry.actor, viewer), (Actor::User(name), Some(viewer)) if *name == viewer.name);
    own && entry.event == baton_client::HandoverEvent::Forced
        // The log has it without what stands around it.
        && entry.reason == ask.filled.get("reason").trim()
}

/// What stands in the form's place.
pub fn moved(ask: &Ask, problem: &Problem) -> AnyView {
    let lease = problem.lease.as_deref();
    let entry = problem.handover.as_deref();
    let own = entry.filter(|entry| is_own(ask, entry));
    let back = format!("/leases/{}", ask.name);
    if let Some(entry) = own {
        return view! {
            <div data-part="own" role="status">
                <p>
                    <b>"You did this already."</b>
                    {format!(
                        " Your release went through at {}, though its answer may not have reached you. Nothing was done a second time.",
                        utc(entry.at),
                    )}
                </p>
            </div>
            {what(entry)}
            <footer>
                <a class="button primary" href=format!("{back}?after={}", entry.seq) autofocus>
                    "Follow the handover"
                </a>
            </footer>
        }
        .into_any();
    }
    let seen = ask.filled.get("expected_generation").to_owned();
    let now = lease.map(|lease| {
        let has = match &lease.holder {
            Some(holder) => view! { "held by " <code><bdi>{holder.to_string()}</bdi></code> }.into_any(),
            None => "held by nobody".into_any(),
        };
        view! {
            <p data-part="now">
                {format!("You saw generation {seen}. It is at {} now, ", lease.generation)} {has} "."
            </p>
        }
    });
    let again = ask.again();
    view! {
        <div data-part="moved" role="alert">
            <p>
                <b>"Nothing was done: the lease changed hands while you looked."</b>
            </p>
            {now}
        </div>
        {entry.map(what)}
        <footer>
            <a class="button primary" href=back autofocus>
                "Back to the lease"
            </a>
            <a class="button" href=again>
                "Look at it again"
            </a>
        </footer>
    }
    .into_any()
}

/// The entry that moved it.
fn what(entry: &Handover) -> AnyView {
    let by = by(&entry.actor);
    let event = entry.event.as_str().replace('_', " ");
    let incident = entry
        .incident
        .clone()
        .map(|incident| view! { " " <Incident incident /> });
    view! {
        <dl class="mover" data-part="entry">
            <div>
                <dt>"What moved it"</dt>
                <dd>{format!("{event}, entry {} at {}", entry.seq, utc(entry.at))}</dd>
            </div>
            <div>
                <dt>"By"</dt>
                <dd>
                    {sentence(&by)}
                </dd>
            </div>
            <div>
                <dt>"Why"</dt>
                <dd>
                    <bdi>{entry.reason.clone()}</bdi>
                    {incident}
                </dd>
            </div>
        </dl>
    }
    .into_any()
}
