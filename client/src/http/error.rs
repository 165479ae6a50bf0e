//! What can go wrong with a call, told apart by the one thing that matters to
//! a holder: did it happen?

use std::{fmt, time::Duration};

use reqwest::header::{HeaderMap, LOCATION, RETRY_AFTER};

use crate::{Code, Outcome, Problem};

/// A call that did not succeed.
#[derive(Debug, thiserror::Error)]
pub enum CallError {
    /// The server decided against it. Nothing happened, and the same call gets
    /// the same answer until something changes.
    #[error("{}: {}", .0.title, .0.detail)]
    Refused(Box<Problem>),
    /// It did not happen: no connection, a server that says so, or something in
    /// between that did not let it through.
    #[error("{0}")]
    NotDone(Box<Failed>),
    /// It may have happened: the answer did not come, or says nothing certain.
    #[error("{0}; it may have been done all the same")]
    Unknown(Box<Failed>),
}

/// A call that got no decision.
#[derive(Debug)]
pub struct Failed {
    /// What was wrong, with which server.
    pub what: String,
    /// The HTTP status, if there was an answer.
    pub status: Option<u16>,
    /// The server's own words, if they could be read.
    pub problem: Option<Box<Problem>>,
    /// When the server wants to be asked again.
    pub retry_after: Option<Duration>,
    source: Option<Box<dyn std::error::Error + Send + Sync>>,
}

impl fmt::Display for Failed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.what)
    }
}

impl std::error::Error for Failed {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.source.as_deref().map(|source| source as _)
    }
}

impl Failed {
    fn new(what: String) -> Box<Self> {
        Box::new(Self {
            what,
            status: None,
            problem: None,
            retry_after: None,
            source: None,
        })
    }

    fn because(
        what: String,
        source: impl Into<Box<dyn std::error::Error + Send + Sync>>,
    ) -> Box<Self> {
        let mut failed = Self::new(what);
        failed.source = Some(source.into());
        failed
    }

    /// The innermost reason, such as "connection refused".
    pub fn root_cause(&self) -> Option<String> {
        let mut source = std::error::Error::source(self)?;
        while let Some(inner) = source.source() {
            source = inner;
        }
        Some(source.to_string())
    }
}

impl CallError {
    /// The server's own words, if it said any.
    pub fn problem(&self) -> Option<&Problem> {
        match self {
            Self::Refused(problem) => Some(problem),
            Self::NotDone(failed) | Self::Unknown(failed) => failed.problem.as_deref(),
        }
    }

    /// The stable code, if the server gave one.
    pub fn code(&self) -> Option<Code> {
        self.problem().map(|problem| problem.code)
    }

    /// The HTTP status, if there was an answer.
    pub fn status(&self) -> Option<u16> {
        match self {
            Self::Refused(problem) => Some(problem.status),
            Self::NotDone(failed) | Self::Unknown(failed) => failed.status,
        }
    }

    /// When asking again may help, if the server said so.
    pub fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::Refused(problem) => problem.retry_after_ms.map(Duration::from_millis),
            Self::NotDone(failed) | Self::Unknown(failed) => failed.retry_after,
        }
    }

    /// Whether it may have happened although there is no good answer.
    pub fn may_have_happened(&self) -> bool {
        matches!(self, Self::Unknown(_))
    }
}

/// The request, or the wait for its answer, broke off.
pub(super) fn not_sent(address: &str, source: reqwest::Error) -> CallError {
    // The address may have a query with names in it, and is in `what` anyway.
    let source = source.without_url();
    if source.is_connect() {
        let what = format!("cannot connect to {address}");
        return CallError::NotDone(Failed::because(what, source));
    }
    if source.is_builder() {
        let what = format!("a request to {address} cannot be made of this");
        return CallError::NotDone(Failed::because(what, source));
    }
    not_received(address, source)
}

/// The answer did not arrive whole.
pub(super) fn not_received(address: &str, source: reqwest::Error) -> CallError {
    let source = source.without_url();
    let what = if source.is_timeout() {
        format!("{address} did not answer in time")
    } else {
        format!("the connection to {address} was lost before the answer was there")
    };
    CallError::Unknown(Failed::because(what, source))
}

/// An answer that promises success and is not what this client reads.
pub(super) fn not_understood(address: &str, status: u16, source: serde_json::Error) -> CallError {
    let what =
        format!("{address} gave an answer that this client does not understand (status {status})");
    let mut failed = Failed::because(what, source);
    failed.status = Some(status);
    CallError::Unknown(failed)
}

/// Nothing at all was heard for this long.
pub(super) fn silent(address: &str, bound: Duration) -> CallError {
    CallError::NotDone(Failed::new(format!(
        "nothing was heard from {address} for {} s",
        bound.as_secs()
    )))
}

/// The event stream broke off.
pub(super) fn stream_broken(
    address: &str,
    source: impl Into<Box<dyn std::error::Error + Send + Sync>>,
) -> CallError {
    CallError::NotDone(Failed::because(
        format!("the event stream of {address} broke off"),
        source,
    ))
}

/// An export broke off.
pub(super) fn export_cut(address: &str, source: reqwest::Error) -> CallError {
    let source = source.without_url();
    CallError::NotDone(Failed::because(
        format!("the export of {address} broke off"),
        source,
    ))
}

/// Sorts an answer that is not a success.
pub(super) fn answered(address: &str, status: u16, headers: &HeaderMap, text: &str) -> CallError {
    let retry_after = headers
        .get(RETRY_AFTER)
        .and_then(|value| value.to_str().ok()?.trim().parse().ok())
        .map(Duration::from_secs);
    let problem: Option<Box<Problem>> = serde_json::from_str(text).ok();
    let Some(mut problem) = problem else {
        return foreign(address, status, headers, retry_after);
    };
    if (400..500).contains(&status) {
        if problem.retry_after_ms.is_none() {
            problem.retry_after_ms = retry_after.map(|wait| wait.as_millis() as u64);
        }
        return CallError::Refused(problem);
    }
    let done = match (problem.code, problem.outcome) {
        (Code::HistoryBehind, _) | (_, Some(Outcome::NotDone)) => CallError::NotDone,
        _ => CallError::Unknown,
    };
    let retry_after = problem
        .retry_after_ms
        .map(Duration::from_millis)
        .or(retry_after);
    done(Box::new(Failed {
        what: format!("{}: {}", problem.title, problem.detail),
        status: Some(status),
        problem: Some(problem),
        retry_after,
        source: None,
    }))
}

/// An answer that is not Baton's: a proxy's, or another server's.
fn foreign(
    address: &str,
    status: u16,
    headers: &HeaderMap,
    retry_after: Option<Duration>,
) -> CallError {
    let location = headers.get(LOCATION).and_then(|value| value.to_str().ok());
    let what = match location {
        Some(location) if status < 400 => format!(
            "{address} answered {status}, with a redirect to {location}: is this the server's address?"
        ),
        _ => format!("{address} answered {status}, and not as a Baton server does"),
    };
    let mut failed = Failed::new(what);
    failed.status = Some(status);
    failed.retry_after = retry_after;
    // A redirect or a refusal came instead of doing it; behind any other
    // answer it may have been done.
    if (300..500).contains(&status) {
        CallError::NotDone(failed)
    } else {
        CallError::Unknown(failed)
    }
}
