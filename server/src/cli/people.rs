//! What `baton user` and `baton token` share: both work straight on the database,
//! also beside a running server, which notices within a second.

use std::{path::Path, str::FromStr as _};

use baton_client::Timestamp;
use sqlx::sqlite::SqliteConnectOptions;

use super::{DatabaseArgs, Exit, Failure, safe::safe, table::clock};
use crate::{
    database::{Database, OpenError},
    people::{People, PeopleError},
};

/// The people of a database that is there already: a mistyped address must not
/// make another one.
pub async fn open(args: &DatabaseArgs) -> Result<People, Failure> {
    if let Some(file) = sqlite_file(&args.database)
        && !Path::new(&file).exists()
    {
        return Err(Failure::new(
            Exit::Unreachable,
            format!(
                "there is no database at {}: start `baton serve` first, or say where it is \
                 with --database or BATON_DATABASE",
                safe(&file)
            ),
        ));
    }
    let database = Database::open(&args.database).await.map_err(|error| {
        let exit = match error {
            OpenError::Address(_) => Exit::Usage,
            _ => Exit::Unreachable,
        };
        Failure::new(exit, chain(&error))
    })?;
    Ok(People::new(&database))
}

/// The file of a SQLite address.
fn sqlite_file(address: &str) -> Option<String> {
    if !address.starts_with("sqlite:") {
        return None;
    }
    let options = SqliteConnectOptions::from_str(address).ok()?;
    Some(options.get_filename().to_str()?.to_owned())
}

impl From<PeopleError> for Failure {
    fn from(error: PeopleError) -> Self {
        let exit = match error {
            PeopleError::Invalid(_) | PeopleError::Prefix(_) => Exit::Usage,
            PeopleError::Taken(_)
            | PeopleError::UnknownUser(_)
            | PeopleError::UnknownToken(_)
            | PeopleError::Revoked(_)
            | PeopleError::LastAdmin(_) => Exit::Refused,
            PeopleError::Crowded => Exit::Failed,
            PeopleError::Store(_) => Exit::Unreachable,
        };
        Self::new(exit, chain(&error))
    }
}

/// An error and what is behind it, on one line.
fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(inner) = source {
        text.push_str(&format!(": {inner}"));
        source = inner.source();
    }
    safe(&text).into_owned()
}

/// A moment that may not have come yet.
pub fn moment(at: Option<Timestamp>) -> String {
    at.map_or_else(|| "never".into(), clock)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_of_an_address_is_found() {
        for (address, file) in [
            ("sqlite://baton.db", Some("baton.db")),
            ("sqlite:///var/lib/baton.db", Some("/var/lib/baton.db")),
            ("sqlite:baton.db", Some("baton.db")),
            ("postgres://localhost/baton", None),
        ] {
            assert_eq!(sqlite_file(address).as_deref(), file, "{address}");
        }
    }

    #[tokio::test]
    async fn a_mistyped_address_makes_no_database() {
        let folder = tempfile::tempdir().expect("a temporary folder can be made");
        let file = folder.path().join("mistyped.db");
        let args = DatabaseArgs {
            database: format!("sqlite://{}", file.display()),
        };
        let refused = open(&args).await.expect_err("there is none");
        assert_eq!(refused.exit(), Exit::Unreachable);
        assert!(!file.exists());
    }
}
