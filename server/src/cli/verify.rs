//! `baton verify`: whether a log holds, in a database or in exported files alone.
//! It asks no server.

use std::{
    fs::File,
    io::{BufRead as _, BufReader, Read as _, Seek as _, SeekFrom},
    path::{Path, PathBuf},
};

use baton_client::{ExportTrailer, Found, HandoverQuery};
use serde::Serialize;

use super::{
    DatabaseArgs, Exit, Failure,
    look::{look, unread},
    output,
    progress::{Progress, grouped},
    safe::safe_lines,
};
use expected::Expected;

use crate::{
    audit::{Begins, Depth, Fault, Line, Verified, Verifier, read_line},
    export::Tally,
};

mod expected;

/// How a SQLite file begins.
const SQLITE: &[u8] = b"SQLite format 3\0";
/// Trailers are shorter.
const TRAILER_BYTES_MAX: u64 = 64 * 1024;

/// Verify the history: that nothing in it was changed, deleted, added or moved
///
/// Without FILE it verifies the database: the chain, every lease's entries, and that
/// the lease table is what they leave. With FILEs it verifies those alone: exports in
/// JSON Lines, taken together in their order, or a copy of a SQLite database. That
/// the newest entries were cut off, or everything was written anew, shows only
/// beside a checkpoint.
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
    let mut verified = match args.files.as_slice() {
        [] => verify_database(&args.database.database, &expected).await?,
        [file] if is_sqlite(file) => {
            let address = format!("sqlite://{}", file.display());
            verify_database(&address, &expected).await?
        }
        files => verify_files(files, &expected)?,
    };
    for fault in expected.unsigned {
        verified.found(None, fault);
    }
    if args.json {
        output::json_line(&json(&verified)?)?;
    } else {
        output::line(&text(&verified))?;
    }
    if verified.holds() {
        return Ok(());
    }
    let count = grouped(verified.findings.len() as u64 + verified.more);
    Err(Failure::new(
        Exit::Failed,
        format!("the history does not hold: {count} findings"),
    ))
}

async fn verify_database(address: &str, expected: &Expected) -> Result<Verified, Failure> {
    let verifier = expected.verifier(Depth::Whole);
    let reader = look(address).await?;
    let mut progress = Progress::start();
    let verified = reader.verify(verifier, |seq, of| {
        progress.show(seq, Some(100 * seq / of.max(1)));
    });
    verified.await.map_err(|error| unread(&error))
}

fn is_sqlite(file: &Path) -> bool {
    let mut start = [0; SQLITE.len()];
    File::open(file).is_ok_and(|mut file| file.read_exact(&mut start).is_ok() && start == *SQLITE)
}

fn verify_files(files: &[PathBuf], expected: &Expected) -> Result<Verified, Failure> {
    let trailers: Vec<_> = files.iter().map(|file| last_trailer(file)).collect();
    let filtered = trailers.iter().flatten().any(is_filtered);
    if filtered && files.len() > 1 {
        return Err(Failure::new(
            Exit::Usage,
            "an export of a filter leaves entries out: verify each by itself",
        ));
    }
    let depth = if filtered {
        Depth::Entries
    } else {
        Depth::Whole
    };
    let mut verifier = expected.verifier(depth);
    let mut progress = Progress::start();
    for (i, file) in files.iter().enumerate() {
        let whole = verify_file(file, &mut verifier, &mut progress)?;
        // What was cut goes on in the next file, or a gap shows there.
        if !whole && i + 1 == files.len() {
            let last = verifier.last().map(|last| last.seq);
            verifier.found(last, Fault::Cut);
        }
    }
    Ok(verifier.finish())
}

/// Shows a file to the verifier; whether it ends with a trailer.
fn verify_file(
    file: &Path,
    verifier: &mut Verifier,
    progress: &mut Progress,
) -> Result<bool, Failure> {
    let unread = |error: std::io::Error| {
        let file = file.display();
        Failure::new(Exit::Usage, format!("{file} cannot be read: {error}"))
    };
    let mut lines = BufReader::new(File::open(file).map_err(unread)?);
    let mut tally = Tally::new(HandoverQuery::default());
    let mut trailer = None;
    let mut line = Vec::new();
    loop {
        line.clear();
        if lines.read_until(b'\n', &mut line).map_err(unread)? == 0 {
            return Ok(trailer.is_some());
        }
        let read = std::str::from_utf8(&line)
            .map_err(|error| error.to_string())
            .and_then(|line| read_line(line.trim_end_matches(['\n', '\r'])));
        let after_trailer = trailer.is_some();
        let next = verifier.last().map_or(1, |last| last.seq + 1);
        match read {
            Ok(Line::Entry(entry)) => {
                verifier.push(&entry);
                tally.count(&entry);
                if after_trailer {
                    let what = "entries follow it".to_owned();
                    verifier.found(Some(entry.seq), Fault::WrongTrailer(what));
                }
            }
            Ok(Line::Trailer(says)) => {
                if let Err(what) = tally.check(&says).and_then(|()| reaches(&says)) {
                    let last = tally.last.as_ref().map(|(seq, _)| *seq);
                    verifier.found(last, Fault::WrongTrailer(what));
                }
                trailer = Some(says);
            }
            Err(why) => verifier.unreadable(next, why),
        }
        progress.show(verifier.count(), None);
    }
}

/// Whether an export of everything goes up to where the log ended.
fn reaches(trailer: &ExportTrailer) -> Result<(), String> {
    let after = trailer.filter.after.unwrap_or(0);
    let expected = (trailer.head_seq > after).then_some(trailer.head_seq);
    if is_filtered(trailer) || trailer.last_seq == expected {
        return Ok(());
    }
    Err(format!(
        "it says that the log ended with seq {}",
        trailer.head_seq
    ))
}

/// Whether entries between are left out.
fn is_filtered(trailer: &ExportTrailer) -> bool {
    let all = HandoverQuery {
        after: trailer.filter.after,
        ..HandoverQuery::default()
    };
    trailer.filter != all
}

/// The trailer of a file, ahead of its entries: it says what they are.
fn last_trailer(file: &Path) -> Option<ExportTrailer> {
    let mut file = File::open(file).ok()?;
    let length = file.metadata().ok()?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(TRAILER_BYTES_MAX)))
        .ok()?;
    let mut end = Vec::new();
    file.take(TRAILER_BYTES_MAX).read_to_end(&mut end).ok()?;
    let end = String::from_utf8_lossy(&end);
    match read_line(end.trim_end().lines().next_back()?) {
        Ok(Line::Trailer(trailer)) => Some(*trailer),
        _ => None,
    }
}

fn text(verified: &Verified) -> String {
    let mut text = String::new();
    for finding in &verified.findings {
        text.push_str(&format!("{}\n", safe_lines(&finding.to_string())));
    }
    if verified.more > 0 {
        text.push_str(&format!("… and {} more.\n", grouped(verified.more)));
    }
    let begins = match verified.begins {
        Begins::AtTheBeginning => "from the beginning".to_owned(),
        Begins::AfterArchived { seq } => {
            format!("after the archived part, which ends with seq {seq}")
        }
        Begins::InTheMiddle { .. } if verified.depth == Depth::Entries => "of a filter".into(),
        Begins::InTheMiddle { seq } => {
            format!("from seq {seq} on; what came before it was not looked at")
        }
    };
    let holds = if verified.holds() {
        "Holds"
    } else {
        "Does not hold"
    };
    text.push_str(&format!(
        "{holds}: {} entries, {begins}",
        grouped(verified.count)
    ));
    if verified.depth == Depth::Entries {
        text.push_str(
            ".\nIt is the export of a filter: each entry is as it was written, but that none is \
             left out can't be shown without the others",
        );
    }
    if let Some(last) = &verified.last {
        text.push_str(&format!(
            ".\nThe last one is seq {} at {}, with hash {}",
            last.seq, last.at, last.hash
        ));
    }
    text.push('.');
    if verified.checkpoints > 0 {
        let count = grouped(verified.checkpoints);
        text.push_str(&format!("\nIt contains {count} checkpoints."));
    }
    if verified.checkpoints_before > 0 {
        let count = grouped(verified.checkpoints_before);
        text.push_str(&format!(
            "\n{count} checkpoints are of what came before, which was not looked at."
        ));
    }
    text
}

fn json(verified: &Verified) -> Result<String, Failure> {
    #[derive(Serialize)]
    struct Report {
        holds: bool,
        count: u64,
        begins_after: u64,
        begins: &'static str,
        last_seq: Option<u64>,
        last_hash: Option<String>,
        last_at: Option<baton_client::Timestamp>,
        checkpoints: u64,
        checkpoints_before: u64,
        findings: Vec<Found>,
        more: u64,
    }
    let (begins, begins_after) = match verified.begins {
        Begins::AtTheBeginning => ("at_the_beginning", 0),
        Begins::AfterArchived { seq } => ("after_archived", seq),
        Begins::InTheMiddle { seq } => ("in_the_middle", seq - seq.min(1)),
    };
    let last = verified.last.as_ref();
    serde_json::to_string(&Report {
        holds: verified.holds(),
        count: verified.count,
        begins,
        begins_after,
        last_seq: last.map(|last| last.seq),
        last_hash: last.map(|last| last.hash.clone()),
        last_at: last.map(|last| last.at),
        checkpoints: verified.checkpoints,
        checkpoints_before: verified.checkpoints_before,
        findings: verified.findings.iter().map(Found::from).collect(),
        more: verified.more,
    })
    .map_err(|error| Failure::new(Exit::Failed, error.to_string()))
}
