//! Bodies that nobody reads: a request is often refused before its body was
//! looked at. If the server then hung up while the client still sends, the client
//! would see a broken connection and not the answer. So what is left is read and
//! thrown away, for a while.

use std::{
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};

use axum::{
    body::{Body, Bytes, HttpBody},
    extract::Request,
    http::header,
};
use http_body_util::BodyExt as _;
use hyper::body::{Frame, SizeHint};
use tokio::runtime::Handle;

/// What is thrown away at most; who sends more is cut off.
const BYTES_MAX: usize = 4 * 1024 * 1024;
/// For how long.
const WITHIN: Duration = Duration::from_secs(2);

/// Has the request's body read to its end, whoever answers it.
pub fn polite(request: Request) -> Request {
    // Who expects `100 Continue` sends nothing before it comes.
    if request.body().is_end_stream() || request.headers().contains_key(header::EXPECT) {
        return request;
    }
    request.map(|body| Body::new(Polite { left: Some(body) }))
}

struct Polite {
    /// What was not read yet; `None` after the end.
    left: Option<Body>,
}

impl HttpBody for Polite {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let Some(body) = self.left.as_mut() else {
            return Poll::Ready(None);
        };
        let polled = Pin::new(body).poll_frame(cx);
        if matches!(polled, Poll::Ready(None | Some(Err(_)))) {
            self.left = None;
        }
        polled
    }

    fn is_end_stream(&self) -> bool {
        self.left.as_ref().is_none_or(HttpBody::is_end_stream)
    }

    fn size_hint(&self) -> SizeHint {
        let left = self.left.as_ref();
        left.map_or_else(|| SizeHint::with_exact(0), HttpBody::size_hint)
    }
}

impl Drop for Polite {
    fn drop(&mut self) {
        let left = self.left.take().filter(|body| !body.is_end_stream());
        if let (Some(body), Ok(runtime)) = (left, Handle::try_current()) {
            runtime.spawn(tokio::time::timeout(WITHIN, throw_away(body)));
        }
    }
}

async fn throw_away(mut body: Body) {
    let mut bytes = 0;
    while let Some(Ok(frame)) = body.frame().await {
        bytes += frame.data_ref().map_or(0, Bytes::len);
        if bytes > BYTES_MAX {
            return;
        }
    }
}
