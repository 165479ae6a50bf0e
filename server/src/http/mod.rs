//! Baton over HTTP: the API under `/api/v1`, the pages, and what monitors ask.
//!
//! [`routes`] is the one table of all routes with the access that each needs;
//! the router, the OpenAPI document and the authorisation test read it. A
//! request is recognised ([`caller`]), authorised and read ([`call`]), checked
//! field by field ([`fields`]) and only then handed to the store. Errors become
//! answers in [`answer`], and nowhere else.
//!
//! HEAD works wherever GET does. Other methods, OPTIONS among them, get 405 and
//! the header Allow: no page of another site has any business here.

pub mod routes;

mod router;

mod call;
mod caller;

mod body;
mod fields;
mod parse;

mod access;
mod export;
mod handovers;
mod inquiry;
mod keeping;
mod leases;
mod probes;
mod stream;

mod answer;
mod asked;
mod openapi;
mod schemas;

mod backstage;
mod pages;
mod plain;
mod sessions;

mod headers;
mod observe;
mod unread;

mod listen;
mod serve;

pub use serve::{CheckpointOptions, ServeError, ServeOptions, serve};

use std::{net::IpAddr, sync::Arc};

use metrics_exporter_prometheus::PrometheusHandle;
use tokio_util::sync::CancellationToken;

use crate::{people::People, store::Store};

/// What every request can reach. Cheap to clone.
#[derive(Clone)]
pub struct Site {
    inner: Arc<Inner>,
}

struct Inner {
    store: Store,
    people: People,
    /// Where people and holders reach this server, without a slash at the end.
    address: String,
    /// The page is reached by https, so its cookie can insist on that.
    secure: bool,
    trusted_proxies: Vec<IpAddr>,
    anonymous_read: bool,
    metrics: PrometheusHandle,
    stop: CancellationToken,
}

impl Site {
    /// The leases and their history.
    fn store(&self) -> &Store {
        &self.inner.store
    }

    /// Who may ask.
    fn people(&self) -> &People {
        &self.inner.people
    }
}
