//! `/sign-in`: name and password. A plain form, which the server answers; it
//! comes back here with `error` when that did not work.

use leptos::prelude::*;

use crate::{
    Document, Visit,
    address::{safe_next, sign_in_href},
    header::BareHeader,
    render,
};

/// The form.
pub fn page(visit: &Visit) -> String {
    let next = safe_next(visit.field("next").unwrap_or_default()).to_owned();
    let here = sign_in_href(&next);
    let error = visit.field("error").map(what_to_do);
    let described = error.map(|_| "sign-in-error");
    let document = Document {
        title: "Sign in".into(),
        display: visit.display,
        ..Document::default()
    };
    render(document, || {
        let error = error.map(|text| {
            view! {
                <p class="problem" role="alert" id="sign-in-error">
                    {text}
                </p>
            }
        });
        view! {
            <BareHeader here />
            <main class="narrow">
                <h1>"Sign in"</h1>
                {error}
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
                        aria-describedby=described
                    />
                    <label for="password">"Password"</label>
                    <input
                        id="password"
                        name="password"
                        type="password"
                        autocomplete="current-password"
                        required
                        aria-describedby=described
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
    })
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
