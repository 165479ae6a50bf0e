//! A countdown to feel: how much of a whole is left.

use leptos::prelude::*;

use crate::countdown::Tone;

/// The bar. Its length is an attribute of an SVG element, because the content
/// security policy allows no style attributes.
#[component]
pub fn Bar(permille: Signal<u64>, tone: Signal<Tone>) -> impl IntoView {
    view! {
        <svg
            class=move || format!("bar {}", tone.get().class())
            viewBox="0 0 1000 6"
            preserveAspectRatio="none"
            aria-hidden="true"
        >
            <rect class="track" width="1000" height="6" />
            <rect class="fill" width=move || permille.get().to_string() height="6" />
        </svg>
    }
}
