//! The database time that a page is true for, and whether it is live.

use baton_client::Timestamp;
use leptos::prelude::*;

use crate::{
    connection::Phase,
    live::{Live, flag, text},
    moment_view::moving,
};

/// The clock.
#[component]
pub fn LiveClock(live: Live) -> impl IntoView {
    let is_live = flag(move || live.phase.get() == Phase::Live);
    let unread = flag(move || live.now_s.get() == Timestamp::default());
    let word = text(move || {
        let word = match (unread.get(), is_live.get(), live.paused.get()) {
            (true, _, _) => "Not read yet",
            (false, true, _) => "Live",
            (false, false, true) => "Paused at",
            (false, false, false) => "As of",
        };
        word.to_owned()
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
            <span data-part="live">
                <span class="word">{word}" "</span> <span hidden=unread>{moving(live.now_s)}</span>
            </span>
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
