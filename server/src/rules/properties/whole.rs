//! What is done to all leases at once, and what must be true then.

use super::*;
use crate::rules::keeping::{self, Raised, Seen};

impl World {
    /// Lets it happen, and checks everything about it.
    pub fn take_whole(&mut self, whole: Whole) {
        match whole {
            Whole::Raise => self.raise(),
            Whole::Forget(idle_ms) => self.forget(idle_ms),
        }
        for lease in 0..LEASES {
            self.check_rebuilt(lease);
        }
    }

    fn raise(&mut self) {
        let moment = self.moment(self.now);
        let highest = self.grants.iter().flatten().map(|grant| grant.generation);
        let highest = highest.max();
        let mut count = Raised::default();
        for row in self.rows.iter_mut().flatten() {
            let before = row.generation;
            keeping::raise(row, moment.at, &mut count).expect("there is room");
            assert!(row.tenure.is_none() && row.step_down.is_none());
            let granted = before > Generation::ZERO;
            let raised = row.generation.get() - before.get();
            assert_eq!(raised, if granted { keeping::RAISED_BY } else { 0 });
        }
        let seen = Seen {
            seq: self.head.seq + 1,
            hash: "f".repeat(64),
        };
        let draft = keeping::floor_raised(
            self.floor,
            moment.at,
            Asker::baton(),
            "restored".into(),
            count,
            Some(&seen),
        )
        .expect("there is room");
        self.floor = draft.generation;
        let entry = self.head.seal(draft).expect("has a canonical form");
        assert!(keeping::answers(&entry, &seen));
        self.log.push(entry);
        // In runs as short as these, nothing granted before comes near.
        for row in self.rows.iter().flatten() {
            let next = row.generation.max(self.floor);
            assert!(highest.is_none_or(|highest| next > highest));
        }
    }

    fn forget(&mut self, idle_ms: u64) {
        let moment = self.moment(self.now);
        let since = Timestamp::from_micros(self.now.micros() - idle_ms as i64 * 1_000);
        let rows = self.rows.iter().flatten();
        let idle: Vec<LeaseRow> = rows
            .filter(|row| keeping::may_forget(row, since, self.now))
            .cloned()
            .collect();
        for row in &idle {
            let held = row.tenure.as_ref().is_some_and(|tenure| !tenure.lapsed);
            assert!(!held && row.paused.is_none() && !row.protected);
            assert!(row.step_down.is_none());
        }
        if idle.is_empty() {
            return;
        }
        let reason = "idle".into();
        let draft = keeping::forgotten(&idle, self.floor, moment, Asker::baton(), reason);
        assert!(draft.generation >= self.floor, "the floor never falls");
        self.floor = draft.generation;
        for row in &idle {
            assert!(row.generation <= self.floor, "a name that returns is above");
        }
        for slot in &mut self.rows {
            slot.take_if(|row| idle.iter().any(|gone| gone.name == row.name));
        }
        self.log
            .push(self.head.seal(draft).expect("has a canonical form"));
    }
}
