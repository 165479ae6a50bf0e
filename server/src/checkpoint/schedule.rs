//! Checkpoints that the server takes by itself, every so often.

use std::{
    fs::File,
    io::{self, Read as _, Seek as _, SeekFrom, Write as _},
    path::{Path, PathBuf},
    time::Duration,
};

use tokio_util::sync::CancellationToken;

use crate::{
    chain::CanonicalError,
    store::{Reader, StoreError},
};

use super::{Checkpoint, Key};

/// How long to wait after one could not be taken.
const RETRY: Duration = Duration::from_secs(30);

/// Where and how often.
pub struct Schedule {
    /// How often.
    pub every: Duration,
    /// The file that each is added to; the server's log, if there is none.
    pub file: Option<PathBuf>,
    /// What they are signed with.
    pub key: Key,
}

/// Why a checkpoint was not taken.
#[derive(Debug, thiserror::Error)]
enum TakeError {
    #[error("the database does not answer")]
    Store(StoreError),
    #[error(transparent)]
    Form(#[from] CanonicalError),
    #[error("the file cannot be written")]
    Write(#[from] io::Error),
}

impl Schedule {
    /// Takes a checkpoint now and then every so often, when the log has grown,
    /// until `stop`.
    pub async fn run(self, reader: Reader, stop: CancellationToken) {
        let mut taken = None;
        loop {
            let wait = match self.take(&reader, taken).await {
                Ok(seq) => {
                    taken = seq;
                    self.every
                }
                Err(error) => {
                    tracing::error!(%error, source = ?std::error::Error::source(&error), "no checkpoint was taken");
                    RETRY.min(self.every)
                }
            };
            tokio::select! {
                () = stop.cancelled() => return,
                () = tokio::time::sleep(wait) => {}
            }
        }
    }

    /// Takes one, unless the log still ends where the last one saw it end.
    async fn take(&self, reader: &Reader, taken: Option<u64>) -> Result<Option<u64>, TakeError> {
        let end = reader.end().await.map_err(TakeError::Store)?;
        // A log that lost entries must not become the one that is believed.
        if taken == Some(end.head.seq) || end.behind {
            return Ok(taken);
        }
        let checkpoint = Checkpoint::sign(&end.head, end.now, &self.key)?;
        let line = checkpoint.line()?;
        match &self.file {
            None => tracing::info!(checkpoint = %line, "the log ends here"),
            Some(file) => append(file, &line)?,
        }
        Ok(Some(end.head.seq))
    }
}

/// Adds a line to a file, on the disk.
///
/// # Errors
/// The file cannot be written.
pub fn append(file: &Path, line: &str) -> io::Result<()> {
    let mut file = File::options()
        .create(true)
        .read(true)
        .append(true)
        .open(file)?;
    // What a full disk cut off stays a line by itself.
    let mut last = *b"\n";
    if file.metadata()?.len() > 0 {
        file.seek(SeekFrom::End(-1))?;
        file.read_exact(&mut last)?;
    }
    let start = if last == *b"\n" { "" } else { "\n" };
    // In one piece, so that two programs do not write into each other's lines.
    file.write_all(format!("{start}{line}\n").as_bytes())?;
    file.sync_data()
}
