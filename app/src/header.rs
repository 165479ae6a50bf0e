//! The bar at the top: what this is, as of when, and who looks.

use leptos::prelude::*;

use crate::{Viewer, address::sign_in_href, live::Live, live_clock::LiveClock, nav::Nav};

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

/// The bar. `here` is the page's own address, query included, to come back to
/// after signing in; `live` is for a page that shows as of when it is true.
#[component]
pub fn Header(
    viewer: Option<Viewer>,
    here: String,
    #[prop(optional)] live: Option<Live>,
) -> impl IntoView {
    let path = here.split('?').next().unwrap_or_default().to_owned();
    let role = viewer.as_ref().map(|viewer| viewer.role);
    view! {
        <header class="top">
            <Brand />
            <Nav path role />
            <div class="right">
                {live
                    .map(|live| {
                        view! {
                            <span data-island="clock">
                                <LiveClock live />
                            </span>
                        }
                    })} <Who viewer here />
            </div>
        </header>
    }
}

/// Who looks, and the way out or in.
#[component]
fn Who(viewer: Option<Viewer>, here: String) -> impl IntoView {
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
            <a class="button quiet" href=sign_in_href(&here)>
                "Sign in"
            </a>
        }
        .into_any(),
    }
}
