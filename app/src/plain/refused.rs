//! What stands in a page's place when it cannot be had: not allowed, not there,
//! or not now. What was typed is not lost by it.

use baton_client::{Code, Problem};
use leptos::prelude::*;

/// A page that cannot be had.
#[derive(Debug, Clone)]
pub struct Refused {
    /// Why.
    pub problem: Problem,
    /// Where to try again, or, after a session's end, to go on.
    pub again: String,
    /// What somebody wrote who could not send it, to copy it.
    pub typed: Option<String>,
}

/// The page.
pub fn refused_page(refused: Refused) -> AnyView {
    let Refused {
        problem,
        again,
        typed,
    } = refused;
    let (title, way) = match problem.code {
        Code::Unauthenticated => ("Your session has ended", "Sign in, and come back here"),
        Code::Forbidden => ("You may not do this", "Look again"),
        Code::StoreUnavailable => ("The database does not answer", "Try again"),
        Code::UnknownLease | Code::NotFound => ("Nothing here", "Look again"),
        _ => ("That did not work", "Look again"),
    };
    let typed = typed.map(|text| {
        view! {
            <p class="muted small">"What you wrote:"</p>
            <pre tabindex="0" aria-label="What you wrote">
                <bdi>{text}</bdi>
            </pre>
        }
    });
    view! {
        <main class="ask">
            <section class="sheet dialog problem" data-part="problem">
                <h1>{title}</h1>
                <p>
                    <bdi>{problem.detail}</bdi>
                </p>
                {typed}
                <footer>
                    <a class="button primary" href="/">
                        "All leases"
                    </a>
                    <a class="button" href=again>
                        {way}
                    </a>
                </footer>
                <p class="small muted">
                    "Code " <code>{problem.code.as_str()}</code>
                    {problem.request_id.map(|id| view! { ", request " <code>{id}</code> })}
                </p>
            </section>
        </main>
    }
    .into_any()
}
