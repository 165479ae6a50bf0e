//! The page with lines to paste.

use baton_app::plain::connect_page;
use baton_client::Role;

use super::Page;
use crate::http::{answer::Answer, call::Call};

/// `GET /connect`.
pub async fn look(call: Call) -> Answer {
    let admin = call.caller.role() == Some(Role::Admin);
    let page = Page::of(&call, "Connect a holder");
    Ok(page.show(|| connect_page(&call.site.inner.address, admin)))
}
