//! An entry of the log before it has its place in the chain.

use baton_client::{Generation, HandoverEvent, HolderId, LeaseName, Timestamp};
use serde_json::{Map, Value, json};

use super::{Asker, LeaseRow};

/// All of an entry but `seq` and the hashes.
#[derive(Debug, Clone, PartialEq)]
pub struct Draft {
    /// Log time.
    pub at: Timestamp,
    /// Which lease; `None` for events of the whole log.
    pub lease: Option<LeaseName>,
    /// What happened.
    pub event: HandoverEvent,
    /// After the event.
    pub generation: Generation,
    /// After the event.
    pub holder: Option<HolderId>,
    /// Before the event.
    pub previous_generation: Generation,
    /// Before the event.
    pub previous_holder: Option<HolderId>,
    /// Of the tenure that ended or was found lapsed: from and until.
    pub held: Option<(Timestamp, Timestamp)>,
    /// Why.
    pub reason: String,
    /// Link or number of the incident.
    pub incident: Option<String>,
    /// Who asked.
    pub asker: Asker,
    /// Fixed keys per event.
    pub details: Map<String, Value>,
}

/// The state that an entry starts from, noted before the row changes.
pub(super) struct Before {
    generation: Generation,
    holder: Option<HolderId>,
}

impl Before {
    pub(super) fn of(row: &LeaseRow) -> Self {
        Self {
            generation: row.generation,
            holder: row.holder().cloned(),
        }
    }
}

impl Draft {
    /// The entry of an event that took `row` from `before` to what it is now.
    pub(super) fn of(
        event: HandoverEvent,
        before: Before,
        row: &LeaseRow,
        at: Timestamp,
        asker: Asker,
        reason: impl Into<String>,
    ) -> Self {
        Self {
            at,
            lease: Some(row.name.clone()),
            event,
            generation: row.generation,
            holder: row.holder().cloned(),
            previous_generation: before.generation,
            previous_holder: before.holder,
            held: None,
            reason: reason.into(),
            incident: None,
            asker,
            details: Map::new(),
        }
    }

    /// The entry of an event of the whole log, which took the floor of new
    /// generations from one to the other.
    pub(super) fn of_all(
        event: HandoverEvent,
        (from, to): (Generation, Generation),
        at: Timestamp,
        asker: Asker,
        reason: String,
    ) -> Self {
        Self {
            at,
            lease: None,
            event,
            generation: to,
            holder: None,
            previous_generation: from,
            previous_holder: None,
            held: None,
            reason,
            incident: None,
            asker,
            details: Map::new(),
        }
    }

    pub(super) fn held(mut self, from: Timestamp, expires_at: Timestamp) -> Self {
        // A clock that stepped back may have granted after it expires.
        self.held = Some((from, expires_at.min(self.at).max(from)));
        self
    }

    pub(super) fn incident(mut self, incident: Option<String>) -> Self {
        self.incident = incident;
        self
    }

    pub(super) fn details(mut self, details: Value) -> Self {
        if let Value::Object(details) = details {
            self.details = details;
        }
        self
    }
}

/// A time or null, for `details`.
pub(super) fn time(at: Option<Timestamp>) -> Value {
    at.map_or(Value::Null, |at| json!(at))
}
