//! What an export counts while it is written or read, for its trailer.

use baton_client::{ExportTrailer, Handover, HandoverQuery};

use crate::store::LogEnd;

/// What an export has given out.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Tally {
    filter: HandoverQuery,
    /// How many entries.
    pub count: u64,
    /// The first one's `seq`.
    pub first_seq: Option<u64>,
    /// The last one's `seq` and hash.
    pub last: Option<(u64, String)>,
}

impl Tally {
    /// Nothing yet of what a filter selects.
    pub fn new(filter: HandoverQuery) -> Self {
        Self {
            filter,
            ..Self::default()
        }
    }

    /// One more entry.
    pub fn count(&mut self, entry: &Handover) {
        self.count += 1;
        self.first_seq.get_or_insert(entry.seq);
        self.last = Some((entry.seq, entry.hash.clone()));
    }

    /// The trailer of an export that is whole now.
    pub fn trailer(&self, end: &LogEnd) -> ExportTrailer {
        let (last_seq, last_hash) = self.last.clone().unzip();
        ExportTrailer {
            filter: self.filter.clone(),
            count: self.count,
            first_seq: self.first_seq,
            last_seq,
            last_hash,
            head_seq: end.head.seq,
            head_hash: end.head.hash.clone(),
            now: end.now,
        }
    }
}
