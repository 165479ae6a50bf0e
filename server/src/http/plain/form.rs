//! Forms and queries, read into what the pages show again.

use axum::{
    body::Body,
    http::{HeaderMap, header},
};
use baton_app::plain::Filled;
use baton_client::Code;
use percent_encoding::percent_decode;

use super::super::{answer::Oops, body, call::Call};

/// The longest text that a form takes, 2,000 characters of four bytes, is a
/// third of this when percent-encoded; so are the names of a hundred leases.
const FORM_BYTES_MAX: usize = 96 * 1024;

impl Call {
    /// The form in the body.
    pub async fn form(&mut self) -> Result<Filled, Oops> {
        let body = self.take_body();
        form(&self.headers, body).await
    }

    /// What the address fills in.
    pub fn prefilled(&self) -> Filled {
        Filled::new(pairs(self.query.as_bytes()))
    }
}

/// The form in a body.
pub async fn form(headers: &HeaderMap, body: Body) -> Result<Filled, Oops> {
    let kind = headers
        .get(header::CONTENT_TYPE)
        .and_then(|value| value.to_str().ok())
        .unwrap_or_default();
    let essence = kind.split(';').next().unwrap_or_default().trim();
    if !essence.eq_ignore_ascii_case("application/x-www-form-urlencoded") {
        return Err(Oops::new(
            Code::UnsupportedMediaType,
            "a form comes with `Content-Type: application/x-www-form-urlencoded`",
        ));
    }
    let bytes = body::read(body, FORM_BYTES_MAX).await?;
    if percent_decode(&bytes).decode_utf8().is_err() {
        return Err(Oops::new(Code::Malformed, "the form is not UTF-8"));
    }
    Ok(Filled::new(pairs(&bytes)))
}

/// Browsers end lines with CR LF; the log has LF, as from everywhere else.
fn pairs(bytes: &[u8]) -> Vec<(String, String)> {
    form_urlencoded::parse(bytes)
        .map(|(name, value)| (name.into_owned(), value.replace("\r\n", "\n")))
        .collect()
}
