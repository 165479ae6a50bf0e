//! Whether a log holds: a machine that is shown its entries one by one, oldest
//! first, and says what is wrong with them. It keeps what the leases were left in,
//! and none of the entries.

use std::collections::BTreeMap;

use baton_client::{Handover, HandoverEvent, LeaseName, Timestamp};

use crate::{
    chain::{self, GENESIS},
    rules::{Rebuilder, Rebuilt},
};

use super::{Fault, Finding, succession::Successions};

/// Findings that are kept; more are only counted.
const FINDINGS_MAX: usize = 100;
/// How far around an entry its former `seq` is looked for.
const MOVED_MAX: u64 = 1_000;

/// How much is asked of a log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Depth {
    /// All that must be true of a log.
    Whole,
    /// The chain, `seq` and `at`: in constant memory, however many leases.
    Chain,
    /// That each entry is what was written, and that they are in order. A filter
    /// leaves some out.
    Entries,
}

/// Where a log begins.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Begins {
    /// With the first entry there ever was.
    AtTheBeginning,
    /// After what was archived, as an `archived` entry says.
    AfterArchived {
        /// The last archived entry.
        seq: u64,
    },
    /// Somewhere: what came before was not seen.
    InTheMiddle {
        /// The first entry.
        seq: u64,
    },
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

/// What came of verifying.
#[derive(Debug, Clone)]
pub struct Verified {
    /// How much was asked of it.
    pub depth: Depth,
    /// How many entries.
    pub count: u64,
    /// Where it begins.
    pub begins: Begins,
    /// The last entry; `None` if there is none.
    pub last: Option<Place>,
    /// What is wrong.
    pub findings: Vec<Finding>,
    /// How much more is wrong.
    pub more: u64,
    /// How many checkpoints the log contains.
    pub checkpoints: u64,
    /// How many are of a part that was not seen.
    pub checkpoints_before: u64,
    /// What the log says of each lease, if that was asked for.
    pub leases: BTreeMap<LeaseName, Rebuilt>,
}

/// The machine.
#[derive(Debug, Clone)]
pub struct Verifier {
    depth: Depth,
    count: u64,
    /// The first entry's `seq`, and what its `prev_hash` says of the one before.
    first: Option<(u64, String)>,
    /// An `archived` entry said that the log begins there.
    archived: bool,
    last: Option<Place>,
    successions: Successions,
    rebuilder: Rebuilder,
    /// Hashes that checkpoints saw, by `seq`.
    expected: BTreeMap<u64, Vec<String>>,
    checkpoints: u64,
    findings: Vec<Finding>,
    more: u64,
}

impl Verifier {
    /// Before the first entry.
    pub fn new(depth: Depth) -> Self {
        Self {
            depth,
            count: 0,
            first: None,
            archived: false,
            last: None,
            successions: Successions::default(),
            rebuilder: Rebuilder::default(),
            expected: BTreeMap::new(),
            checkpoints: 0,
            findings: Vec::new(),
            more: 0,
        }
    }

    /// A checkpoint saw this hash at this `seq`: to be said before the entry is
    /// shown.
    pub fn expect(&mut self, seq: u64, hash: String) {
        if seq == 0 && hash == GENESIS {
            // There was nothing yet, which holds of every log.
            self.checkpoints += 1;
        } else {
            self.expected.entry(seq).or_default().push(hash);
        }
    }

    /// How many entries it was shown.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// The last entry that it was shown.
    pub fn last(&self) -> Option<&Place> {
        self.last.as_ref()
    }

    /// Notes something that is wrong.
    pub fn found(&mut self, seq: Option<u64>, fault: Fault) {
        note(&mut self.findings, &mut self.more, Finding { seq, fault });
    }

    /// The next entry is there and is none.
    pub fn unreadable(&mut self, seq: u64, why: String) {
        self.count += 1;
        self.found(Some(seq), Fault::Unreadable(why));
        // What follows is held against it as far as that can be done: its hash
        // is not known, so the next one's word is taken for it.
        self.last = None;
        self.first.get_or_insert((seq, String::new()));
    }

    /// The next entry.
    pub fn push(&mut self, entry: &Handover) {
        self.count += 1;
        let whole = match chain::hash(entry) {
            Ok(hash) => hash == entry.hash,
            Err(_) => false,
        };
        if !whole {
            let was = moved_from(entry);
            self.found(Some(entry.seq), Fault::Edited { was });
        }
        for hash in self.expected.remove(&entry.seq).unwrap_or_default() {
            if whole && hash == entry.hash {
                self.checkpoints += 1;
            } else {
                self.found(Some(entry.seq), Fault::Replaced);
            }
        }
        self.follows(entry);
        if self.first.is_none() {
            self.first = Some((entry.seq, entry.prev_hash.clone()));
        }
        if self.depth == Depth::Whole {
            // A log that begins in the middle has leases of which it says only
            // later what they were.
            let from_the_beginning = self.first.as_ref().is_some_and(|(seq, _)| *seq == 1);
            for fault in self.successions.follow(entry, from_the_beginning) {
                self.found(Some(entry.seq), fault);
            }
            self.rebuilder.follow(entry);
        }
        if entry.event == HandoverEvent::Archived {
            self.archived |= self.first == cut_by(entry);
        }
        self.last = Some(Place {
            seq: entry.seq,
            at: entry.at,
            hash: entry.hash.clone(),
        });
    }

    /// Holds an entry against the one before it.
    fn follows(&mut self, entry: &Handover) {
        let Some(last) = &self.last else {
            if entry.seq == 1 && entry.prev_hash != GENESIS {
                self.found(Some(1), Fault::Unchained);
            }
            return;
        };
        let (last_seq, last_at) = (last.seq, last.at);
        let chained = entry.prev_hash == last.hash;
        if entry.seq <= last_seq {
            self.found(Some(entry.seq), Fault::OutOfOrder { after: last_seq });
        } else if entry.seq == last_seq + 1 {
            if !chained {
                self.found(Some(entry.seq), Fault::Unchained);
            }
        } else if self.depth != Depth::Entries {
            let (from, to) = (last_seq + 1, entry.seq - 1);
            self.found(Some(entry.seq), Fault::Missing { from, to });
        }
        if entry.at < last_at {
            self.found(Some(entry.seq), Fault::TimeFell { from: last_at });
        }
    }

    /// After the last entry.
    pub fn finish(mut self) -> Verified {
        let first = self.first.as_ref().map_or(1, |(seq, _)| *seq);
        let mut checkpoints_before = 0;
        for (seq, hashes) in std::mem::take(&mut self.expected) {
            if seq < first {
                checkpoints_before += hashes.len() as u64;
            } else if self.last.as_ref().is_none_or(|last| seq > last.seq) {
                let last = self.last.as_ref().map(|last| last.seq);
                self.found(last, Fault::Behind { seq });
            } else {
                self.found(Some(seq), Fault::Replaced);
            }
        }
        let begins = match &self.first {
            None => Begins::AtTheBeginning,
            Some((1, _)) => Begins::AtTheBeginning,
            Some((seq, _)) if self.archived => Begins::AfterArchived { seq: seq - 1 },
            Some((seq, _)) => Begins::InTheMiddle { seq: *seq },
        };
        Verified {
            depth: self.depth,
            count: self.count,
            begins,
            last: self.last,
            findings: self.findings,
            more: self.more,
            checkpoints: self.checkpoints,
            checkpoints_before,
            leases: self.rebuilder.leases(),
        }
    }
}

impl Verified {
    /// Whether nothing is wrong.
    pub fn holds(&self) -> bool {
        self.findings.is_empty()
    }

    /// Notes something that is wrong.
    pub fn found(&mut self, seq: Option<u64>, fault: Fault) {
        note(&mut self.findings, &mut self.more, Finding { seq, fault });
    }
}

fn note(findings: &mut Vec<Finding>, more: &mut u64, finding: Finding) {
    if findings.len() < FINDINGS_MAX {
        findings.push(finding);
    } else {
        *more += 1;
    }
}

/// The first entry that an `archived` entry left: its `seq`, and its `prev_hash`.
fn cut_by(entry: &Handover) -> Option<(u64, String)> {
    let seq = entry.details.get("archived_seq")?.as_u64()?;
    let hash = entry.details.get("archived_hash")?.as_str()?;
    Some((seq + 1, hash.to_owned()))
}

/// The `seq` with which an entry's hash is that of its fields.
fn moved_from(entry: &Handover) -> Option<u64> {
    let near = entry.seq.saturating_sub(MOVED_MAX).max(1)..=entry.seq.saturating_add(MOVED_MAX);
    let mut moved = entry.clone();
    near.into_iter().find(|seq| {
        moved.seq = *seq;
        chain::hash(&moved).is_ok_and(|hash| hash == entry.hash)
    })
}
