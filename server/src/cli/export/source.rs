//! Where an export comes from: a server, whose lines are counted as they come, or
//! a database, read here. What a server sends is believed to be whole only if its
//! trailer says what was counted.

use baton_client::{ExportFormat, ExportQuery, ExportStream, ExportTrailer, Handover, TrailerLine};
use serde::Deserialize;

use super::super::{Exit, Failure, connection::Session, look};
use crate::export::{Csv, Export, ExportError, Rows as _, Tally};

/// Where an export comes from.
pub enum Source {
    /// A server.
    Server(Box<Lines>),
    /// A database.
    Database {
        /// What is read.
        export: Box<Export>,
        /// What it begins after.
        after: u64,
    },
}

/// The lines of a server.
pub struct Lines {
    stream: ExportStream,
    session: Session,
    format: ExportFormat,
    tally: Tally,
    after: u64,
    started: bool,
    trailer: Option<ExportTrailer>,
}

/// What every entry has, whatever newer versions of Baton add to it.
#[derive(Deserialize)]
struct Counted {
    seq: u64,
    hash: String,
}

impl Source {
    /// From a server. It is asked for JSON Lines also where CSV is written, because
    /// they end with a trailer. A report is the server's.
    pub async fn server(session: &Session, query: &ExportQuery) -> Result<Self, Failure> {
        let format = query.format.unwrap_or_default();
        let query = ExportQuery {
            format: Some(match format {
                ExportFormat::Md => format,
                ExportFormat::Jsonl | ExportFormat::Csv => ExportFormat::Jsonl,
            }),
            ..query.clone()
        };
        let opened = session.client().export(&query).await;
        Ok(Self::Server(Box::new(Lines {
            stream: opened.map_err(|error| session.failure(&error))?,
            session: session.clone(),
            format,
            tally: Tally::new(query.filter()),
            after: query.after.unwrap_or(0),
            started: false,
            trailer: None,
        })))
    }

    /// From a database.
    pub async fn database(address: &str, query: &ExportQuery) -> Result<Self, Failure> {
        let reader = look::look(address).await?;
        let begun = Export::begin(&reader, query).await;
        Ok(Self::Database {
            export: Box::new(begun.map_err(|error| failed(&error))?),
            after: query.after.unwrap_or(0),
        })
    }

    /// The next piece; `None` when nothing comes any more.
    pub async fn next(&mut self) -> Option<Result<Vec<u8>, Failure>> {
        match self {
            Self::Server(lines) => lines.next().await,
            Self::Database { export, .. } => {
                let piece = export.next().await?;
                Some(piece.map_err(|error| failed(&error)))
            }
        }
    }

    /// The trailer, once nothing comes any more.
    pub fn trailer(&mut self) -> Result<ExportTrailer, Failure> {
        match self {
            Self::Database { export, .. } => Ok(export.trailer()),
            Self::Server(lines) => lines.trailer.take().ok_or_else(|| {
                Failure::new(
                    Exit::Failed,
                    "the server's answer ended without its trailer",
                )
            }),
        }
    }

    /// What came so far.
    pub fn tally(&self) -> &Tally {
        match self {
            Self::Server(lines) => &lines.tally,
            Self::Database { export, .. } => export.tally(),
        }
    }

    /// Where the log ended when it began, if that is known.
    pub fn head_seq(&self) -> Option<u64> {
        match self {
            Self::Server(lines) => lines.stream.head_seq(),
            Self::Database { export, .. } => Some(export.end().head.seq),
        }
    }

    /// What it begins after.
    pub fn after(&self) -> u64 {
        match self {
            Self::Server(lines) => lines.after,
            Self::Database { after, .. } => *after,
        }
    }
}

impl Lines {
    async fn next(&mut self) -> Option<Result<Vec<u8>, Failure>> {
        let mut text = Vec::new();
        if !std::mem::replace(&mut self.started, true)
            && self.format == ExportFormat::Csv
            && let Err(error) = Csv.start(&mut text)
        {
            return Some(Err(failed(&error)));
        }
        let line = match self.stream.next_line().await? {
            Ok(line) => line,
            Err(error) => return Some(Err(self.session.failure(&error))),
        };
        Some(self.line(&line, &mut text).map(|()| text))
    }

    fn line(&mut self, line: &[u8], text: &mut Vec<u8>) -> Result<(), Failure> {
        let strange = |error: serde_json::Error| {
            let what = format!("the server sent a line that is no entry: {error}");
            Failure::new(Exit::Failed, what)
        };
        if self.trailer.is_some() {
            let what = "the server sent more after its trailer";
            return Err(Failure::new(Exit::Failed, what));
        }
        if self.format == ExportFormat::Md {
            self.report_line(line, text);
            return Ok(());
        }
        if let Ok(TrailerLine { trailer }) = serde_json::from_slice(line) {
            self.tally.check(&trailer).map_err(|what| {
                Failure::new(Exit::Failed, format!("what came is not whole: {what}"))
            })?;
            self.trailer = Some(trailer);
            if self.format == ExportFormat::Jsonl {
                text.extend(line);
                text.push(b'\n');
            }
            return Ok(());
        }
        match self.format {
            ExportFormat::Jsonl => {
                let counted: Counted = serde_json::from_slice(line).map_err(strange)?;
                self.tally.count_one(counted.seq, counted.hash);
                text.extend(line);
                text.push(b'\n');
            }
            ExportFormat::Csv | ExportFormat::Md => {
                let entry: Handover = serde_json::from_slice(line).map_err(strange)?;
                Csv.entry(&entry, text).map_err(|error| failed(&error))?;
                self.tally.count(&entry);
            }
        }
        Ok(())
    }

    /// A report's lines are its own; the last one is the trailer, in a comment.
    fn report_line(&mut self, line: &[u8], text: &mut Vec<u8>) {
        text.extend(line);
        text.push(b'\n');
        let comment = line.strip_prefix(b"<!-- ");
        let inner = comment.and_then(|rest| rest.strip_suffix(b" -->"));
        let read = inner.and_then(|inner| serde_json::from_slice::<TrailerLine>(inner).ok());
        if let Some(TrailerLine { trailer }) = read {
            self.trailer = Some(trailer);
        }
    }
}

fn failed(error: &ExportError) -> Failure {
    match error {
        ExportError::Store(error) => look::unread(error),
        ExportError::TooLong { .. } => Failure::new(Exit::Usage, error.to_string()),
        ExportError::Entry(_) => Failure::new(Exit::Failed, error.to_string()),
    }
}
