//! How a lease fared in some time, from its entries.

use std::collections::BTreeMap;

use baton_client::{
    Actor, ForcedBy, Gap, Generation, Handover, HandoverEvent, LeaseName, Report, Tenure, Timestamp,
};

use super::tenures::{Tenures, Turn};

/// Works a report out, entry by entry.
#[derive(Debug)]
pub struct Reporter {
    lease: LeaseName,
    from: Timestamp,
    to: Timestamp,
    /// The first entry's time.
    born: Option<Timestamp>,
    tenures: Tenures,
    /// Since when somebody, or nobody, holds it.
    since: Option<Turn>,
    held_us: i64,
    unheld_us: i64,
    events: BTreeMap<String, u64>,
    forced: BTreeMap<String, (Actor, u64)>,
    count: u64,
    longest: Option<(i64, Tenure)>,
    gaps: u64,
    longest_gap: Option<Gap>,
    /// Gaps that a new holder ended: how many, how long in all.
    filled: (u64, i64),
}

impl Reporter {
    /// Before the first entry. `to` is not in the future.
    pub fn new(lease: LeaseName, from: Timestamp, to: Timestamp) -> Self {
        Self {
            lease,
            from,
            to,
            born: None,
            tenures: Tenures::default(),
            since: None,
            held_us: 0,
            unheld_us: 0,
            events: BTreeMap::new(),
            forced: BTreeMap::new(),
            count: 0,
            longest: None,
            gaps: 0,
            longest_gap: None,
            filled: (0, 0),
        }
    }

    /// The next entry of the lease, beginning with the grant of the tenure that was
    /// open at `from`, and before `to`; or one that raised every generation.
    pub fn push(&mut self, entry: &Handover) {
        if entry.lease.is_none() && self.born.is_none() {
            // The lease was not there yet.
            return;
        }
        // What there was before it may be archived.
        let was_there = entry.previous_generation > Generation::ZERO;
        let begins = if was_there {
            entry.at.min(self.from)
        } else {
            entry.at
        };
        self.born.get_or_insert(begins);
        if entry.at >= self.from {
            *self.events.entry(entry.event.to_string()).or_default() += 1;
            if entry.event == HandoverEvent::Forced {
                let by = self.forced.entry(entry.actor.to_string());
                by.or_insert_with(|| (entry.actor.clone(), 0)).1 += 1;
            }
        }
        if self.since.is_none() && entry.previous_holder.is_none() {
            self.since = Some(Turn::Unheld(begins));
        }
        let moved = self.tenures.follow(entry);
        for turn in moved.turns {
            self.turn(turn);
        }
        if let Some(tenure) = moved.over {
            self.over(tenure);
        }
    }

    /// After the last entry. A tenure that is open then may have lapsed before
    /// `to`, which only a later entry or the lease itself says. `None` if there was
    /// no entry.
    pub fn finish(mut self, lapses_at: Option<Timestamp>, now: Timestamp) -> Option<Report> {
        let born = self.born?;
        let from = self.from.max(born).min(self.to);
        let open = self.tenures.open().cloned();
        if let Some(mut open) = open {
            let lapsed = lapses_at.filter(|at| open.lapsed.is_none() && *at < self.to);
            if let Some(at) = lapsed {
                self.turn(Turn::Unheld(at));
                open.lapsed = Some(at);
            }
            self.over(open.so_far());
        }
        self.close();
        let all = self.held_us + self.unheld_us;
        let ppm = i128::from(self.held_us) * 1_000_000 / i128::from(all.max(1));
        let mut forced_by: Vec<ForcedBy> = self
            .forced
            .into_values()
            .map(|(actor, count)| ForcedBy { actor, count })
            .collect();
        forced_by.sort_by_key(|by| std::cmp::Reverse(by.count));
        let (filled, filled_us) = self.filled;
        Some(Report {
            lease: self.lease,
            from,
            to: self.to,
            held_ms: ms(self.held_us),
            unheld_ms: ms(self.unheld_us),
            availability_ppm: ppm.try_into().unwrap_or_default(),
            events: self.events,
            forced_by,
            tenures: self.count,
            longest_tenure: self.longest.map(|(_, tenure)| tenure),
            gaps: self.gaps,
            longest_gap: self.longest_gap,
            mean_gap_ms: (filled > 0).then(|| ms(filled_us) / filled),
            now,
        })
    }

    /// How much of a time is within what is reported.
    fn within(&self, from: Timestamp, until: Timestamp) -> i64 {
        let from = from.max(self.from).micros();
        let until = until.min(self.to).micros();
        (until - from).max(0)
    }

    fn turn(&mut self, turn: Turn) {
        match (self.since, turn) {
            (Some(Turn::Held(from)), Turn::Unheld(until)) => {
                self.held_us += self.within(from, until);
            }
            (Some(Turn::Unheld(from)), Turn::Held(until)) => self.gap(from, Some(until)),
            // It goes on.
            (Some(_), _) => return,
            (None, _) => {}
        }
        self.since = Some(turn);
    }

    /// What goes on at the end counts up to there.
    fn close(&mut self) {
        match self.since {
            Some(Turn::Held(from)) => self.held_us += self.within(from, self.to),
            Some(Turn::Unheld(from)) => self.gap(from, None),
            None => {}
        }
    }

    fn gap(&mut self, from: Timestamp, until: Option<Timestamp>) {
        let length = self.within(from, until.unwrap_or(self.to));
        if length == 0 {
            return;
        }
        self.gaps += 1;
        self.unheld_us += length;
        let until = until.filter(|until| *until < self.to);
        if until.is_some() {
            self.filled.0 += 1;
            self.filled.1 += length;
        }
        let gap = Gap {
            from,
            until,
            ms: ms(length),
        };
        if self.longest_gap.is_none_or(|longest| gap.ms > longest.ms) {
            self.longest_gap = Some(gap);
        }
    }

    fn over(&mut self, tenure: Tenure) {
        let length = self.within(tenure.from, tenure.until.unwrap_or(self.to));
        if tenure.until.is_some_and(|until| until <= self.from) {
            return;
        }
        self.count += 1;
        if self
            .longest
            .as_ref()
            .is_none_or(|(longest, _)| length > *longest)
        {
            self.longest = Some((length, tenure));
        }
    }
}

fn ms(micros: i64) -> u64 {
    micros.unsigned_abs() / 1_000
}
