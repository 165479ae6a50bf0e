//! The pages and their addresses.

use leptos::prelude::*;
use leptos_meta::provide_meta_context;
use leptos_router::{
    SsrMode,
    components::{FlatRoutes, Route, Router},
    path,
};

use crate::{leases::LeasesPage, not_found::NotFoundPage, sign_in::SignInPage};

/// Everything inside the document's body. Each page is rendered whole before
/// the first byte is sent, so that it needs no JavaScript and can still answer
/// with another status or a redirect.
#[component]
pub fn App() -> impl IntoView {
    provide_meta_context();
    #[cfg(feature = "hydrate")]
    Effect::new(|_| crate::browser::say_hydrated());
    view! {
        <Router>
            <FlatRoutes fallback=NotFoundPage>
                <Route path=path!("/") view=LeasesPage ssr=SsrMode::Async />
                <Route path=path!("/sign-in") view=SignInPage ssr=SsrMode::Async />
            </FlatRoutes>
        </Router>
    }
}
