//! What the page says, loudly, when it cannot know whether it is right.

use leptos::{either::Either, prelude::*};

use crate::{
    address::sign_in_href,
    connection::Phase,
    live::{Live, text},
    moment_view::moving,
};

/// Nothing while the page is live. `here` is the page's own address.
#[component]
pub fn StaleBanner(live: Live, here: String) -> impl IntoView {
    let phase = Memo::new(move |_| live.phase.get());
    let next = text(move || match live.next_try_s.get() {
        Some(s) => format!("Trying again in {s} s."),
        None => "Trying now.".to_owned(),
    });
    move || {
        let signed_out = match phase.get() {
            Phase::Stale => false,
            Phase::SignedOut => true,
            Phase::Waiting | Phase::Live => return None,
        };
        let (bold, plain) = if signed_out {
            ("You are signed out.", " What you see is as it was at ")
        } else {
            ("Not connected.", " What you see is as it was at ")
        };
        let way_out = if signed_out {
            let href = sign_in_href(&here);
            Either::Left(view! { <a class="button" href=href>"Sign in"</a> })
        } else {
            let try_now = move |_| live.try_now.update(|count| *count += 1);
            Either::Right(view! {
                // A reader need not hear every second of it.
                <span class="next" aria-live="off">{next}</span>
                <button type="button" on:click=try_now>"Try now"</button>
            })
        };
        Some(view! {
            <div class="stale" role="alert">
                <Warning />
                <p><b>{bold}</b>{plain}{moving(live.now_s)}"."</p>
                {way_out}
            </div>
        })
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
