//! A countdown to feel: how much of a whole is left.

use leptos::prelude::*;

use crate::{countdown::Left, live::text};

/// The bar. Its length is an attribute of an SVG element, because the content
/// security policy allows no style attributes.
#[component]
pub fn Bar(left: Memo<Left>) -> impl IntoView {
    let class = text(move || format!("bar {}", left.with(|left| left.tone.class())));
    let width = text(move || left.with(|left| left.permille.to_string()));
    view! {
        <svg class=class viewBox="0 0 1000 6" preserveAspectRatio="none" aria-hidden="true">
            <rect class="track" width="1000" height="6" />
            <rect class="fill" width=width height="6" />
        </svg>
    }
}
