//! One lease in the list. Each cell runs again only when what it shows is
//! another; the elements stay.

use baton_client::{Lease, Timestamp};
use leptos::prelude::*;

use crate::{
    bar::Bar,
    countdown::{self, left},
    entry::Last,
    lease_asked::lease_href,
    live::{Live, Row, flag, text},
    moment::Form,
    moment_view::Reader,
    notes::{Notes, notes},
    says::says,
    state_mark::{Mark, StateMark},
};

/// The row.
#[component]
pub fn LeaseRow(row: Row, live: Live) -> impl IntoView {
    let Row { name, lease, last } = row;
    let href = lease_href(&name);
    let name = name.to_string();
    let lease = RwSignal::from(lease);
    let left = Memo::new(move |_| lease.with(|lease| left(lease, now_for(lease, live))));
    let mark = Memo::new(move |_| lease.with(|lease| Mark::of(lease, left.with(|left| left.tone))));
    let notes = Memo::new(move |_| lease.with(|lease| (notes(lease), said(lease))));
    let generation = text(move || lease.with(|lease| lease.generation.to_string()));
    let remaining = text(move || left.with(|left| left.text.clone()));
    let held_for = text(move || lease.with(|lease| countdown::held_for(lease, live.now_s.get())));
    let last = RwSignal::from(last);
    let reader = Reader::of_page();
    let of_last = move |say: fn(&Last) -> String| {
        text(move || last.with(|last| last.as_ref().map_or(String::new(), say)))
    };
    let last_words = of_last(Last::words);
    let last_why = of_last(|last| last.reason.clone());
    let last_at = of_last(|last| last.at.to_string());
    let last_age = text(move || {
        live.now_s.track();
        let at = last.with(|last| last.as_ref().map(|last| last.at));
        at.map_or(String::new(), |at| reader.write(at, Form::Age))
    });
    let attention = flag(move || lease.with(|lease| lease.attention().is_some()));
    view! {
        <tr role="row" data-lease=name.clone() class:attention=attention>
            <th role="rowheader" scope="row" class="name">
                <a class="lease-name" href=href title=name.clone() data-row="">
                    <bdi>{name.clone()}</bdi>
                </a>
                <Notes notes />
            </th>
            <td role="cell" class="mark">
                <StateMark mark />
            </td>
            <td role="cell" class="holder" data-label="Holder">
                <Holder lease />
            </td>
            <td role="cell" class="num" data-label="Generation">
                <span data-part="generation">{generation}</span>
            </td>
            <td role="cell" class="time" data-label="Held for">
                <span data-part="held-for">{held_for}</span>
            </td>
            <td role="cell" class="expires">
                <div class="left">
                    <span data-part="remaining">{remaining}</span>
                    <Bar left />
                </div>
            </td>
            <td role="cell" class="last">
                <bdi title=last_why>{last_words}</bdi>
                " "
                <time datetime=last_at title=last_at data-form=Form::Age.as_str()>
                    {last_age}
                </time>
            </td>
        </tr>
    }
}

/// Who has it.
#[component]
pub fn Holder(lease: RwSignal<Lease>) -> impl IntoView {
    let holder = text(move || {
        lease.with(|lease| {
            lease
                .holder
                .as_ref()
                .map_or_else(|| "no holder".to_owned(), ToString::to_string)
        })
    });
    let none = flag(move || lease.with(|lease| lease.holder.is_none()));
    view! {
        <bdi class="holder-name" class:none=none data-part="holder" title=holder>
            {holder}
        </bdi>
    }
}

/// As fine a time as the countdown shows: of a hundred rows most have minutes
/// left, and need no work four times a second.
fn now_for(lease: &Lease, live: Live) -> Timestamp {
    let now_s = live.now_s.get();
    let shows_minutes = |at: Timestamp| now_s.ms_until(at).max(at.ms_until(now_s)) > 62_000;
    match lease.expires_at {
        Some(expires_at) if !shows_minutes(expires_at) => live.now.get(),
        _ => now_s,
    }
}

fn said(lease: &Lease) -> Option<String> {
    lease.status.as_ref().and_then(|status| says(status.get()))
}
