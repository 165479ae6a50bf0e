//! A lease's entries, newest first.

use leptos::prelude::*;

use crate::{
    entry_rows::{EntryHead, EntryRow},
    live::{OneLease, flag},
};

/// Entries that are shown, at most; the rest is on a page of its own.
const ROWS_MAX: usize = 25;

/// The table.
#[component]
pub fn History(one: OneLease) -> impl IntoView {
    let newest = move || {
        one.entries.with(|entries| {
            let newest = entries.iter().rev().take(ROWS_MAX);
            newest.cloned().collect::<Vec<_>>()
        })
    };
    let some = flag(move || !one.entries.with(Vec::is_empty));
    view! {
        <table class="cards entries" role="table">
            <caption class="unseen">"Handovers"</caption>
            <EntryHead with_lease=false />
            <tbody role="rowgroup">
                <For each=newest key=|entry| entry.seq let:entry>
                    <EntryRow entry with_lease=false />
                </For>
            </tbody>
        </table>
        <p class="small muted" hidden=some>
            "Nothing happened in this time."
        </p>
    }
}
