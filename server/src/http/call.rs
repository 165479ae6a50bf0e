//! One API call: recognised, authorised, and read.

use std::{net::IpAddr, net::SocketAddr, sync::Arc};

use axum::{
    body::Body,
    extract::RawPathParams,
    http::{HeaderMap, Request, request::Parts},
};
use baton_client::{Code, FieldError, LeaseName};
use tower_http::request_id::RequestId;

use crate::{
    people::{Caller, authorise},
    rules::Asker,
};

use super::{Site, answer::Oops, routes::Route};

/// A call that its route's access allows.
pub struct Call {
    /// What it can reach.
    pub site: Site,
    /// Who asks.
    pub caller: Arc<Caller>,
    /// From where.
    pub address: IpAddr,
    /// The server's id of the request.
    pub request_id: String,
    /// The lease in the path; `None` where there is none.
    lease: Option<LeaseName>,
    /// The number in the path.
    seq: Option<String>,
    /// The query, as it came.
    pub query: String,
    /// The headers.
    pub headers: HeaderMap,
    /// The body, not read yet.
    pub body: Body,
}

impl Call {
    /// Recognises who asks and decides whether they may: first by role, then,
    /// if the path names a lease, by its name.
    pub async fn admit(
        site: Site,
        route: &'static Route,
        peer: SocketAddr,
        params: Result<RawPathParams, ()>,
        request: Request<Body>,
    ) -> Result<Self, Oops> {
        let (parts, body) = request.into_parts();
        let caller = site.recognise(&parts.headers).await?;
        authorise(&caller, route.access, None)?;
        let params = params.map_err(|()| {
            Oops::new(
                Code::Malformed,
                "the path is not UTF-8 when percent-decoded",
            )
        })?;
        let param = |name: &str| {
            let found = params.iter().find(|(key, _)| *key == name);
            found.map(|(_, value)| value.to_owned())
        };
        let lease = param("lease").map(parse_lease).transpose()?;
        if lease.is_some() {
            authorise(&caller, route.access, lease.as_ref())?;
        }
        Ok(Self {
            address: site.address(&parts.headers, peer),
            request_id: request_id(&parts),
            lease,
            seq: param("seq"),
            query: parts.uri.query().unwrap_or_default().to_owned(),
            headers: parts.headers,
            site,
            caller,
            body,
        })
    }

    /// The lease in the path.
    pub fn lease(&self) -> Result<LeaseName, Oops> {
        self.lease
            .clone()
            .ok_or_else(|| Oops::new(Code::Internal, "the route names no lease"))
    }

    /// The number in the path.
    pub fn seq(&self) -> Result<u64, Oops> {
        let text = self.seq.as_deref().unwrap_or_default();
        text.parse()
            .ok()
            .filter(|seq| *seq <= baton_client::limits::NUMBER_MAX)
            .ok_or_else(|| invalid_path("seq", "is a whole number, at most 2^53 − 1".into()))
    }

    /// Who asks, for the log.
    pub fn asker(&self) -> Result<Asker, Oops> {
        let actor = self
            .caller
            .actor()
            .ok_or_else(|| Oops::new(Code::Unauthenticated, "sign in, or send a token"))?;
        Ok(Asker {
            actor,
            address: Some(self.address.to_string()),
            request_id: Some(self.request_id.clone()),
        })
    }
}

fn parse_lease(text: String) -> Result<LeaseName, Oops> {
    LeaseName::try_from(text).map_err(|error| invalid_path("lease", error.to_string()))
}

fn invalid_path(field: &str, message: String) -> Oops {
    Oops::invalid(vec![FieldError {
        field: field.into(),
        message,
    }])
}

/// The id that the server gave a request.
pub fn request_id(parts: &Parts) -> String {
    parts
        .extensions
        .get::<RequestId>()
        .and_then(|id| id.header_value().to_str().ok())
        .unwrap_or_default()
        .to_owned()
}
