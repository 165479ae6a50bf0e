//! The log as a file: JSON Lines, CSV, or a report. Written piece by piece as it is read,
//! so that its size is no matter, and ended by a trailer, so
//! that who has all of it can tell.
//!
//! Knows no HTTP and no file: both take the same [`Export`].

mod csv;
mod jsonl;
mod postmortem;
mod read_back;
mod tally;

use std::{collections::VecDeque, sync::Arc};

use baton_client::{ExportFormat, ExportQuery, ExportTrailer, Handover, HandoverQuery};
use tokio::sync::mpsc;

use crate::{
    chain::CanonicalError,
    store::{LogEnd, Reader, StoreError},
};

pub use self::{csv::Csv, jsonl::Jsonl, read_back::read_back, tally::Tally};

/// Entries that are written into one piece.
const IN_PIECE: usize = 50;

/// An export cannot go on. What was given out before is not whole, and must not
/// look as if it were.
#[derive(Debug, Clone, thiserror::Error)]
pub enum ExportError {
    /// The log cannot be read.
    #[error("the log cannot be read any further")]
    Store(StoreError),
    /// An entry cannot be written.
    #[error("an entry of the log cannot be written: {0}")]
    Entry(Arc<str>),
    /// A report for people would be too long.
    #[error("the report would have more than {max} entries; select fewer, or take jsonl or csv")]
    TooLong {
        /// How many it may have.
        max: usize,
    },
}

impl From<CanonicalError> for ExportError {
    fn from(error: CanonicalError) -> Self {
        Self::Entry(error.to_string().into())
    }
}

impl From<::csv::Error> for ExportError {
    fn from(error: ::csv::Error) -> Self {
        Self::Entry(error.to_string().into())
    }
}

/// How entries are written one after another.
pub trait Rows: Send {
    /// What comes before all entries.
    ///
    /// # Errors
    /// It cannot be written.
    fn start(&mut self, text: &mut Vec<u8>) -> Result<(), ExportError>;

    /// One entry.
    ///
    /// # Errors
    /// It cannot be written.
    fn entry(&mut self, entry: &Handover, text: &mut Vec<u8>) -> Result<(), ExportError>;

    /// What comes after all entries.
    ///
    /// # Errors
    /// It cannot be written.
    fn end(&mut self, trailer: &ExportTrailer, text: &mut Vec<u8>) -> Result<(), ExportError>;
}

/// What of an export comes next.
enum Next {
    /// All of it, which is short.
    Whole(Vec<u8>),
    Start,
    Entries,
    Nothing,
}

/// An export under way: up to where the log ended when it began.
pub struct Export {
    end: LogEnd,
    rows: Box<dyn Rows>,
    pages: mpsc::Receiver<Result<Vec<Handover>, StoreError>>,
    page: VecDeque<Handover>,
    tally: Tally,
    next: Next,
}

impl Export {
    /// Begins to read what `query` selects.
    ///
    /// # Errors
    /// The database does not answer, or a report would be too long.
    pub async fn begin(reader: &Reader, query: &ExportQuery) -> Result<Self, ExportError> {
        let end = reader.end().await.map_err(ExportError::Store)?;
        let rows: Box<dyn Rows> = match query.format.unwrap_or_default() {
            ExportFormat::Jsonl => Box::new(Jsonl),
            ExportFormat::Csv => Box::new(Csv),
            ExportFormat::Md => return Self::report(reader, query.filter(), end).await,
        };
        Ok(Self::up_to(reader, query.filter(), end, rows))
    }

    /// Begins to read what `filter` selects, as far as `end`, an entry of the log,
    /// to write it as JSON Lines.
    pub fn lines_up_to(reader: &Reader, filter: HandoverQuery, end: LogEnd) -> Self {
        Self::up_to(reader, filter, end, Box::new(Jsonl))
    }

    fn up_to(reader: &Reader, filter: HandoverQuery, end: LogEnd, rows: Box<dyn Rows>) -> Self {
        Self {
            pages: reader.pages(filter.clone(), end.head.seq),
            rows,
            page: VecDeque::new(),
            tally: Tally::new(filter),
            next: Next::Start,
            end,
        }
    }

    /// A report, which is made before it begins.
    async fn report(
        reader: &Reader,
        filter: HandoverQuery,
        end: LogEnd,
    ) -> Result<Self, ExportError> {
        let (text, tally) = postmortem::postmortem(reader, filter, &end).await?;
        let (_, nothing) = mpsc::channel(1);
        Ok(Self {
            end,
            rows: Box::new(Jsonl),
            pages: nothing,
            page: VecDeque::new(),
            tally,
            next: Next::Whole(text.into_bytes()),
        })
    }

    /// Where the log ended when it began.
    pub fn end(&self) -> &LogEnd {
        &self.end
    }

    /// How far it is.
    pub fn tally(&self) -> &Tally {
        &self.tally
    }

    /// The trailer, once nothing comes any more.
    pub fn trailer(&self) -> ExportTrailer {
        self.tally.trailer(&self.end)
    }

    /// The next piece; `None` when it is whole. After an error it can't be.
    ///
    /// # Errors
    /// The log cannot be read any further, or holds what cannot be written.
    pub async fn next(&mut self) -> Option<Result<Vec<u8>, ExportError>> {
        let piece = match &mut self.next {
            Next::Nothing => return None,
            Next::Whole(text) => {
                let text = std::mem::take(text);
                self.next = Next::Nothing;
                Ok(text)
            }
            Next::Start => {
                self.next = Next::Entries;
                let mut text = Vec::new();
                self.rows.start(&mut text).map(|()| text)
            }
            Next::Entries => self.entries().await,
        };
        if piece.is_err() {
            self.next = Next::Nothing;
        }
        Some(piece)
    }

    async fn entries(&mut self) -> Result<Vec<u8>, ExportError> {
        let mut text = Vec::new();
        if self.page.is_empty() {
            match self.pages.recv().await {
                Some(page) => self.page = page.map_err(ExportError::Store)?.into(),
                None => {
                    self.next = Next::Nothing;
                    self.rows.end(&self.trailer(), &mut text)?;
                    return Ok(text);
                }
            }
        }
        for _ in 0..IN_PIECE {
            let Some(entry) = self.page.pop_front() else {
                break;
            };
            self.rows.entry(&entry, &mut text)?;
            self.tally.count(&entry);
        }
        Ok(text)
    }
}
