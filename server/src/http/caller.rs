//! Who is asking: by bearer token, or by the page's cookie.

use std::{
    net::{IpAddr, SocketAddr},
    sync::Arc,
};

use axum::http::{HeaderMap, header};
use baton_client::Code;

use crate::people::{Caller, PeopleError, Secret};

use super::{Site, answer::Oops, pages::wants_page};

/// The session's cookie, and what it is called where browsers can be made to
/// send it over https only.
const COOKIE: &str = "baton_session";
const SECURE_COOKIE: &str = "__Host-baton_session";

impl Site {
    /// The name of the session's cookie.
    pub(super) fn cookie_name(&self) -> &'static str {
        if self.inner.secure {
            SECURE_COOKIE
        } else {
            COOKIE
        }
    }

    /// Who sends these headers. Without a token and without a session it is a
    /// stranger, who may look if that is allowed.
    pub(super) async fn recognise(&self, headers: &HeaderMap) -> Result<Arc<Caller>, Oops> {
        if let Some(value) = headers.get(header::AUTHORIZATION) {
            let token = value.to_str().ok().and_then(bearer).ok_or_else(|| {
                Oops::new(
                    Code::Unauthenticated,
                    "the header Authorization must read `Bearer baton_…`",
                )
            })?;
            return Ok(self.people().bearer(token)?);
        }
        if let Some(secret) = self.session_secret(headers)
            && let Some(caller) = self.session(&secret, headers).await?
        {
            return Ok(Arc::new(caller));
        }
        Ok(Arc::new(Caller::anonymous(self.inner.anonymous_read)))
    }

    /// Whose session this is. Only what a person opens or sends counts as a use:
    /// what an open page asks by itself does not keep its session from ending.
    async fn session(
        &self,
        secret: &Secret,
        headers: &HeaderMap,
    ) -> Result<Option<Caller>, PeopleError> {
        if wants_page(headers) {
            self.people().session(secret).await
        } else {
            self.people().session_lasts(secret).await
        }
    }

    /// The secret in the session's cookie.
    pub(super) fn session_secret(&self, headers: &HeaderMap) -> Option<Secret> {
        let value = cookie(headers, self.cookie_name());
        value.map(|value| Secret::from(value.to_owned()))
    }

    /// Where a request comes from: the peer, or what a trusted proxy says of
    /// it. Of several proxies' words, the last that no trusted one said.
    pub(super) fn address(&self, headers: &HeaderMap, peer: SocketAddr) -> IpAddr {
        let trusted = |address: &IpAddr| self.inner.trusted_proxies.contains(address);
        let peer = peer.ip().to_canonical();
        if !trusted(&peer) {
            return peer;
        }
        let said: Vec<&str> = headers
            .get_all("x-forwarded-for")
            .into_iter()
            .flat_map(|header| header.to_str().unwrap_or_default().split(','))
            .collect();
        let mut nearest = peer;
        for word in said.into_iter().rev() {
            // What stands before something unreadable was said by nobody who is
            // trusted: the caller itself may have written it.
            let Some(address) = forwarded(word) else {
                break;
            };
            nearest = address;
            if !trusted(&nearest) {
                break;
            }
        }
        nearest
    }
}

/// The value of a cookie.
pub(super) fn cookie<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    headers
        .get_all(header::COOKIE)
        .into_iter()
        .filter_map(|header| header.to_str().ok())
        .flat_map(|header| header.split(';'))
        .filter_map(|cookie| cookie.trim().split_once('='))
        .find(|(cookie, _)| *cookie == name)
        .map(|(_, value)| value)
}

/// An address as proxies write it, some of them with a port.
fn forwarded(word: &str) -> Option<IpAddr> {
    let word = word.trim();
    let address = word
        .parse::<IpAddr>()
        .or_else(|_| word.parse::<SocketAddr>().map(|address| address.ip()))
        .or_else(|_| {
            word.trim_start_matches('[')
                .trim_end_matches(']')
                .parse::<IpAddr>()
        });
    address.ok().map(|address| address.to_canonical())
}

/// The token in an Authorization header's value.
fn bearer(value: &str) -> Option<&str> {
    let (scheme, token) = value.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
}
