//! What must be true of any log, whoever wrote it. The store's suite holds its
//! logs against this too.

use std::collections::BTreeMap;

use baton_client::{Generation, Handover, HandoverEvent, HolderId, LeaseName, Timestamp};

use crate::{
    chain::{self, Head},
    rules::keeping,
};

/// What one lease's entries have left so far.
#[derive(Default)]
struct Lease {
    generation: Generation,
    holder: Option<HolderId>,
    /// The tenure that is open or lapsed: from, and until if that is known.
    tenure: Option<(Timestamp, Option<Timestamp>)>,
    free_from: Timestamp,
}

/// Panics unless the chain holds and the entries of each lease fit together.
pub fn check_log(log: &[Handover]) {
    let mut end = Head::genesis();
    // What new leases start above, as far as the log tells.
    let mut floor = Generation::ZERO;
    let mut leases: BTreeMap<LeaseName, Lease> = BTreeMap::new();
    for entry in log {
        assert_eq!(entry.seq, end.seq + 1, "seq has no gap");
        assert!(entry.at >= end.at, "`at` never falls");
        assert_eq!(entry.prev_hash, end.hash, "the chain holds");
        assert_eq!(entry.hash, chain::hash(entry).expect("has a form"));
        assert!(!entry.reason.is_empty(), "there is always a reason");
        end.seq = entry.seq;
        end.at = entry.at;
        end.hash.clone_from(&entry.hash);
        let Some(name) = &entry.lease else {
            assert!(
                entry.generation >= entry.previous_generation,
                "the floor never falls"
            );
            floor = entry.generation;
            follow_whole(&mut leases, entry);
            continue;
        };
        let lease = leases.entry(name.clone()).or_default();
        if entry.event == HandoverEvent::Granted && lease.generation == Generation::ZERO {
            assert!(
                entry.generation > floor,
                "a new lease starts above the floor"
            );
        }
        lease.follow(entry);
    }
}

/// An entry about all leases at once.
fn follow_whole(leases: &mut BTreeMap<LeaseName, Lease>, entry: &Handover) {
    for name in keeping::forgotten_leases(entry) {
        let lease = leases.remove(&name).expect("was there");
        assert!(
            lease.generation <= entry.generation,
            "the floor is above it"
        );
        assert!(lease.holder.is_none() || lease.tenure.is_some_and(|(_, until)| until.is_some()));
    }
    if entry.event != HandoverEvent::FloorRaised {
        return;
    }
    for lease in leases.values_mut() {
        lease.generation = keeping::raised(lease.generation).expect("there is room");
        if lease.holder.take().is_some() {
            lease.tenure = None;
            lease.free_from = entry.at;
        }
    }
}

impl Lease {
    fn follow(&mut self, entry: &Handover) {
        assert_eq!(
            (entry.previous_generation, &entry.previous_holder),
            (self.generation, &self.holder),
            "previous_* is what the entries before left"
        );
        assert!(
            entry.generation >= self.generation,
            "generations never fall"
        );
        if let (Some(from), Some(until)) = (entry.held_from, entry.held_until) {
            assert!(from <= until && until <= entry.at);
            let current = self.tenure.map(|(from, _)| from);
            assert_eq!(current, Some(from), "it is of this tenure");
        }
        match entry.event {
            HandoverEvent::Granted => {
                assert!(
                    entry.generation > self.generation,
                    "a granted generation is new"
                );
                if let Some((_, until)) = self.tenure {
                    self.free_from = until.expect("only a lapsed tenure can be taken over");
                }
                assert!(entry.at >= self.free_from, "tenures never overlap");
                self.tenure = Some((entry.at, None));
            }
            HandoverEvent::Lapsed => {
                self.tenure = entry.held_from.map(|from| (from, entry.held_until));
            }
            HandoverEvent::Recovered => self.tenure = self.tenure.map(|(from, _)| (from, None)),
            HandoverEvent::Released | HandoverEvent::Forced if self.tenure.is_some() => {
                self.tenure = None;
                self.free_from = entry.held_until.expect("a tenure ended");
            }
            _ => {}
        }
        assert_eq!(self.tenure.is_some(), entry.holder.is_some());
        self.generation = entry.generation;
        self.holder.clone_from(&entry.holder);
    }
}
