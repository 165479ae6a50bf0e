//! The checkpoint that a server looks for in its log when it starts.

use std::{fs, io, path::Path};

use baton_client::limits::NUMBER_MAX;
use serde::Deserialize;

use crate::rules::keeping::Seen;

/// Why a file with checkpoints is of no use.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// It cannot be read.
    #[error("the file cannot be read")]
    Io(#[from] io::Error),
    /// There is no checkpoint in it.
    #[error("there is no checkpoint in it: it has one a line, as `baton checkpoint` prints it")]
    Empty,
    /// Its last line is none.
    #[error("its last line is no checkpoint, as {{\"seq\":…,\"hash\":…}}")]
    Malformed(#[source] serde_json::Error),
    /// Its last line says what no log can have.
    #[error("its last line is no checkpoint: `{0}` is no hash of 64 lower-case hex digits")]
    Hash(String),
    /// Its last line says what no log can have.
    #[error("its last line is no checkpoint: no log has an entry {0}")]
    Seq(u64),
}

/// What counts of a checkpoint here; who signed it is for `baton verify`.
#[derive(Deserialize)]
struct Line {
    seq: u64,
    hash: String,
}

/// The newest checkpoint in a file, which is its last line.
///
/// # Errors
/// The file cannot be read, or the line is no checkpoint.
pub fn newest(file: &Path) -> Result<Seen, ReadError> {
    let text = fs::read_to_string(file)?;
    let mut lines = text.lines().rev().map(str::trim);
    let last = lines
        .find(|line| !line.is_empty())
        .ok_or(ReadError::Empty)?;
    let Line { seq, hash } = serde_json::from_str(last).map_err(ReadError::Malformed)?;
    if seq > NUMBER_MAX {
        return Err(ReadError::Seq(seq));
    }
    let is_hex = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
    if hash.len() != 64 || !hash.bytes().all(is_hex) {
        return Err(ReadError::Hash(hash));
    }
    Ok(Seen { seq, hash })
}
