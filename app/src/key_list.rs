//! The list of keys. It stands in the document of each page that listens to
//! them, and `?` opens it.

use leptos::prelude::*;

use crate::{address::display_href, keys::TOLD};

/// The list. `here` is the page's own address, to come back to from where the
/// keys are turned off.
#[component]
pub fn KeyList(here: String) -> impl IntoView {
    let keys = TOLD.map(|(keys, does)| {
        let keys = keys.iter().map(|key| view! { <kbd>{*key}</kbd> });
        view! {
            <div>
                <dt>{keys.collect_view()}</dt>
                <dd>{does}</dd>
            </div>
        }
    });
    view! {
        <dialog id="keys" class="keys" aria-labelledby="keys-title">
            <h2 id="keys-title">"Keys"</h2>
            <dl>{keys.into_iter().collect_view()}</dl>
            <p class="small muted">
                "Not while you type, and never with Ctrl, Alt or ⌘. They can be turned off under "
                <a href=display_href(&here)>"Display"</a> "."
            </p>
            <form method="dialog">
                <button class="primary" type="submit" autofocus>
                    "Close"
                </button>
            </form>
        </dialog>
    }
}
