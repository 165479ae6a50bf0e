//! Any address at which there is nothing.

use leptos::prelude::*;
use leptos_meta::Title;

use crate::header::Brand;

/// Says so, and leads back.
#[component]
pub fn NotFoundPage() -> impl IntoView {
    #[cfg(feature = "ssr")]
    if let Some(response) = use_context::<leptos_axum::ResponseOptions>() {
        response.set_status(http::StatusCode::NOT_FOUND);
    }
    view! {
        <Title text="Nothing here · Baton" />
        <header class="top">
            <Brand />
        </header>
        <main class="narrow">
            <h1>"Nothing here"</h1>
            <p>"There is no page at this address. The link may be old, or mistyped."</p>
            <p>
                <a class="button" href="/">
                    "All leases"
                </a>
            </p>
        </main>
    }
}
