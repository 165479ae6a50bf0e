//! A server with one lease and a clock that runs at any rate and jumps. It
//! follows the rules of the real one, as far as time and tenures go.

use std::collections::BTreeSet;

use crate::Ended;

/// A clock that can be seen from outside: a line through the last change.
#[derive(Debug, Clone, Copy)]
pub(super) struct Clock {
    real_us: u64,
    shown_us: i64,
    permille: u64,
}

impl Clock {
    pub(super) fn at(self, real_us: u64) -> i64 {
        self.shown_us + ((real_us - self.real_us) * self.permille / 1_000) as i64
    }

    pub(super) fn set_rate(&mut self, real_us: u64, permille: u64) {
        self.shown_us = self.at(real_us);
        self.real_us = real_us;
        self.permille = permille;
    }

    pub(super) fn jump(&mut self, real_us: u64, by_us: i64) {
        self.set_rate(real_us, self.permille);
        self.shown_us += by_us;
    }
}

/// A claim is its process and the number that the machine gave it.
pub(super) type Claim = (usize, u64);

#[derive(Debug, Clone, Copy)]
struct Tenure {
    claim: Claim,
    expires_us: i64,
}

#[derive(Debug)]
pub(super) struct Server {
    pub(super) clock: Clock,
    pub(super) generation: u64,
    pub(super) grants: u64,
    ttl_us: i64,
    grace_us: i64,
    tenure: Option<Tenure>,
    past: BTreeSet<Claim>,
}

/// A grant, or that there is one already for this claim.
#[derive(Debug, Clone, Copy)]
pub(super) struct Granted {
    pub(super) generation: u64,
    pub(super) remaining_ms: u64,
}

impl Server {
    pub(super) fn new(ttl_ms: u64, grace_ms: u64) -> Self {
        Self {
            clock: Clock {
                real_us: 0,
                shown_us: 0,
                permille: 1_000,
            },
            generation: 0,
            grants: 0,
            ttl_us: ttl_ms as i64 * 1_000,
            grace_us: grace_ms as i64 * 1_000,
            tenure: None,
            past: BTreeSet::new(),
        }
    }

    /// Whether somebody other than `process` would be granted the lease now.
    pub(super) fn would_grant_past(&self, process: usize, real_us: u64) -> bool {
        match self.tenure {
            Some(tenure) if tenure.claim.0 == process => self.is_takeable(real_us),
            // Somebody else has it, or could.
            _ => true,
        }
    }

    fn is_takeable(&self, real_us: u64) -> bool {
        let now = self.clock.at(real_us);
        self.tenure
            .is_none_or(|tenure| tenure.expires_us + self.grace_us <= now)
    }

    /// `Err(true)` if the claim is of a tenure that is over, `Err(false)` if
    /// somebody has the lease.
    pub(super) fn acquire(&mut self, claim: Claim, real_us: u64) -> Result<Granted, bool> {
        if self.tenure.is_some_and(|tenure| tenure.claim == claim) {
            return Ok(self.granted(real_us));
        }
        if self.past.contains(&claim) {
            return Err(true);
        }
        if !self.is_takeable(real_us) {
            return Err(false);
        }
        self.past.extend(self.tenure.map(|tenure| tenure.claim));
        self.generation += 1;
        self.grants += 1;
        let expires_us = self.clock.at(real_us) + self.ttl_us;
        self.tenure = Some(Tenure { claim, expires_us });
        Ok(self.granted(real_us))
    }

    fn granted(&self, real_us: u64) -> Granted {
        let now = self.clock.at(real_us);
        let left = self.tenure.map_or(0, |tenure| tenure.expires_us - now);
        Granted {
            generation: self.generation,
            remaining_ms: left.max(0) as u64 / 1_000,
        }
    }

    fn presented(&mut self, process: usize, generation: u64) -> Result<&mut Tenure, Ended> {
        let current = self.generation == generation;
        self.tenure
            .as_mut()
            .filter(|tenure| current && tenure.claim.0 == process)
            .ok_or(Ended::Taken)
    }

    pub(super) fn renew(
        &mut self,
        process: usize,
        generation: u64,
        real_us: u64,
    ) -> Result<Granted, Ended> {
        let expires_us = self.clock.at(real_us) + self.ttl_us;
        self.presented(process, generation)?.expires_us = expires_us;
        Ok(self.granted(real_us))
    }

    pub(super) fn release(&mut self, process: usize, generation: u64) -> Result<(), Ended> {
        let claim = self.presented(process, generation)?.claim;
        self.past.insert(claim);
        self.tenure = None;
        self.generation += 1;
        Ok(())
    }
}
