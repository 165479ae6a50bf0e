//! Links to the history as a file: all the entries that the page is about, and no
//! others.

use leptos::prelude::*;

use crate::handovers_asked::HandoversAsked;

/// The links. `words`: what they lead to.
#[component]
pub fn Exports(asked: HandoversAsked, words: &'static str) -> impl IntoView {
    view! {
        <span class="exports small">
            {words} ": " <a href=asked.export_href("csv")>"CSV"</a> " · "
            <a href=asked.export_href("jsonl")>"JSON Lines"</a> " · "
            <a href=asked.export_href("md")>"Report (Markdown)"</a>
        </span>
    }
}
