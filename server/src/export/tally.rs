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
        self.count_one(entry.seq, entry.hash.clone());
    }

    /// One more entry, of which only this is known.
    pub fn count_one(&mut self, seq: u64, hash: String) {
        self.count += 1;
        self.first_seq.get_or_insert(seq);
        self.last = Some((seq, hash));
    }

    /// Holds a trailer against what was counted.
    ///
    /// # Errors
    /// It says something else; in words.
    pub fn check(&self, trailer: &ExportTrailer) -> Result<(), String> {
        self.fits(
            trailer.count,
            trailer.first_seq,
            trailer.last_seq.zip(trailer.last_hash.clone()),
        )
    }

    /// Holds what a trailer says against what was counted.
    ///
    /// # Errors
    /// It says something else; in words.
    pub fn fits(
        &self,
        count: u64,
        first_seq: Option<u64>,
        last: Option<(u64, String)>,
    ) -> Result<(), String> {
        if count != self.count {
            return Err(format!(
                "it says {count} entries, and there are {}",
                self.count
            ));
        }
        if first_seq != self.first_seq {
            return Err("it begins with another entry than there is".into());
        }
        if last != self.last {
            return Err("it ends with another entry than there is".into());
        }
        Ok(())
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
