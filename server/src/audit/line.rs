//! A line of an export, read strictly: what is not exactly an entry, with nothing
//! left out and nothing added, is none.

use baton_client::{ExportTrailer, Handover, TrailerLine};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value;

use crate::chain;

use super::once::Once;

/// What a line is.
#[derive(Debug, Clone, PartialEq)]
pub enum Line {
    /// An entry.
    Entry(Box<Handover>),
    /// What ends an export.
    Trailer(Box<ExportTrailer>),
}

/// Reads a line. The bytes need not be the canonical form, as those of
/// `baton history --json` are not; the fields must be.
///
/// # Errors
/// It is neither; in words.
pub fn read_line(line: &str) -> Result<Line, String> {
    let read: Result<Handover, _> = serde_json::from_str(line);
    let entry = match read {
        Ok(entry) => entry,
        Err(error) => {
            return match serde_json::from_str::<TrailerLine>(line) {
                Ok(TrailerLine { trailer }) => Ok(Line::Trailer(Box::new(trailer))),
                Err(_) => Err(error.to_string()),
            };
        }
    };
    // Mostly they are the very bytes.
    let form = chain::whole_form(&entry).map_err(|error| error.to_string())?;
    if form != line.as_bytes() {
        same(line, &entry)?;
    }
    Ok(Line::Entry(Box::new(entry)))
}

/// Reads JSON of which nothing is left out or read in more than one way.
///
/// # Errors
/// It is something else, or has more to it; in words.
pub fn strictly<T: DeserializeOwned + Serialize>(line: &str) -> Result<T, String> {
    let read: T = serde_json::from_str(line).map_err(|error| error.to_string())?;
    same(line, &read)?;
    Ok(read)
}

/// Fields that nobody knows would be left out of the hash, and of a field that is
/// there twice only one is in it: neither must be believed.
fn same(line: &str, read: &impl Serialize) -> Result<(), String> {
    let failed = |error: serde_json::Error| error.to_string();
    let Once = serde_json::from_str(line).map_err(failed)?;
    let value: Value = serde_json::from_str(line).map_err(failed)?;
    if value != serde_json::to_value(read).map_err(failed)? {
        return Err("it has other fields than an entry, or some in another form".into());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whatever_could_be_read_in_two_ways_is_refused() {
        let fields = serde_json::json!({
            "seq": 1, "at": "2026-11-29T02:14:07.000001Z", "lease": "a", "event": "forced",
            "generation": 2, "holder": null, "previous_generation": 1, "previous_holder": "h",
            "held_from": "2026-11-29T02:14:06.000001Z",
            "held_until": "2026-11-29T02:14:07.000001Z", "reason": "x", "incident": null,
            "actor": "user:ana", "actor_address": null, "request_id": null,
            "details": { "attempt": 0 }, "prev_hash": "0".repeat(64), "hash": "f".repeat(64),
        });
        let line = fields.to_string();
        assert!(matches!(read_line(&line), Ok(Line::Entry(_))), "{line}");
        for (from, to, key) in [
            ("{\"attempt\":0", "{\"attempt\":7,\"attempt\":0", "attempt"),
            (
                "{\"attempt\":0",
                "{\"a\":{\"b\":1,\"b\":1},\"attempt\":0",
                "b",
            ),
            (
                "\"reason\":\"x\"",
                "\"reason\":\"y\",\"reason\":\"x\"",
                "reason",
            ),
        ] {
            let twice = line.replacen(from, to, 1);
            assert_ne!(twice, line);
            let why = read_line(&twice).expect_err("a key is there twice");
            assert!(why.contains(&format!("`{key}`")), "{why}");
        }
    }
}
