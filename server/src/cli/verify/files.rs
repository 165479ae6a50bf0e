//! Exported files, shown to the machine that fits: of handovers, or of the access
//! log.

use std::{
    fs::File,
    io::{BufRead as _, BufReader, Read as _, Seek as _, SeekFrom},
    path::{Path, PathBuf},
};

use baton_client::{AccessEntry, AccessQuery, Handover, HandoverQuery, Trailer};

use super::{
    super::{Exit, Failure, progress::Progress},
    expected::Expected,
    told::{Access, Verdict},
};
use crate::{
    access_log::{AccessLine, AccessVerifier, read_line as read_access_line},
    audit::{Depth, Fault, Line, Link as _, Links, Machine, Verifier, read_line},
    export::Tally,
};

/// Trailers are shorter.
const TRAILER_BYTES_MAX: u64 = 64 * 1024;
/// Lines that are looked at to tell what a file is.
const LINES_LOOKED_AT: usize = 100;

/// What a line of a file is.
enum Read<E> {
    Entry(Box<E>),
    Ending(Ending),
}

/// What a trailer says of either log.
struct Ending {
    /// Entries between are left out.
    filtered: bool,
    /// What is after this `seq` was asked for.
    after: u64,
    count: u64,
    first_seq: Option<u64>,
    last_seq: Option<u64>,
    last_hash: Option<String>,
    head_seq: u64,
    head_hash: String,
}

/// A machine that is shown the lines of a file.
trait Reads: Machine {
    fn read(line: &str) -> Result<Read<Self::Entry>, String>;
}

impl Reads for Verifier {
    fn read(line: &str) -> Result<Read<Handover>, String> {
        Ok(match read_line(line)? {
            Line::Entry(entry) => Read::Entry(entry),
            Line::Trailer(trailer) => {
                let after = trailer.filter.after;
                let all = HandoverQuery {
                    after,
                    ..HandoverQuery::default()
                };
                Read::Ending(Ending::of(*trailer, after, &all))
            }
        })
    }
}

impl Reads for AccessVerifier {
    fn read(line: &str) -> Result<Read<AccessEntry>, String> {
        Ok(match read_access_line(line)? {
            AccessLine::Entry(entry) => Read::Entry(entry),
            AccessLine::Trailer(trailer) => {
                let after = trailer.filter.after;
                let all = AccessQuery {
                    after,
                    ..AccessQuery::default()
                };
                Read::Ending(Ending::of(*trailer, after, &all))
            }
        })
    }
}

impl Ending {
    /// `all` asks for everything after a `seq`, if after one.
    fn of<F: PartialEq>(trailer: Trailer<F>, after: Option<u64>, all: &F) -> Self {
        Self {
            filtered: trailer.filter != *all,
            after: after.unwrap_or(0),
            count: trailer.count,
            first_seq: trailer.first_seq,
            last_seq: trailer.last_seq,
            last_hash: trailer.last_hash,
            head_seq: trailer.head_seq,
            head_hash: trailer.head_hash,
        }
    }

    /// Holds it against what came before it in its file.
    fn check(&self, tally: &Tally) -> Result<(), String> {
        tally.fits(
            self.count,
            self.first_seq,
            self.last_seq.zip(self.last_hash.clone()),
        )?;
        // An export of everything goes up to where the log ended.
        let expected = (self.head_seq > self.after).then_some(self.head_seq);
        if self.filtered || self.last_seq == expected {
            return Ok(());
        }
        Err(format!(
            "it says that the log ended with seq {}",
            self.head_seq
        ))
    }

    /// Holds it against all parts: a last one in which nothing is says all the same
    /// where the log ended.
    fn check_all(&self, links: &mut Links) {
        let Some(last) = links.last().filter(|_| !self.filtered) else {
            return;
        };
        let (seq, same) = (last.seq, last.hash == self.head_hash);
        if seq < self.head_seq {
            let (from, to) = (seq + 1, self.head_seq);
            links.found(Some(seq), Fault::Missing { from, to });
        } else if seq == self.head_seq && !same {
            let what = "it says that the log ended with another entry of this seq".to_owned();
            links.found(Some(seq), Fault::WrongTrailer(what));
        }
    }
}

/// Verifies files: those of handovers together, and those of the access log.
pub fn verify(files: &[PathBuf], expected: &Expected) -> Result<Verdict, Failure> {
    let (of_access, of_handovers): (Vec<&Path>, Vec<&Path>) = files
        .iter()
        .map(PathBuf::as_path)
        .partition(|file| is_access(file));
    let mut verdict = Verdict::default();
    if of_handovers.is_empty() && expected.is_some() {
        return Err(Failure::new(
            Exit::Usage,
            "checkpoints are of the history, and no file of it is named",
        ));
    }
    if !of_handovers.is_empty() {
        let depth = match any_filtered::<Verifier>(&of_handovers)? {
            true if expected.is_some() => {
                return Err(Failure::new(
                    Exit::Usage,
                    "checkpoints say what the whole history has, and an export with a filter is a \
                     part of it: export it without one, or leave --checkpoint out",
                ));
            }
            true => Depth::Entries,
            false => Depth::Whole,
        };
        let mut verifier = expected.verifier(depth);
        verify_all(&of_handovers, &mut verifier)?;
        verdict.history = Some(verifier.finish());
    }
    if !of_access.is_empty() {
        let filtered = any_filtered::<AccessVerifier>(&of_access)?;
        let mut verifier = AccessVerifier {
            links: Links::new(filtered),
        };
        verify_all(&of_access, &mut verifier)?;
        let linked = verifier.links.finish();
        verdict.access = Some(Access::Verified { linked, filtered });
    }
    Ok(verdict)
}

/// Whether a file is an export of the access log.
fn is_access(file: &Path) -> bool {
    let Ok(file) = File::open(file) else {
        // That is said where it is read.
        return false;
    };
    let lines = BufReader::new(file).lines().take(LINES_LOOKED_AT);
    let kinds = lines.map_while(Result::ok).filter_map(|line| {
        let line = line.trim_end();
        match (read_line(line), read_access_line(line)) {
            (Ok(Line::Entry(_)), _) => Some(false),
            (_, Ok(AccessLine::Entry(_))) => Some(true),
            // Filters of one are not filters of the other.
            (Err(_), Ok(AccessLine::Trailer(_))) => Some(true),
            _ => None,
        }
    });
    { kinds }.next().unwrap_or(false)
}

fn any_filtered<M: Reads>(files: &[&Path]) -> Result<bool, Failure> {
    let filtered = files
        .iter()
        .filter_map(|file| last_ending::<M>(file))
        .any(|ending| ending.filtered);
    if filtered && files.len() > 1 {
        return Err(Failure::new(
            Exit::Usage,
            "an export of a filter leaves entries out: verify each by itself",
        ));
    }
    Ok(filtered)
}

fn verify_all<M: Reads>(files: &[&Path], machine: &mut M) -> Result<(), Failure> {
    let mut progress = Progress::start();
    let mut last = None;
    for file in files {
        last = Some(verify_file(file, machine, &mut progress)?);
    }
    // What was cut goes on in the next file, or a gap shows there.
    match last {
        Some(Whole::Cut) => {
            let last = machine.links().last().map(|last| last.seq);
            machine.links().found(last, Fault::Cut);
        }
        Some(Whole::Ends(ending)) => ending.check_all(machine.links()),
        Some(Whole::Wrong) | None => {}
    }
    Ok(())
}

/// How a file ends.
enum Whole {
    /// Without a trailer.
    Cut,
    /// With a trailer that fits it.
    Ends(Ending),
    /// With one that does not, which was said.
    Wrong,
}

/// Shows a file to the machine.
fn verify_file<M: Reads>(
    file: &Path,
    machine: &mut M,
    progress: &mut Progress,
) -> Result<Whole, Failure> {
    let unread = |error: std::io::Error| {
        let file = file.display();
        Failure::new(Exit::Usage, format!("{file} cannot be read: {error}"))
    };
    let mut lines = BufReader::new(File::open(file).map_err(unread)?);
    let mut tally = Tally::new(HandoverQuery::default());
    let mut end = Whole::Cut;
    let mut line = Vec::new();
    let (mut any, mut any_json) = (false, false);
    loop {
        line.clear();
        if lines.read_until(b'\n', &mut line).map_err(unread)? == 0 {
            if any && !any_json {
                let file = file.display();
                let what = format!("{file} is neither a SQLite database nor an export of Baton");
                return Err(Failure::new(Exit::Usage, what));
            }
            return Ok(end);
        }
        any = true;
        any_json |= line.starts_with(b"{");
        let read = std::str::from_utf8(&line)
            .map_err(|error| error.to_string())
            .and_then(|line| M::read(line.trim_end_matches(['\n', '\r'])));
        let next = machine.links().last().map_or(1, |last| last.seq + 1);
        match read {
            Ok(Read::Entry(entry)) => {
                machine.push(&entry);
                let seq = entry.seq();
                tally.count_one(seq, entry.hash().to_owned());
                if !matches!(end, Whole::Cut) {
                    let what = "entries follow it".to_owned();
                    machine.links().found(Some(seq), Fault::WrongTrailer(what));
                }
            }
            Ok(Read::Ending(ending)) => {
                end = match ending.check(&tally) {
                    Ok(()) => Whole::Ends(ending),
                    Err(what) => {
                        let last = tally.last.as_ref().map(|(seq, _)| *seq);
                        machine.links().found(last, Fault::WrongTrailer(what));
                        Whole::Wrong
                    }
                };
            }
            Err(why) => machine.links().unreadable(next, why),
        }
        progress.show(machine.links().count(), None);
    }
}

/// The trailer of a file, ahead of its entries: it says what they are.
fn last_ending<M: Reads>(file: &Path) -> Option<Ending> {
    let mut file = File::open(file).ok()?;
    let length = file.metadata().ok()?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(TRAILER_BYTES_MAX)))
        .ok()?;
    let mut end = Vec::new();
    file.take(TRAILER_BYTES_MAX).read_to_end(&mut end).ok()?;
    let end = String::from_utf8_lossy(&end);
    match M::read(end.trim_end().lines().next_back()?) {
        Ok(Read::Ending(ending)) => Some(ending),
        _ => None,
    }
}
