//! An entry of the handover log as pages show it, in words.

use baton_client::{Actor, Generation, HandoverEvent, HolderId, LeaseName, Timestamp};
use serde::{Deserialize, Serialize};

/// An entry, without what only a checker of the chain needs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    /// Its place in the log.
    pub seq: u64,
    /// When it was written.
    pub at: Timestamp,
    /// Which lease; `None` for events of the whole log.
    pub lease: Option<LeaseName>,
    /// What happened.
    pub event: HandoverEvent,
    /// The generation after it.
    pub generation: Generation,
    /// The holder after it.
    pub holder: Option<HolderId>,
    /// The holder before it.
    pub previous_holder: Option<HolderId>,
    /// When the tenure began that it ended or found lapsed.
    pub held_from: Option<Timestamp>,
    /// The earlier of that tenure's expiry and `at`.
    pub held_until: Option<Timestamp>,
    /// Why.
    pub reason: String,
    /// Link or number of an incident.
    pub incident: Option<String>,
    /// Who asked.
    pub actor: Actor,
}

#[cfg(feature = "ssr")]
impl From<baton_client::Handover> for Entry {
    fn from(handover: baton_client::Handover) -> Self {
        Self {
            seq: handover.seq,
            at: handover.at,
            lease: handover.lease,
            event: handover.event,
            generation: handover.generation,
            holder: handover.holder,
            previous_holder: handover.previous_holder,
            held_from: handover.held_from,
            held_until: handover.held_until,
            reason: handover.reason,
            incident: handover.incident,
            actor: handover.actor,
        }
    }
}

/// What an event is called.
pub fn event_words(event: HandoverEvent) -> &'static str {
    match event {
        HandoverEvent::Granted => "Granted",
        HandoverEvent::Lapsed => "Lapsed",
        HandoverEvent::Recovered => "Recovered",
        HandoverEvent::Released => "Released",
        HandoverEvent::Forced => "Forced",
        HandoverEvent::StepDown => "Asked to step down",
        HandoverEvent::StepDownCancelled => "Step-down cancelled",
        HandoverEvent::Paused => "Paused",
        HandoverEvent::Unpaused => "Resumed",
        HandoverEvent::Protected => "Protected",
        HandoverEvent::Unprotected => "Unprotected",
        HandoverEvent::Archived => "Archived",
        HandoverEvent::Forgotten => "Forgotten",
        HandoverEvent::FloorRaised => "Floor raised",
    }
}

/// How an event is to be taken: the class in the style sheet.
pub fn event_class(event: HandoverEvent) -> &'static str {
    match event {
        HandoverEvent::Granted | HandoverEvent::Recovered => "held",
        HandoverEvent::Lapsed => "lapsed",
        HandoverEvent::Forced | HandoverEvent::StepDown => "soon",
        HandoverEvent::Paused => "paused",
        _ => "free",
    }
}

/// Who asked, as people say it.
pub fn who(actor: &Actor) -> String {
    match actor {
        Actor::User(name) => name.clone(),
        Actor::Token(name) => format!("token {name}"),
        Actor::Baton => "baton".to_owned(),
    }
}
