//! `baton verify`: whether the logs hold, in a database or in exported files alone.
//! It asks no server.

use std::{
    fs::File,
    io::Read as _,
    path::{Path, PathBuf},
};

use super::{
    DatabaseArgs, Exit, Failure,
    look::{look_at, unread},
    output,
    progress::Progress,
    safe::safe,
};
use expected::Expected;
use told::{Access, Verdict};

use crate::audit::Depth;

mod expected;
mod files;
mod told;

/// How a SQLite file begins.
const SQLITE: &[u8] = b"SQLite format 3\0";
/// PostgreSQL: the role may not.
const INSUFFICIENT_PRIVILEGE: &str = "42501";

/// Verify the history: that nothing in it was changed, deleted, added or moved
///
/// Without FILE it verifies the database: the chain, every lease's entries, and that
/// the lease table is what they leave; and the chain of the access log. With FILEs it
/// verifies those alone: exports of either log in JSON Lines, those of the same log
/// taken together in their order, or a copy of a SQLite database. That the newest
/// entries were cut off, or everything was written anew, shows only beside a
/// checkpoint.
#[derive(Debug, clap::Args)]
pub struct VerifyArgs {
    /// Exports in JSON Lines, oldest first, or one SQLite file
    #[arg(value_name = "FILE")]
    files: Vec<PathBuf>,

    /// Also prove that it contains these checkpoints, one a line; can be given more than once
    #[arg(long = "checkpoint", value_name = "FILE")]
    checkpoints: Vec<PathBuf>,

    /// The public key that checkpoints must be signed with, in hex, as `baton checkpoint` says it
    #[arg(long, value_name = "KEY", requires = "checkpoints")]
    signed_by: Option<String>,

    /// Print what was found as JSON
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    database: DatabaseArgs,
}

/// Runs the command.
pub async fn run(args: VerifyArgs) -> Result<(), Failure> {
    let expected = Expected::read(&args.checkpoints, args.signed_by.as_deref())?;
    let mut verdict = match args.files.as_slice() {
        [] => verify_database(&args.database.database, &expected).await?,
        [file] if is_sqlite(file) => {
            let address = format!("sqlite://{}", file.display());
            verify_database(&address, &expected).await?
        }
        files => files::verify(files, &expected)?,
    };
    if let Some(history) = &mut verdict.history {
        for fault in expected.unsigned {
            history.found(None, fault);
        }
    }
    if args.json {
        output::json_line(&verdict.json()?)?;
    } else {
        output::line(&verdict.text())?;
    }
    verdict.into_result()
}

async fn verify_database(address: &str, expected: &Expected) -> Result<Verdict, Failure> {
    let looked = look_at(address).await?;
    let verifier = expected.verifier(Depth::Whole);
    let mut progress = Progress::start();
    let history = looked.reader.verify(verifier, |seq, of| {
        progress.show(seq, Some(100 * seq / of.max(1)));
    });
    let history = history.await.map_err(|error| unread(&error))?;
    drop(progress);
    let access = match looked.access_log.verify().await {
        Ok(linked) => Access::Verified {
            linked,
            filtered: false,
        },
        Err(sqlx::Error::Database(error))
            if error.code().as_deref() == Some(INSUFFICIENT_PRIVILEGE) =>
        {
            Access::NotAllowed
        }
        Err(error) => {
            let error = error.to_string();
            let text = format!("the access log cannot be read: {}", safe(&error));
            return Err(Failure::new(Exit::Unreachable, text));
        }
    };
    Ok(Verdict {
        history: Some(history),
        access: Some(access),
    })
}

fn is_sqlite(file: &Path) -> bool {
    let mut start = [0; SQLITE.len()];
    File::open(file).is_ok_and(|mut file| file.read_exact(&mut start).is_ok() && start == *SQLITE)
}
