//! Pages that are dialogs: rendered by the server only, without a script, read
//! with GET and sent with POST. They work the same in every browser, and one
//! address is one dialog.
//!
//! A page is a function from what is known at one moment to a view; the server
//! reads that, decides who may do what, and puts a document around it ([`Frame`]). What a
//! person typed comes back in [`Filled`], with what is wrong beside each field.
//! Nothing here is compiled to WebAssembly.

mod form;
mod frame;

mod access;
mod act;
mod ask;
mod facts;
mod moved;

mod connect;
mod display;
mod many;
mod people;
mod refused;

pub use access::{AccessShown, access_page};
pub use act::Act;
pub use ask::{Ask, ask_page};
pub use connect::connect_page;
pub use display::display_page;
pub use form::Filled;
pub use frame::Frame;
pub use many::{FILTERS, MANY, MANY_MAX, Many, More, Outcome, filters, many_page, outcomes_page};
pub use people::{Kind, Known, edit_page, list_page, made_page, new_page, password_page};
pub use refused::{Refused, refused_page};

/// What a page shows.
pub type View = leptos::prelude::AnyView;
