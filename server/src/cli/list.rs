//! `baton list`: all leases, or those that match.

use baton_client::{LeaseQuery, LeaseSort, LeaseState};

use super::{
    Failure,
    connection::ConnectionArgs,
    lease_text::{self, HEADINGS},
    output, pages, words,
};

/// Which leases. `baton watch` takes the same.
#[derive(Debug, Clone, clap::Args)]
pub struct LeaseFilterArgs {
    /// Only leases with this in their own or their holder's name
    #[arg(long, value_name = "TEXT")]
    search: Option<String>,

    /// Only leases whose name starts with this
    #[arg(long, value_name = "TEXT")]
    prefix: Option<String>,

    /// Only leases in this state
    #[arg(long, value_parser = words::one_of::<LeaseState>(["free", "held", "lapsed"]))]
    state: Option<LeaseState>,

    /// Only leases that this holder has
    #[arg(long)]
    holder: Option<String>,

    /// Only what asks for a look: lapsed, flapping, blocked, stepping down
    #[arg(long)]
    attention: bool,

    /// The order [default: name]
    #[arg(
        long,
        value_parser = words::one_of::<LeaseSort>(["name", "attention", "expires", "changed"])
    )]
    sort: Option<LeaseSort>,

    /// How many leases at most: 1 to 1000 [default: 100]
    #[arg(long, value_name = "N")]
    limit: Option<u64>,
}

impl LeaseFilterArgs {
    /// The filter as the wire has it.
    pub fn query(self) -> LeaseQuery {
        LeaseQuery {
            search: self.search,
            prefix: self.prefix,
            state: self.state,
            holder: self.holder,
            attention: self.attention.then_some(true),
            sort: self.sort,
            limit: self.limit,
            cursor: None,
        }
    }
}

/// List leases
#[derive(Debug, clap::Args)]
pub struct ListArgs {
    #[command(flatten)]
    filter: LeaseFilterArgs,

    /// Go on where an earlier answer's `next` says
    #[arg(long)]
    cursor: Option<String>,

    /// All of them, page after page
    #[arg(long)]
    all: bool,

    /// Print the server's answers as JSON, one page a line
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    connection: ConnectionArgs,
}

/// Runs the command.
pub async fn run(args: ListArgs) -> Result<(), Failure> {
    let session = args.connection.session(args.json)?;
    let mut query = args.filter.query();
    query.cursor = args.cursor;
    let more = pages::each(&session, query, args.all, |answer, first| {
        if args.json {
            output::json_line(&answer.text)
        } else {
            let rows = answer.value.items.iter().map(lease_text::row);
            pages::print(first, &HEADINGS, "No leases.", rows)
        }
    });
    if more.await? && !args.json {
        output::note("There are more: --all shows them, --limit sets how many.");
    }
    Ok(())
}
