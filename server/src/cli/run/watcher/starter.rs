//! The last step before the command: `baton starter` ties its own life to the
//! watcher's and then becomes the command. Should the watcher be killed, the
//! kernel kills the command with it; `baton run` finds the rest.

use std::{
    ffi::OsString,
    io,
    os::unix::process::CommandExt as _,
    process::{Command, ExitCode},
};

use rustix::process::{Signal, getppid, set_parent_process_death_signal};

use crate::cli::output;

/// Made by the watcher.
#[derive(Debug, clap::Args)]
pub struct StarterArgs {
    /// The watcher's process
    #[arg(long)]
    parent: i32,

    /// The command and its arguments
    #[arg(last = true, required = true)]
    command: Vec<OsString>,
}

/// Becomes the command. Comes back only if that is not possible, with the exit
/// code that shells give then.
pub fn start(args: StarterArgs) -> ExitCode {
    if let Err(error) = set_parent_process_death_signal(Some(Signal::KILL)) {
        output::note(&format!(
            "baton: the command cannot be tied to its watcher: {error}"
        ));
        return ExitCode::from(126);
    }
    // Killed before this was asked for: the signal will not come.
    if getppid().is_none_or(|parent| parent.as_raw_nonzero().get() != args.parent) {
        return ExitCode::from(126);
    }
    let Some((program, arguments)) = args.command.split_first() else {
        return ExitCode::from(126);
    };
    let error = Command::new(program).args(arguments).exec();
    output::note(&format!("baton: cannot run {}: {error}", program.display()));
    ExitCode::from(match error.kind() {
        io::ErrorKind::NotFound => 127,
        _ => 126,
    })
}
