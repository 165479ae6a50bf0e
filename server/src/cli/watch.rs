//! `baton watch`: the live feed. Connections that break are made anew, and the
//! feed goes on where it was, without a gap in the handovers.

use baton_client::{CallError, Event, EventStream, EventsQuery, Lease, RawEvent};

use super::{
    Exit, Failure,
    connection::{Backoff, ConnectionArgs, Session},
    handover_text,
    lease_text::{self, HEADINGS},
    list::LeaseFilterArgs,
    output,
    table::{Table, span},
};

/// Follow changes as they happen
///
/// Shows the leases as they are, then every handover. Goes on after a lost
/// connection where it was. Ends with Ctrl-C.
#[derive(Debug, clap::Args)]
pub struct WatchArgs {
    #[command(flatten)]
    filter: LeaseFilterArgs,

    /// First show every handover after this seq
    #[arg(long, value_name = "SEQ")]
    after: Option<u64>,

    /// Also show a lease's line whenever it is renewed or changed
    #[arg(long)]
    leases: bool,

    /// Print every event as JSON, one a line: {"event", "id", "data"}
    #[arg(long, conflicts_with = "leases")]
    json: bool,

    #[command(flatten)]
    connection: ConnectionArgs,
}

/// Runs the command.
pub async fn run(args: WatchArgs) -> Result<(), Failure> {
    let session = args.connection.session(args.json)?;
    let mut query = events_query(args.filter, args.after);
    let mut printer = Printer {
        json: args.json,
        leases: args.leases,
        shows_snapshot: true,
    };
    // A server that is not there at the start is an error; later it is a
    // connection to be made anew.
    let mut stream = session
        .events(&query)
        .await
        .map_err(|error| session.failure(&error))?;
    let mut backoff = Backoff::default();
    loop {
        let why = match follow(&mut stream, &mut printer, &mut backoff).await? {
            Some(error) => error.to_string(),
            None => "the server ended the stream".into(),
        };
        query.after = stream.last_seq();
        output::note(&format!("watch: {why}"));
        stream = reconnect(&session, &query, &mut backoff).await?;
        match query.after {
            Some(seq) => output::note(&format!("watch: connected again, going on after {seq}")),
            None => output::note("watch: connected again"),
        }
    }
}

fn events_query(filter: LeaseFilterArgs, after: Option<u64>) -> EventsQuery {
    let filter = filter.query();
    EventsQuery {
        search: filter.search,
        prefix: filter.prefix,
        state: filter.state,
        holder: filter.holder,
        attention: filter.attention,
        sort: filter.sort,
        limit: filter.limit,
        cursor: filter.cursor,
        after,
        handovers: None,
    }
}

/// Prints what comes until the stream ends; says why, if there is an error.
async fn follow(
    stream: &mut EventStream,
    printer: &mut Printer,
    backoff: &mut Backoff,
) -> Result<Option<CallError>, Failure> {
    while let Some(next) = stream.next_raw().await {
        match next {
            Ok(event) => printer.print(&event)?,
            Err(error) => return Ok(Some(error)),
        }
        backoff.reset();
    }
    Ok(None)
}

/// Tries until it works, or until the server decides against it.
async fn reconnect(
    session: &Session,
    query: &EventsQuery,
    backoff: &mut Backoff,
) -> Result<EventStream, Failure> {
    loop {
        let wait = backoff.next();
        output::note(&format!(
            "watch: connecting again in {}",
            span(wait.as_millis() as u64)
        ));
        tokio::time::sleep(wait).await;
        match session.events(query).await {
            Ok(stream) => return Ok(stream),
            Err(error @ CallError::Refused(_)) if error.retry_after().is_none() => {
                return Err(session.failure(&error));
            }
            Err(error) => output::note(&format!("watch: {error}")),
        }
    }
}

struct Printer {
    json: bool,
    leases: bool,
    /// A stream that goes on where another broke off has no news in its
    /// snapshot: the handovers say all.
    shows_snapshot: bool,
}

impl Printer {
    fn print(&mut self, raw: &RawEvent) -> Result<(), Failure> {
        if self.json {
            return output::json_line(&json(raw));
        }
        let event = Event::read(&raw.name, &raw.data).map_err(|error| {
            let name = super::safe::safe(&raw.name);
            Failure::new(
                Exit::Failed,
                format!("this version does not understand the server's `{name}`: {error}"),
            )
        })?;
        match event {
            Some(Event::Reset) => {
                output::note(
                    "watch: the log does not go on from what was shown (too far behind, or another \
                     database took over): see `baton history`",
                );
                self.shows_snapshot = true;
                Ok(())
            }
            Some(Event::Snapshot(snapshot)) if self.shows_snapshot => {
                self.shows_snapshot = false;
                output::line(&leases(&snapshot.items))
            }
            Some(Event::Handover(entry)) => output::line(&aligned(
                handover_text::live_row(&entry),
                &[6, 24, 20, 9, 7, 30, 12],
            )),
            Some(Event::Lease(lease)) if self.leases => {
                output::line(&aligned(lease_text::row(&lease), &[20, 6, 30, 10, 12]))
            }
            Some(Event::Gone(lease)) if self.leases => {
                output::line(&format!("{lease} does not match any more"))
            }
            Some(Event::Snapshot(_) | Event::Lease(_) | Event::Gone(_) | Event::Time(_)) | None => {
                Ok(())
            }
        }
    }
}

fn leases(items: &[Lease]) -> String {
    if items.is_empty() {
        return "No leases yet.".into();
    }
    let mut table = Table::new(&HEADINGS);
    for lease in items {
        table.row(lease_text::row(lease));
    }
    table.text()
}

/// A line whose columns mostly align with the lines before and after, whose
/// widths nobody knows.
fn aligned(cells: Vec<String>, widths: &[usize]) -> String {
    let mut line = String::new();
    for (i, cell) in cells.iter().enumerate() {
        let width = widths.get(i).copied().unwrap_or(0);
        line.push_str(&format!("{cell:<width$}  "));
    }
    line.trim_end().to_owned()
}

/// An event as one JSON object, its data as the server sent it.
fn json(event: &RawEvent) -> String {
    let name = serde_json::Value::from(event.name.as_str());
    let id = event.seq.map_or("null".into(), |seq| seq.to_string());
    let data = if event.data.is_empty() {
        "null"
    } else {
        &event.data
    };
    format!(r#"{{"event":{name},"id":{id},"data":{data}}}"#)
}
