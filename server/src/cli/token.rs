//! `baton token`: the API tokens that programs send.

use std::time::Duration;

use baton_client::Role;

use super::{
    DatabaseArgs, Failure, Millis, output,
    people::{moment, open},
    safe::safe,
    table::{Table, clock},
};
use crate::people::{NewToken, Secret, Token};

/// Manage the API tokens that programs send
///
/// Works straight on the database, also beside a running server.
#[derive(Debug, clap::Args)]
pub struct TokenArgs {
    #[command(subcommand)]
    command: TokenCommand,
}

#[derive(Debug, clap::Subcommand)]
enum TokenCommand {
    /// Make a token and print it: it is shown this once
    Create(CreateArgs),
    /// Give a token another secret and print it; it keeps its leases
    Rotate(NameArgs),
    /// End a token for good
    Revoke(NameArgs),
    /// List all tokens
    List(ListArgs),
}

#[derive(Debug, clap::Args)]
struct CreateArgs {
    /// What it is called in the history
    #[arg(long)]
    name: String,

    /// What it may do, each including the ones before it
    #[arg(long, value_name = "viewer|holder|operator|admin")]
    role: Role,

    /// It may change only leases whose names start with this; can be given more than once
    #[arg(long = "prefix", value_name = "PREFIX")]
    prefixes: Vec<String>,

    /// How long it works: 12h, 30d [default: until revoked]
    #[arg(long, value_name = "DURATION")]
    expires_in: Option<Millis>,

    #[command(flatten)]
    database: DatabaseArgs,
}

#[derive(Debug, clap::Args)]
struct NameArgs {
    /// Which
    name: String,

    #[command(flatten)]
    database: DatabaseArgs,
}

#[derive(Debug, clap::Args)]
struct ListArgs {
    /// Print them as JSON
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    database: DatabaseArgs,
}

/// Runs the command.
pub async fn run(args: TokenArgs) -> Result<(), Failure> {
    match args.command {
        TokenCommand::Create(args) => create(args).await,
        TokenCommand::Rotate(args) => {
            let people = open(&args.database).await?;
            let secret = people.rotate_token(&args.name).await?;
            show(&secret)
        }
        TokenCommand::Revoke(args) => {
            let people = open(&args.database).await?;
            people.revoke_token(&args.name).await?;
            output::note(&format!("{} works no more", safe(&args.name)));
            Ok(())
        }
        TokenCommand::List(args) => list(args).await,
    }
}

async fn create(args: CreateArgs) -> Result<(), Failure> {
    let people = open(&args.database).await?;
    let life = args.expires_in.map(|Millis(ms)| Duration::from_millis(ms));
    let new = NewToken {
        name: args.name,
        role: args.role,
        prefixes: args.prefixes,
        expires_in: life,
    };
    let (_, secret) = people.create_token(new).await?;
    show(&secret)
}

/// Prints a new token, and what whoever uses it at once has to know.
fn show(secret: &Secret) -> Result<(), Failure> {
    output::line(secret.reveal())?;
    output::note("A running server knows it within a second.");
    Ok(())
}

async fn list(args: ListArgs) -> Result<(), Failure> {
    let tokens = open(&args.database).await?.list_tokens().await?;
    if args.json {
        return output::json_line(&serde_json::json!(tokens).to_string());
    }
    if tokens.is_empty() {
        output::note("No tokens.");
        return Ok(());
    }
    let mut table = Table::new(&["NAME", "ROLE", "USED", "WORKS", "PREFIXES"]);
    for token in &tokens {
        table.row(vec![
            safe(&token.name).into_owned(),
            token.role.to_string(),
            moment(token.last_used_at),
            works(token),
            if token.prefixes.is_empty() {
                "any".into()
            } else {
                token.prefixes.join(" ")
            },
        ]);
    }
    output::line(&table.text())
}

fn works(token: &Token) -> String {
    match (token.revoked_at, token.expires_at) {
        (Some(at), _) => format!("revoked {}", clock(at)),
        (None, Some(at)) => format!("until {}", clock(at)),
        (None, None) => "until revoked".into(),
    }
}
