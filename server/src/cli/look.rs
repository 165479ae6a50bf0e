//! Databases that a command looks at, beside whatever serves them.

use super::{Exit, Failure, database::not_opened, safe::safe};
use crate::{
    access_log::AccessLog,
    database::{Database, OpenError, is_damage},
    store::{Reader, StoreError},
};

/// A database that is only looked at.
pub struct Looked {
    /// The way to its history.
    pub reader: Reader,
    /// The other log.
    pub access_log: AccessLog,
}

/// Opens a database to read its log; nothing in it is changed.
pub async fn look(address: &str) -> Result<Reader, Failure> {
    Ok(look_at(address).await?.reader)
}

/// Opens a database to read its logs; nothing in it is changed.
pub async fn look_at(address: &str) -> Result<Looked, Failure> {
    let database = Database::look(address)
        .await
        .map_err(|error| match &error {
            OpenError::Connect { source, .. } if is_damage(source) => damaged(source),
            _ => not_opened(&error),
        })?;
    let reader = Reader::of(&database).await.map_err(|error| {
        if is_damage(&error) {
            return damaged(&error);
        }
        Failure::new(
            Exit::Unreachable,
            format!("the database cannot be read: {}", safe(&error.to_string())),
        )
        .with_hint(
            "Is it Baton's? Its schema must be this version's: `baton serve` brings it there.",
        )
    })?;
    Ok(Looked {
        reader,
        access_log: AccessLog::new(&database),
    })
}

/// It is there, and its very beginning cannot be read.
fn damaged(error: &sqlx::Error) -> Failure {
    Failure::new(
        Exit::Failed,
        format!(
            "the database is damaged, reading stopped before its first entry: {}",
            safe(&error.to_string())
        ),
    )
    .with_hint(
        "The file or its disk is damaged, or a copy was made while it was written to; a backup \
         may be whole.",
    )
}

/// What a failed read means for a command.
pub fn unread(error: &StoreError) -> Failure {
    match error {
        StoreError::Internal => Failure::new(
            Exit::Failed,
            "the database holds what Baton did not write; `baton verify` says where",
        ),
        _ => Failure::new(Exit::Unreachable, "the database does not answer"),
    }
}
