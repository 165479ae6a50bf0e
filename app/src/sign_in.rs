//! `/sign-in`: name and password. A plain form, which the server answers; it
//! comes back here with `error` when that did not work.

use leptos::prelude::*;
use leptos_meta::Title;
use leptos_router::hooks::use_query_map;

use crate::{address::safe_next, header::Brand};

/// The form.
#[component]
pub fn SignInPage() -> impl IntoView {
    let query = use_query_map();
    let next =
        move || query.with(|query| safe_next(&query.get("next").unwrap_or_default()).to_owned());
    let error = move || query.with(|query| query.get("error").as_deref().map(what_to_do));
    let failed = move || error().is_some();
    view! {
        <Title text="Sign in · Baton" />
        <header class="top">
            <Brand />
        </header>
        <main class="narrow">
            <h1>"Sign in"</h1>
            {move || {
                error()
                    .map(|text| {
                        view! {
                            <p class="problem" role="alert" id="sign-in-error">
                                {text}
                            </p>
                        }
                    })
            }}
            <form class="sheet form" method="post" action="/sign-in">
                <input type="hidden" name="next" value=next />
                <label for="name">"Name"</label>
                <input
                    id="name"
                    name="name"
                    type="text"
                    autocomplete="username"
                    autocapitalize="none"
                    spellcheck="false"
                    maxlength="255"
                    required
                    autofocus
                    aria-describedby=move || failed().then_some("sign-in-error")
                />
                <label for="password">"Password"</label>
                <input
                    id="password"
                    name="password"
                    type="password"
                    autocomplete="current-password"
                    required
                    aria-describedby=move || failed().then_some("sign-in-error")
                />
                <button class="primary" type="submit">
                    "Sign in"
                </button>
            </form>
            <p class="small muted">
                "No account? An admin makes one with " <code>"baton user create"</code>
                ". On a new server the name is " <code>"admin"</code>
                " and the password was printed when it first started."
            </p>
        </main>
    }
}

/// What the server's word for a failure means for the person.
fn what_to_do(error: &str) -> &'static str {
    match error {
        "credentials" => "The name or the password is wrong. Check both, and try again.",
        "rate_limited" => "Too many attempts. Wait a minute, then try again.",
        "expired" => "Your session has ended. Sign in again.",
        "store_unavailable" => "The database does not answer at the moment. Try again shortly.",
        _ => "Signing in did not work. Try again.",
    }
}
