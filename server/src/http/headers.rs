//! What every answer carries so that browsers keep to their side: no frame, no
//! sniffing, no script or style from elsewhere.

use axum::{
    body::Body,
    extract::{Request, State},
    http::{HeaderName, HeaderValue, StatusCode, header},
    middleware::Next,
    response::{IntoResponse, Response},
};
use baton_client::Code;
use tower_http::csrf::{ProtectionError, ResponseForProtectionError};

use super::{Site, answer::Oops};

/// For everything that is not a page: nothing may be loaded by it.
const NOTHING: &str = "default-src 'none'; frame-ancestors 'none'";

/// For plain pages: no script at all.
pub const PLAIN_POLICY: &str = "default-src 'none'; style-src 'self'; img-src 'self' data:; \
     form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

/// What a page may load: its own files, and scripts that carry its nonce.
/// WebAssembly needs its own word.
pub fn page_policy(nonce: &str) -> String {
    format!(
        "default-src 'none'; script-src 'nonce-{nonce}' 'wasm-unsafe-eval'; style-src 'self'; \
         img-src 'self' data:; connect-src 'self'; form-action 'self'; base-uri 'none'; \
         frame-ancestors 'none'"
    )
}

/// Adds what an answer does not carry already.
pub async fn guard(State(site): State<Site>, request: Request, next: Next) -> Response {
    let is_asset = request.uri().path().starts_with("/pkg/");
    let is_this_version = request.uri().query().is_some_and(names_version);
    let mut response = next.run(request).await;
    let found = matches!(response.status(), StatusCode::OK | StatusCode::NOT_MODIFIED);
    let secure = site.inner.secure;
    let headers = response.headers_mut();
    let mut set = |name: HeaderName, value: &'static str| {
        if !headers.contains_key(&name) {
            headers.insert(name, HeaderValue::from_static(value));
        }
    };
    set(header::CONTENT_SECURITY_POLICY, NOTHING);
    set(header::X_CONTENT_TYPE_OPTIONS, "nosniff");
    set(header::X_FRAME_OPTIONS, "DENY");
    // With no-referrer, browsers would send `Origin: null` with forms.
    set(header::REFERRER_POLICY, "same-origin");
    if secure {
        set(header::STRICT_TRANSPORT_SECURITY, "max-age=31536000");
    }
    if !is_asset || !found {
        set(header::CACHE_CONTROL, "no-store");
    } else if is_this_version {
        let for_ever = HeaderValue::from_static("public, max-age=31536000, immutable");
        headers.insert(header::CACHE_CONTROL, for_ever);
    }
    response
}

/// Whether a file's address names the version that this program carries: what it
/// answers then never changes. Any other must be asked for each time.
fn names_version(query: &str) -> bool {
    query.strip_prefix("v=") == Some(env!("BATON_FILES"))
}

/// The answer to a change that another site asked for.
#[derive(Debug, Clone, Copy)]
pub struct CrossSite;

impl ResponseForProtectionError<Body> for CrossSite {
    fn response_for_protection_error(&mut self, _: ProtectionError) -> Response {
        Oops::new(
            Code::Forbidden,
            "a page of another site asked for this change; open it on this server's own page",
        )
        .into_response()
    }
}
