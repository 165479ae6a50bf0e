//! An entry of the access log: who did what besides changing leases.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize};

use crate::{Actor, Order, Timestamp, Trailer};

macro_rules! events {
    ($($(#[$doc:meta])* $variant:ident = $text:literal,)*) => {
        /// What happened.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
        #[serde(rename_all = "snake_case")]
        pub enum AccessEvent {
            $($(#[$doc])* $variant,)*
        }

        impl AccessEvent {
            /// Every event there is.
            pub const ALL: &[Self] = &[$(Self::$variant,)*];

            /// The word for it.
            pub fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $text,)* }
            }
        }
    };
}

events! {
    /// A person signed in.
    SignedIn = "signed_in",
    /// A person signed out.
    SignedOut = "signed_out",
    /// Sign-ins failed, from one address within a minute.
    SignInFailed = "sign_in_failed",
    /// A user was made.
    UserCreated = "user_created",
    /// A user got another password.
    UserPassword = "user_password",
    /// A user got another role.
    UserRole = "user_role",
    /// A user may sign in no more.
    UserDisabled = "user_disabled",
    /// A disabled user may sign in again.
    UserEnabled = "user_enabled",
    /// All sessions of a user were ended.
    UserSignedOut = "user_signed_out",
    /// A token was made.
    TokenCreated = "token_created",
    /// A token got another secret.
    TokenRotated = "token_rotated",
    /// A token was ended.
    TokenRevoked = "token_revoked",
    /// An operator's or admin's action was refused.
    Refused = "refused",
    /// A log was exported.
    Exported = "exported",
}

impl fmt::Display for AccessEvent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for AccessEvent {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        Self::ALL
            .iter()
            .copied()
            .find(|event| event.as_str() == text)
            .ok_or_else(|| format!("`{text}` is not an event of the access log"))
    }
}

/// One entry of the access log, which is append-only and hash-chained like the
/// handover log.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AccessEntry {
    /// 1, 2, 3 … in commit order, no gaps.
    pub seq: u64,
    /// Database time, never less than the entry's before it.
    pub at: Timestamp,
    /// What happened.
    pub event: AccessEvent,
    /// Who did it, or tried to; `None` if nobody knows.
    pub actor: Option<Actor>,
    /// From where; `None` for what was done on the server's machine.
    pub actor_address: Option<String>,
    /// The server's id of the request.
    pub request_id: Option<String>,
    /// Whom or what it is about: a user, a token, a lease.
    pub subject: Option<String>,
    /// Fixed keys per event: strings, booleans, null and whole numbers.
    pub details: serde_json::Map<String, serde_json::Value>,
    /// The hash of the entry before; 64 zeros for the first.
    pub prev_hash: String,
    /// SHA-256 over the RFC 8785 form of all the fields above.
    pub hash: String,
}

/// `GET /access`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AccessQuery {
    /// Of this kind.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub event: Option<AccessEvent>,
    /// By this actor.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub actor: Option<Actor>,
    /// From this address.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub address: Option<String>,
    /// About this user, token or lease.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subject: Option<String>,
    /// At this time or later.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<Timestamp>,
    /// Before this time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<Timestamp>,
    /// After this `seq`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<u64>,
    /// Newest or oldest first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub order: Option<Order>,
    /// Entries in a page: 1 to 1,000.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u64>,
    /// Where the page begins.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
}

/// `GET /access/export`: the filters of [`AccessQuery`], oldest first.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AccessExportQuery {
    /// Of this kind.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub event: Option<AccessEvent>,
    /// By this actor.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub actor: Option<Actor>,
    /// From this address.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub address: Option<String>,
    /// About this user, token or lease.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subject: Option<String>,
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

impl AccessExportQuery {
    /// The part that selects entries.
    pub fn filter(&self) -> AccessQuery {
        AccessQuery {
            event: self.event,
            actor: self.actor.clone(),
            address: self.address.clone(),
            subject: self.subject.clone(),
            from: self.from,
            to: self.to,
            after: self.after,
            order: None,
            limit: None,
            cursor: None,
        }
    }
}

/// A page of the access log.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct AccessPage {
    /// The entries, in the order that was asked for.
    pub items: Vec<AccessEntry>,
    /// The next page's cursor; `None` on the last.
    pub next: Option<String>,
    /// The database time that this is true for.
    pub now: Timestamp,
}

/// What ends an export of the access log.
pub type AccessTrailer = Trailer<AccessQuery>;
