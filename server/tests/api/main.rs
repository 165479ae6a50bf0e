//! The API as a client sees it: the real program, started on a database of its
//! own, and spoken to over a socket.
//!
//! - `table`: the one table of routes is whole, and says who may do what.
//! - `authorisation`: who may do what, by a walk over that table.
//! - `tokens`: how a token ends, and what its prefixes limit.
//! - `sessions`: signing in and out, and what a browser's request must look like.
//! - `bad_input`: whatever is sent, the documented error, and no change.
//! - `calls`, `refusals`, `away`: every call and every code.
//! - `wire`: the document says what the server sends.
//! - `events`: the stream.
//! - `export`: the history as a file.
//! - `story`: the README's first hour, in order.
//! - `beside`: two programs on one database, and how a server stops.
//! - `acts`: the pages' forms do what the API does, and refuse as it does.
//! - `display`: how pages are shown, for everybody and in every page.
//! - `hostile`: what no well-meaning client sends.

#[path = "../support/mod.rs"]
mod support;

mod requests;
mod server;
mod stream;

mod access;
mod acts;
mod authorisation;
mod away;
mod bad_fields;
mod bad_input;
mod beside;
mod calls;
mod display;
mod events;
mod export;
mod hostile;
mod refusals;
mod schema;
mod sessions;
mod story;
mod table;
mod tokens;
mod wire;
