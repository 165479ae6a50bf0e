//! How pages are shown: a choice each for theme, times and keys.

use leptos::prelude::*;

use crate::display::{Choice, Display};

use super::{Filled, form::described};

/// The page. `next` is where it leads back to.
pub fn display_page(filled: &Filled, chosen: Display, next: String) -> AnyView {
    view! {
        <main class="ask">
            <div class="sheet dialog display">
                <h1>"Display"</h1>
                <p class="muted">
                    "For this browser, whoever is signed in. It is remembered for a year, in cookies that say only this."
                </p>
                <form method="post" action="/display">
                    <input type="hidden" name="next" value=next.clone() />
                    {choice(filled, "Theme", "", chosen.theme)}
                    {choice(
                        filled,
                        "Times",
                        "Point at any of them, and it says exactly when that was, in UTC. The local time zone is known to JavaScript only: without it, and in forms, times are in UTC and say so.",
                        chosen.times,
                    )}
                    {choice(
                        filled,
                        "Single-key shortcuts",
                        "On the pages of leases and handovers, ? lists them. They need JavaScript.",
                        chosen.keys,
                    )}
                    <footer>
                        <a class="button" href=next>
                            "Back"
                        </a>
                        <button class="primary" type="submit">
                            "Keep this"
                        </button>
                    </footer>
                </form>
            </div>
        </main>
    }
    .into_any()
}

/// What there is to choose from, as it was sent or else as it is.
fn choice<C: Choice>(filled: &Filled, what: &'static str, hint: &'static str, is: C) -> AnyView {
    let (wrong, described) = described(filled, C::FIELD);
    let sent = filled.said(C::FIELD).and_then(C::read);
    let chosen = sent.unwrap_or(is);
    let choices = C::ALL.iter().map(|(choice, word, words)| {
        view! {
            <label>
                <input type="radio" name=C::FIELD value=*word checked=*choice == chosen />
                <span>{*words}</span>
            </label>
        }
    });
    let hint_id = (!hint.is_empty()).then(|| format!("{}-hint", C::FIELD));
    let hint = hint_id.clone().map(|id| {
        view! {
            <p class="small muted" id=id>
                {hint}
            </p>
        }
    });
    let described = described.or(hint_id);
    view! {
        <fieldset class="choice" aria-describedby=described>
            <legend>{what}</legend>
            {choices.collect_view()}
            {hint}
            {wrong}
        </fieldset>
    }
    .into_any()
}
