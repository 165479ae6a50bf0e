//! What goes to readers of events.

use std::sync::Arc;

/// One thing to send to a reader.
#[derive(Debug, Clone)]
pub struct Sent {
    /// Where to go on after this, if it moves that.
    pub id: Option<u64>,
    /// The event's name.
    pub name: &'static str,
    /// Its JSON.
    pub data: Arc<str>,
}

impl Sent {
    /// An event with this as its data; `None` if that cannot be written as JSON.
    pub(super) fn new(
        id: Option<u64>,
        name: &'static str,
        data: &impl serde::Serialize,
    ) -> Option<Self> {
        let data = serde_json::to_string(data)
            .inspect_err(|error| tracing::error!(%error, "an event cannot be written"))
            .ok()?;
        Some(Self {
            id,
            name,
            data: data.into(),
        })
    }
}
