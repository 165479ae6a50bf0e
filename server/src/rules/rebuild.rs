//! The lease table, rebuilt from the log alone: what an auditor may hold the
//! table against.

use std::collections::BTreeMap;

use baton_client::{
    Barred, Generation, Handover, HandoverEvent, HolderId, LeaseName, Paused, Reserved, Timestamp,
};
use serde_json::Value;

use super::{LeaseRow, PendingStepDown, keeping};

/// What the log says of a lease.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Rebuilt {
    /// The fencing token.
    pub generation: Generation,
    /// Who holds it.
    pub holder: Option<HolderId>,
    /// Since when.
    pub granted_at: Option<Timestamp>,
    /// Lapses in a row.
    pub attempt: u64,
    /// Nobody can acquire.
    pub paused: Option<Paused>,
    /// Somebody must stay away.
    pub barred: Option<Barred>,
    /// Only one may acquire.
    pub reserved: Option<Reserved>,
    /// The holder was asked to let go.
    pub step_down: Option<PendingStepDown>,
    /// An admin wants the name typed before it is forced.
    pub protected: bool,
}

impl From<&LeaseRow> for Rebuilt {
    fn from(row: &LeaseRow) -> Self {
        Self {
            generation: row.generation,
            holder: row.holder().cloned(),
            granted_at: row.tenure.as_ref().map(|tenure| tenure.granted_at),
            attempt: row.attempt,
            paused: row.paused.clone(),
            barred: row.barred.clone(),
            reserved: row.reserved.clone(),
            step_down: row.step_down.clone(),
            protected: row.protected,
        }
    }
}

/// Every lease that the entries, oldest first, speak of.
pub fn rebuild<'a>(
    entries: impl IntoIterator<Item = &'a Handover>,
) -> BTreeMap<LeaseName, Rebuilt> {
    let mut rebuilder = Rebuilder::default();
    for entry in entries {
        rebuilder.follow(entry);
    }
    rebuilder.leases()
}

/// Rebuilds entry by entry.
#[derive(Debug, Clone, Default)]
pub struct Rebuilder {
    leases: BTreeMap<LeaseName, Rebuilt>,
}

impl Rebuilder {
    /// The next entry.
    pub fn follow(&mut self, entry: &Handover) {
        let Some(name) = &entry.lease else {
            return self.follow_all(entry);
        };
        match self.leases.get_mut(name) {
            Some(lease) => follow(lease, entry),
            None => follow(self.leases.entry(name.clone()).or_default(), entry),
        }
    }

    /// An entry about all leases.
    fn follow_all(&mut self, entry: &Handover) {
        for name in keeping::forgotten_leases(entry) {
            self.leases.remove(&name);
        }
        if entry.event == HandoverEvent::FloorRaised {
            for lease in self.leases.values_mut() {
                raise(lease, entry);
            }
        }
    }

    /// Every lease that the entries spoke of.
    pub fn leases(self) -> BTreeMap<LeaseName, Rebuilt> {
        self.leases
    }
}

/// As [`keeping::raise`].
fn raise(lease: &mut Rebuilt, entry: &Handover) {
    // Only what could be raised was.
    if let Ok(generation) = keeping::raised(lease.generation) {
        lease.generation = generation;
    }
    if lease.holder.take().is_none() {
        return;
    }
    lease.granted_at = None;
    if let Some(asked) = lease.step_down.take() {
        lease.reserved = asked.successor.map(|(holder, reserve_ms)| Reserved {
            holder,
            until: entry.at.plus_ms(reserve_ms),
            actor: asked.actor,
            reason: asked.reason,
        });
    }
}

fn follow(lease: &mut Rebuilt, entry: &Handover) {
    lease.generation = entry.generation;
    lease.holder.clone_from(&entry.holder);
    match entry.event {
        HandoverEvent::Granted => {
            lease.granted_at = Some(entry.at);
            lease.attempt = number(entry, "attempt").unwrap_or_default();
            lease.step_down = None;
            lease.reserved = None;
        }
        HandoverEvent::Released => {
            lease.granted_at = None;
            lease.attempt = 0;
            // A step-down's reservation starts, in the words of who asked.
            if let Some(asked) = lease.step_down.take() {
                lease.reserved = reservation(entry, asked.actor, asked.reason);
            }
        }
        HandoverEvent::Forced => {
            lease.granted_at = None;
            lease.attempt = number(entry, "attempt").unwrap_or_default();
            let asked = lease.step_down.take();
            let by_deadline = entry.details.get("deadline_passed") == Some(&Value::Bool(true));
            let actor = match asked {
                Some(asked) if by_deadline => asked.actor,
                _ => entry.actor.clone(),
            };
            // A deadline leaves the bar that was there, in its asker's words.
            if !by_deadline {
                lease.barred = bar(entry);
            }
            lease.reserved = reservation(entry, actor, entry.reason.clone());
        }
        HandoverEvent::StepDown => {
            lease.step_down = time(entry, "deadline").map(|deadline| PendingStepDown {
                at: entry.at,
                deadline,
                actor: entry.actor.clone(),
                reason: entry.reason.clone(),
                incident: entry.incident.clone(),
                successor: holder(entry, "successor").zip(number(entry, "reserve_ms")),
            });
        }
        HandoverEvent::StepDownCancelled => lease.step_down = None,
        HandoverEvent::Paused => {
            lease.paused = Some(Paused {
                at: entry.at,
                actor: entry.actor.clone(),
                reason: entry.reason.clone(),
                incident: entry.incident.clone(),
            });
        }
        HandoverEvent::Unpaused => lease.paused = None,
        HandoverEvent::Protected => lease.protected = true,
        HandoverEvent::Unprotected => lease.protected = false,
        HandoverEvent::Lapsed
        | HandoverEvent::Recovered
        | HandoverEvent::Archived
        | HandoverEvent::Forgotten
        | HandoverEvent::FloorRaised => {}
    }
}

fn bar(entry: &Handover) -> Option<Barred> {
    Some(Barred {
        until: time(entry, "barred_until")?,
        holder: holder(entry, "barred_holder"),
        actor: entry.actor.clone(),
        reason: entry.reason.clone(),
    })
}

fn reservation(entry: &Handover, actor: baton_client::Actor, reason: String) -> Option<Reserved> {
    Some(Reserved {
        holder: holder(entry, "reserved_for")?,
        until: time(entry, "reserved_until")?,
        actor,
        reason,
    })
}

fn number(entry: &Handover, key: &str) -> Option<u64> {
    entry.details.get(key)?.as_u64()
}

fn time(entry: &Handover, key: &str) -> Option<Timestamp> {
    entry.details.get(key)?.as_str()?.parse().ok()
}

fn holder(entry: &Handover, key: &str) -> Option<HolderId> {
    entry.details.get(key)?.as_str()?.parse().ok()
}
