//! CSV as RFC 4180 has it: CRLF ends a record, every field is in quotes, the
//! first record names the fields. What a spreadsheet would take for a formula
//! gets an apostrophe before it.

use std::borrow::Cow;

use baton_client::{ExportTrailer, Handover, HolderId, LeaseName, Timestamp};
use csv::{QuoteStyle, Terminator, WriterBuilder};

use super::{ExportError, Rows};

/// The header: the fields of an entry, in the order of the contract.
pub const HEADER: [&str; 18] = [
    "seq",
    "at",
    "lease",
    "event",
    "generation",
    "holder",
    "previous_generation",
    "previous_holder",
    "held_from",
    "held_until",
    "reason",
    "incident",
    "actor",
    "actor_address",
    "request_id",
    "details",
    "prev_hash",
    "hash",
];

/// Writes CSV.
#[derive(Debug)]
pub struct Csv;

impl Rows for Csv {
    fn start(&mut self, text: &mut Vec<u8>) -> Result<(), ExportError> {
        record(HEADER.map(Cow::Borrowed), text)
    }

    fn entry(&mut self, entry: &Handover, text: &mut Vec<u8>) -> Result<(), ExportError> {
        record(fields(entry)?, text)
    }

    /// Nothing: a line that is no record would be one to whoever reads it. A
    /// stream of CSV that was cut shows by its connection, and the command line
    /// writes the trailer beside the file.
    fn end(&mut self, _: &ExportTrailer, _: &mut Vec<u8>) -> Result<(), ExportError> {
        Ok(())
    }
}

fn record(fields: [Cow<'_, str>; 18], text: &mut Vec<u8>) -> Result<(), ExportError> {
    let mut writer = WriterBuilder::new()
        .quote_style(QuoteStyle::Always)
        .terminator(Terminator::CRLF)
        .buffer_capacity(1_024)
        .from_writer(text);
    writer.write_record(fields.iter().map(|field| harmless(field).into_owned()))?;
    writer.flush().map_err(csv::Error::from)?;
    Ok(())
}

fn fields(entry: &Handover) -> Result<[Cow<'_, str>; 18], ExportError> {
    let number = |number: u64| Cow::Owned(number.to_string());
    let time = |at: Option<Timestamp>| at.map_or(Cow::Borrowed(""), |at| at.to_string().into());
    let text = |text: &'_ Option<String>| text.clone().unwrap_or_default().into();
    fn holder(holder: &Option<HolderId>) -> Cow<'_, str> {
        holder.as_ref().map_or("", HolderId::as_str).into()
    }
    let details = crate::chain::canonical(&entry.details)?;
    Ok([
        number(entry.seq),
        time(Some(entry.at)),
        entry.lease.as_ref().map_or("", LeaseName::as_str).into(),
        entry.event.as_str().into(),
        number(entry.generation.get()),
        holder(&entry.holder),
        number(entry.previous_generation.get()),
        holder(&entry.previous_holder),
        time(entry.held_from),
        time(entry.held_until),
        entry.reason.as_str().into(),
        text(&entry.incident),
        entry.actor.to_string().into(),
        text(&entry.actor_address),
        text(&entry.request_id),
        String::from_utf8_lossy(&details).into_owned().into(),
        entry.prev_hash.as_str().into(),
        entry.hash.as_str().into(),
    ])
}

/// A field that no spreadsheet takes for a formula. What begins as formulas do, in
/// any of the widths that spreadsheets know, and what begins with an apostrophe,
/// gets one more before it: to have the text back, take one off.
fn harmless(field: &str) -> Cow<'_, str> {
    const BEGINNINGS: &[char] = &[
        '=', '+', '-', '@', '\t', '\r', '\n', '＝', '＋', '－', '＠', '\'',
    ];
    if field.starts_with(BEGINNINGS) {
        Cow::Owned(format!("'{field}"))
    } else {
        Cow::Borrowed(field)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_looks_like_a_formula_is_disarmed_and_can_be_had_back() {
        for text in [
            "=cmd|' /C calc'!A0",
            "+1",
            "-1+1",
            "@SUM(A1)",
            "\t=1",
            "\r=1",
            "\n=1",
            "＝1",
            "'=1",
        ] {
            let shown = harmless(text);
            assert_eq!(shown.strip_prefix('\''), Some(text));
        }
        for text in ["", "a=1", "2026-11-29", "5", "{}", "🦊", " =1"] {
            assert_eq!(harmless(text), text);
        }
    }
}
