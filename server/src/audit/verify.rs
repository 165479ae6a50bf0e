//! Whether a log holds: a machine that is shown its entries one by one, oldest
//! first, and says what is wrong with them. It keeps what the leases were left in,
//! and none of the entries.

use std::collections::BTreeMap;

use baton_client::{Handover, HandoverEvent, LeaseName};

use crate::rules::{Rebuilder, Rebuilt};

use super::{
    Fault,
    links::{Findings, Links, Machine, Place},
    succession::Successions,
};

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
    pub findings: Findings,
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
    /// What holds of every chained log.
    pub links: Links,
    /// An `archived` entry said that the log begins there.
    archived: bool,
    successions: Successions,
    rebuilder: Rebuilder,
}

impl Verifier {
    /// Before the first entry.
    pub fn new(depth: Depth) -> Self {
        Self {
            depth,
            links: Links::new(depth == Depth::Entries),
            archived: false,
            successions: Successions::default(),
            rebuilder: Rebuilder::default(),
        }
    }

    /// After the last entry.
    pub fn finish(self) -> Verified {
        let linked = self.links.finish();
        Verified {
            depth: self.depth,
            count: linked.count,
            begins: match linked.first_seq {
                None | Some(1) => Begins::AtTheBeginning,
                Some(seq) if self.archived => Begins::AfterArchived { seq: seq - 1 },
                Some(seq) => Begins::InTheMiddle { seq },
            },
            last: linked.last,
            findings: linked.findings,
            checkpoints: linked.checkpoints,
            checkpoints_before: linked.checkpoints_before,
            leases: self.rebuilder.leases(),
        }
    }
}

impl Machine for Verifier {
    type Entry = Handover;

    fn push(&mut self, entry: &Handover) {
        self.links.push(entry);
        if self.depth == Depth::Whole {
            // A log that begins in the middle has leases of which it says only
            // later what they were.
            let from_the_beginning = self.links.first().is_some_and(|(seq, _)| *seq == 1);
            for fault in self.successions.follow(entry, from_the_beginning) {
                self.links.found(Some(entry.seq), fault);
            }
            self.rebuilder.follow(entry);
        }
        if entry.event == HandoverEvent::Archived {
            self.archived |= self.links.first() == cut_by(entry).as_ref();
        }
    }

    fn links(&mut self) -> &mut Links {
        &mut self.links
    }
}

impl Verified {
    /// Whether nothing is wrong.
    pub fn holds(&self) -> bool {
        self.findings.is_empty()
    }

    /// Notes something that is wrong.
    pub fn found(&mut self, seq: Option<u64>, fault: Fault) {
        self.findings.note(seq, fault);
    }
}

/// The first entry that an `archived` entry left: its `seq`, and its `prev_hash`.
fn cut_by(entry: &Handover) -> Option<(u64, String)> {
    let seq = entry.details.get("archived_seq")?.as_u64()?;
    let hash = entry.details.get("archived_hash")?.as_str()?;
    Some((seq + 1, hash.to_owned()))
}
