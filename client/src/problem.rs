//! Errors as they are answered: `application/problem+json` (RFC 9457) with a
//! stable code. This is the one table from error to status.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::{Handover, Lease};

macro_rules! codes {
    ($($(#[$doc:meta])* $variant:ident = $text:literal $status:literal $title:literal,)*) => {
        /// What went wrong, in a word that never changes.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
        #[serde(rename_all = "snake_case")]
        pub enum Code {
            $($(#[$doc])* $variant,)*
        }

        impl Code {
            /// Every code there is.
            pub const ALL: &[Self] = &[$(Self::$variant,)*];

            /// The word.
            pub fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $text,)* }
            }

            /// The HTTP status that goes with it.
            pub fn status(self) -> u16 {
                match self { $(Self::$variant => $status,)* }
            }

            /// A short, fixed description for people.
            pub fn title(self) -> &'static str {
                match self { $(Self::$variant => $title,)* }
            }
        }
    };
}

codes! {
    /// Not UTF-8, or not JSON.
    Malformed = "malformed" 400 "The request cannot be read",
    /// Who asks is not known.
    Unauthenticated = "unauthenticated" 401 "Sign in, or send a token",
    /// Who asks is known, and may not.
    Forbidden = "forbidden" 403 "Not allowed",
    /// There is no such lease.
    UnknownLease = "unknown_lease" 404 "No such lease",
    /// There is nothing at this address.
    NotFound = "not_found" 404 "Nothing here",
    /// The address takes other methods.
    MethodNotAllowed = "method_not_allowed" 405 "Method not allowed",
    /// Somebody holds it, or its grace is not over.
    Held = "held" 409 "The lease is held",
    /// An operator paused it.
    Paused = "paused" 409 "The lease is paused",
    /// Someone, or everyone, must stay away for a time.
    Barred = "barred" 409 "Acquiring is barred",
    /// Only the named successor may acquire for a time.
    Reserved = "reserved" 409 "The lease is reserved",
    /// The work failed as often as the caller allows.
    AttemptsExhausted = "attempts_exhausted" 409 "No attempts left",
    /// A change of hands waits for fenced transactions.
    Blocked = "blocked" 409 "Fenced transactions are open",
    /// The lease changed hands since the caller looked.
    GenerationMoved = "generation_moved" 409 "The generation moved",
    /// Nobody holds it.
    NotHeld = "not_held" 409 "Nobody holds the lease",
    /// The tenure is over.
    Lost = "lost" 409 "The tenure is over",
    /// The body is too large.
    TooLarge = "too_large" 413 "Too large",
    /// The body is not JSON by its content type.
    UnsupportedMediaType = "unsupported_media_type" 415 "Unsupported media type",
    /// JSON of the wrong shape or value.
    Invalid = "invalid" 422 "Invalid values",
    /// Too many requests.
    RateLimited = "rate_limited" 429 "Too many requests",
    /// A bug.
    Internal = "internal" 500 "Internal error",
    /// The database does not answer, or too many requests wait.
    StoreUnavailable = "store_unavailable" 503 "The store is unavailable",
    /// A checkpoint is ahead of the log: generations could repeat.
    HistoryBehind = "history_behind" 503 "The history is behind a checkpoint",
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// How the presented generation's tenure ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Ended {
    /// It lapsed, and somebody took the lease.
    Taken,
    /// Its holder let go.
    Released,
    /// An operator, or a step-down's deadline, took it away.
    Forced,
    /// It is not known, or there never was such a tenure.
    Unknown,
}

/// Whether something may have happened although it failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// Nothing happened.
    NotDone,
    /// The answer to the commit was lost.
    Unknown,
}

/// A field that is wrong.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FieldError {
    /// Where, as `renewals[3].ttl_ms`.
    pub field: String,
    /// What is wrong with it.
    pub message: String,
}

/// An error as it is answered.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Problem {
    /// Always `about:blank`: `code` tells errors apart.
    #[serde(rename = "type")]
    pub kind: String,
    /// A short, fixed description.
    pub title: String,
    /// The HTTP status.
    pub status: u16,
    /// The stable code.
    pub code: Code,
    /// What was wrong, with which value, and what to do.
    pub detail: String,
    /// The server's id of the request.
    pub request_id: Option<String>,
    /// The lease as it is, where the answer is about one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lease: Option<Box<Lease>>,
    /// When time will help.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_after_ms: Option<u64>,
    /// The entry that moved the generation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub handover: Option<Box<Handover>>,
    /// How the presented tenure ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended: Option<Ended>,
    /// The fields that are wrong.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub errors: Vec<FieldError>,
    /// Whether it may have happened.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outcome: Option<Outcome>,
}

impl Problem {
    /// An error with nothing but its code and what to do.
    pub fn new(code: Code, detail: impl Into<String>) -> Self {
        Self {
            kind: "about:blank".into(),
            title: code.title().into(),
            status: code.status(),
            code,
            detail: detail.into(),
            request_id: None,
            lease: None,
            retry_after_ms: None,
            handover: None,
            ended: None,
            errors: Vec::new(),
            outcome: None,
        }
    }
}
