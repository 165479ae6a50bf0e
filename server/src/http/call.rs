//! One API call: recognised, authorised, and read.

use std::{
    net::{IpAddr, SocketAddr},
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use crate::{
    people::{Access, Caller, People, authorise},
    rules::Asker,
};
use axum::{
    body::Body,
    extract::RawPathParams,
    http::{HeaderMap, Uri, header, request::Parts},
};
use baton_client::{Code, LeaseName};

use super::{Site, answer::Oops, observe::RequestId, parse, routes::Route};

/// How often it is asked whether a caller may still do what takes long.
const RECHECK: Duration = Duration::from_secs(1);
/// Sessions cost a read each, so they are asked about less often, unless some
/// user or session changed.
const RECHECK_SESSION: Duration = Duration::from_secs(30);

/// A call that its route's access allows.
pub struct Call {
    /// What it can reach.
    pub site: Site,
    /// Who asks.
    pub caller: Arc<Caller>,
    /// What the route needs.
    access: Access,
    /// From where.
    pub address: IpAddr,
    /// The server's id of the request.
    pub request_id: String,
    /// The lease in the path; `None` where there is none.
    lease: Option<LeaseName>,
    /// The number in the path.
    seq: Option<String>,
    /// The address that was called.
    pub uri: Uri,
    /// The query, as it came.
    pub query: String,
    /// The headers.
    pub headers: HeaderMap,
    /// The body, not read yet; in a mutex only so that a call can be looked at
    /// from several threads.
    body: Mutex<Body>,
}

impl Call {
    /// Recognises who asks and decides whether they may, by role and, if the
    /// path names a lease, by its name.
    pub async fn admit(
        site: Site,
        route: &'static Route,
        peer: SocketAddr,
        params: Result<RawPathParams, ()>,
        parts: &Parts,
    ) -> Result<Self, Oops> {
        // What anybody may ask for does not depend on who asks, nor on whether
        // the database can tell.
        let caller = match route.access {
            Access::Public => Arc::new(Caller::anonymous(false)),
            _ => site.recognise(&parts.headers).await?,
        };
        let param = |name: &str| {
            let mut params = params.iter().flat_map(RawPathParams::iter);
            let found = params.find(|(key, _)| *key == name);
            found.map(|(_, value)| value.to_owned())
        };
        let lease = param("lease").map(parse_lease).transpose();
        let named = lease.as_ref().ok().and_then(Option::as_ref);
        // Before anything is said of the request: strangers learn nothing by it.
        authorise(&caller, route.access, named)?;
        if params.is_err() {
            return Err(Oops::new(
                Code::Malformed,
                "the path is not UTF-8 when percent-decoded",
            ));
        }
        let lease = lease?;
        Ok(Self {
            address: site.address(&parts.headers, peer),
            request_id: request_id(parts),
            lease,
            seq: param("seq"),
            query: parts.uri.query().unwrap_or_default().to_owned(),
            uri: parts.uri.clone(),
            headers: parts.headers.clone(),
            site,
            caller,
            access: route.access,
            body: Mutex::new(Body::empty()),
        })
    }

    /// The call with its body, which is not needed to admit it.
    pub fn with_body(mut self, body: Body) -> Self {
        self.body = Mutex::new(body);
        self
    }

    /// The body, once.
    pub fn take_body(&mut self) -> Body {
        let body = self.body.get_mut().unwrap_or_else(PoisonError::into_inner);
        std::mem::take(body)
    }

    /// The lease in the path.
    pub fn lease(&self) -> Result<LeaseName, Oops> {
        self.lease
            .clone()
            .ok_or_else(|| Oops::new(Code::Internal, "the route names no lease"))
    }

    /// The number in the path.
    pub fn seq(&self) -> Result<u64, Oops> {
        parse::whole_number(self.seq.as_deref().unwrap_or_default())
            .ok_or_else(|| Oops::field("seq", "is a whole number, at most 2^53 − 1"))
    }

    /// Comes back when whoever calls may not do so any more, because their token or
    /// session ended or lost its rights, with how the call would be answered now.
    /// For calls that take long.
    pub async fn no_longer_allowed(&self) -> Oops {
        let mut changes = self.site.people().changes();
        let every = if self.headers.contains_key(header::AUTHORIZATION) {
            RECHECK
        } else {
            RECHECK_SESSION
        };
        loop {
            tokio::select! {
                _ = changes.changed() => {}
                () = tokio::time::sleep(every) => {}
            }
            let allowed = async {
                let caller = self.site.recognise(&self.headers).await?;
                authorise(&caller, self.access, self.lease.as_ref())?;
                Ok::<(), Oops>(())
            };
            if let Err(why) = allowed.await {
                return why;
            }
        }
    }

    /// The people, whom whoever calls may change: the access log names the caller.
    pub fn people(&self) -> People {
        let asker = self.asker().unwrap_or_else(|_| Asker {
            address: Some(self.address.to_string()),
            request_id: Some(self.request_id.clone()),
            ..Asker::baton()
        });
        self.site.people().acting(asker)
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
    LeaseName::try_from(text).map_err(|error| Oops::field("lease", error.to_string()))
}

/// The id that the server gave a request.
pub(super) fn request_id(parts: &Parts) -> String {
    let id = parts.extensions.get::<RequestId>();
    id.map_or_else(String::new, |id| id.as_str().to_owned())
}
