//! The history as a file: what selects it, and the trailer by which a reader
//! knows that it is whole.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::{Actor, HandoverEvent, HandoverQuery, LeaseName, Timestamp};

/// How an export is written.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ExportFormat {
    /// Each entry on a line, in the canonical form that was hashed.
    #[default]
    Jsonl,
    /// A table for spreadsheets.
    Csv,
    /// A report of an incident, for people: Markdown.
    Md,
}

impl ExportFormat {
    /// Every format there is.
    pub const ALL: [Self; 3] = [Self::Jsonl, Self::Csv, Self::Md];

    /// The word for it, which also ends a file's name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Jsonl => "jsonl",
            Self::Csv => "csv",
            Self::Md => "md",
        }
    }
}

impl fmt::Display for ExportFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// `GET /handovers/export`: the filters of [`HandoverQuery`], oldest first.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ExportQuery {
    /// How it is written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub format: Option<ExportFormat>,
    /// Of this lease.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lease: Option<LeaseName>,
    /// Of leases whose name starts with this.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prefix: Option<String>,
    /// From or to this holder.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub holder: Option<String>,
    /// Of this kind.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub event: Option<HandoverEvent>,
    /// Asked by this actor.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub actor: Option<Actor>,
    /// Of this incident.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub incident: Option<String>,
    /// At this time or later.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<Timestamp>,
    /// Before this time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<Timestamp>,
    /// After this `seq`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<u64>,
}

impl ExportQuery {
    /// The export of what a list shows.
    pub fn of(query: &HandoverQuery, format: ExportFormat) -> Self {
        Self {
            format: Some(format),
            lease: query.lease.clone(),
            prefix: query.prefix.clone(),
            holder: query.holder.clone(),
            event: query.event,
            actor: query.actor.clone(),
            incident: query.incident.clone(),
            from: query.from,
            to: query.to,
            after: query.after,
        }
    }

    /// The part that selects entries.
    pub fn filter(&self) -> HandoverQuery {
        HandoverQuery {
            lease: self.lease.clone(),
            prefix: self.prefix.clone(),
            holder: self.holder.clone(),
            event: self.event,
            actor: self.actor.clone(),
            incident: self.incident.clone(),
            from: self.from,
            to: self.to,
            after: self.after,
            order: None,
            limit: None,
            cursor: None,
        }
    }
}

/// What ends an export: one that has no trailer was cut.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Trailer<F> {
    /// What was asked for; empty if it is the whole log.
    pub filter: F,
    /// How many entries came before.
    pub count: u64,
    /// The first one's `seq`.
    pub first_seq: Option<u64>,
    /// The last one's.
    pub last_seq: Option<u64>,
    /// The last one's hash.
    pub last_hash: Option<String>,
    /// The log's last `seq` when the export began: it goes up to there.
    pub head_seq: u64,
    /// The hash of that entry.
    pub head_hash: String,
    /// The database's time when the export began.
    pub now: Timestamp,
}

/// What ends an export of the history.
pub type ExportTrailer = Trailer<HandoverQuery>;

/// The last line of an export in JSON Lines.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TrailerLine<F = HandoverQuery> {
    /// The trailer.
    pub trailer: Trailer<F>,
}
