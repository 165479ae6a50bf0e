//! New entries of the history are announced, and not pushed under the reader's
//! eyes.

use leptos::prelude::*;

use crate::live::text;

/// How many there are, and the way to see them.
#[component]
pub fn News(count: RwSignal<u64>, href: String) -> impl IntoView {
    let words = text(move || match count.get() {
        0 => String::new(),
        n => format!("{n} new — show"),
    });
    let hidden = Memo::new(move |_| count.get() == 0);
    view! {
        <p class="news" role="status">
            <a class="button" href=href hidden=hidden>
                {words}
            </a>
        </p>
    }
}
