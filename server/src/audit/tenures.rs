//! The tenures of one lease, from its entries.

use baton_client::{Handover, HandoverEvent, Tenure, Timestamp};

/// Follows one lease from a grant on, or from whenever nobody held it.
#[derive(Debug, Default)]
pub struct Tenures {
    open: Option<Open>,
}

/// The tenure that is open or lapsed.
#[derive(Debug, Clone)]
pub struct Open {
    /// Its beginning; its end is not known yet.
    pub tenure: Tenure,
    /// Since when it stands lapsed.
    pub lapsed: Option<Timestamp>,
}

/// A time during which somebody held the lease, or did not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Turn {
    /// From here on it is held.
    Held(Timestamp),
    /// From here on it is not.
    Unheld(Timestamp),
}

/// What an entry did.
#[derive(Debug, Default)]
pub struct Moved {
    /// A tenure that is over.
    pub over: Option<Tenure>,
    /// When holding began or ended, in order.
    pub turns: Vec<Turn>,
}

impl Tenures {
    /// Follows a tenure whose beginning is known.
    pub fn from(tenure: Tenure) -> Self {
        Self {
            open: Some(Open {
                tenure,
                lapsed: None,
            }),
        }
    }

    /// The tenure that is open or lapsed.
    pub fn open(&self) -> Option<&Open> {
        self.open.as_ref()
    }

    /// The next entry of the lease.
    pub fn follow(&mut self, entry: &Handover) -> Moved {
        let mut moved = Moved::default();
        self.find(entry, &mut moved);
        match entry.event {
            HandoverEvent::Granted => {
                self.end(HandoverEvent::Lapsed, None, entry.at, &mut moved);
                self.begin(entry, &mut moved);
            }
            HandoverEvent::Lapsed => {
                if let Some(open) = &mut self.open {
                    let at = entry.held_until.unwrap_or(entry.at);
                    open.lapsed = Some(at);
                    moved.turns.push(Turn::Unheld(at));
                }
            }
            HandoverEvent::Recovered => {
                if let Some(open) = &mut self.open {
                    if let Some(lapsed) = open.lapsed.take() {
                        open.tenure.lapsed_ms += lapsed.ms_until(entry.at);
                    }
                    moved.turns.push(Turn::Held(entry.at));
                }
            }
            HandoverEvent::Released | HandoverEvent::Forced | HandoverEvent::FloorRaised => {
                self.end(entry.event, entry.held_until, entry.at, &mut moved);
            }
            _ => {}
        }
        moved
    }

    /// A tenure whose grant was not seen, for it is in an archived part, is known
    /// from the first entry that speaks of it.
    fn find(&mut self, entry: &Handover, moved: &mut Moved) {
        let (None, Some(lease), Some(holder)) = (&self.open, &entry.lease, &entry.previous_holder)
        else {
            return;
        };
        let from = entry.held_from.unwrap_or(entry.at);
        self.open = Some(Open {
            tenure: Tenure {
                lease: lease.clone(),
                holder: holder.clone(),
                generation: entry.previous_generation,
                from,
                until: None,
                ended: None,
                lapsed_ms: 0,
            },
            lapsed: (entry.event == HandoverEvent::Recovered).then_some(entry.at),
        });
        moved.turns.push(Turn::Held(from));
    }

    fn begin(&mut self, entry: &Handover, moved: &mut Moved) {
        let (Some(lease), Some(holder)) = (&entry.lease, &entry.holder) else {
            return;
        };
        self.open = Some(Open {
            tenure: Tenure {
                lease: lease.clone(),
                holder: holder.clone(),
                generation: entry.generation,
                from: entry.at,
                until: None,
                ended: None,
                lapsed_ms: 0,
            },
            lapsed: None,
        });
        moved.turns.push(Turn::Held(entry.at));
    }

    /// Ends the tenure, if there is one. One that stood lapsed was over then.
    fn end(
        &mut self,
        how: HandoverEvent,
        until: Option<Timestamp>,
        at: Timestamp,
        moved: &mut Moved,
    ) {
        let Some(open) = self.open.take() else {
            return;
        };
        let end = open.lapsed.unwrap_or_else(|| {
            let end = until.unwrap_or(at);
            moved.turns.push(Turn::Unheld(end));
            end
        });
        let mut tenure = open.tenure;
        tenure.until = Some(end);
        tenure.ended = Some(how);
        moved.over = Some(tenure);
    }
}

impl Open {
    /// As a tenure whose end is known as far as it is: a lapse is an end unless its
    /// holder renews again.
    pub fn so_far(&self) -> Tenure {
        Tenure {
            until: self.lapsed,
            ended: self.lapsed.map(|_| HandoverEvent::Lapsed),
            ..self.tenure.clone()
        }
    }
}
