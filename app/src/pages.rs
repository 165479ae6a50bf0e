//! The way to the pages before and after this one.

use leptos::prelude::*;

use crate::address::Asked;

/// Nothing, if there is only one page.
#[component]
pub fn Pages(asked: Memo<Asked>, next: RwSignal<Option<String>>) -> impl IntoView {
    let first = move || asked.with(|asked| asked.cursor.is_some().then(|| asked.from(None).href()));
    let next = move || {
        let cursor = next.get();
        cursor.map(|cursor| asked.with(|asked| asked.from(Some(cursor)).href()))
    };
    let first = Memo::new(move |_| first());
    let next = Memo::new(move |_| next());
    let link = |href: Option<String>, rel, words| {
        href.map(|href| {
            view! {
                <a class="button" href=href rel=rel>
                    {words}
                </a>
            }
        })
    };
    let any = move || first.with(Option::is_some) || next.with(Option::is_some);
    view! {
        <nav class="pages" aria-label="Pages" hidden=move || !any()>
            {move || link(first.get(), "first", "First page")}
            {move || link(next.get(), "next", "Next page")}
        </nav>
    }
}
