//! The checkpoints that a log must contain.

use std::{collections::BTreeSet, fs, path::PathBuf};

use crate::{
    audit::{Depth, Fault, Verifier},
    checkpoint::{Checkpoint, is_cut_off},
};

use super::super::{Exit, Failure, output, safe::safe};

/// What checkpoints saw.
pub struct Expected {
    seen: Vec<(u64, String)>,
    /// What is wrong with checkpoints themselves.
    pub unsigned: Vec<Fault>,
}

impl Expected {
    /// Reads files with checkpoints, one a line. Each must be signed with the key
    /// that it names, and all with the same: this one, if it is known.
    pub fn read(files: &[PathBuf], signed_by: Option<&str>) -> Result<Self, Failure> {
        let mut expected = Self {
            seen: Vec::new(),
            unsigned: Vec::new(),
        };
        let mut keys: BTreeSet<String> = BTreeSet::new();
        keys.extend(signed_by.map(|key| key.trim().to_ascii_lowercase()));
        for file in files {
            let shown = file.display().to_string();
            let shown = safe(&shown);
            let text = fs::read_to_string(file).map_err(|error| {
                Failure::new(Exit::Usage, format!("{shown} cannot be read: {error}"))
            })?;
            let before = expected.seen.len();
            for (i, line) in text.lines().enumerate() {
                if line.trim().is_empty() {
                    continue;
                }
                let place = i + 1;
                let read = serde_json::from_str::<Checkpoint>(line);
                if is_cut_off(&read) {
                    output::note(&format!("line {place} of {shown} is cut off, and left out"));
                    continue;
                }
                let read = read.map_err(|error| {
                    let what = format!("line {place} of {shown} is no checkpoint: {error}");
                    Failure::new(Exit::Usage, what)
                })?;
                expected.check(&read, &mut keys);
                expected.seen.push((read.seq, read.hash));
            }
            if expected.seen.len() == before {
                return Err(Failure::new(
                    Exit::Usage,
                    format!("there is no checkpoint in {shown}"),
                ));
            }
        }
        Ok(expected)
    }

    fn check(&mut self, checkpoint: &Checkpoint, keys: &mut BTreeSet<String>) {
        let seq = checkpoint.seq;
        if !checkpoint.is_signed() {
            let what = format!("that of seq {seq} is not its own");
            self.unsigned.push(Fault::Signature(what));
        } else if keys.is_empty() {
            keys.insert(checkpoint.key.clone());
        } else if !keys.contains(&checkpoint.key) {
            let what = format!("that of seq {seq} is of another key, {}", checkpoint.key);
            self.unsigned.push(Fault::Signature(what));
        }
    }

    /// Whether there is any.
    pub fn is_some(&self) -> bool {
        !self.seen.is_empty()
    }

    /// A verifier that looks for them.
    pub fn verifier(&self, depth: Depth) -> Verifier {
        let mut verifier = Verifier::new(depth);
        for (seq, hash) in &self.seen {
            verifier.links.expect(*seq, hash.clone());
        }
        verifier
    }
}
