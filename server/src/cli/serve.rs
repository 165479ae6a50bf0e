//! `baton serve`: the server. This is only its flags; see `http` for what it
//! does.

use std::net::{IpAddr, SocketAddr};

use url::Url;

use super::{DatabaseArgs, Exit, Failure};
use crate::http::{self, ServeOptions};

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
        value_name = "IP:PORT"
    )]
    listen: SocketAddr,

    #[command(flatten)]
    database: DatabaseArgs,

    /// The address that browsers use, when a proxy stands in front: https://baton.example
    #[arg(long, env = "BATON_PUBLIC_URL", value_name = "URL")]
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
}

/// Runs the command.
pub async fn run(args: ServeArgs) -> Result<(), Failure> {
    let options = ServeOptions {
        listen: args.listen,
        database: args.database.database,
        public_url: args.public_url,
        trusted_proxies: args.trusted_proxy,
        anonymous_read: args.anonymous_read,
    };
    http::serve(options).await.map_err(|error| {
        let mut text = error.to_string();
        let mut source = std::error::Error::source(&error);
        while let Some(inner) = source {
            text.push_str(&format!(": {inner}"));
            source = inner.source();
        }
        Failure::new(Exit::Failed, text)
    })
}
