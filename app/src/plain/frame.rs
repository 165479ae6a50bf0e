//! What stands around every plain page.

use baton_client::Timestamp;
use leptos::prelude::*;

use crate::{Document, Viewer, display::Display, header::Header, render};

/// What stands around a page.
#[derive(Debug, Clone, Default)]
pub struct Frame {
    /// What the browser's tab says, before the name of the program.
    pub title: String,
    /// Who looks.
    pub viewer: Option<Viewer>,
    /// The page's own address, to come back to after signing in.
    pub here: String,
    /// How they want it to be shown.
    pub display: Display,
    /// The database time that the page is true for, if it shows anything that
    /// time changes.
    pub as_of: Option<Timestamp>,
}

impl Frame {
    /// The whole document, as it is sent.
    pub fn around(self, main: impl FnOnce() -> AnyView) -> String {
        let Self {
            title,
            viewer,
            here,
            display,
            as_of,
        } = self;
        let document = Document {
            title,
            display,
            now: as_of,
            ..Document::default()
        };
        render(document, || {
            view! {
                <Header viewer here as_of />
                {main()}
            }
        })
    }
}
