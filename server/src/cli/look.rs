//! Databases that a command looks at, beside whatever serves them.

use super::{Exit, Failure, safe::safe};
use crate::{
    database::{Database, OpenError},
    store::{Reader, StoreError},
};

/// Opens a database to read its log; nothing in it is changed.
pub async fn look(address: &str) -> Result<Reader, Failure> {
    let database = Database::look(address).await.map_err(|error| {
        let exit = match error {
            OpenError::Address(_) => Exit::Usage,
            _ => Exit::Unreachable,
        };
        Failure::caused(exit, &error)
    })?;
    Reader::of(&database).await.map_err(|error| {
        Failure::new(
            Exit::Unreachable,
            format!("the database cannot be read: {}", safe(&error.to_string())),
        )
        .with_hint(
            "Is it Baton's? Its schema must be this version's: `baton serve` brings it there.",
        )
    })
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
