//! The `--database` that the commands beside the server share with it.

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
