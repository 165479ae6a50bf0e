//! Baton's pages. The server renders them whole, so that they work without
//! JavaScript; in a browser the same code is WebAssembly, takes over what was
//! rendered and keeps it current.
//!
//! The pages know no database and no rule. On the server they read through
//! [`Backstage`], which the server implements and which decides who may see
//! what; in the browser they call the `functions`, which do the same, and
//! follow `GET /api/v1/events`.
//!
//! What can be said without a browser is said in plain Rust with tests beside
//! it: [`countdown`], [`clock`], [`connection`], [`peers`], [`rows`],
//! [`address`], [`says`]. [`live`] turns these into signals, and only `browser` and
//! `channel` touch the browser. A page is a file named after its route, a component a file named
//! after what it shows.

// The wire to the server.
mod backstage;
mod functions;
mod json;

// What is known without a browser.
pub mod address;
pub mod clock;
pub mod connection;
pub mod countdown;
pub mod peers;
pub mod rows;
pub mod says;

// What moves.
#[cfg(feature = "hydrate")]
mod browser;
#[cfg(feature = "hydrate")]
mod channel;
pub mod live;

// Pages.
mod app;
mod leases;
mod not_found;
mod sign_in;

// What pages are made of.
mod bar;
mod empty_list;
mod header;
mod lease_row;
mod lease_table;
mod notes;
mod pages;
mod problem_note;
mod search_form;
mod stale_banner;
mod state_mark;
mod totals;

#[cfg(feature = "ssr")]
mod shell;

pub use app::App;
#[cfg(feature = "ssr")]
pub use backstage::Backstage;
pub use backstage::{LeasesView, Opened, Totals, Viewer};
#[cfg(feature = "ssr")]
pub use shell::shell;

/// Brings the rendered page to life. Called once, by the page's own script.
#[cfg(feature = "hydrate")]
#[wasm_bindgen::prelude::wasm_bindgen]
pub fn hydrate() {
    console_error_panic_hook::set_once();
    leptos::mount::hydrate_body(App);
}
