//! Whether the entries of a chained log are what was written, and in order: what
//! holds of every such log, whatever its entries are about.

use std::collections::BTreeMap;

use baton_client::{Handover, Timestamp};

use crate::chain::{self, GENESIS};

use super::{Fault, Finding};

/// Findings that are kept; more are only counted.
const FINDINGS_MAX: usize = 100;
/// How far around an entry its former `seq` is looked for.
const MOVED_MAX: u64 = 1_000;

/// An entry of a chained log.
pub trait Link: Clone {
    /// Its place.
    fn seq(&self) -> u64;
    /// Its time.
    fn at(&self) -> Timestamp;
    /// What it says of the entry before.
    fn prev_hash(&self) -> &str;
    /// What it says of itself.
    fn hash(&self) -> &str;
    /// The hash that it must carry; `None` if it has no canonical form.
    fn true_hash(&self) -> Option<String>;
    /// Gives it another place.
    fn renumber(&mut self, seq: u64);
}

impl Link for Handover {
    fn seq(&self) -> u64 {
        self.seq
    }

    fn at(&self) -> Timestamp {
        self.at
    }

    fn prev_hash(&self) -> &str {
        &self.prev_hash
    }

    fn hash(&self) -> &str {
        &self.hash
    }

    fn true_hash(&self) -> Option<String> {
        chain::hash(self).ok()
    }

    fn renumber(&mut self, seq: u64) {
        self.seq = seq;
    }
}

/// What is shown the entries of a chained log, oldest first.
pub trait Machine {
    /// What an entry is.
    type Entry: Link;

    /// The next entry.
    fn push(&mut self, entry: &Self::Entry);

    /// What it has found out so far of what holds of every chained log.
    fn links(&mut self) -> &mut Links;
}

/// The place of an entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// Its `seq`.
    pub seq: u64,
    /// Its time.
    pub at: Timestamp,
    /// Its hash.
    pub hash: String,
}

/// The machine: it is shown entries one by one, oldest first.
#[derive(Debug, Clone, Default)]
pub struct Links {
    /// Some entries may be left out.
    gaps: bool,
    count: u64,
    /// The first entry's `seq`, and what its `prev_hash` says of the one before.
    first: Option<(u64, String)>,
    last: Option<Place>,
    /// How far it was looked, whatever was there.
    reached: u64,
    /// Hashes that checkpoints saw, by `seq`.
    expected: BTreeMap<u64, Vec<String>>,
    /// How many of those were found.
    contained: u64,
    findings: Findings,
}

/// What is wrong, and how much more is.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Findings {
    /// The first of them.
    pub kept: Vec<Finding>,
    /// How many more there are.
    pub more: u64,
}

impl Findings {
    /// Whether nothing is wrong.
    pub fn is_empty(&self) -> bool {
        self.count() == 0
    }

    /// How many there are.
    pub fn count(&self) -> u64 {
        self.kept.len() as u64 + self.more
    }

    /// Notes something that is wrong.
    pub fn note(&mut self, seq: Option<u64>, fault: Fault) {
        if self.kept.len() < FINDINGS_MAX {
            self.kept.push(Finding { seq, fault });
        } else {
            self.more += 1;
        }
    }
}

/// What came of it.
#[derive(Debug, Clone)]
pub struct Linked {
    /// How many entries.
    pub count: u64,
    /// The first one's `seq`.
    pub first_seq: Option<u64>,
    /// The last one.
    pub last: Option<Place>,
    /// What is wrong.
    pub findings: Findings,
    /// How many checkpoints the log contains.
    pub checkpoints: u64,
    /// How many are of a part that was not seen.
    pub checkpoints_before: u64,
}

impl Links {
    /// Before the first entry. `gaps`: a filter leaves some out.
    pub fn new(gaps: bool) -> Self {
        Self {
            gaps,
            ..Self::default()
        }
    }

    /// A checkpoint saw this hash at this `seq`: to be said before the entry is
    /// shown.
    pub fn expect(&mut self, seq: u64, hash: String) {
        if seq == 0 && hash == GENESIS {
            // There was nothing yet, which holds of every log.
            self.contained += 1;
        } else {
            self.expected.entry(seq).or_default().push(hash);
        }
    }

    /// How many entries it was shown.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// The first entry that it was shown: its `seq`, and its `prev_hash`.
    pub fn first(&self) -> Option<&(u64, String)> {
        self.first.as_ref()
    }

    /// The last entry that it was shown, unless that could not be read.
    pub fn last(&self) -> Option<&Place> {
        self.last.as_ref()
    }

    /// Notes something that is wrong.
    pub fn found(&mut self, seq: Option<u64>, fault: Fault) {
        self.findings.note(seq, fault);
    }

    /// The next entry is there and cannot be read as one.
    pub fn unreadable(&mut self, seq: u64, why: String) {
        self.count += 1;
        self.found(Some(seq), Fault::Unreadable(why));
        self.pass_over(seq);
    }

    /// Nothing from this place on can be read, so nothing is known of it.
    pub fn stopped(&mut self, seq: u64, why: String) {
        self.found(Some(seq), Fault::Stopped(why));
        self.expected.retain(|expected, _| *expected < seq);
        self.pass_over(seq);
    }

    /// What follows is held against it as far as that can be done: its hash is not
    /// known, so the next one's word is taken for it.
    fn pass_over(&mut self, seq: u64) {
        self.last = None;
        self.reached = self.reached.max(seq);
        self.first.get_or_insert((seq, String::new()));
    }

    /// The next entry.
    pub fn push(&mut self, entry: &impl Link) {
        let seq = entry.seq();
        self.count += 1;
        let whole = entry.true_hash().is_some_and(|hash| hash == entry.hash());
        if !whole {
            let was = moved_from(entry);
            self.found(Some(seq), Fault::Edited { was });
        }
        for hash in self.expected.remove(&seq).unwrap_or_default() {
            if whole && hash == entry.hash() {
                self.contained += 1;
            } else {
                self.found(Some(seq), Fault::Replaced);
            }
        }
        self.follows(entry);
        if self.first.is_none() {
            self.first = Some((seq, entry.prev_hash().to_owned()));
        }
        self.reached = self.reached.max(seq);
        self.last = Some(Place {
            seq,
            at: entry.at(),
            hash: entry.hash().to_owned(),
        });
    }

    /// Holds an entry against the one before it.
    fn follows(&mut self, entry: &impl Link) {
        let (seq, at) = (entry.seq(), entry.at());
        let Some(last) = &self.last else {
            if seq == 1 && entry.prev_hash() != GENESIS {
                self.found(Some(1), Fault::Unchained);
            }
            return;
        };
        let (last_seq, last_at) = (last.seq, last.at);
        let chained = entry.prev_hash() == last.hash;
        if seq <= last_seq {
            self.found(Some(seq), Fault::OutOfOrder { after: last_seq });
        } else if seq == last_seq + 1 {
            if !chained {
                self.found(Some(seq), Fault::Unchained);
            }
        } else if !self.gaps {
            let (from, to) = (last_seq + 1, seq - 1);
            self.found(Some(seq), Fault::Missing { from, to });
        }
        if at < last_at {
            self.found(Some(seq), Fault::TimeFell { from: last_at });
        }
    }

    /// The log itself says that it ends there.
    pub fn ends_with(&mut self, seq: u64, hash: &str) {
        let fits = match &self.last {
            Some(last) => last.seq == seq && last.hash == hash,
            // Nothing is known of one that cannot be read, and that was said.
            None => self.reached > 0 || seq == 0,
        };
        if !fits {
            let last = self.last.as_ref().map(|last| last.seq);
            self.found(last, Fault::WrongHead { seq });
        }
    }

    /// After the last entry.
    pub fn finish(mut self) -> Linked {
        let first = self.first.as_ref().map_or(1, |(seq, _)| *seq);
        let mut checkpoints_before = 0;
        for (seq, hashes) in std::mem::take(&mut self.expected) {
            if seq < first {
                checkpoints_before += hashes.len() as u64;
            } else if seq > self.reached {
                let last = self.last.as_ref().map(|last| last.seq);
                self.found(last, Fault::Behind { seq });
            } else {
                self.found(Some(seq), Fault::Replaced);
            }
        }
        Linked {
            count: self.count,
            first_seq: self.first.map(|(seq, _)| seq),
            last: self.last,
            findings: self.findings,
            checkpoints: self.contained,
            checkpoints_before,
        }
    }
}

/// The `seq` with which an entry's hash is that of its fields.
fn moved_from(entry: &impl Link) -> Option<u64> {
    let seq = entry.seq();
    let near = seq.saturating_sub(MOVED_MAX).max(1)..=seq.saturating_add(MOVED_MAX);
    let mut moved = entry.clone();
    near.into_iter().find(|seq| {
        moved.renumber(*seq);
        moved.true_hash().is_some_and(|hash| hash == entry.hash())
    })
}
