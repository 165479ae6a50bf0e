//! What an operator or admin asked for, noted before it is decided: if it is
//! refused, the access log says so.

use std::net::SocketAddr;

use axum::{
    extract::RawPathParams,
    http::{HeaderMap, request::Parts},
};
use baton_client::{AccessEvent, Code, LeaseName};
use serde_json::json;

use crate::{access_log::Draft, people::Access};

use super::{Site, call::Call, observe::RequestId, routes::Route};

/// Stands in a page that says that what was asked for is refused.
#[derive(Debug, Clone, Copy)]
pub struct RefusedWith(pub Code);

/// Who asked for what, as far as a refusal's entry says it.
pub struct Asked {
    site: Site,
    headers: HeaderMap,
    draft: Draft,
}

impl Asked {
    /// Notes a request, if refusals of its route are written down.
    pub fn of(
        route: &Route,
        site: &Site,
        peer: SocketAddr,
        params: Option<&RawPathParams>,
        parts: &Parts,
    ) -> Option<Self> {
        if !matches!(route.access, Access::Operate | Access::Administer) {
            return None;
        }
        let lease = params
            .and_then(|params| params.iter().find(|(key, _)| *key == "lease"))
            .map(|(_, lease)| lease.to_owned());
        let id = parts.extensions.get::<RequestId>();
        let details = json!({ "action": route.name.unwrap_or(route.path) });
        Some(Self {
            draft: Draft {
                event: AccessEvent::Refused,
                actor: None,
                address: Some(site.address(&parts.headers, peer).to_string()),
                request_id: id.map(|id| id.as_str().to_owned()),
                // Whatever was typed; no name is longer.
                subject: lease.map(|lease| lease.chars().take(200).collect()),
                details: details.as_object().cloned().unwrap_or_default(),
            },
            headers: parts.headers.clone(),
            site: site.clone(),
        })
    }

    /// Writes down that it was refused with this code, if it was somebody known who
    /// may not, or whom a rule stood against.
    pub async fn refused(self, code: Code) {
        if !is_written(code) {
            return;
        }
        let Ok(caller) = self.site.recognise(&self.headers).await else {
            return;
        };
        let mut draft = self.draft;
        draft.actor = caller.actor();
        write(&self.site, draft, code).await;
    }
}

impl Call {
    /// Writes down that one of several actions in a call was refused.
    pub async fn refused(&self, action: &str, lease: &LeaseName, code: Code) {
        if !is_written(code) {
            return;
        }
        let details = json!({ "action": action });
        if let Ok(asker) = self.asker() {
            let draft = Draft::new(AccessEvent::Refused, &asker, Some(lease.as_str()), details);
            write(&self.site, draft, code).await;
        }
    }
}

/// What is wrong or unknown is no refusal.
fn is_written(code: Code) -> bool {
    matches!(code.status(), 403 | 409)
}

async fn write(site: &Site, mut draft: Draft, code: Code) {
    let details = &mut draft.details;
    details.insert("code".into(), code.as_str().into());
    details.insert("count".into(), 1.into());
    details.insert("status".into(), code.status().into());
    site.people().access_log().refused(draft).await;
}
