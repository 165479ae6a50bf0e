//! Reads back what an export wrote, byte by byte: nothing is removed from a
//! database because of a file that nobody has looked into.

use std::io::BufRead;

use baton_client::{ExportTrailer, Handover, TrailerLine};

use crate::chain::{self, GENESIS};

/// Whether a file has the chain of entries that its trailer says, from the one that
/// comes after `after`, without a gap, each in its canonical form, and nothing else.
///
/// # Errors
/// What is wrong, in words.
pub fn read_back(
    mut file: impl BufRead,
    trailer: &ExportTrailer,
    after: u64,
) -> Result<(), String> {
    let mut line = Vec::new();
    let mut last: Option<(u64, String)> = None;
    let mut count = 0;
    loop {
        line.clear();
        let read = file.read_until(b'\n', &mut line);
        if read.map_err(|error| error.to_string())? == 0 {
            return Err("it has no trailer".into());
        }
        if line.pop() != Some(b'\n') {
            return Err("its last line is cut".into());
        }
        if let Ok(TrailerLine { trailer: found }) = serde_json::from_slice(&line) {
            let whole = found == *trailer
                && count == trailer.count
                && last == trailer.last_seq.zip(trailer.last_hash.clone())
                && last.as_ref().map(|(_, hash)| hash) == Some(&trailer.head_hash);
            if !whole {
                return Err("its trailer is not that of what came before it".into());
            }
            let end = file.read_until(b'\n', &mut line);
            return match end {
                Ok(0) => Ok(()),
                Ok(_) => Err("something follows its trailer".into()),
                Err(error) => Err(error.to_string()),
            };
        }
        let entry: Handover =
            serde_json::from_slice(&line).map_err(|why| format!("entry {}: {why}", count + 1))?;
        let follows = match &last {
            Some((seq, hash)) => entry.seq == seq + 1 && entry.prev_hash == *hash,
            None if entry.seq != after + 1 => {
                let (seq, first) = (entry.seq, after + 1);
                return Err(format!(
                    "it begins with entry {seq}, and entry {first} is where the log should begin"
                ));
            }
            None => after > 0 || entry.prev_hash == GENESIS,
        };
        let right = chain::hash(&entry).is_ok_and(|hash| hash == entry.hash)
            && chain::whole_form(&entry).is_ok_and(|form| form == line);
        if !follows || !right {
            return Err(format!("entry {} is not as it was written", entry.seq));
        }
        count += 1;
        last = Some((entry.seq, entry.hash));
    }
}

#[cfg(test)]
mod tests {
    use baton_client::{Actor, HandoverEvent, HandoverQuery, Timestamp};

    use super::*;
    use crate::{
        chain::Head,
        rules::{Asker, Draft},
    };

    /// Three entries and their trailer.
    fn export() -> (Vec<String>, ExportTrailer) {
        let mut head = Head::genesis();
        let mut lines = Vec::new();
        for i in 0..3 {
            let draft = Draft {
                at: Timestamp::from_micros(i),
                lease: None,
                event: HandoverEvent::Forgotten,
                generation: baton_client::Generation::ZERO,
                holder: None,
                previous_generation: baton_client::Generation::ZERO,
                previous_holder: None,
                held: None,
                reason: format!("reason {i}"),
                incident: None,
                asker: Asker {
                    actor: Actor::Baton,
                    address: None,
                    request_id: None,
                },
                details: serde_json::Map::new(),
            };
            let entry = head.seal(draft).expect("has a form");
            let form = chain::whole_form(&entry).expect("has a form");
            lines.push(String::from_utf8(form).expect("is text"));
        }
        let trailer = ExportTrailer {
            filter: HandoverQuery::default(),
            count: 3,
            first_seq: Some(1),
            last_seq: Some(3),
            last_hash: Some(head.hash.clone()),
            head_seq: 3,
            head_hash: head.hash,
            now: Timestamp::from_micros(9),
        };
        let last = TrailerLine {
            trailer: trailer.clone(),
        };
        let form = chain::canonical(&last).expect("has a form");
        lines.push(String::from_utf8(form).expect("is text"));
        (lines, trailer)
    }

    fn read(lines: &[String], trailer: &ExportTrailer) -> Result<(), String> {
        let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
        read_back(text.as_bytes(), trailer, 0)
    }

    #[test]
    fn what_was_written_holds_and_nothing_else_does() {
        let (lines, trailer) = export();
        assert_eq!(read(&lines, &trailer), Ok(()));
        let without = |i: usize| {
            let mut lines = lines.clone();
            lines.remove(i);
            read(&lines, &trailer)
        };
        for i in 0..lines.len() {
            without(i).expect_err("a line is missing");
            let mut twice = lines.clone();
            twice.insert(i, lines[i].clone());
            read(&twice, &trailer).expect_err("a line is there twice");
        }
        let mut edited = lines.clone();
        edited[1] = edited[1].replace("reason 1", "reason 7");
        read(&edited, &trailer).expect_err("it was edited");
        let mut spaced = lines.clone();
        spaced[1] = spaced[1].replace("\":", "\": ");
        read(&spaced, &trailer).expect_err("it is not the canonical form");
        let text = lines.join("\n");
        read_back(text.as_bytes(), &trailer, 0).expect_err("the last line is cut");
        let text = format!("{text}\n");
        read_back(text.as_bytes(), &trailer, 1).expect_err("it begins too early");
        let rest: Vec<&str> = text.lines().skip(1).collect();
        let mut trailer = trailer;
        (trailer.count, trailer.first_seq) = (2, Some(2));
        let last = TrailerLine {
            trailer: trailer.clone(),
        };
        let last = String::from_utf8(chain::canonical(&last).expect("has a form"));
        let rest = format!("{}\n{}\n{}\n", rest[0], rest[1], last.expect("is text"));
        assert_eq!(read_back(rest.as_bytes(), &trailer, 1), Ok(()));
        read_back(rest.as_bytes(), &trailer, 0).expect_err("its beginning is missing");
    }
}
