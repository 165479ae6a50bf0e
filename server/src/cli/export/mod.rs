//! `baton export`: the history as a file, from a server or straight from a
//! database. A file that is there under its name is whole.

mod sink;
mod source;

use std::path::PathBuf;

use baton_client::{ExportFormat, ExportQuery, ExportTrailer};

use super::{
    Exit, Failure,
    connection::ConnectionArgs,
    filter::FilterArgs,
    output,
    progress::{Progress, grouped},
    words,
};
use sink::Sink;
use source::Source;

/// Export the history as a file: JSON Lines that can be verified, CSV, or a report
///
/// Oldest entry first, up to where the history ends now. JSON Lines end with a line
/// that says what was asked for and how many entries there are; for CSV that is
/// written beside the file, as FILE.trailer.json. An export that is interrupted
/// leaves FILE.part, and says after which seq to go on. A report, for a postmortem,
/// has a timeline, who was deposed, and for how long nobody held what.
#[derive(Debug, clap::Args)]
pub struct ExportArgs {
    /// jsonl, byte by byte as it was hashed; csv, for spreadsheets; md, a report of an incident
    #[arg(
        long,
        default_value = "jsonl",
        value_parser = words::one_of::<ExportFormat>(ExportFormat::ALL.map(ExportFormat::as_str))
    )]
    format: ExportFormat,

    /// The file to write [default: standard output]
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,

    #[command(flatten)]
    filter: FilterArgs,

    /// Read straight from this database, and not from a server: sqlite://FILE or postgres://…
    #[arg(long, value_name = "ADDRESS")]
    database: Option<String>,

    #[command(flatten)]
    connection: ConnectionArgs,
}

/// Runs the command.
pub async fn run(args: ExportArgs) -> Result<(), Failure> {
    let query = ExportQuery::of(&args.filter.query(), args.format);
    let mut source = match &args.database {
        Some(address) => Source::database(address, &query).await?,
        None => Source::server(&args.connection.session(false)?, &query).await?,
    };
    let mut sink = Sink::open(args.output.as_deref(), args.format)?;
    let done = tokio::select! {
        done = copy(&mut source, &mut sink) => done,
        _ = tokio::signal::ctrl_c() => Err(Failure::new(Exit::Failed, "it was interrupted")),
    };
    match done {
        Ok(trailer) => {
            sink.finish(&trailer)?;
            output::note(&whole(&trailer));
            Ok(())
        }
        Err(failure) => Err(incomplete(&failure, &source, sink)),
    }
}

async fn copy(source: &mut Source, sink: &mut Sink) -> Result<ExportTrailer, Failure> {
    let mut progress = Progress::start();
    let first = source.after();
    loop {
        let Some(piece) = source.next().await else {
            return source.trailer();
        };
        sink.write(&piece?)?;
        let tally = source.tally();
        let percent = source.head_seq().map(|head| {
            let last = tally.last.as_ref().map_or(first, |(seq, _)| *seq);
            100 * (last - first.min(last)) / head.saturating_sub(first).max(1)
        });
        progress.show(tally.count, percent);
    }
}

fn whole(trailer: &ExportTrailer) -> String {
    let ends = match (trailer.first_seq, trailer.last_seq, &trailer.last_hash) {
        (Some(first), Some(last), Some(hash)) => {
            format!(", seq {first} to {last}, the last with hash {hash}")
        }
        _ => String::new(),
    };
    format!(
        "Exported {} entries{ends}; the log ended with seq {} at {}.",
        grouped(trailer.count),
        trailer.head_seq,
        trailer.now
    )
}

fn incomplete(failure: &Failure, source: &Source, sink: Sink) -> Failure {
    let tally = source.tally();
    let came = match &tally.last {
        None => "nothing came".to_owned(),
        Some((seq, _)) => format!("{} entries came, up to seq {seq}", grouped(tally.count)),
    };
    let mut text = format!("incomplete: {}\n{came}", failure.text());
    if let (Some(part), Some((seq, _))) = (sink.keep(), &tally.last) {
        text.push_str(&format!(
            "; they are in {}.\nGo on with --after {seq} and another --output",
            part.display()
        ));
    }
    text.push('.');
    Failure::new(failure.exit(), text)
}
