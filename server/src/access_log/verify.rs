//! Whether the access log holds: nothing in it was changed, deleted, added or
//! moved. Its entries are about nothing that could be held against them, so it is
//! the chain alone.

use baton_client::{AccessEntry, AccessQuery, AccessTrailer, Timestamp, TrailerLine};

use crate::{
    audit::{Fault, Link, Linked, Links, Machine, strictly},
    database::is_damage,
    store::{TO_THE_END, show},
};

use super::{AccessLog, entry};

impl Link for AccessEntry {
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
        entry::hash(self).ok()
    }

    fn renumber(&mut self, seq: u64) {
        self.seq = seq;
    }
}

/// The machine.
#[derive(Debug, Clone, Default)]
pub struct AccessVerifier {
    /// What holds of every chained log.
    pub links: Links,
}

impl Machine for AccessVerifier {
    type Entry = AccessEntry;

    fn push(&mut self, entry: &AccessEntry) {
        self.links.push(entry);
    }

    fn links(&mut self) -> &mut Links {
        &mut self.links
    }
}

/// What a line of an export is.
#[derive(Debug, Clone, PartialEq)]
pub enum AccessLine {
    /// An entry.
    Entry(Box<AccessEntry>),
    /// What ends an export.
    Trailer(Box<AccessTrailer>),
}

/// Reads a line of an export, strictly.
///
/// # Errors
/// It is neither; in words.
pub fn read_line(line: &str) -> Result<AccessLine, String> {
    match strictly(line) {
        Ok(entry) => Ok(AccessLine::Entry(Box::new(entry))),
        Err(why) => match serde_json::from_str(line) {
            Ok(TrailerLine { trailer }) => Ok(AccessLine::Trailer(Box::new(trailer))),
            Err(_) => Err(why),
        },
    }
}

impl AccessLog {
    /// Verifies all of it, and that it ends where the database says.
    ///
    /// # Errors
    /// The database does not answer.
    pub async fn verify(&self) -> sqlx::Result<Linked> {
        let mut verifier = AccessVerifier::default();
        match self.show_all(&mut verifier).await {
            Ok(()) => {}
            Err(error) if is_damage(&error) => {
                let what = format!("where the log ends cannot be read: {error}");
                verifier.links.found(None, Fault::Stopped(what));
            }
            Err(error) => return Err(error),
        }
        if let Some(seq) = verifier.links.first().map(|(seq, _)| *seq)
            && seq > 1
        {
            // Nothing ever archives it.
            let (from, to) = (1, seq - 1);
            verifier.links.found(Some(seq), Fault::Missing { from, to });
        }
        Ok(verifier.links.finish())
    }

    async fn show_all(&self, verifier: &mut AccessVerifier) -> sqlx::Result<()> {
        let tip = self.ends().await?.tip;
        if !self.show(verifier, 0, tip.seq).await? {
            return Ok(());
        }
        verifier.links.ends_with(tip.seq, &tip.hash);
        // What stands after that was written meanwhile, or past Baton.
        if !self.show(verifier, tip.seq, TO_THE_END).await? {
            return Ok(());
        }
        let end = self.ends().await?.tip.seq;
        let last = verifier.links.last().map(|last| last.seq);
        if last.is_some_and(|last| last > end) {
            verifier.links.found(last, Fault::WrongHead { seq: end });
        }
        Ok(())
    }

    /// Shows all between; whether that could be read to its end.
    async fn show(
        &self,
        verifier: &mut AccessVerifier,
        mut after: u64,
        upto: u64,
    ) -> sqlx::Result<bool> {
        let all = AccessQuery::default();
        while after < upto {
            let read = |after, upto| self.stretch(&all, after, upto);
            match show(verifier, after, upto, read).await? {
                Some(shown) => after = shown,
                None => return Ok(false),
            }
        }
        Ok(true)
    }
}
