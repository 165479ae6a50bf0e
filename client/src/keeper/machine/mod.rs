//! The holder's rules, pure: time, answers and wishes in, actions out. Nothing
//! here reads a clock, opens a socket or draws a random number, so that a
//! simulation can play every order of events, and does (`../simulation`).
//!
//! [`Machine`] keeps many leases and puts their renewals into common calls.
//! [`slot`] is one lease and its phases, [`words`] what is said in and out,
//! `answers` what each answer changes. Deadlines are computed in
//! [`timing`](super::timing) and nowhere else.
//!
//! How it is used: call what happened ([`Machine::want`],
//! [`Machine::renewed`], …) and then [`Machine::poll`], which says what to do,
//! and again at [`Machine::next_at`] at the latest.

mod answers;
mod slot;
#[cfg(test)]
mod stories;
mod words;

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use slot::{Next, Phase, Sent, Slot};
pub(crate) use words::{
    AcquireAnswer, Action, Asked, AskedRemotely, CallId, Confirmed, Due, Epoch, Grant, Key, LetGo,
    Over, ReleaseAnswer, RenewAnswer,
};

use super::timing::{Moment, Timing};
use crate::{
    LeaseName, RawJson,
    limits::{RENEWALS_BYTES_MAX, RENEWALS_MAX},
};

/// What a renewal takes in a call besides its names and its status.
const RENEWAL_BYTES: usize = 128;
/// How many times the shortest bound of a call the others in it may have.
const BOUNDS_APART: u32 = 4;

/// Every lease that one keeper looks after.
#[derive(Debug, Default)]
pub(crate) struct Machine {
    slots: BTreeMap<Key, Slot>,
    /// The renewal calls under way, and the report each one carries per lease.
    renewals: BTreeMap<CallId, Vec<(Key, Option<u64>)>>,
    calls: u64,
    /// What the holder's name takes in a call.
    holder_bytes: usize,
    actions: Vec<Action>,
}

impl Machine {
    /// For a holder whose name takes `holder_bytes` of JSON.
    pub(crate) fn new(holder_bytes: usize) -> Self {
        Self {
            holder_bytes,
            ..Self::default()
        }
    }

    /// Looks after one more lease, without wanting it yet.
    pub(crate) fn add(&mut self, key: Key, lease: LeaseName, timing: Timing, wait_ms: u64) {
        self.slots
            .insert(key, Slot::new(key, lease, timing, wait_ms));
    }

    /// Somebody waits for a tenure. It is [`Action::Start`]ed, or the machine
    /// answers [`Action::Halted`].
    pub(crate) fn want(&mut self, key: Key) {
        if let Some(slot) = self.slots.get_mut(&key) {
            slot.wanted = true;
            if matches!(slot.phase, Phase::Halted) {
                slot.phase = Phase::Idle;
            }
        }
    }

    /// Nobody waits any more.
    pub(crate) fn unwant(&mut self, key: Key) {
        if let Some(slot) = self.slots.get_mut(&key) {
            slot.wanted = false;
        }
    }

    /// Nobody will want it again. A tenure that is there goes on until its
    /// work stops; then it is released and the lease [`Action::Forgotten`].
    pub(crate) fn close(&mut self, key: Key) {
        if let Some(slot) = self.slots.get_mut(&key) {
            slot.wanted = false;
            slot.closing = true;
        }
    }

    /// The work of this local tenure has stopped. With `let_go` the tenure is
    /// given back even if it was given up before.
    pub(crate) fn work_stopped(&mut self, key: Key, epoch: Epoch, let_go: bool, now: Moment) {
        if let Some(slot) = self.slots.get_mut(&key)
            && slot.epoch == epoch
        {
            slot.work_stopped(let_go, now, &mut self.actions);
        }
    }

    /// The guard noticed by itself that its time is over, and will not hold
    /// again whatever is confirmed.
    pub(crate) fn expired(&mut self, key: Key, epoch: Epoch) {
        if let Some(slot) = self.slots.get_mut(&key)
            && slot.epoch == epoch
            && matches!(slot.phase, Phase::Holding { .. })
        {
            slot.stop(Over::Expired, &mut self.actions);
        }
    }

    /// What the next renewal shall report.
    pub(crate) fn report(&mut self, key: Key, epoch: Epoch, status: RawJson) {
        if let Some(slot) = self.slots.get_mut(&key)
            && slot.epoch == epoch
        {
            slot.statuses += 1;
            slot.status = Some((slot.statuses, status));
        }
    }

    /// Whether a release is still under way.
    pub(crate) fn is_releasing(&self) -> bool {
        self.slots
            .values()
            .any(|slot| matches!(slot.phase, Phase::Releasing { .. }))
    }

    /// When to poll again, if nothing else happens.
    pub(crate) fn next_at(&self) -> Option<Moment> {
        self.slots.values().filter_map(Slot::next_at).min()
    }

    /// Everything that is to be done at `now`.
    pub(crate) fn poll(&mut self, now: Moment) -> Vec<Action> {
        for slot in self.slots.values_mut() {
            slot.settle(now, &mut self.actions);
        }
        self.send_acquires_and_releases(now);
        self.send_renewals(now);
        let over: Vec<Key> = self
            .slots
            .values()
            .filter(|slot| slot.is_over())
            .map(|slot| slot.key)
            .collect();
        for key in over {
            self.slots.remove(&key);
            self.actions.push(Action::Forgotten { key });
        }
        std::mem::take(&mut self.actions)
    }

    fn send_acquires_and_releases(&mut self, now: Moment) {
        for slot in self.slots.values_mut() {
            let (Phase::Contending(next) | Phase::Releasing { next, .. }) = &mut slot.phase else {
                continue;
            };
            if next.due().is_none_or(|at| at > now) {
                continue;
            }
            self.calls += 1;
            let call = CallId(self.calls);
            *next = Next::Sent(Sent { call, at: now });
            let bound = slot.timing.call_bound();
            self.actions.push(match &slot.phase {
                Phase::Releasing { grant, .. } => Action::Release {
                    key: slot.key,
                    call,
                    generation: grant.generation,
                    bound,
                },
                _ => Action::Acquire {
                    key: slot.key,
                    call,
                    claim: slot.claim,
                    bound,
                },
            });
        }
    }

    /// Renews what is due, and with it what will be soon: so the leases of a
    /// process fall into step with each other. One that failed keeps its distance.
    fn send_renewals(&mut self, now: Moment) {
        let due = |slot: &Slot, ahead: u32| {
            let ahead = slot.timing.interval() * ahead / 4;
            slot.renewal_due().is_some_and(|at| at <= now.plus(ahead))
        };
        if !self.slots.values().any(|slot| due(slot, 0)) {
            return;
        }
        let mut going: Vec<&Slot> = self
            .slots
            .values()
            .filter(|slot| due(slot, u32::from(slot.failures == 0)))
            .collect();
        going.sort_by_key(|slot| slot.timing.call_bound());
        let keys: Vec<Key> = going.into_iter().map(|slot| slot.key).collect();
        for batch in self.batches(&keys) {
            self.send_batch(&batch, now);
        }
    }

    /// Splits renewals, the shortest bounds first, into calls that the server takes:
    /// each lease once, not too many, not too long. A call is over when the shortest
    /// of its bounds is, so much longer ones go by themselves.
    fn batches(&self, keys: &[Key]) -> Vec<Vec<Key>> {
        let mut batches: Vec<Vec<Key>> = Vec::new();
        let (mut names, mut bytes) = (BTreeSet::new(), 0);
        let mut shortest = Duration::ZERO;
        for key in keys {
            let Some(slot) = self.slots.get(key) else {
                continue;
            };
            let status = slot.status.as_ref().map_or(0, |(_, raw)| raw.get().len());
            let size = RENEWAL_BYTES + self.holder_bytes + slot.lease.as_str().len() + status;
            let fits = names.len() < RENEWALS_MAX && bytes + size <= RENEWALS_BYTES_MAX * 9 / 10;
            let bound = slot.timing.call_bound();
            let fits = fits && bound <= shortest * BOUNDS_APART;
            if batches.is_empty() || !fits || names.contains(&slot.lease) {
                batches.push(Vec::new());
                names.clear();
                bytes = 0;
                shortest = bound;
            }
            names.insert(slot.lease.clone());
            bytes += size;
            if let Some(batch) = batches.last_mut() {
                batch.push(*key);
            }
        }
        batches
    }

    fn send_batch(&mut self, keys: &[Key], now: Moment) {
        self.calls += 1;
        let call = CallId(self.calls);
        let mut bound = Duration::MAX;
        let (mut renewals, mut carried) = (Vec::new(), Vec::new());
        for key in keys {
            let Some(slot) = self.slots.get_mut(key) else {
                continue;
            };
            bound = bound.min(slot.timing.call_bound());
            let status = slot.status.clone();
            let Some(grant) = slot.renewal_sent(Sent { call, at: now }) else {
                continue;
            };
            carried.push((*key, status.as_ref().map(|(number, _)| *number)));
            renewals.push(Due {
                key: *key,
                generation: grant.generation,
                status: status.map(|(_, status)| status),
            });
        }
        self.renewals.insert(call, carried);
        self.actions.push(Action::Renew {
            call,
            renewals,
            bound,
        });
    }
}
