//! `baton show`: one lease in full.

use baton_client::{Call, LeaseName};

use super::{Failure, connection::ConnectionArgs, lease_text, output};

/// Show a lease: who holds it, for how much longer, and what stands in the way
#[derive(Debug, clap::Args)]
pub struct ShowArgs {
    /// The lease
    lease: LeaseName,

    /// Print the server's answer as JSON
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    connection: ConnectionArgs,
}

/// Runs the command.
pub async fn run(args: ShowArgs) -> Result<(), Failure> {
    let session = args.connection.session(args.json)?;
    let answer = session.send(Call::lease(&args.lease)).await?;
    if args.json {
        output::json_line(&answer.text)
    } else {
        output::line(&lease_text::details(&answer.value))
    }
}
