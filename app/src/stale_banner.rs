//! What the page says, loudly, when it cannot know whether it is right.

use leptos::prelude::*;

use crate::{address::sign_in_href, connection::Phase, countdown::time_of_day, live::Live};

/// Nothing while the page is live.
#[component]
pub fn StaleBanner(live: Live, here: Memo<String>) -> impl IntoView {
    let phase = Memo::new(move |_| live.phase.get());
    move || match phase.get() {
        Phase::Stale => Some(view! { <NotConnected live /> }.into_any()),
        Phase::SignedOut => Some(view! { <SignedOut live here /> }.into_any()),
        Phase::Waiting | Phase::Live => None,
    }
}

#[component]
fn NotConnected(live: Live) -> impl IntoView {
    let since = move || time_of_day(live.now_s.get());
    let next = move || match live.next_try_s.get() {
        Some(s) => format!("Trying again in {s} s."),
        None => "Trying now.".to_owned(),
    };
    view! {
        <div class="stale" role="alert">
            <Warning />
            <p>
                <b>"Not connected since " {since} " UTC."</b>
                " What you see is as it was then. "
                // A reader need not hear every second of it.
                <span aria-live="off">{next}</span>
            </p>
            <button type="button" on:click=move |_| live.try_now.update(|count| *count += 1)>
                "Try now"
            </button>
        </div>
    }
}

#[component]
fn SignedOut(live: Live, here: Memo<String>) -> impl IntoView {
    let since = move || time_of_day(live.now_s.get());
    view! {
        <div class="stale" role="alert">
            <Warning />
            <p>
                <b>"You are signed out."</b>
                " What you see is as it was at " {since} " UTC."
            </p>
            <a class="button" rel="external" href=move || sign_in_href(&here.get())>
                "Sign in"
            </a>
        </div>
    }
}

#[component]
fn Warning() -> impl IntoView {
    view! {
        <svg class="sign" viewBox="0 0 16 16" aria-hidden="true">
            <path d="M8 1.2 15.4 14H.6z" fill="none" stroke="currentColor" stroke-width="1.6" />
            <path d="M8 6v4M8 11.4v1.2" stroke="currentColor" stroke-width="1.6" />
        </svg>
    }
}
