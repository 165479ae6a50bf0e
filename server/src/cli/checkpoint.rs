//! `baton checkpoint`: where the log ends now, signed, to be kept elsewhere.

use std::path::PathBuf;

use baton_client::{Call, HandoverQuery};

use super::{
    Exit, Failure,
    connection::{ConnectionArgs, Session},
    look::{look, unread},
    output,
    safe::safe,
};
use crate::{
    chain::Head,
    checkpoint::{Checkpoint, Key, append},
    store::LogEnd,
};

/// Print where the history ends now, signed: keep it elsewhere
///
/// The line it prints proves later, with `baton verify --checkpoint`, that no entry
/// up to there was taken away or written anew. Keep it where whoever can write the
/// database cannot.
#[derive(Debug, clap::Args)]
pub struct CheckpointArgs {
    /// The key to sign with; it is made if it is not there
    #[arg(
        long,
        env = "BATON_CHECKPOINT_KEY",
        default_value = "baton-checkpoint.key",
        value_name = "FILE"
    )]
    key: PathBuf,

    /// Also add the line to this file
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,

    /// Read straight from this database, and not from a server: sqlite://FILE or postgres://…
    #[arg(long, value_name = "ADDRESS")]
    database: Option<String>,

    #[command(flatten)]
    connection: ConnectionArgs,
}

/// Runs the command.
pub async fn run(args: CheckpointArgs) -> Result<(), Failure> {
    let end = match &args.database {
        Some(address) => {
            let end = look(address).await?.end().await;
            end.map_err(|error| unread(&error))?
        }
        None => ask(&args.connection.session(false)?).await?,
    };
    let (key, made) = Key::open(&args.key).map_err(|error| Failure::caused(Exit::Usage, &error))?;
    if made {
        let file = args.key.display().to_string();
        output::note(&format!(
            "Made a key in {}; its public part is {}.",
            safe(&file),
            key.public()
        ));
    }
    let checkpoint = Checkpoint::sign(&end.head, end.now, &key);
    let line = checkpoint.and_then(|checkpoint| checkpoint.line());
    let line = line.map_err(|error| Failure::new(Exit::Failed, error.to_string()))?;
    if let Some(file) = &args.output {
        append(file, &line).map_err(|error| {
            let file = file.display();
            Failure::new(Exit::Failed, format!("{file} cannot be written: {error}"))
        })?;
    }
    output::line(&line)
}

/// Where the log ends, by its newest entry.
async fn ask(session: &Session) -> Result<LogEnd, Failure> {
    let query = HandoverQuery {
        limit: Some(1),
        ..HandoverQuery::default()
    };
    let page = session.send(Call::handovers(&query)).await?.value;
    let newest = page.items.into_iter().next();
    Ok(LogEnd {
        head: newest.map_or_else(Head::genesis, |entry| Head {
            seq: entry.seq,
            at: entry.at,
            hash: entry.hash,
        }),
        now: page.now,
        behind: false,
    })
}
