//! The command line: one binary, `baton`, that is the server, its client and
//! its administration.
//!
//! Each command is a file with its arguments and a `run`. Commands never decide
//! a rule and never judge time by the local clock: they ask a server and show
//! its answer. What goes wrong becomes a [`Failure`], which knows its exit code.

mod access;
mod acquire;
mod archive;
mod checkpoint;
mod demo;
mod export;
mod force;
mod history;
mod keeping;
mod list;
mod operator;
mod report;
#[cfg(target_os = "linux")]
mod run;
mod serve;
mod show;
mod tenure;
mod token;
mod user;
mod verify;
mod watch;

mod connection;
mod database;
mod failure;
mod output;
mod pages;
mod part;

mod confirm;
mod duration;
mod filter;
mod handover_text;
mod holder;
mod lease_text;
mod look;
mod people;
mod progress;
mod table;
mod words;

use std::process::ExitCode;

use crate::safe;
use clap::{Parser, Subcommand};

pub use database::DatabaseArgs;
pub use duration::Millis;
pub use failure::{Exit, Failure};

/// Named leases with at most one holder each, and a history of who held what.
#[derive(Debug, Parser)]
#[command(
    name = "baton",
    version,
    propagate_version = true,
    after_help = EXIT_CODES
)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

const EXIT_CODES: &str = "\
Exit codes: 0 done; 1 failed, or does not hold; 2 wrong usage; 3 refused by a rule (held, lost, no such lease …);
4 not authorised; 5 the server or the database cannot be reached.

Client commands ask the server at --url (BATON_URL) with the token in BATON_TOKEN.";

#[derive(Debug, Subcommand)]
enum Command {
    Serve(serve::ServeArgs),
    #[cfg(target_os = "linux")]
    Run(run::RunArgs),
    Acquire(acquire::AcquireArgs),
    Renew(tenure::RenewArgs),
    Release(tenure::ReleaseArgs),
    Show(show::ShowArgs),
    List(list::ListArgs),
    Watch(watch::WatchArgs),
    History(history::HistoryArgs),
    Export(export::ExportArgs),
    Verify(verify::VerifyArgs),
    Report(report::ReportArgs),
    Checkpoint(checkpoint::CheckpointArgs),
    ForceRelease(force::ForceReleaseArgs),
    StepDown(force::StepDownArgs),
    CancelStepDown(operator::CancelStepDownArgs),
    Pause(operator::PauseArgs),
    Unpause(operator::UnpauseArgs),
    Protect(operator::ProtectArgs),
    Unprotect(operator::UnprotectArgs),
    Demo(demo::DemoArgs),
    Archive(archive::ArchiveArgs),
    RaiseFloor(keeping::RaiseFloorArgs),
    Forget(keeping::ForgetArgs),
    Access(access::AccessArgs),
    User(user::UserArgs),
    Token(token::TokenArgs),
}

/// The program: reads the arguments, does what they say, reports what went
/// wrong on standard error.
pub fn main() -> ExitCode {
    #[cfg(target_os = "linux")]
    if let Some(code) = run::between() {
        return code;
    }
    let command = Cli::parse().command;
    let runtime = match tokio::runtime::Runtime::new() {
        Ok(runtime) => runtime,
        Err(error) => {
            return Failure::new(Exit::Failed, format!("cannot start: {error}")).report();
        }
    };
    match runtime.block_on(run(command)) {
        Ok(code) => code,
        Err(failure) => failure.report(),
    }
}

async fn run(command: Command) -> Result<ExitCode, Failure> {
    let done = match command {
        #[cfg(target_os = "linux")]
        Command::Run(args) => return run::run(args).await,
        Command::Serve(args) => serve::run(args).await,
        Command::Acquire(args) => acquire::run(args).await,
        Command::Renew(args) => tenure::renew(args).await,
        Command::Release(args) => tenure::release(args).await,
        Command::Show(args) => show::run(args).await,
        Command::List(args) => list::run(args).await,
        Command::Watch(args) => watch::run(args).await,
        Command::History(args) => history::run(args).await,
        Command::Export(args) => export::run(args).await,
        Command::Verify(args) => verify::run(args).await,
        Command::Report(args) => report::run(args).await,
        Command::Checkpoint(args) => checkpoint::run(args).await,
        Command::ForceRelease(args) => force::force_release(args).await,
        Command::StepDown(args) => force::step_down(args).await,
        Command::CancelStepDown(args) => operator::cancel_step_down(args).await,
        Command::Pause(args) => operator::pause(args).await,
        Command::Unpause(args) => operator::unpause(args).await,
        Command::Protect(args) => operator::protect(args).await,
        Command::Unprotect(args) => operator::unprotect(args).await,
        Command::Demo(args) => demo::run(args).await,
        Command::Archive(args) => archive::run(args).await,
        Command::RaiseFloor(args) => keeping::raise_floor(args).await,
        Command::Forget(args) => keeping::forget(args).await,
        Command::Access(args) => access::run(args).await,
        Command::User(args) => user::run(args).await,
        Command::Token(args) => token::run(args).await,
    };
    done.map(|()| ExitCode::SUCCESS)
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;

    #[test]
    fn the_arguments_are_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn no_flag_takes_the_token_itself() {
        // It would show in the list of processes.
        for command in Cli::command().get_subcommands() {
            assert!(
                !command
                    .get_arguments()
                    .any(|arg| arg.get_long() == Some("token")),
                "{} has --token",
                command.get_name()
            );
        }
    }
}
