//! `baton access`: the access log, newest first, for admins.

use baton_client::{AccessEntry, AccessEvent, AccessQuery, Actor, Order, Timestamp};

use super::{Failure, connection::ConnectionArgs, output, pages, safe::safe, table::clock, words};

const HEADINGS: [&str; 7] = [
    "SEQ", "TIME", "EVENT", "ACTOR", "ADDRESS", "ABOUT", "DETAILS",
];

/// Show the access log: sign-ins, changes of users and tokens, exports, refused actions
///
/// Takes an admin's token. Sign-ins that failed are one entry for an address and a minute.
#[derive(Debug, clap::Args)]
pub struct AccessArgs {
    /// Only events of this kind, as signed_in, sign_in_failed, token_created, refused, exported
    #[arg(long)]
    event: Option<AccessEvent>,

    /// Only what this actor did: user:NAME, token:NAME or baton
    #[arg(long)]
    actor: Option<Actor>,

    /// Only from this address
    #[arg(long, value_name = "IP")]
    address: Option<String>,

    /// Only about this user, token or lease
    #[arg(long, value_name = "NAME")]
    subject: Option<String>,

    /// At this time or later, as 2026-11-29T02:14:07Z
    #[arg(long, value_name = "TIME")]
    from: Option<Timestamp>,

    /// Before this time
    #[arg(long, value_name = "TIME")]
    to: Option<Timestamp>,

    /// Only entries after this seq
    #[arg(long, value_name = "SEQ")]
    after: Option<u64>,

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
pub async fn run(args: AccessArgs) -> Result<(), Failure> {
    let session = args.connection.session(args.json)?;
    let query = AccessQuery {
        event: args.event,
        actor: args.actor,
        address: args.address,
        subject: args.subject,
        from: args.from,
        to: args.to,
        after: args.after,
        order: args.order,
        limit: args.limit,
        cursor: None,
    };
    let more = pages::each(&session, query, args.all, |answer, first| {
        if args.json {
            output::items(&answer.text)
        } else {
            let rows = answer.value.items.iter().map(row);
            pages::print(first, &HEADINGS, "Nothing in the access log matches.", rows)
        }
    });
    if more.await? && !args.json {
        output::note("There is more: --all shows it, --limit sets how much.");
    }
    Ok(())
}

fn row(entry: &AccessEntry) -> Vec<String> {
    let text = |text: Option<&String>| text.map_or("-".into(), |text| safe(text).into_owned());
    let actor = entry.actor.as_ref().map(ToString::to_string);
    let details = entry.details.iter().filter(|(_, value)| !value.is_null());
    let details: Vec<String> = details
        .map(|(key, value)| match value.as_str() {
            Some(text) => format!("{key}={}", safe(text)),
            None => format!("{key}={value}"),
        })
        .collect();
    vec![
        entry.seq.to_string(),
        clock(entry.at),
        entry.event.to_string(),
        text(actor.as_ref()),
        text(entry.actor_address.as_ref()),
        text(entry.subject.as_ref()),
        details.join(" "),
    ]
}
