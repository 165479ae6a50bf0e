//! Search, filter and order. A plain form whose fields end up in the address;
//! in a living page the list turns without a full load.

use leptos::{html, prelude::*};
use leptos_router::{NavigateOptions, hooks::use_navigate};

use crate::address::{Asked, SORTS, Show, sort_word};

/// The form, set to what is asked.
#[component]
pub fn SearchForm(asked: Memo<Asked>) -> impl IntoView {
    let search = NodeRef::<html::Input>::new();
    let state = NodeRef::<html::Select>::new();
    let sort = NodeRef::<html::Select>::new();
    let navigate = use_navigate();
    let turn = move || {
        let asked = Asked::read(|field| match field {
            "search" => search.get_untracked().map(|input| input.value()),
            "state" => state.get_untracked().map(|select| select.value()),
            "sort" => sort.get_untracked().map(|select| select.value()),
            _ => None,
        });
        let options = NavigateOptions {
            scroll: false,
            ..NavigateOptions::default()
        };
        navigate(&asked.href(), options);
    };
    let (turn_state, turn_sort) = (turn.clone(), turn.clone());
    // The attributes are for a page without a script, the properties for one
    // whose fields somebody touched.
    let at_first = asked.get_untracked();
    let states = Show::CHOICES.map(|(show, word, words)| {
        view! {
            <option value=word selected=show == at_first.show>
                {words}
            </option>
        }
    });
    let sorts = SORTS.map(|(order, word, words)| {
        view! {
            <option value=word selected=order == at_first.sort>
                {words}
            </option>
        }
    });
    view! {
        <form
            class="tools"
            method="get"
            action="/"
            role="search"
            autocomplete="off"
            on:submit=move |event| {
                event.prevent_default();
                turn();
            }
        >
            <input
                node_ref=search
                type="search"
                name="search"
                aria-label="Search lease or holder"
                placeholder="Search lease or holder"
                maxlength="255"
                autocapitalize="none"
                spellcheck="false"
                value=at_first.search
                prop:value=move || asked.with(|asked| asked.search.clone())
            />
            <button type="submit">"Search"</button>
            <select
                node_ref=state
                name="state"
                aria-label="State"
                prop:value=move || asked.with(|asked| asked.show.as_str())
                on:change=move |_| turn_state()
            >
                {states.collect_view()}
            </select>
            <select
                node_ref=sort
                name="sort"
                aria-label="Order"
                prop:value=move || asked.with(|asked| sort_word(asked.sort))
                on:change=move |_| turn_sort()
            >
                {sorts.collect_view()}
            </select>
        </form>
    }
}
