//! A line of an export, read strictly: what is not exactly an entry, with nothing
//! left out and nothing added, is none.

use baton_client::{ExportTrailer, Handover, TrailerLine};
use serde_json::Value;

use crate::chain;

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
    // Mostly they are the very bytes. Fields that nobody knows would be left out
    // of the hash, and must not be believed.
    let form = chain::whole_form(&entry).map_err(|error| error.to_string())?;
    if form != line.as_bytes() {
        let value: Value = serde_json::from_str(line).map_err(|error| error.to_string())?;
        let known = serde_json::to_value(&entry).map_err(|error| error.to_string())?;
        if value != known {
            return Err("it has other fields than an entry, or some in another form".into());
        }
    }
    Ok(Line::Entry(Box::new(entry)))
}
