//! The database time that a page is true for, and whether it is live.

use baton_client::Timestamp;
use leptos::prelude::*;

use crate::{
    connection::Phase,
    countdown::time_of_day,
    live::{Live, flag, text},
};

/// The clock.
#[component]
pub fn LiveClock(live: Live) -> impl IntoView {
    let is_live = flag(move || live.phase.get() == Phase::Live);
    let now = text(move || {
        let now = live.now_s.get();
        if now == Timestamp::default() {
            return "Not read yet".to_owned();
        }
        let word = match (is_live.get(), live.paused.get()) {
            (true, _) => "Live",
            (false, true) => "Paused at",
            (false, false) => "As of",
        };
        format!("{word} {} UTC", time_of_day(now))
    });
    let press = text(move || {
        if live.paused.get() {
            "Go on"
        } else {
            "Pause updates"
        }
        .to_owned()
    });
    view! {
        <span class="live" class:on=is_live title="The database’s clock">
            <i aria-hidden="true"></i>
            <span data-part="live">{now}</span>
        </span>
        <button
            class="quiet pause"
            type="button"
            title="Stop or go on with what changes on this page"
            on:click=move |_| live.paused.update(|paused| *paused = !*paused)
        >
            {press}
        </button>
    }
}
