//! The bar at the top: what this is, as of when, and who looks.

use baton_client::Timestamp;
use leptos::prelude::*;

use crate::{
    Viewer,
    address::sign_in_href,
    connection::Phase,
    countdown::time_of_day,
    live::{Live, text},
};

/// The name, which leads home.
#[component]
pub fn Brand() -> impl IntoView {
    view! {
        <a class="brand" href="/">
            <svg width="22" height="22" viewBox="0 0 22 22" aria-hidden="true">
                <g transform="rotate(-35 11 11)">
                    <rect x="1.5" y="8" width="19" height="6" rx="3" fill="currentColor" />
                    <rect class="brand-band" x="9" y="8" width="4" height="6" />
                </g>
            </svg>
            "baton"
        </a>
    }
}

/// The bar. `here` is the page's own address, to come back to after signing in.
#[component]
pub fn Header(live: Live, viewer: Option<Viewer>, here: Memo<String>) -> impl IntoView {
    view! {
        <header class="top">
            <Brand />
            <nav aria-label="Main">
                <a href="/" aria-current="page">
                    "Leases"
                </a>
            </nav>
            <div class="right">
                <LiveClock live />
                <Who viewer here />
            </div>
        </header>
    }
}

/// The database time that the page is true for, and whether it is live.
#[component]
fn LiveClock(live: Live) -> impl IntoView {
    let is_live = move || live.phase.get() == Phase::Live;
    let now = text(move || {
        let now = live.now_s.get();
        if now == Timestamp::default() {
            return "Not read yet".to_owned();
        }
        let word = if is_live() { "Live" } else { "As of" };
        format!("{word} {} UTC", time_of_day(now))
    });
    view! {
        <span class="live" class:on=is_live title="The database’s clock">
            <i aria-hidden="true"></i>
            <span data-part="live">{now}</span>
        </span>
    }
}

/// Who looks, and the way out or in.
#[component]
fn Who(viewer: Option<Viewer>, here: Memo<String>) -> impl IntoView {
    match viewer {
        Some(viewer) if !viewer.anonymous => view! {
            <span class="who">
                <bdi title=viewer.name.clone()>{viewer.name.clone()}</bdi>
                <span class="muted">{viewer.role.as_str()}</span>
            </span>
            <form class="inline" method="post" action="/sign-out">
                <button class="quiet" type="submit">
                    "Sign out"
                </button>
            </form>
        }
        .into_any(),
        _ => view! {
            <span class="who muted">"Not signed in"</span>
            <a class="button quiet" href=move || sign_in_href(&here.get())>
                "Sign in"
            </a>
        }
        .into_any(),
    }
}
