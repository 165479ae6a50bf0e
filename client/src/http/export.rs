//! `GET /handovers/export`, line by line as it comes. It may take as long as it
//! likes, but not be silent for long.

use std::{fmt, time::Duration};

use futures_util::{StreamExt as _, stream::BoxStream};

use super::error::{self, CallError};

/// The server looks through a part of the log for each sign of life; a filter that
/// finds little makes it silent for a while.
const SILENCE_MAX: Duration = Duration::from_secs(60);

/// An export that comes in.
pub struct ExportStream {
    address: String,
    head_seq: Option<u64>,
    pieces: BoxStream<'static, Result<Vec<u8>, reqwest::Error>>,
    /// What came and was not given out: whole lines and the beginning of one.
    text: Vec<u8>,
    /// Up to here `text` was given out.
    given: usize,
    over: bool,
}

impl fmt::Debug for ExportStream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ExportStream")
            .field("address", &self.address)
            .finish_non_exhaustive()
    }
}

impl ExportStream {
    pub(super) fn new(address: String, answer: reqwest::Response) -> Self {
        let head_seq = answer.headers().get("baton-head-seq");
        Self {
            address,
            head_seq: head_seq.and_then(|seq| seq.to_str().ok()?.parse().ok()),
            pieces: answer
                .bytes_stream()
                .map(|piece| piece.map(Vec::from))
                .boxed(),
            text: Vec::new(),
            given: 0,
            over: false,
        }
    }

    /// The log's last `seq` when the export began, if the server says.
    pub fn head_seq(&self) -> Option<u64> {
        self.head_seq
    }

    /// The next line, without its end. `None` when the server says that nothing
    /// follows; a line that does not end is not given out.
    pub async fn next_line(&mut self) -> Option<Result<Vec<u8>, CallError>> {
        loop {
            let rest = &self.text[self.given..];
            if let Some(length) = rest.iter().position(|byte| *byte == b'\n') {
                let line = rest[..length].to_vec();
                self.given += length + 1;
                return Some(Ok(line));
            }
            if self.over {
                return None;
            }
            self.text.drain(..self.given);
            self.given = 0;
            match tokio::time::timeout(SILENCE_MAX, self.pieces.next()).await {
                Ok(Some(Ok(piece))) => self.text.extend(piece),
                Ok(Some(Err(source))) => {
                    self.over = true;
                    return Some(Err(error::export_cut(&self.address, source)));
                }
                Ok(None) => self.over = true,
                Err(_) => {
                    self.over = true;
                    return Some(Err(error::silent(&self.address, SILENCE_MAX)));
                }
            }
        }
    }
}
