//! What was found, for people and as JSON.

use baton_client::{Found, Timestamp};
use serde::Serialize;

use super::super::{Exit, Failure, progress::grouped, safe::safe_lines};
use crate::audit::{Begins, Depth, Finding, Findings, Linked, Place, Verified};

/// What was verified.
#[derive(Debug, Default)]
pub struct Verdict {
    /// The history.
    pub history: Option<Verified>,
    /// The access log.
    pub access: Option<Access>,
}

/// What became of the access log.
#[derive(Debug)]
pub enum Access {
    /// It was verified.
    Verified {
        /// What came of it.
        linked: Linked,
        /// It is the export of a filter.
        filtered: bool,
    },
    /// The database does not let this role read it.
    NotAllowed,
}

impl Access {
    fn findings(&self) -> Option<&Findings> {
        match self {
            Self::Verified { linked, .. } => Some(&linked.findings),
            Self::NotAllowed => None,
        }
    }
}

impl Verdict {
    /// Fails if something does not hold.
    pub fn into_result(self) -> Result<(), Failure> {
        let history = self.history.as_ref().map(|history| &history.findings);
        let access = self.access.as_ref().and_then(Access::findings);
        let does_not: Vec<String> = [("history", history), ("access log", access)]
            .into_iter()
            .filter_map(|(what, findings)| {
                let count = findings.map_or(0, Findings::count);
                (count > 0).then(|| {
                    let count = grouped(count);
                    format!("the {what} does not hold: {count} findings")
                })
            })
            .collect();
        if does_not.is_empty() {
            return Ok(());
        }
        Err(Failure::new(Exit::Failed, does_not.join("; ")))
    }

    /// In words.
    pub fn text(&self) -> String {
        let history = self.history.as_ref().map(history_text);
        let access = self.access.as_ref().map(access_text);
        let both: Vec<String> = history.into_iter().chain(access).collect();
        both.join("\n")
    }

    /// As JSON.
    pub fn json(&self) -> Result<String, Failure> {
        let history = self.history.as_ref();
        let access = self.access.as_ref();
        let holds = |findings: &Findings| findings.is_empty();
        let report = Report {
            holds: history.is_none_or(|history| holds(&history.findings))
                && access.and_then(Access::findings).is_none_or(holds),
            history: history.map(HistoryReport::of),
            access: match access {
                Some(Access::Verified { linked, filtered }) => {
                    Some(AccessReport::of(linked, *filtered))
                }
                Some(Access::NotAllowed) | None => None,
            },
        };
        serde_json::to_string(&report)
            .map_err(|error| Failure::new(Exit::Failed, error.to_string()))
    }
}

fn findings_text(findings: &Findings, of: &str) -> String {
    let mut text = String::new();
    for finding in &findings.kept {
        text.push_str(&format!("{of}{}\n", safe_lines(&finding.to_string())));
    }
    if findings.more > 0 {
        text.push_str(&format!("{of}… and {} more.\n", grouped(findings.more)));
    }
    text
}

fn history_text(verified: &Verified) -> String {
    let mut text = findings_text(&verified.findings, "");
    let begins = match verified.begins {
        Begins::AtTheBeginning => "from the beginning".to_owned(),
        Begins::AfterArchived { seq } => {
            format!("after the archived part, which ends with seq {seq}")
        }
        Begins::InTheMiddle { .. } if verified.depth == Depth::Entries => "of a filter".into(),
        Begins::InTheMiddle { seq } => middle(seq),
    };
    let holds = if verified.holds() {
        "Holds"
    } else {
        "Does not hold"
    };
    text.push_str(&format!(
        "{holds}: {} entries, {begins}",
        grouped(verified.count)
    ));
    if verified.depth == Depth::Entries {
        text.push_str(
            ".\nIt is the export of a filter: each entry is as it was written, but that none is \
             left out can't be shown without the others",
        );
    }
    if let Some(last) = &verified.last {
        text.push_str(&format!(".\nThe last one is {}", place(last)));
    }
    text.push('.');
    if verified.checkpoints > 0 {
        let count = grouped(verified.checkpoints);
        text.push_str(&format!("\nIt contains {count} checkpoints."));
    }
    if verified.checkpoints_before > 0 {
        let count = grouped(verified.checkpoints_before);
        text.push_str(&format!(
            "\n{count} checkpoints are of what came before, which was not looked at."
        ));
    }
    text
}

fn access_text(access: &Access) -> String {
    let (linked, filtered) = match access {
        Access::Verified { linked, filtered } => (linked, *filtered),
        Access::NotAllowed => {
            return "The access log was not looked at: this role may not read it.".to_owned();
        }
    };
    let mut text = findings_text(&linked.findings, "access log, ");
    let holds = if linked.findings.is_empty() {
        "holds"
    } else {
        "does not hold"
    };
    let begins = match linked.first_seq {
        _ if filtered => "of a filter".to_owned(),
        None | Some(1) => "from the beginning".to_owned(),
        Some(seq) => middle(seq),
    };
    text.push_str(&format!(
        "The access log {holds}: {} entries, {begins}",
        grouped(linked.count)
    ));
    if let Some(last) = &linked.last {
        text.push_str(&format!("; the last one is {}", place(last)));
    }
    text.push('.');
    text
}

fn middle(seq: u64) -> String {
    format!("from seq {seq} on; what came before it was not looked at")
}

fn place(last: &Place) -> String {
    format!("seq {} at {}, with hash {}", last.seq, last.at, last.hash)
}

#[derive(Serialize)]
struct Report {
    holds: bool,
    #[serde(flatten)]
    history: Option<HistoryReport>,
    access: Option<AccessReport>,
}

#[derive(Serialize)]
struct HistoryReport {
    count: u64,
    begins_after: u64,
    begins: &'static str,
    last_seq: Option<u64>,
    last_hash: Option<String>,
    last_at: Option<Timestamp>,
    checkpoints: u64,
    checkpoints_before: u64,
    findings: Vec<Found>,
    more: u64,
}

impl HistoryReport {
    fn of(verified: &Verified) -> Self {
        let (begins, begins_after) = match verified.begins {
            Begins::AtTheBeginning => ("at_the_beginning", 0),
            Begins::AfterArchived { seq } => ("after_archived", seq),
            Begins::InTheMiddle { seq } => ("in_the_middle", seq - seq.min(1)),
        };
        let last = verified.last.as_ref();
        Self {
            count: verified.count,
            begins,
            begins_after,
            last_seq: last.map(|last| last.seq),
            last_hash: last.map(|last| last.hash.clone()),
            last_at: last.map(|last| last.at),
            checkpoints: verified.checkpoints,
            checkpoints_before: verified.checkpoints_before,
            findings: found(&verified.findings.kept),
            more: verified.findings.more,
        }
    }
}

#[derive(Serialize)]
struct AccessReport {
    holds: bool,
    count: u64,
    filtered: bool,
    first_seq: Option<u64>,
    last_seq: Option<u64>,
    last_hash: Option<String>,
    last_at: Option<Timestamp>,
    findings: Vec<Found>,
    more: u64,
}

impl AccessReport {
    fn of(linked: &Linked, filtered: bool) -> Self {
        let last = linked.last.as_ref();
        Self {
            holds: linked.findings.is_empty(),
            count: linked.count,
            filtered,
            first_seq: linked.first_seq,
            last_seq: last.map(|last| last.seq),
            last_hash: last.map(|last| last.hash.clone()),
            last_at: last.map(|last| last.at),
            findings: found(&linked.findings.kept),
            more: linked.findings.more,
        }
    }
}

fn found(findings: &[Finding]) -> Vec<Found> {
    findings.iter().map(Found::from).collect()
}
