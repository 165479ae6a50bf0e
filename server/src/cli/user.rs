//! `baton user`: the people who sign in on the page.

use std::io::{self, IsTerminal as _, Read as _};

use baton_client::Role;

use super::{
    DatabaseArgs, Exit, Failure, output,
    people::{moment, open},
    safe::safe,
    table::{Table, clock},
};
use crate::people::{PASSWORD_CHARS_MAX, User};

/// Manage the people who sign in on the page
///
/// Works straight on the database, also beside a running server. A lost admin
/// password is set anew with `baton user passwd admin`.
#[derive(Debug, clap::Args)]
pub struct UserArgs {
    #[command(subcommand)]
    command: UserCommand,
}

#[derive(Debug, clap::Subcommand)]
enum UserCommand {
    /// Make a user
    Create(CreateArgs),
    /// Give a user another password, and end all their sessions
    Passwd(PasswdArgs),
    /// Give a user another role
    Role(RoleArgs),
    /// Let a user sign in no more, and end all their sessions
    Disable(NameArgs),
    /// Let a disabled user sign in again
    Enable(NameArgs),
    /// End all sessions of a user
    SignOut(NameArgs),
    /// List all users
    List(ListArgs),
}

#[derive(Debug, clap::Args)]
struct CreateArgs {
    /// What they sign in with, and are called in the history
    name: String,

    /// What they may do, each including the ones before it
    #[arg(long, value_name = "viewer|holder|operator|admin")]
    role: Role,

    #[command(flatten)]
    password: PasswordArgs,

    #[command(flatten)]
    database: DatabaseArgs,
}

#[derive(Debug, clap::Args)]
struct PasswdArgs {
    /// Whose
    name: String,

    #[command(flatten)]
    password: PasswordArgs,

    #[command(flatten)]
    database: DatabaseArgs,
}

#[derive(Debug, clap::Args)]
struct RoleArgs {
    /// Whose
    name: String,

    /// What they may do, each including the ones before it
    #[arg(value_name = "viewer|holder|operator|admin")]
    role: Role,

    #[command(flatten)]
    database: DatabaseArgs,
}

#[derive(Debug, clap::Args)]
struct NameArgs {
    /// Whom
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

#[derive(Debug, clap::Args)]
struct PasswordArgs {
    /// Read the password from standard input, instead of asking twice for it
    #[arg(long)]
    password_stdin: bool,
}

/// Runs the command.
pub async fn run(args: UserArgs) -> Result<(), Failure> {
    match args.command {
        UserCommand::Create(args) => create(args).await,
        UserCommand::Passwd(args) => passwd(args).await,
        UserCommand::Role(args) => {
            let user = open(&args.database).await?;
            let user = user.set_role(&args.name, args.role).await?;
            done(&format!("{} now has the role {}", name(&user), user.role))
        }
        UserCommand::Disable(args) => {
            let user = open(&args.database).await?.disable(&args.name).await?;
            done(&format!("{} may sign in no more", name(&user)))
        }
        UserCommand::Enable(args) => {
            let user = open(&args.database).await?.enable(&args.name).await?;
            done(&format!("{} may sign in again", name(&user)))
        }
        UserCommand::SignOut(args) => {
            let people = open(&args.database).await?;
            people.sign_out_everywhere(&args.name).await?;
            done(&format!("{} is signed out everywhere", safe(&args.name)))
        }
        UserCommand::List(args) => list(args).await,
    }
}

async fn create(args: CreateArgs) -> Result<(), Failure> {
    let people = open(&args.database).await?;
    let password = args.password.read()?;
    let user = people.create_user(&args.name, args.role, &password).await?;
    done(&format!(
        "{} is made, with the role {}",
        name(&user),
        user.role
    ))
}

async fn passwd(args: PasswdArgs) -> Result<(), Failure> {
    let people = open(&args.database).await?;
    let password = args.password.read()?;
    people.set_password(&args.name, &password).await?;
    done(&format!(
        "{} has a new password, and is signed out everywhere",
        safe(&args.name)
    ))
}

async fn list(args: ListArgs) -> Result<(), Failure> {
    let users = open(&args.database).await?.list_users().await?;
    if args.json {
        return output::json_line(&serde_json::json!(users).to_string());
    }
    if users.is_empty() {
        output::note("No users.");
        return Ok(());
    }
    let mut table = Table::new(&["NAME", "ROLE", "SIGNED IN", "STATE"]);
    for user in &users {
        table.row(vec![
            name(user),
            user.role.to_string(),
            moment(user.signed_in_at),
            match user.disabled_at {
                Some(at) => format!("disabled since {}", clock(at)),
                None => "enabled".into(),
            },
        ]);
    }
    output::line(&table.text())
}

impl PasswordArgs {
    /// The password, from whoever gives it.
    fn read(&self) -> Result<String, Failure> {
        if self.password_stdin {
            return from_stdin();
        }
        if !io::stdin().is_terminal() {
            return Err(Failure::new(
                Exit::Usage,
                "nobody is there to ask for the password: give it on standard input, \
                 with --password-stdin",
            ));
        }
        let first = ask("New password: ")?;
        if ask("The same again: ")? == first {
            Ok(first)
        } else {
            Err(Failure::new(
                Exit::Usage,
                "the two passwords differ; nothing was done",
            ))
        }
    }
}

/// All of standard input, but for the line's end.
fn from_stdin() -> Result<String, Failure> {
    // A character has at most four bytes; more than the longest password need
    // not be read to be refused.
    let bytes_max = 4 * PASSWORD_CHARS_MAX as u64 + 4;
    let mut password = String::new();
    io::stdin()
        .take(bytes_max)
        .read_to_string(&mut password)
        .map_err(|error| Failure::new(Exit::Usage, format!("cannot read the password: {error}")))?;
    let line = password.strip_suffix('\n').unwrap_or(&password);
    Ok(line.strip_suffix('\r').unwrap_or(line).to_owned())
}

fn ask(question: &str) -> Result<String, Failure> {
    rpassword::prompt_password(question)
        .map_err(|error| Failure::new(Exit::Failed, format!("cannot ask: {error}")))
}

fn name(user: &User) -> String {
    safe(&user.name).into_owned()
}

fn done(what: &str) -> Result<(), Failure> {
    output::note(what);
    Ok(())
}
