//! Entries of the log as rows of a table.

use leptos::{either::Either, prelude::*};

use crate::{
    entry::{Entry, event_class, event_words, who},
    incident::Incident,
    lease_asked::lease_href,
    moment::Form,
    moment_view::moment,
};

/// The head of the table. `with_lease`: entries of many leases.
#[component]
pub fn EntryHead(with_lease: bool) -> impl IntoView {
    view! {
        <thead role="rowgroup">
            <tr role="row">
                <th role="columnheader" scope="col" class="when">"When"</th>
                {with_lease
                    .then(|| view! { <th role="columnheader" scope="col" class="of">"Lease"</th> })}
                <th role="columnheader" scope="col" class="what">"Event"</th>
                <th role="columnheader" scope="col" class="num">"Generation"</th>
                <th role="columnheader" scope="col" class="after">"Holder after"</th>
                <th role="columnheader" scope="col" class="why">"Why"</th>
                <th role="columnheader" scope="col" class="by">"By"</th>
            </tr>
        </thead>
    }
}

/// An entry.
#[component]
pub fn EntryRow(entry: Entry, with_lease: bool) -> impl IntoView {
    let Entry {
        seq,
        at,
        lease,
        event,
        generation,
        holder,
        reason,
        incident,
        actor,
        ..
    } = entry;
    // Among a lease's own entries, one about all leases has no generation of its own.
    let generation = match lease {
        None if !with_lease => "all + 2^32".to_owned(),
        _ => generation.to_string(),
    };
    let of = with_lease.then(|| {
        let name = match lease {
            Some(lease) => Either::Left(view! {
                <a class="lease-name" href=lease_href(&lease)>
                    <bdi>{lease.to_string()}</bdi>
                </a>
            }),
            None => Either::Right(view! { <span class="muted">"all leases"</span> }),
        };
        view! {
            <td role="cell" class="of">
                {name}
            </td>
        }
    });
    let (has, holder) = match holder {
        Some(holder) => (true, holder.to_string()),
        None => (false, "no holder".to_owned()),
    };
    view! {
        <tr role="row" data-seq=seq.to_string()>
            <td role="cell" class="when">
                <a href=format!("/handovers/{seq}") data-row="">
                    {moment(at, Form::Full)}
                </a>
            </td>
            {of}
            <td role="cell" class="what">
                <span class=format!("state {}", event_class(event))>{event_words(event)}</span>
            </td>
            <td role="cell" class="num" data-label="Generation">
                {generation}
            </td>
            <td role="cell" class="after" data-label="Holder after">
                <bdi class="holder-name" class:none=!has title=holder.clone()>
                    {holder.clone()}
                </bdi>
            </td>
            <td role="cell" class="why">
                <bdi class="reason">{reason}</bdi>
                {incident.map(|incident| view! { <Incident incident /> })}
            </td>
            <td role="cell" class="by" data-label="By">
                <bdi>{who(&actor)}</bdi>
            </td>
        </tr>
    }
}
