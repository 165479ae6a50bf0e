//! How a lease stands: the countdown, and its facts.

use leptos::prelude::*;

use crate::{
    bar::Bar,
    countdown::{Tone, left},
    facts::span,
    facts::{Fact, facts},
    live::{Live, OneLease, text},
    moment_view::sentence,
    says::says,
    sentence::isolated,
};

/// The countdown and the facts.
#[component]
pub fn LeaseFacts(one: OneLease, live: Live) -> impl IntoView {
    let lease = one.lease;
    let left = Memo::new(move |_| lease.with(|lease| left(lease, live.now.get())));
    let remaining = text(move || left.with(|left| left.text.clone()));
    let caption = text(move || {
        let words = match left.with(|left| left.tone) {
            Tone::Idle => "Nobody holds it",
            Tone::Calm | Tone::Soon => "Expires in",
            Tone::Lapsed => "Expired",
        };
        words.to_owned()
    });
    let of = text(move || {
        let ttl_ms = lease.with(|lease| lease.ttl_ms);
        match (left.with(|left| left.tone), ttl_ms) {
            (Tone::Calm | Tone::Soon, Some(ttl_ms)) => format!("of {}", span(ttl_ms)),
            (Tone::Lapsed, _) => "ago".to_owned(),
            _ => String::new(),
        }
    });
    let facts = Memo::new(move |_| lease.with(|lease| facts(lease, live.now_s.get())));
    let status = Memo::new(move |_| {
        lease.with(|lease| lease.status.as_ref().and_then(|status| says(status.get())))
    });
    view! {
        <div class="left">
            <p class="muted small">{caption}</p>
            <p class="big">
                <span data-part="remaining">{remaining}</span>
                " "
                <small>{of}</small>
            </p>
            <Bar left />
        </div>
        <dl class="lease-facts">
            {move || facts.get().into_iter().map(fact).collect::<Vec<_>>()}
            {move || status.get().map(|text| fact(said(text)))}
        </dl>
    }
}

fn said(text: String) -> Fact {
    Fact {
        term: "The holder says",
        text: isolated(&text),
        name: false,
        wide: true,
    }
}

fn fact(fact: Fact) -> impl IntoView {
    let class = match (fact.wide, fact.name) {
        (true, true) => "wide name",
        (true, false) => "wide",
        (false, true) => "name",
        (false, false) => "",
    };
    view! {
        <div class=class data-fact=fact.term>
            <dt>{fact.term}</dt>
            <dd>
                {sentence(&fact.text)}
            </dd>
        </div>
    }
}
