//! What limits a lease, and what came of the act that brought the reader here.

use leptos::prelude::*;

use crate::{
    entry::Entry,
    facts::limits,
    followed::followed,
    incident::Incident,
    live::{Live, OneLease, text},
    moment_view::{sentence, spoken},
};

/// Pause, bar, reservation, step-down, and fenced transactions that are waited for.
#[component]
pub fn LeaseLimits(one: OneLease, live: Live) -> impl IntoView {
    let limits = Memo::new(move |_| one.lease.with(|lease| limits(lease, live.now_s.get())));
    move || {
        let limits = limits.get().into_iter();
        let lines = limits.map(|limit| {
            view! {
                <li class=limit.class>
                    <p>
                        {sentence(&limit.text)}
                    </p>
                    {limit.reason.map(|reason| view! { <p class="reason"><q><bdi>{reason}</bdi></q></p> })}
                    <p class="small">
                        {limit.by.map(|by| view! { <span>{sentence(&by)}</span> })}
                        {limit.incident.map(|incident| view! { <Incident incident /> })}
                    </p>
                </li>
            }
        });
        let lines: Vec<_> = lines.collect();
        (!lines.is_empty()).then(|| view! { <ul class="limits">{lines}</ul> })
    }
}

/// What was done, and what came of it. Only where the address names an act.
#[component]
pub fn Follow(one: OneLease, live: Live) -> impl IntoView {
    let act = one.act.get_value();
    act.map(|act| view! { <FollowOne one live act /> })
}

#[component]
fn FollowOne(one: OneLease, live: Live, act: Entry) -> impl IntoView {
    let href = format!("/handovers/{}", act.seq);
    let said = Memo::new(move |_| {
        one.lease
            .with(|lease| followed(&act, lease, live.now_s.get()))
    });
    let done = text(move || said.with(|said| said.done.clone()));
    // Time that passes is not read out every second; who has it now is.
    let then = text(move || said.with(|said| said.then.clone()));
    let class = text(move || {
        let waiting = said.with(|said| said.waiting);
        if waiting {
            "followed waiting"
        } else {
            "followed"
        }
        .to_owned()
    });
    let polite = text(move || {
        let waiting = said.with(|said| said.waiting);
        if waiting { "off" } else { "polite" }.to_owned()
    });
    view! {
        <div class=class role="status" aria-live=polite data-part="followed">
            <p>
                <b>{spoken(done)}</b>
                " "
                <a href=href>"The entry"</a>
            </p>
            <p data-part="then">
                {spoken(then)}
            </p>
        </div>
    }
}
