//! The `--database` that the commands beside the server share with it.

use std::{path::Path, str::FromStr as _};

use sqlx::sqlite::SqliteConnectOptions;

use super::{Exit, Failure, safe::safe};
use crate::database::{Database, OpenError};

/// Which database.
#[derive(Debug, Clone, clap::Args)]
pub struct DatabaseArgs {
    /// The database: sqlite://FILE, or postgres://USER@HOST/NAME
    // The address may hold a password, so `--help` must not show the variable.
    #[arg(
        long,
        env = "BATON_DATABASE",
        hide_env_values = true,
        default_value = "sqlite://baton.db",
        value_name = "ADDRESS"
    )]
    pub database: String,
}

impl DatabaseArgs {
    /// Opens a database that is there already: a mistyped address must not make
    /// another one.
    pub async fn open(&self) -> Result<Database, Failure> {
        if let Some(file) = sqlite_file(&self.database)
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
        Database::open(&self.database).await.map_err(|error| {
            let exit = match error {
                OpenError::Address(_) => Exit::Usage,
                _ => Exit::Unreachable,
            };
            Failure::caused(exit, &error)
        })
    }
}

/// The file of a SQLite address.
fn sqlite_file(address: &str) -> Option<String> {
    if !address.starts_with("sqlite:") {
        return None;
    }
    let options = SqliteConnectOptions::from_str(address).ok()?;
    Some(options.get_filename().to_str()?.to_owned())
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
        let refused = args.open().await.expect_err("there is none");
        assert_eq!(refused.exit(), Exit::Unreachable);
        assert!(!file.exists());
    }
}
