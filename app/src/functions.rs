//! What the page asks the server while it is open. On the server these are
//! called directly; from the browser they are `POST /fn/…`. None of them
//! changes anything.

use baton_client::{LeaseQuery, Problem};
use leptos::prelude::*;

use crate::{Opened, Totals, Viewer, json::Json};

#[cfg(feature = "ssr")]
fn backstage() -> Result<std::sync::Arc<dyn crate::Backstage>, ServerFnError> {
    use_context().ok_or_else(|| ServerFnError::new("the server provided no Backstage"))
}

/// What the leases page opens with.
#[server(prefix = "/fn", endpoint = "open-leases", input = Json, output = Json)]
pub async fn open_leases(query: LeaseQuery) -> Result<Opened, ServerFnError> {
    let backstage = backstage()?;
    let viewer = backstage.who().await;
    Ok(Opened {
        address: backstage.address(),
        leases: match &viewer {
            Ok(_) => backstage.leases(query).await,
            Err(problem) => Err(problem.clone()),
        },
        viewer: viewer.unwrap_or_default(),
    })
}

/// How many leases there are of each kind, now.
#[server(prefix = "/fn", endpoint = "count-leases", input = Json, output = Json)]
pub async fn count_leases() -> Result<Result<Totals, Problem>, ServerFnError> {
    Ok(backstage()?.totals().await)
}

/// Who looks, now: tells a page that cannot connect whether its session ended.
#[server(prefix = "/fn", endpoint = "who", input = Json, output = Json)]
pub async fn who() -> Result<Result<Option<Viewer>, Problem>, ServerFnError> {
    Ok(backstage()?.who().await)
}
