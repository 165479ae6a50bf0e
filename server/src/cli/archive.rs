//! `baton archive`: moves the history's older part into a file, on the server's
//! machine, straight on the database.
//!
//! First the file is written, read back and checked, and on the disk under its
//! name; only then is anything removed, in one transaction. Whenever this is
//! stopped, everything is in the database, or in the file, or in both.

use std::{
    fs::{self, File},
    io::{self, BufReader, BufWriter, Write as _},
    path::{Path, PathBuf},
};

use baton_client::{HandoverQuery, Timestamp};

use super::{DatabaseArgs, Exit, Failure, output, part::open_alone, safe::safe, words};
use crate::{
    export::{Export, read_back},
    rules::Asker,
    store::{
        Reader,
        keeping::{KeepError, Keeping, Older},
    },
};

/// Move the history's older part into a file
///
/// Writes what is from before a time into a new file, checks it, and then removes it
/// from the database. An entry in the history says where it was cut, so that the
/// rest still verifies, and file and rest verify as one. On PostgreSQL it takes the role that
/// owns the tables, and grants wait while the entries are removed (seconds for a
/// million); on SQLite, stop the server first.
#[derive(Debug, clap::Args)]
pub struct ArchiveArgs {
    /// What is from before this time, as 2026-01-01T00:00:00Z
    #[arg(long, value_name = "TIME")]
    before: Timestamp,

    /// The file to write, which must not be there yet
    #[arg(long, value_name = "FILE")]
    to: PathBuf,

    /// Why, for the history [default: archived]
    #[arg(
        long,
        value_name = "TEXT",
        default_value = "archived",
        hide_default_value = true,
        value_parser = words::reason
    )]
    reason: String,

    /// Print the entry of the history as JSON
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    database: DatabaseArgs,
}

/// Runs the command.
pub async fn run(args: ArchiveArgs) -> Result<(), Failure> {
    absent(&args.to)?;
    let database = args.database.open().await?;
    let _lock = database.lock()?;
    let keeping = Keeping::open(&database).await.map_err(KeepError::from)?;
    let older = keeping.older(args.before).await.map_err(KeepError::from)?;
    let Some(older) = older else {
        output::note(&format!(
            "Nothing in the history is from before {}; nothing was done.",
            args.before
        ));
        return Ok(());
    };
    let count = write(&keeping.reader(), &older, &args.to).await?;
    let archived = keeping.archive(&older, count, Asker::baton(), args.reason);
    let entry = archived.await.map_err(|error| {
        let hint = match error {
            KeepError::Store(_) => {
                "The file is whole, and it may be the only copy of these entries: keep it until \
                 you know. They are gone if `baton history --event archived` shows this cut."
            }
            _ => "The file is whole all the same; delete it before you try again.",
        };
        Failure::from(error).with_hint(hint)
    })?;
    if args.json {
        return output::json_line(&serde_json::json!(entry).to_string());
    }
    let file = args.to.display().to_string();
    output::note(&format!(
        "{count} entries, up to seq {}, are in {} and no longer in the database. \
         The history has it as seq {}.",
        older.end.head.seq,
        safe(&file),
        entry.seq
    ));
    Ok(())
}

/// Refuses a file that is there already.
fn absent(file: &Path) -> Result<(), Failure> {
    if !file.exists() {
        return Ok(());
    }
    let file = file.display().to_string();
    Err(Failure::new(
        Exit::Usage,
        format!(
            "{} is there already; an archive overwrites nothing",
            safe(&file)
        ),
    ))
}

/// Writes the part into the file, which gets its name when it is whole, was read
/// back, and is on the disk. Says how many entries it has.
async fn write(reader: &Reader, older: &Older, to: &Path) -> Result<u64, Failure> {
    let mut part = to.as_os_str().to_owned();
    part.push(".part");
    let part = PathBuf::from(part);
    let unwritten = |error: io::Error| {
        let file = part.display().to_string();
        Failure::new(
            Exit::Failed,
            format!(
                "{} cannot be written: {error}; nothing was removed",
                safe(&file)
            ),
        )
    };
    // Two that write the same file would remove what only the other one's has.
    let lock = open_alone(&part).map_err(unwritten)?;
    let mut file = BufWriter::new(lock.try_clone().map_err(unwritten)?);
    let filter = HandoverQuery {
        after: (older.after > 0).then_some(older.after),
        ..HandoverQuery::default()
    };
    let mut export = Export::lines_up_to(reader, filter, older.end.clone());
    while let Some(piece) = export.next().await {
        let piece = piece.map_err(|error| Failure::caused(Exit::Unreachable, &error))?;
        file.write_all(&piece).map_err(unwritten)?;
    }
    let written = file
        .into_inner()
        .map_err(|error| unwritten(error.into_error()))?;
    written.sync_all().map_err(unwritten)?;
    let trailer = export.trailer();
    let back = BufReader::new(File::open(&part).map_err(unwritten)?);
    read_back(back, &trailer, older.after).map_err(|what| {
        let file = part.display().to_string();
        Failure::new(
            Exit::Failed,
            format!("{} does not hold: {what}; nothing was removed", safe(&file)),
        )
    })?;
    // Whoever else archives into this file has the other name, and its lock.
    absent(to)?;
    fs::rename(&part, to).map_err(unwritten)?;
    drop(lock);
    let folder = to.parent().filter(|folder| !folder.as_os_str().is_empty());
    let folder = File::open(folder.unwrap_or(Path::new("."))).map_err(unwritten)?;
    folder.sync_all().map_err(unwritten)?;
    Ok(trailer.count)
}
