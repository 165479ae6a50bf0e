//! Who may ask: people with a password and a session, programs with an API token,
//! and strangers.
//!
//! - [`Caller`] is somebody recognised, [`authorise`] the one place that decides
//!   what they may do.
//! - [`People::bearer`] recognises a token without reading the database: every
//!   server holds the table of tokens in memory, and [`People::follow`] asks the
//!   database a few times a second whether anything changed. A table that could
//!   not be confirmed for a second is not trusted: the check then fails closed.
//! - Every change of a user or token, and every session that ends, adds one to a
//!   counter in the same transaction, which is how servers notice. Changes hold
//!   that counter's row, so they happen one after the other, over all servers.
//! - Names of users and tokens are never freed or changed: the log names people by
//!   them, and tenures belong to the token of a name.
//! - Every change, and every sign-in, is written to the access log in the same
//!   transaction; [`People::acting`] says who asks for it.
//!
//! Nothing here knows HTTP, cookies or leases. Secrets are stored as digests only,
//! passwords as Argon2id hashes, and neither shows in `Debug` or a message.

mod access;
mod attempts;
mod backend;
mod bearers;
mod caller;
mod first;
mod passwords;
mod postgres;
mod secrets;
mod sessions;
mod sql;
mod sqlite;
mod tokens;
mod users;

#[cfg(test)]
pub mod testing;
#[cfg(test)]
mod tests;

use std::{fmt, sync::Arc, time::Duration};

use baton_client::AccessEvent;
use serde_json::Value;

pub use self::{
    access::{Access, Denied, authorise},
    bearers::BearerError,
    caller::{Caller, Kind},
    first::FirstStart,
    passwords::{PASSWORD_CHARS_MAX, PASSWORD_CHARS_MIN},
    secrets::{Secret, TOKEN_CHARS_MIN, TOKEN_PREFIX},
    sessions::{SESSION_AGE_MAX, SESSION_IDLE_MAX, SignIn, SignInError},
    tokens::{NewToken, Token},
    users::User,
};
use self::{
    attempts::Attempts,
    backend::{Backend, Change},
    bearers::Bearers,
    passwords::Passwords,
    postgres::PostgresPeople,
    sqlite::SqlitePeople,
};
use crate::{
    access_log::{AccessLog, Draft},
    database::Database,
    rules::Asker,
};

/// How long a commit may take.
const COMMIT_WITHIN: Duration = Duration::from_secs(8);

/// The longest name of a user or token.
pub const NAME_CHARS_MAX: usize = 64;

/// Users, tokens and sessions in one database. Cheap to clone.
#[derive(Clone)]
pub struct People {
    shared: Arc<Shared>,
    /// Who asks for changes.
    by: Arc<Asker>,
}

struct Shared {
    access_log: AccessLog,
    backend: Box<dyn Backend>,
    bearers: Bearers,
    passwords: Passwords,
    attempts: Attempts,
}

/// Why something about people could not be done. Nothing was changed then, but
/// for [`PeopleError::Unconfirmed`], where nobody knows.
#[derive(Debug, thiserror::Error)]
pub enum PeopleError {
    /// A name or password that cannot be; says why.
    #[error("{0}")]
    Invalid(String),
    /// A prefix that cannot be, or too many of them; says why.
    #[error("{0}")]
    Prefix(String),
    /// The name has been given before.
    #[error("the name `{0}` is taken; names are never used again, as the history refers to them")]
    Taken(String),
    /// There is no user of this name.
    #[error("there is no user `{0}`")]
    UnknownUser(String),
    /// There is no token of this name.
    #[error("there is no token `{0}`")]
    UnknownToken(String),
    /// The token was revoked, which is for good.
    #[error("the token `{0}` is revoked, for good; create one with another name")]
    Revoked(String),
    /// Nobody could administer any more.
    #[error("`{0}` is the last admin; make somebody else one first")]
    LastAdmin(String),
    /// Too many passwords are being hashed.
    #[error("too many sign-ins at once; try again in a few seconds")]
    Crowded,
    /// The database does not answer, or not as it should.
    #[error("the database cannot be used")]
    Store(#[from] sqlx::Error),
    /// The answer to the last step was lost.
    #[error("the database did not confirm it, so it may have been done: look before you try again")]
    Unconfirmed(#[source] sqlx::Error),
}

impl People {
    /// The people of `database`. Tokens are recognised once [`Self::follow`] runs.
    pub fn new(database: &Database) -> Self {
        let backend: Box<dyn Backend> = match database {
            Database::Sqlite(sqlite) => Box::new(SqlitePeople::new(sqlite)),
            Database::Postgres(pool) => Box::new(PostgresPeople::new(pool)),
        };
        Self {
            by: Arc::new(Asker::baton()),
            shared: Arc::new(Shared {
                access_log: AccessLog::new(database),
                backend,
                bearers: Bearers::default(),
                passwords: Passwords::new(),
                attempts: Attempts::default(),
            }),
        }
    }

    /// The same, asked by somebody: the access log names them.
    #[must_use]
    pub fn acting(&self, by: Asker) -> Self {
        Self {
            shared: self.shared.clone(),
            by: Arc::new(by),
        }
    }

    /// The log of what people and tokens did.
    pub fn access_log(&self) -> &AccessLog {
        &self.shared.access_log
    }

    /// An entry of what is done by whoever asks, about a user or a token.
    fn entry(&self, event: AccessEvent, subject: &str, details: Value) -> Draft {
        Draft::new(event, &self.by, Some(subject), details)
    }

    fn backend(&self) -> &dyn Backend {
        self.shared.backend.as_ref()
    }

    /// Counts, writes down and commits a change, and lets this server see it at
    /// once.
    async fn finish(
        &self,
        mut change: Box<dyn Change>,
        entries: &[Draft],
    ) -> Result<(), PeopleError> {
        change.count().await?;
        change.write_down(entries).await?;
        commit(change).await?;
        // Should this fail, `follow` catches up.
        if let Err(error) = self.refresh().await {
            tracing::debug!(%error, "tokens could not be read after a change");
        }
        Ok(())
    }
}

/// Commits a change. When that fails or takes too long, nobody knows.
async fn commit(change: Box<dyn Change>) -> Result<(), PeopleError> {
    match tokio::time::timeout(COMMIT_WITHIN, change.commit()).await {
        Ok(result) => result.map_err(PeopleError::Unconfirmed),
        Err(_) => Err(PeopleError::Unconfirmed(sqlx::Error::PoolTimedOut)),
    }
}

impl fmt::Debug for People {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("People").finish_non_exhaustive()
    }
}

/// Whether a user or token may be called this.
fn check_name(name: &str) -> Result<(), PeopleError> {
    let invalid = |why: String| Err(PeopleError::Invalid(why));
    let length = name.chars().count();
    if length == 0 || length > NAME_CHARS_MAX {
        return invalid(format!(
            "a name has 1 to {NAME_CHARS_MAX} characters, this one has {length}"
        ));
    }
    if name.chars().any(|c| c.is_control() || c == ':') {
        return invalid("a name has no control characters and no colon".into());
    }
    if name.trim() != name {
        return invalid("a name does not start or end with a blank".into());
    }
    Ok(())
}

/// A name with U+0000 is nobody's, and PostgreSQL cannot even be asked for it.
fn storable(name: &str) -> bool {
    !name.contains('\0')
}
