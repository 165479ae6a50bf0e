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

/// What happened to a lease last, for a list of many.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Last {
    /// Which lease.
    pub lease: LeaseName,
    /// When.
    pub at: Timestamp,
    /// What.
    pub event: HandoverEvent,
    /// Why.
    pub reason: String,
    /// Who asked.
    pub actor: Actor,
}

impl Last {
    /// Of an entry about a lease.
    pub fn of(entry: &Entry) -> Option<Self> {
        Some(Self {
            lease: entry.lease.clone()?,
            at: entry.at,
            event: entry.event,
            reason: entry.reason.clone(),
            actor: entry.actor.clone(),
        })
    }

    /// In a few words, before how long ago it was: `Taken over`, `Forced by ana`.
    pub fn words(&self) -> String {
        let what = match (self.event, self.reason.as_str()) {
            (HandoverEvent::Granted, "after lapse") => "Taken over",
            (HandoverEvent::Granted, "first") => "First granted",
            (event, _) => event_words(event),
        };
        let by = match self.event {
            HandoverEvent::Forced
            | HandoverEvent::StepDown
            | HandoverEvent::StepDownCancelled
            | HandoverEvent::Paused
            | HandoverEvent::Unpaused => format!(" by {}", who(&self.actor)),
            _ => String::new(),
        };
        format!("{what}{by}")
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_handover_is_told_in_a_few_words() {
        let at = Timestamp::from_micros(1_795_918_447_000_000);
        let last = |event, reason: &str| Last {
            lease: "a".parse().expect("a name"),
            at,
            event,
            reason: reason.to_owned(),
            actor: Actor::User("ana".into()),
        };
        for (last, words) in [
            (last(HandoverEvent::Granted, "after lapse"), "Taken over"),
            (last(HandoverEvent::Granted, "after release"), "Granted"),
            (last(HandoverEvent::Forced, "wedged"), "Forced by ana"),
            (last(HandoverEvent::Lapsed, "x"), "Lapsed"),
        ] {
            assert_eq!(last.words(), words);
        }
    }
}
