//! The HTTP client: one method per call, every call bounded, and errors that
//! say whether the thing may have happened.
//!
//! It never retries, never reconnects and never judges time: what to do after
//! an error is the caller's. Start at [`Client`]; [`CallError`] is what can go
//! wrong, [`Call`] a call as a value, [`EventStream`] the live feed.

mod address;
mod call;
mod error;
mod events;
mod export;
#[cfg(test)]
mod tests;

use std::{fmt, time::Duration};

use reqwest::{
    Url,
    header::{AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderValue},
};
use serde::de::DeserializeOwned;

use address::{is_loopback, parse_base};
pub use call::{Answer, Call};
pub use error::{CallError, Failed};
pub use events::{EventStream, RawEvent};
pub use export::ExportStream;

use crate::{
    Acquire, Checked, EventsQuery, ExportQuery, ForceRelease, Generation, Handover, HandoverPage,
    HandoverQuery, Lease, LeaseName, LeasePage, LeaseQuery, Protect, Reason, Release, Renew,
    Renewals, Renewed, StepDownRequest,
};

/// How long a client waits before it gives up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// For a connection.
    pub connect: Duration,
    /// For a whole call, connecting included. An acquire adds its `wait_ms`.
    pub call: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(3),
            call: Duration::from_secs(10),
        }
    }
}

/// Why there is no client.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// The address is not one.
    #[error("`{0}` is not the address of a server: use something like http://127.0.0.1:7400")]
    Address(String),
    /// The address has a name or a password in it.
    #[error("the address must not hold a user name or password: the token goes beside it")]
    Credentials,
    /// The token has characters that no token has. It is not shown.
    #[error("the token has characters that no token has: it should look like baton_…")]
    Token,
    /// Connections cannot be made at all; for `https`, mostly because the
    /// system has no certificates to trust.
    #[error("cannot prepare connections to {address}")]
    Setup {
        /// The server's address.
        address: String,
        /// What the HTTP library says.
        #[source]
        source: reqwest::Error,
    },
}

/// A client of one server. Cheap to clone; clones share their connections. It
/// goes through the proxy that `HTTP_PROXY` and its like name, except to the own
/// machine.
#[derive(Clone)]
pub struct Client {
    http: reqwest::Client,
    base: Url,
    limits: Limits,
}

impl fmt::Debug for Client {
    /// The token is never shown.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client")
            .field("base", &self.base.as_str())
            .field("limits", &self.limits)
            .finish_non_exhaustive()
    }
}

impl Client {
    /// A client of the server at `base_url`, with the default [`Limits`]. Does
    /// not connect yet.
    ///
    /// # Errors
    /// The address or the token is malformed, or the system cannot do `https`.
    pub fn new(base_url: &str, token: Option<String>) -> Result<Self, ClientError> {
        Self::with_limits(base_url, token, Limits::default())
    }

    /// As [`Client::new`], with other limits.
    ///
    /// # Errors
    /// As [`Client::new`].
    pub fn with_limits(
        base_url: &str,
        token: Option<String>,
        limits: Limits,
    ) -> Result<Self, ClientError> {
        let base = parse_base(base_url)?;
        let mut headers = HeaderMap::new();
        if let Some(token) = token {
            let mut value = HeaderValue::from_str(&format!("Bearer {token}"))
                .map_err(|_| ClientError::Token)?;
            value.set_sensitive(true);
            headers.insert(AUTHORIZATION, value);
        }
        install_crypto();
        let mut builder = reqwest::Client::builder()
            .user_agent(concat!("baton/", env!("CARGO_PKG_VERSION")))
            .default_headers(headers)
            .connect_timeout(limits.connect)
            // Idle connections end before a server or proxy ends them, so that
            // a call rarely meets one that is just going away.
            .pool_idle_timeout(Duration::from_secs(20))
            .tcp_keepalive(Duration::from_secs(15))
            // A redirected POST would be sent again, perhaps as a GET, and
            // perhaps with the token to someone else.
            .redirect(reqwest::redirect::Policy::none())
            .retry(reqwest::retry::never());
        if is_loopback(&base) {
            // Whatever proxy the environment names, it is not on the way to
            // the own machine.
            builder = builder.no_proxy();
        }
        if base.scheme() == "http" {
            // Without this a system that has no certificates could not even
            // talk to its own loopback.
            builder = builder.tls_certs_only([]);
        }
        let http = builder.build().map_err(|source| ClientError::Setup {
            address: base.to_string(),
            source,
        })?;
        Ok(Self { http, base, limits })
    }

    /// The server's address.
    pub fn address(&self) -> &str {
        self.base.as_str().trim_end_matches('/')
    }

    /// Makes any call, and gives the answer's text beside its meaning.
    ///
    /// # Errors
    /// See [`CallError`].
    pub async fn send<T: DeserializeOwned>(&self, call: Call<T>) -> Result<Answer<T>, CallError> {
        let bound = call.bound(self.limits.call);
        let answer = self
            .request(&call)
            .timeout(bound)
            .send()
            .await
            .map_err(|source| error::not_sent(self.address(), source))?;
        let status = answer.status().as_u16();
        let headers = answer.headers().clone();
        let text = answer
            .text()
            .await
            .map_err(|source| error::not_received(self.address(), source))?;
        if !(200..300).contains(&status) {
            return Err(error::answered(self.address(), status, &headers, &text));
        }
        match serde_json::from_str(&text) {
            Ok(value) => Ok(Answer { value, text }),
            Err(source) => Err(error::not_understood(self.address(), status, source)),
        }
    }

    fn request<T>(&self, call: &Call<T>) -> reqwest::RequestBuilder {
        let mut request = self.http.request(call.method(), call.url(&self.base));
        if let Some(body) = call.body() {
            request = request
                .header(CONTENT_TYPE, "application/json")
                .body(body.to_vec());
        }
        request
    }

    /// `POST /leases/{lease}/acquire`. With a `claim_id` it can be repeated
    /// safely after [`CallError::Unknown`].
    ///
    /// # Errors
    /// See [`CallError`].
    pub async fn acquire(&self, lease: &LeaseName, acquire: &Acquire) -> Result<Lease, CallError> {
        self.value(Call::acquire(lease, acquire)).await
    }

    /// `POST /leases/{lease}/renew`. Can be repeated safely.
    ///
    /// # Errors
    /// See [`CallError`].
    pub async fn renew(&self, lease: &LeaseName, renew: &Renew) -> Result<Lease, CallError> {
        self.value(Call::renew(lease, renew)).await
    }

    /// `POST /leases/{lease}/release`. After [`CallError::Unknown`] it can be
    /// repeated; `lost` with `ended` `released` is success then.
    ///
    /// # Errors
    /// See [`CallError`].
    pub async fn release(&self, lease: &LeaseName, release: &Release) -> Result<Lease, CallError> {
        self.value(Call::release(lease, release)).await
    }

    /// `POST /renewals`: many renewals in one call, answered one by one.
    ///
    /// # Errors
    /// See [`CallError`]. A refused renewal is in the answer, not an error.
    pub async fn renewals(&self, renewals: &Renewals) -> Result<Renewed, CallError> {
        self.value(Call::renewals(renewals)).await
    }

    /// `GET /leases/{lease}`.
    ///
    /// # Errors
    /// See [`CallError`].
    pub async fn lease(&self, lease: &LeaseName) -> Result<Lease, CallError> {
        self.value(Call::lease(lease)).await
    }

    /// `GET /leases/{lease}/check`: whether a generation is current.
    ///
    /// # Errors
    /// See [`CallError`].
    pub async fn check(
        &self,
        lease: &LeaseName,
        generation: Generation,
    ) -> Result<Checked, CallError> {
        self.value(Call::check(lease, generation)).await
    }

    /// `GET /leases`: one page.
    ///
    /// # Errors
    /// See [`CallError`].
    pub async fn leases(&self, query: &LeaseQuery) -> Result<LeasePage, CallError> {
        self.value(Call::leases(query)).await
    }

    /// `POST /leases/{lease}/force-release`.
    ///
    /// # Errors
    /// See [`CallError`].
    pub async fn force_release(
        &self,
        lease: &LeaseName,
        force: &ForceRelease,
    ) -> Result<Lease, CallError> {
        self.value(Call::force_release(lease, force)).await
    }

    /// `POST /leases/{lease}/step-down`.
    ///
    /// # Errors
    /// See [`CallError`].
    pub async fn step_down(
        &self,
        lease: &LeaseName,
        step_down: &StepDownRequest,
    ) -> Result<Lease, CallError> {
        self.value(Call::step_down(lease, step_down)).await
    }

    /// `POST /leases/{lease}/cancel-step-down`.
    ///
    /// # Errors
    /// See [`CallError`].
    pub async fn cancel_step_down(
        &self,
        lease: &LeaseName,
        reason: &Reason,
    ) -> Result<Lease, CallError> {
        self.value(Call::cancel_step_down(lease, reason)).await
    }

    /// `POST /leases/{lease}/pause`.
    ///
    /// # Errors
    /// See [`CallError`].
    pub async fn pause(&self, lease: &LeaseName, reason: &Reason) -> Result<Lease, CallError> {
        self.value(Call::pause(lease, reason)).await
    }

    /// `POST /leases/{lease}/unpause`.
    ///
    /// # Errors
    /// See [`CallError`].
    pub async fn unpause(&self, lease: &LeaseName, reason: &Reason) -> Result<Lease, CallError> {
        self.value(Call::unpause(lease, reason)).await
    }

    /// `POST /leases/{lease}/protect`.
    ///
    /// # Errors
    /// See [`CallError`].
    pub async fn protect(&self, lease: &LeaseName, protect: &Protect) -> Result<Lease, CallError> {
        self.value(Call::protect(lease, protect)).await
    }

    /// `POST /leases/{lease}/unprotect`.
    ///
    /// # Errors
    /// See [`CallError`].
    pub async fn unprotect(
        &self,
        lease: &LeaseName,
        protect: &Protect,
    ) -> Result<Lease, CallError> {
        self.value(Call::unprotect(lease, protect)).await
    }

    /// `GET /handovers`: one page of the log.
    ///
    /// # Errors
    /// See [`CallError`].
    pub async fn handovers(&self, query: &HandoverQuery) -> Result<HandoverPage, CallError> {
        self.value(Call::handovers(query)).await
    }

    /// `GET /handovers/{seq}`: one entry of the log.
    ///
    /// # Errors
    /// See [`CallError`].
    pub async fn handover(&self, seq: u64) -> Result<Handover, CallError> {
        self.value(Call::handover(seq)).await
    }

    /// `GET /events`. To go on after a broken stream, ask again with `after`
    /// set to that stream's [`EventStream::last_seq`].
    ///
    /// # Errors
    /// See [`CallError`]; once it is open, the stream's items are results too.
    pub async fn events(&self, query: &EventsQuery) -> Result<EventStream, CallError> {
        let answer = self.open(&Call::<()>::events(query)).await?;
        Ok(EventStream::new(
            self.address().to_owned(),
            answer,
            query.after,
        ))
    }

    /// `GET /handovers/export`: the history as a file, line by line.
    ///
    /// # Errors
    /// See [`CallError`]; once it is open, the stream's lines are results too.
    pub async fn export(&self, query: &ExportQuery) -> Result<ExportStream, CallError> {
        let answer = self.open(&Call::<()>::export(query)).await?;
        Ok(ExportStream::new(self.address().to_owned(), answer))
    }

    /// Opens a stream: its head is bounded, what follows is not.
    async fn open(&self, call: &Call<()>) -> Result<reqwest::Response, CallError> {
        let opening = self.request(call).send();
        let answer = match tokio::time::timeout(self.limits.call, opening).await {
            Ok(sent) => sent.map_err(|source| error::not_sent(self.address(), source))?,
            Err(_) => return Err(error::silent(self.address(), self.limits.call)),
        };
        let status = answer.status().as_u16();
        if status != 200 {
            let headers = answer.headers().clone();
            let text = match tokio::time::timeout(self.limits.call, answer.text()).await {
                Ok(Ok(text)) => text,
                // The status alone says enough.
                Ok(Err(_)) | Err(_) => String::new(),
            };
            return Err(error::answered(self.address(), status, &headers, &text));
        }
        Ok(answer)
    }

    async fn value<T: DeserializeOwned>(&self, call: Call<T>) -> Result<T, CallError> {
        self.send(call).await.map(|answer| answer.value)
    }
}

/// The cryptography that TLS uses, once per process and unless the program
/// chose its own.
fn install_crypto() {
    if rustls::crypto::CryptoProvider::get_default().is_none() {
        // Losing a race here means that another thread just installed one.
        let _ = rustls::crypto::ring::default_provider().install_default();
    }
}
