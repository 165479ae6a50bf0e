//! What stands where the list would be when there is nothing in it, and what
//! to do about it. Both are always in the document; `data-stands` of the page's
//! `main` says which of them, or the list, is shown.

use leptos::prelude::*;

use crate::address::Asked;

/// Nothing matches.
#[component]
pub fn NothingMatches(asked: Asked) -> impl IntoView {
    let words = if asked.cursor.is_some() && !asked.filters() {
        "No more leases from here on."
    } else {
        "Nothing matches. There are leases, but none like this."
    };
    view! {
        <div class="sheet empty" data-part="nothing-matches">
            <p>{words}</p>
            <p>
                <a class="button" href="/">
                    "Show all leases"
                </a>
            </p>
        </div>
    }
}

/// There is no lease at all.
#[component]
pub fn NoLeaseYet(address: String) -> impl IntoView {
    let line = format!(
        "curl {address}/api/v1/leases/first.lease/acquire \\\n  \
         -H \"Authorization: Bearer $BATON_TOKEN\" \\\n  \
         -H 'Content-Type: application/json' \\\n  \
         -d '{{\"holder\":\"me-1\",\"ttl_ms\":30000}}'"
    );
    view! {
        <div class="sheet empty" data-part="no-lease-yet">
            <h2>"No lease yet"</h2>
            <p>
                "A lease springs into being when somebody first acquires it. Paste this into a terminal, "
                "with the token that the server printed when it first started:"
            </p>
            <pre tabindex="0" aria-label="A line to paste">
                <code>{line}</code>
            </pre>
            <p class="small muted">"It shows here as soon as it is there."</p>
        </div>
    }
}
