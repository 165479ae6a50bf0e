//! The bar at the top: what this is, as of when, and who looks.

use baton_client::Timestamp;
use leptos::prelude::*;

use crate::{
    Viewer,
    address::{DISPLAY, display_href, sign_in_href},
    display::{Display, Keys},
    key_list::KeyList,
    live::Live,
    live_clock::LiveClock,
    moment::Form,
    moment_view::moment,
    nav::Nav,
};

/// The name, which leads home.
#[component]
fn Brand() -> impl IntoView {
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

/// The bar of a page that is about nobody's leases: no way to those, and nobody
/// who looks.
#[component]
pub fn BareHeader(here: String) -> impl IntoView {
    view! {
        <header class="top">
            <Brand />
            <div class="right">
                <ToDisplay here />
            </div>
        </header>
    }
}

/// The bar. `here` is the page's own address, query included, to come back to
/// after signing in; `live` is for a page that shows as of when it is true, and
/// `as_of` for one that stands still.
#[component]
pub fn Header(
    viewer: Option<Viewer>,
    here: String,
    #[prop(optional)] live: Option<Live>,
    #[prop(optional_no_strip)] as_of: Option<Timestamp>,
) -> impl IntoView {
    let path = here.split('?').next().unwrap_or_default().to_owned();
    let role = viewer.as_ref().map(|viewer| viewer.role);
    let Display { keys, .. } = use_context().unwrap_or_default();
    let listens = live.is_some() && keys == Keys::On;
    let key_list = listens.then(|| view! { <KeyList here=here.clone() /> });
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
                    })}
                {as_of
                    .map(|now| {
                        view! {
                            <span class="live" title="The database’s clock">
                                <i aria-hidden="true"></i>
                                <span data-part="as-of">"As of " {moment(now, Form::Clock)}</span>
                            </span>
                        }
                    })} <ToDisplay here=here.clone() /> <Who viewer here />
            </div>
        </header>
        {key_list}
    }
}

/// The way to how pages are shown, and from there back to `here`.
#[component]
fn ToDisplay(here: String) -> impl IntoView {
    let at_it = here.split('?').next() == Some(DISPLAY);
    let href = if at_it { here } else { display_href(&here) };
    view! {
        <a
            class="to-display"
            href=href
            aria-label="Display"
            title="Display: theme, times, keys"
            aria-current=at_it.then_some("page")
        >
            <svg width="18" height="18" viewBox="0 0 18 18" aria-hidden="true">
                <path d="M1 5h16M1 13h16" stroke="currentColor" stroke-width="1.6" />
                <circle cx="11.5" cy="5" r="2.6" class="knob" />
                <circle cx="6" cy="13" r="2.6" class="knob" />
            </svg>
        </a>
    }
}

/// Who looks, and the way out or in.
#[component]
fn Who(viewer: Option<Viewer>, here: String) -> impl IntoView {
    match viewer {
        Some(viewer) if !viewer.anonymous => view! {
            <a class="who" href="/password" title="Change your password">
                <bdi>{viewer.name.clone()}</bdi>
                <span class="muted">{viewer.role.as_str()}</span>
            </a>
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
