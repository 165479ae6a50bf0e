//! `baton history`: the handover log, newest first.

use baton_client::{HandoverQuery, Order};

use super::{
    Failure,
    connection::ConnectionArgs,
    filter::FilterArgs,
    handover_text::{self, HEADINGS},
    output, pages, words,
};

/// Show the history: who held what, when, and why it changed hands
#[derive(Debug, clap::Args)]
pub struct HistoryArgs {
    #[command(flatten)]
    filter: FilterArgs,

    /// Newest first (desc) or oldest first (asc) [default: desc]
    #[arg(long, value_parser = words::one_of::<Order>(["desc", "asc"]))]
    order: Option<Order>,

    /// How many entries at most: 1 to 1000 [default: 100]
    #[arg(long, value_name = "N")]
    limit: Option<u64>,

    /// All of them, page after page
    #[arg(long)]
    all: bool,

    /// Print the entries as JSON, one a line
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    connection: ConnectionArgs,
}

/// Runs the command.
pub async fn run(args: HistoryArgs) -> Result<(), Failure> {
    let session = args.connection.session(args.json)?;
    let query = HandoverQuery {
        order: args.order,
        limit: args.limit,
        ..args.filter.query()
    };
    let more = pages::each(&session, query, args.all, |answer, first| {
        if args.json {
            output::items(&answer.text)
        } else {
            let page = &answer.value;
            let rows = page.items.iter();
            let rows = rows.map(|entry| handover_text::row(entry, page.now));
            pages::print(first, &HEADINGS, "Nothing in the history matches.", rows)
        }
    });
    if more.await? && !args.json {
        output::note("There is more: --all shows it, --limit sets how much.");
    }
    Ok(())
}
