//! What the pages read, and the trait through which they read it. The server
//! implements the trait; everything about who may see what is decided there.

use baton_client::{Lease, Role, Timestamp, Verification};
use serde::{Deserialize, Serialize};

use crate::entry::{Entry, Last};

#[cfg(feature = "ssr")]
use crate::lease_asked::LeaseAsked;
#[cfg(feature = "ssr")]
use baton_client::{Handover, HandoverQuery, LeaseQuery, Problem};
#[cfg(feature = "ssr")]
use std::{future::Future, pin::Pin};

/// Who looks at the page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Viewer {
    /// The name that was signed in with; anything when `anonymous`.
    pub name: String,
    /// What they may do.
    pub role: Role,
    /// Nobody signed in, and reading is allowed without.
    pub anonymous: bool,
}

/// How many leases there are, whatever the page's filter shows.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Totals {
    /// Altogether.
    pub all: u64,
    /// With a holder whose expiry is ahead.
    pub held: u64,
    /// With a holder that did not renew in time.
    pub lapsed: u64,
    /// Without a holder.
    pub free: u64,
    /// Paused, whatever their state.
    pub paused: u64,
    /// Changing hands again and again, whatever their state.
    pub flapping: u64,
}

/// A page of leases and what stands around it, true for one moment.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct LeasesView {
    /// The leases.
    pub items: Vec<Lease>,
    /// What happened to each of them last.
    pub lasts: Vec<Last>,
    /// The next page's cursor; `None` on the last.
    pub next: Option<String>,
    /// The database time that this is true for.
    pub now: Timestamp,
    /// How many there are of each kind.
    pub totals: Totals,
    /// The log's last `seq` at that moment: the events after it are what the
    /// page has not seen.
    pub seq: u64,
}

/// One lease and what stands around it.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct LeaseView {
    /// The lease, with its payload.
    pub lease: Lease,
    /// Its entries in the window that was asked for, and those that raised it with
    /// all others, oldest first.
    pub entries: Vec<Entry>,
    /// There are more in the window, older than these.
    pub more: bool,
    /// The last of them before the window.
    pub before: Option<Entry>,
    /// The entry of the act that is followed.
    pub act: Option<Entry>,
    /// As in [`LeasesView::seq`]; not newer than the rest.
    pub seq: u64,
}

/// A page of the history.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct HandoversView {
    /// The entries, newest first.
    pub items: Vec<Entry>,
    /// The next page's cursor; `None` on the last.
    pub next: Option<String>,
    /// The database time that this is true for.
    pub now: Timestamp,
    /// The log's last `seq`; not newer than the rest.
    pub seq: u64,
    /// How far the server has verified the chain. Only the document tells it.
    #[serde(skip)]
    pub verification: Option<Verification>,
}

/// A boxed answer that is still to come.
#[cfg(feature = "ssr")]
pub type Answer<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// What the pages need from the server. One is made per request; it knows who
/// asks.
///
/// Nothing here changes a lease, a user or a token. Where reading is not
/// allowed it answers a [`Problem`] with the code `unauthenticated` or
/// `forbidden`.
#[cfg(feature = "ssr")]
pub trait Backstage: Send + Sync {
    /// Who looks; `None` if nobody signed in and reading is not allowed without.
    fn who(&self) -> Answer<'_, Result<Option<Viewer>, Problem>>;

    /// Where people and holders reach this server, such as
    /// `https://baton.example`, without a slash at the end.
    fn address(&self) -> String;

    /// A page of leases with what stands around it.
    fn leases(&self, query: LeaseQuery) -> Answer<'_, Result<LeasesView, Problem>>;

    /// One lease; a [`Problem`] with the code `unknown_lease` if there is none of
    /// this name.
    fn lease(&self, asked: LeaseAsked) -> Answer<'_, Result<LeaseView, Problem>>;

    /// A page of the history.
    fn handovers(&self, query: HandoverQuery) -> Answer<'_, Result<HandoversView, Problem>>;

    /// One entry of the history, and the database time; `None` if there is none of
    /// this `seq`.
    fn handover(&self, seq: u64) -> Answer<'_, Result<Option<(Handover, Timestamp)>, Problem>>;

    /// How many leases there are of each kind.
    fn totals(&self) -> Answer<'_, Result<Totals, Problem>>;
}
