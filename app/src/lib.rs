//! Baton's pages. The server renders them whole, so that they work without
//! JavaScript; in a browser parts of them, the *islands*, are taken over by the
//! same code as WebAssembly, and kept current.
//!
//! The pages know no database and no rule. On the server they read through
//! [`Backstage`], which the server implements and which decides who may see
//! what. In the browser they begin with what the document carries, and follow
//! `GET /api/v1/events`; asked for as JSON, a page's address answers with the
//! same data again.
//!
//! Links and forms are plain: each page is a document of its own. What does not
//! change while it is looked at is compiled only into the server.
//!
//! What can be said without a browser is said in plain Rust with tests beside
//! it: [`countdown`], [`clock`], [`connection`], [`peers`], [`rows`],
//! [`address`], [`says`], [`display`], [`moment`], [`keys`], [`facts`], [`followed`], [`tenures`], [`timeline`]. [`live`] turns these into signals, and only `browser`,
//! `channel`, `fetch`, `pressed` and `wake` touch the browser. A page is a file named after
//! its route, a component a file named after what it shows.

// What a page is made from.
mod backstage;
pub mod entry;
pub mod heard;

// What is known without a browser.
pub mod address;
pub mod clock;
pub mod connection;
pub mod countdown;
pub mod display;
pub mod facts;
pub mod followed;
pub mod handovers_asked;
pub mod keys;
pub mod lease_asked;
pub mod moment;
pub mod peers;
pub mod rows;
pub mod says;
pub mod sentence;
pub mod tenures;
pub mod timeline;

// What moves.
#[cfg(feature = "hydrate")]
mod browser;
#[cfg(feature = "hydrate")]
mod channel;
#[cfg(feature = "hydrate")]
mod fetch;
pub mod live;
#[cfg(feature = "hydrate")]
mod pressed;
#[cfg(feature = "hydrate")]
mod wake;

// Pages.
#[cfg(feature = "ssr")]
mod handover;
#[cfg(feature = "ssr")]
mod handovers;
#[cfg(feature = "ssr")]
mod lease;
#[cfg(feature = "ssr")]
mod leases;
#[cfg(feature = "ssr")]
mod left_out;
#[cfg(feature = "ssr")]
mod sign_in;
#[cfg(feature = "ssr")]
mod visit;

// Islands, and what they are made of.
mod bar;
mod entry_rows;
mod history;
mod incident;
mod lease_facts;
mod lease_head;
mod lease_limits;
mod lease_row;
mod lease_table;
mod live_clock;
mod moment_view;
mod news;
mod notes;
mod stale_banner;
mod state_mark;
mod timeline_view;
mod totals;

// What stands still.
#[cfg(feature = "ssr")]
mod document;
#[cfg(feature = "ssr")]
mod empty_list;
#[cfg(feature = "ssr")]
mod exports;
#[cfg(feature = "ssr")]
pub mod files;
#[cfg(feature = "ssr")]
mod header;
#[cfg(feature = "ssr")]
mod key_list;
#[cfg(feature = "ssr")]
mod message;
#[cfg(feature = "ssr")]
mod nav;
#[cfg(feature = "ssr")]
mod pages;
#[cfg(feature = "ssr")]
mod paper;
#[cfg(feature = "ssr")]
mod search_form;

// Pages that ask before something is done.
#[cfg(feature = "ssr")]
pub mod plain;

#[cfg(feature = "ssr")]
pub use backstage::{Answer, Backstage};
pub use backstage::{HandoversView, LeaseView, LeasesView, Totals, Viewer};
#[cfg(feature = "ssr")]
pub use document::{Document, render};
#[cfg(feature = "ssr")]
pub use message::not_found;
#[cfg(feature = "ssr")]
pub use visit::{PATHS, Reply, Visit, open};
