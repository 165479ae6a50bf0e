//! The plain pages: answered by calls of the table like the API, so that who may
//! do what is decided before they run. `baton_app::plain` says how they look.
//!
//! A form becomes the same request as the API's body, checked by the same code;
//! what is wrong comes back beside what was typed. What succeeded is answered
//! with a redirect, so that nothing is sent twice by loading a page again.
//! Programs that ask without `Accept: text/html` get problems in JSON.

pub mod access;
pub mod acts;
pub mod connect;
pub mod display;
pub mod many;
pub mod people;

mod form;
mod refused;

pub use form::form;
pub use refused::refused;

use axum::{
    http::{HeaderMap, HeaderValue, StatusCode, Uri, header},
    response::{Html, IntoResponse, Response},
};
use baton_app::{
    Viewer,
    plain::{Frame, View},
};
use baton_client::Timestamp;

use crate::people::Caller;

use super::{call::Call, headers::PLAIN_POLICY, pages::display};

/// A page about to be made.
pub struct Page {
    frame: Frame,
    status: StatusCode,
}

impl Page {
    /// For who calls, at the address that they called.
    pub fn of(call: &Call, title: impl Into<String>) -> Self {
        Self::at(&call.uri, &call.headers, Some(&call.caller), title)
    }

    fn at(
        uri: &Uri,
        headers: &HeaderMap,
        caller: Option<&Caller>,
        title: impl Into<String>,
    ) -> Self {
        Self {
            frame: Frame {
                title: title.into(),
                viewer: caller.and_then(viewer),
                here: uri
                    .path_and_query()
                    .map_or("/", |here| here.as_str())
                    .to_owned(),
                display: display(headers),
                as_of: None,
            },
            status: StatusCode::OK,
        }
    }

    /// The database time that it is true for.
    pub fn true_at(mut self, now: Timestamp) -> Self {
        self.frame.as_of = Some(now);
        self
    }

    /// Another status than 200.
    pub fn status(mut self, status: u16) -> Self {
        self.status = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        self
    }

    /// The answer.
    pub fn show(self, main: impl FnOnce() -> View) -> Response {
        let html = self.frame.around(main);
        let policy = HeaderValue::from_static(PLAIN_POLICY);
        let mut response = (self.status, Html(html)).into_response();
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_SECURITY_POLICY, policy);
        response
    }
}

/// Who looks, as pages show it.
pub fn viewer(caller: &Caller) -> Option<Viewer> {
    caller.role().map(|role| Viewer {
        name: caller.name().unwrap_or("anyone").to_owned(),
        role,
        anonymous: caller.is_anonymous(),
    })
}

/// Sends the browser on, with GET.
pub fn see_other(to: &str) -> Response {
    let location = HeaderValue::from_str(to).unwrap_or(HeaderValue::from_static("/"));
    (StatusCode::SEE_OTHER, [(header::LOCATION, location)]).into_response()
}
