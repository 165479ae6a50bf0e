//! Search, filter and order. A plain form whose fields end up in the address.

use leptos::prelude::*;

use crate::address::{Asked, SORTS, Show, query_of};

/// The form, set to what is asked. Where the page is live, a choice takes effect
/// at once (see `wake`).
#[component]
pub fn SearchForm(asked: Asked) -> impl IntoView {
    let states = Show::CHOICES.map(|(show, word, words)| {
        view! {
            <option value=word selected=show == asked.show>
                {words}
            </option>
        }
    });
    let sorts = SORTS.map(|(order, word, words)| {
        view! {
            <option value=word selected=order == asked.sort>
                {words}
            </option>
        }
    });
    let act = asked.filters().then(|| {
        let fields = [
            ("search", asked.search.as_str()),
            ("state", asked.show.as_str()),
        ];
        let said = fields.into_iter().filter(|(_, value)| !value.is_empty());
        let href = format!("/act{}", query_of(said));
        view! {
            <a class="button act" href=href>
                "Act on these"
            </a>
        }
    });
    view! {
        <form class="tools" method="get" action="/" role="search" autocomplete="off">
            <input
                type="search"
                name="search"
                aria-label="Search lease or holder"
                placeholder="Search lease or holder"
                maxlength="255"
                autocapitalize="none"
                spellcheck="false"
                value=asked.search
            />
            <button type="submit">"Search"</button>
            <select name="state" aria-label="State" data-at-once>
                {states.collect_view()}
            </select>
            <select name="sort" aria-label="Order" data-at-once>
                {sorts.collect_view()}
            </select>
            {act}
        </form>
    }
}
