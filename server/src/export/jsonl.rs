//! JSON Lines: each entry in the form that was hashed, byte by byte, with its
//! hash in it; then the trailer.

use baton_client::{ExportTrailer, Handover, TrailerLine};

use crate::chain;

use super::{ExportError, Rows};

/// Writes JSON Lines.
#[derive(Debug)]
pub struct Jsonl;

impl Rows for Jsonl {
    fn start(&mut self, _: &mut Vec<u8>) -> Result<(), ExportError> {
        Ok(())
    }

    fn entry(&mut self, entry: &Handover, text: &mut Vec<u8>) -> Result<(), ExportError> {
        text.extend(chain::whole_form(entry)?);
        text.push(b'\n');
        Ok(())
    }

    fn end(&mut self, trailer: &ExportTrailer, text: &mut Vec<u8>) -> Result<(), ExportError> {
        let trailer = trailer.clone();
        text.extend(chain::canonical(&TrailerLine { trailer })?);
        text.push(b'\n');
        Ok(())
    }
}
