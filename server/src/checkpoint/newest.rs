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

/// Whether a line that was read ends in the middle.
pub fn is_cut_off<T>(read: &serde_json::Result<T>) -> bool {
    read.as_ref().is_err_and(serde_json::Error::is_eof)
}

/// What counts of a checkpoint here; who signed it is for `baton verify`.
#[derive(Deserialize)]
struct Line {
    seq: u64,
    hash: String,
}

/// The newest checkpoint in a file, which is its last line. One that was cut off when
/// it was written does not count.
///
/// # Errors
/// The file cannot be read, or the line is no checkpoint.
pub fn newest(file: &Path) -> Result<Seen, ReadError> {
    let text = fs::read_to_string(file)?;
    let lines = text.lines().rev().filter(|line| !line.trim().is_empty());
    let last = lines
        .map(serde_json::from_str::<Line>)
        .find(|read| !is_cut_off(read))
        .ok_or(ReadError::Empty)?;
    let Line { seq, hash } = last.map_err(ReadError::Malformed)?;
    if seq > NUMBER_MAX {
        return Err(ReadError::Seq(seq));
    }
    let is_hex = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
    if hash.len() != 64 || !hash.bytes().all(is_hex) {
        return Err(ReadError::Hash(hash));
    }
    Ok(Seen { seq, hash })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::checkpoint::append;

    #[test]
    fn a_line_that_was_cut_off_spoils_no_other() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("checkpoints");
        let line = |seq: u64| format!(r#"{{"seq":{seq},"hash":"{}"}}"#, "a".repeat(64));
        assert!(newest(&file).is_err());
        append(&file, &line(1)).expect("it is written");
        let half = &line(2)[..30];
        let whole = fs::read_to_string(&file).expect("it is there");
        fs::write(&file, format!("{whole}{half}")).expect("it is written");
        assert_eq!(newest(&file).expect("it has one").seq, 1);
        append(&file, &line(3)).expect("it is written");
        assert_eq!(newest(&file).expect("it has one").seq, 3);
        let text = fs::read_to_string(&file).expect("it is there");
        assert_eq!(text, format!("{}\n{half}\n{}\n", line(1), line(3)));
    }
}
