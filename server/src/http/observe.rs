//! Every request gets an id, is counted, and leaves a line if it failed by our
//! fault. Errors carry the id, so that a person's screenshot leads to the line.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Instant,
};

use axum::{
    body::Body,
    extract::{MatchedPath, Request},
    http::HeaderValue,
    middleware::Next,
    response::Response,
};
use tower_http::request_id::{MakeRequestId, RequestId};

use crate::metrics;

use super::answer::Pending;

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
}

impl MakeRequestId for Ids {
    fn make_request_id<B>(&mut self, _: &axum::http::Request<B>) -> Option<RequestId> {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let id = format!("{}-{number:x}", self.start);
        Some(RequestId::new(HeaderValue::from_str(&id).ok()?))
    }
}

/// Counts a request, and puts its id into the error that answers it.
pub async fn observe(request: Request, next: Next) -> Response {
    let started = Instant::now();
    let route = request.extensions().get::<MatchedPath>().cloned();
    let method = request.method().clone();
    let id = request.extensions().get::<RequestId>().cloned();
    let mut response = next.run(request).await;
    let route = route.as_ref().map_or("none", MatchedPath::as_str);
    let status = response.status();
    metrics::answered(route, method.as_str(), status.as_u16(), started.elapsed());
    let id = id.as_ref().and_then(|id| id.header_value().to_str().ok());
    if let Some(pending) = response.extensions_mut().remove::<Pending>() {
        *response.body_mut() = Body::from(pending.body(id));
    }
    if status.is_server_error() {
        tracing::warn!(%method, route, status = status.as_u16(), request_id = id, "a request failed");
    }
    response
}
