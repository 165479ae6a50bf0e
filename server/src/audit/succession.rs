//! Whether the entries of each lease fit together: each says what was before it,
//! generations only grow, and tenures never overlap.

use std::collections::BTreeMap;

use baton_client::{Generation, Handover, HandoverEvent, HolderId, LeaseName, Timestamp};

use crate::rules::keeping;

use super::Fault;

/// What each lease's entries have left so far.
#[derive(Debug, Clone, Default)]
pub struct Successions {
    leases: BTreeMap<LeaseName, Lease>,
    /// What new leases start above, if the log tells.
    floor: Option<Generation>,
}

/// What one lease's entries have left so far.
#[derive(Debug, Clone, Default)]
struct Lease {
    generation: Generation,
    holder: Option<HolderId>,
    tenure: Option<Tenure>,
    free_from: Timestamp,
}

/// The tenure that is open or lapsed.
#[derive(Debug, Clone, Copy)]
struct Tenure {
    /// Its beginning, if the log tells.
    from: Option<Timestamp>,
    /// When it lapsed.
    lapsed: Option<Timestamp>,
}

impl Successions {
    /// The next entry: what is wrong with it. In a log that does not begin at the
    /// beginning, a lease's first entry is believed about what was before it.
    pub fn follow(&mut self, entry: &Handover, from_the_beginning: bool) -> Vec<Fault> {
        let about_all = matches!(
            entry.event,
            HandoverEvent::Archived | HandoverEvent::Forgotten | HandoverEvent::FloorRaised
        );
        let Some(name) = &entry.lease else {
            if !about_all {
                return vec![Fault::WrongSubject];
            }
            return self.follow_all(entry, from_the_beginning);
        };
        if about_all {
            return vec![Fault::WrongSubject];
        }
        let floor = self.floor.unwrap_or(Generation::ZERO);
        if !self.leases.contains_key(name) {
            let lease = if from_the_beginning {
                Lease::default()
            } else {
                Lease::before(entry)
            };
            self.leases.insert(name.clone(), lease);
        }
        let Some(lease) = self.leases.get_mut(name) else {
            return Vec::new();
        };
        let is_first = lease.generation == Generation::ZERO;
        let mut faults = lease.follow(entry);
        if is_first && entry.event == HandoverEvent::Granted && entry.generation <= floor {
            faults.push(Fault::NotNew { above: floor });
        }
        faults
    }

    /// The next entry is about all leases.
    fn follow_all(&mut self, entry: &Handover, from_the_beginning: bool) -> Vec<Fault> {
        let mut faults = Vec::new();
        let floor = self
            .floor
            .or(from_the_beginning.then_some(Generation::ZERO));
        if let Some(floor) = floor.filter(|floor| *floor != entry.previous_generation) {
            faults.push(Fault::Discontinuous {
                generation: floor,
                holder: None,
            });
        }
        if entry.generation < entry.previous_generation {
            faults.push(Fault::GenerationFell);
        }
        self.floor = Some(entry.generation);
        for name in keeping::forgotten_leases(entry) {
            let gone = self.leases.remove(&name);
            if let Some(gone) = gone.filter(|lease| lease.generation > entry.generation) {
                faults.push(Fault::NotNew {
                    above: gone.generation,
                });
            }
        }
        if entry.event == HandoverEvent::FloorRaised {
            for lease in self.leases.values_mut() {
                lease.raise(entry);
            }
        }
        faults
    }
}

impl Lease {
    /// As an entry says that it was before.
    fn before(entry: &Handover) -> Self {
        Self {
            generation: entry.previous_generation,
            holder: entry.previous_holder.clone(),
            tenure: entry.previous_holder.is_some().then_some(Tenure {
                from: entry.held_from,
                // Whether it has lapsed is not known: what comes before is not there.
                lapsed: Some(Timestamp::from_micros(0)),
            }),
            free_from: Timestamp::from_micros(0),
        }
    }

    /// As every lease is after everything was raised.
    fn raise(&mut self, entry: &Handover) {
        if let Ok(generation) = keeping::raised(self.generation) {
            self.generation = generation;
        }
        if self.holder.take().is_some() {
            self.tenure = None;
            self.free_from = entry.at;
        }
    }

    fn follow(&mut self, entry: &Handover) -> Vec<Fault> {
        let mut faults = Vec::new();
        let before = (entry.previous_generation, &entry.previous_holder);
        if before != (self.generation, &self.holder) {
            faults.push(Fault::Discontinuous {
                generation: self.generation,
                holder: self.holder.clone(),
            });
        }
        if entry.generation < self.generation {
            faults.push(Fault::GenerationFell);
        }
        if !self.is_of_tenure(entry) {
            faults.push(Fault::WrongTenure);
        }
        match entry.event {
            HandoverEvent::Granted => faults.extend(self.grant(entry)),
            HandoverEvent::Lapsed => {
                if let Some(tenure) = &mut self.tenure {
                    tenure.from = tenure.from.or(entry.held_from);
                    tenure.lapsed = entry.held_until;
                }
            }
            HandoverEvent::Recovered => {
                if let Some(tenure) = &mut self.tenure {
                    tenure.lapsed = None;
                }
            }
            HandoverEvent::Released | HandoverEvent::Forced if self.tenure.is_some() => {
                self.tenure = None;
                self.free_from = entry.held_until.unwrap_or(self.free_from);
            }
            _ => {}
        }
        if self.tenure.is_some() != entry.holder.is_some() {
            faults.push(Fault::WrongHolder);
            let unknown = Tenure {
                from: None,
                lapsed: None,
            };
            self.tenure = entry.holder.is_some().then_some(unknown);
        }
        self.generation = entry.generation;
        self.holder.clone_from(&entry.holder);
        faults
    }

    fn grant(&mut self, entry: &Handover) -> Vec<Fault> {
        let mut faults = Vec::new();
        if entry.generation <= self.generation {
            let above = self.generation;
            faults.push(Fault::NotNew { above });
        }
        if let Some(tenure) = self.tenure {
            match tenure.lapsed {
                Some(at) => self.free_from = at,
                None => faults.push(Fault::Overlap { free_from: None }),
            }
        }
        if entry.at < self.free_from {
            let free_from = Some(self.free_from);
            faults.push(Fault::Overlap { free_from });
        }
        self.tenure = Some(Tenure {
            from: Some(entry.at),
            lapsed: None,
        });
        faults
    }

    /// Whether `held_from` and `held_until` are there when a tenure ends or is
    /// found lapsed, are that tenure's, and are not there otherwise.
    fn is_of_tenure(&self, entry: &Handover) -> bool {
        let about_tenure = match entry.event {
            HandoverEvent::Lapsed | HandoverEvent::Released => true,
            HandoverEvent::Forced => self.tenure.is_some(),
            _ => false,
        };
        match (entry.held_from, entry.held_until) {
            (None, None) => !about_tenure,
            (Some(from), Some(until)) => {
                let begun = self.tenure.map(|tenure| tenure.from.unwrap_or(from));
                about_tenure && from <= until && until <= entry.at && begun == Some(from)
            }
            _ => false,
        }
    }
}
