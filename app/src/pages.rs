//! The way to the pages before and after this one.

use leptos::prelude::*;

use crate::address::Asked;

/// Nothing, if there is only one page.
#[component]
pub fn Pages(asked: Asked, next: Option<String>) -> impl IntoView {
    let first = asked.cursor.is_some().then(|| asked.from(None).href());
    let next = next.map(|cursor| asked.from(Some(cursor)).href());
    let any = first.is_some() || next.is_some();
    let link = |href: Option<String>, rel, words| {
        href.map(|href| {
            view! {
                <a class="button" href=href rel=rel>
                    {words}
                </a>
            }
        })
    };
    any.then(|| {
        view! {
            <nav class="pages" aria-label="Pages">
                {link(first, "first", "First page")}
                {link(next, "next", "Next page")}
            </nav>
        }
    })
}
