//! The way to every page, the same on all of them.

use baton_client::Role;
use leptos::prelude::*;

/// A page to go to.
struct Place {
    path: &'static str,
    name: &'static str,
    /// Who has a use for it.
    least: Role,
}

const PLACES: [Place; 6] = [
    Place {
        path: "/",
        name: "Leases",
        least: Role::Viewer,
    },
    Place {
        path: "/handovers",
        name: "Handovers",
        least: Role::Viewer,
    },
    Place {
        path: "/connect",
        name: "Connect",
        least: Role::Viewer,
    },
    Place {
        path: "/users",
        name: "Users",
        least: Role::Admin,
    },
    Place {
        path: "/tokens",
        name: "Tokens",
        least: Role::Admin,
    },
    Place {
        path: "/access",
        name: "Access log",
        least: Role::Admin,
    },
];

/// The links. `path` is the page's own; a page below another counts to it.
#[component]
pub fn Nav(#[prop(into)] path: String, role: Option<Role>) -> impl IntoView {
    let role = role.unwrap_or(Role::Viewer);
    let here = |place: &Place| match place.path {
        "/" => path == "/" || path.starts_with("/leases") || path == "/act",
        place => path == place || path.starts_with(&format!("{place}/")),
    };
    let links = PLACES
        .iter()
        .filter(|place| role >= place.least)
        .map(|place| {
            view! {
                <a
                    href=place.path
                    aria-current=here(place).then_some("page")
                >
                    {place.name}
                </a>
            }
        });
    view! { <nav aria-label="Main">{links.collect_view()}</nav> }
}
