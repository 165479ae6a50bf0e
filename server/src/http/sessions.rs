//! Signing in and out, from plain forms.

use axum::{
    http::{HeaderValue, header},
    response::Response,
};
use baton_app::address::safe_next;
use baton_client::Code;
use serde::Deserialize;

use crate::people::{SESSION_AGE_MAX, SignInError};

use super::{
    answer::{Answer, Oops},
    body,
    call::Call,
    pages::wants_page,
    plain::see_other,
};

/// No form of ours is longer.
const FORM_BYTES_MAX: usize = 16 * 1024;

#[derive(Deserialize)]
struct SignInForm {
    name: String,
    password: String,
    #[serde(default)]
    next: String,
}

/// `POST /sign-in`.
pub async fn sign_in(mut call: Call) -> Answer {
    let bytes = body::read(call.take_body(), FORM_BYTES_MAX).await?;
    let form: SignInForm = serde_urlencoded::from_bytes(&bytes)
        .map_err(|error| Oops::new(Code::Malformed, format!("this is not the form: {error}")))?;
    let next = safe_next(&form.next);
    let signed_in = call
        .people()
        .sign_in(&form.name, &form.password, call.address)
        .await;
    match signed_in {
        Ok(session) => {
            let age_s = SESSION_AGE_MAX.as_secs();
            let cookie = cookie(&call, session.secret.reveal(), age_s);
            Ok(with_cookie(see_other(next), &cookie))
        }
        Err(error) if wants_page(&call.headers) => Ok(back_to_form(&error, next)),
        Err(error) => Err(error.into()),
    }
}

/// The form again, with a word on what went wrong.
fn back_to_form(error: &SignInError, next: &str) -> Response {
    let word = match error {
        SignInError::Credentials => "credentials",
        SignInError::RateLimited { .. } => "rate_limited",
        SignInError::Store(error) => {
            tracing::warn!(%error, "a sign-in could not be checked");
            "store_unavailable"
        }
    };
    let query = serde_urlencoded::to_string([("error", word), ("next", next)]).unwrap_or_default();
    see_other(&format!("/sign-in?{query}"))
}

/// `POST /sign-out`.
pub async fn sign_out(call: Call) -> Answer {
    if let Some(secret) = call.site.session_secret(&call.headers) {
        call.people().sign_out(&secret).await?;
    }
    Ok(with_cookie(see_other("/sign-in"), &cookie(&call, "", 0)))
}

fn cookie(call: &Call, value: &str, age_s: u64) -> String {
    let name = call.site.cookie_name();
    let secure = if call.site.inner.secure {
        "; Secure"
    } else {
        ""
    };
    format!("{name}={value}; Path=/; HttpOnly; SameSite=Lax; Max-Age={age_s}{secure}")
}

fn with_cookie(mut response: Response, cookie: &str) -> Response {
    if let Ok(cookie) = HeaderValue::from_str(cookie) {
        response.headers_mut().insert(header::SET_COOKIE, cookie);
    }
    response
}
