//! Every request gets an id, is counted, and leaves a line if it failed by our
//! fault. Errors carry the id, so that a person's screenshot leads to the line,
//! and so do entries of the log: it is the server's own, whatever the client
//! sends.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Instant,
};

use axum::{
    body::Body,
    extract::{MatchedPath, Request, State},
    http::{HeaderValue, Method},
    middleware::Next,
    response::Response,
};

use crate::metrics;

use super::{answer::Pending, unread};

/// Numbers requests: unlike any other server's, and cheap.
#[derive(Clone)]
pub struct Ids {
    start: Arc<str>,
    next: Arc<AtomicU64>,
}

impl Ids {
    /// Starts to count, behind something random.
    pub fn new() -> Self {
        Self {
            start: hex::encode(rand::random::<[u8; 6]>()).into(),
            next: Arc::default(),
        }
    }

    fn next(&self) -> RequestId {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        RequestId(format!("{}-{number:x}", self.start).into())
    }
}

/// The id of a request, in its extensions.
#[derive(Debug, Clone)]
pub struct RequestId(Arc<str>);

impl RequestId {
    /// As it is shown.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Counts a request, and puts its id into the answer and into the error.
pub async fn observe(State(ids): State<Ids>, request: Request, next: Next) -> Response {
    let started = Instant::now();
    let route = request.extensions().get::<MatchedPath>().cloned();
    let method = known(request.method());
    let id = ids.next();
    let mut request = unread::polite(request);
    request.extensions_mut().insert(id.clone());
    let mut response = next.run(request).await;
    let route = route.as_ref().map_or("none", MatchedPath::as_str);
    let status = response.status();
    metrics::answered(route, method, status.as_u16(), started.elapsed());
    if let Some(pending) = response.extensions_mut().remove::<Pending>() {
        *response.body_mut() = Body::from(pending.body(Some(id.as_str())));
    }
    if let Ok(id) = HeaderValue::from_str(id.as_str()) {
        response.headers_mut().insert("x-request-id", id);
    }
    if status.is_server_error() {
        let id = id.as_str();
        tracing::warn!(
            method,
            route,
            status = status.as_u16(),
            request_id = id,
            "a request failed"
        );
    }
    response
}

/// The method as a label. Clients can make up as many as they like; labels must
/// not grow with them.
fn known(method: &Method) -> &'static str {
    match *method {
        Method::GET => "GET",
        Method::HEAD => "HEAD",
        Method::POST => "POST",
        Method::OPTIONS => "OPTIONS",
        Method::PUT => "PUT",
        Method::PATCH => "PATCH",
        Method::DELETE => "DELETE",
        _ => "other",
    }
}
