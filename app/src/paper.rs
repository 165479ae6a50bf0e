//! What stands on paper only: what a printed page shows, and for when that is true.

use baton_client::Timestamp;
use leptos::prelude::*;

use crate::{moment::Form, moment_view::moment};

/// The line. `shows`: what the page was asked for, a field and what was said of
/// it each; `as_of` for a page whose bar does not tell it.
#[component]
pub fn Paper(
    shows: Vec<(&'static str, String)>,
    #[prop(optional_no_strip)] as_of: Option<Timestamp>,
) -> impl IntoView {
    let shows = shows.into_iter().map(|(field, said)| {
        view! {
            <b>{field}</b>
            ": "
            <bdi>{said}</bdi>
            ". "
        }
    });
    let as_of = as_of.map(|at| {
        view! { <span data-part="as-of">"As of " {moment(at, Form::Clock)} "."</span> }
    });
    view! {
        <p class="paper">
            {shows.collect_view()} {as_of}
        </p>
    }
}
