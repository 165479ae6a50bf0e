//! `baton serve`: the server. This is only its flags; see `http` for what it
//! does.

use std::{
    net::{IpAddr, SocketAddr},
    path::PathBuf,
    time::Duration,
};

use url::Url;

use super::{DatabaseArgs, Exit, Failure, Millis, safe::safe, words};
use crate::{
    database::{OpenError, missing_folder},
    http::{self, CheckpointOptions, ServeOptions},
};

/// Checkpoints are not taken more often.
const CHECKPOINTS_APART_MS_MIN: u64 = 1_000;

/// Run the server: the API, the page and the store behind them
///
/// On an empty database it makes the user `admin` and one holder token, and
/// prints both once; BATON_ADMIN_PASSWORD and BATON_HOLDER_TOKEN set them
/// instead. Stop it with SIGTERM or Ctrl-C: it answers what is under way first.
#[derive(Debug, clap::Args)]
pub struct ServeArgs {
    /// The address to listen on
    #[arg(
        long,
        env = "BATON_LISTEN",
        default_value = "127.0.0.1:7400",
        value_name = "IP:PORT",
        value_parser = words::listen_address
    )]
    listen: SocketAddr,

    #[command(flatten)]
    database: DatabaseArgs,

    /// The address that browsers use, when a proxy stands in front: https://baton.example
    #[arg(
        long,
        env = "BATON_PUBLIC_URL",
        value_name = "URL",
        value_parser = words::page_address
    )]
    public_url: Option<Url>,

    /// A proxy whose X-Forwarded-For is believed; can be given more than once
    #[arg(
        long,
        env = "BATON_TRUSTED_PROXY",
        value_name = "IP",
        value_delimiter = ','
    )]
    trusted_proxy: Vec<IpAddr>,

    /// Let anyone look who can reach the server, without signing in
    #[arg(
        long,
        env = "BATON_ANONYMOUS_READ",
        value_parser = clap::builder::BoolishValueParser::new()
    )]
    anonymous_read: bool,

    /// Take a checkpoint of the history this often: 1h
    #[arg(long, env = "BATON_CHECKPOINT_EVERY", value_name = "DURATION")]
    checkpoint_every: Option<Millis>,

    /// The file that checkpoints are added to [default: the server's log]
    #[arg(
        long,
        env = "BATON_CHECKPOINT_TO",
        value_name = "FILE",
        requires = "checkpoint_every"
    )]
    checkpoint_to: Option<PathBuf>,

    /// The key to sign checkpoints with; it is made if it is not there
    #[arg(
        long,
        env = "BATON_CHECKPOINT_KEY",
        default_value = "baton-checkpoint.key",
        value_name = "FILE"
    )]
    checkpoint_key: PathBuf,

    /// A file with checkpoints, one a line: unless the log contains the last one, nothing is
    /// granted until `baton raise-floor`
    #[arg(long, env = "BATON_CHECKPOINT", value_name = "FILE")]
    checkpoint: Option<PathBuf>,
}

/// Runs the command.
pub async fn run(args: ServeArgs) -> Result<(), Failure> {
    // Found out at the first checkpoint, it would be too late.
    if let Some(folder) = args.checkpoint_to.as_deref().and_then(missing_folder) {
        let error = OpenError::NoFolder(folder.to_path_buf());
        let text = safe(&format!("--checkpoint-to: {error}")).to_string();
        return Err(Failure::new(Exit::Usage, text));
    }
    let options = ServeOptions {
        listen: args.listen,
        database: args.database.database,
        public_url: args.public_url,
        trusted_proxies: args.trusted_proxy,
        anonymous_read: args.anonymous_read,
        checkpoints: args.checkpoint_every.map(|Millis(ms)| CheckpointOptions {
            every: Duration::from_millis(ms.max(CHECKPOINTS_APART_MS_MIN)),
            file: args.checkpoint_to,
            key: args.checkpoint_key,
        }),
        checkpoint: args.checkpoint,
    };
    let served = http::serve(options).await;
    served.map_err(|error| Failure::caused(Exit::Failed, &error))
}
