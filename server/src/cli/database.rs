//! The `--database` that the commands beside the server share with it.

use super::{Exit, Failure};
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
        let opened = Database::open_existing(&self.database).await;
        opened.map_err(|error| not_opened(&error))
    }
}

/// Why there is nothing to work on.
pub fn not_opened(error: &OpenError) -> Failure {
    let exit = match error {
        OpenError::Address(_) => Exit::Usage,
        _ => Exit::Unreachable,
    };
    let failure = Failure::caused(exit, error);
    match error {
        OpenError::NoFile(_) => failure.with_hint(
            "Start `baton serve` first, or say where it is with --database or BATON_DATABASE.",
        ),
        _ => failure,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
