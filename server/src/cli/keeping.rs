//! `baton raise-floor` and `baton forget`: what is done to the whole store, on
//! the server's machine, straight on the database.

use std::path::PathBuf;

use baton_client::{Call, Code, Forget, Forgot, limits::FORGET_IDLE_MS_MIN};

use super::{
    DatabaseArgs, Exit, Failure, Millis,
    connection::{ConnectionArgs, Session},
    output, words,
};
use crate::{
    chain::Head,
    checkpoint,
    database::{Database, LockError},
    rules::{Asker, keeping::RAISED_BY},
    store::{
        Reader,
        keeping::{KeepError, Keeping},
    },
};

/// Raise every generation after a restored backup, and end all tenures
///
/// A database that lost commits would grant generations again that were granted
/// before. This adds 2^32 to all of them, and to what new leases start above, in
/// one step that the history shows. Servers on PostgreSQL may go on meanwhile; on
/// SQLite, stop the server first.
#[derive(Debug, clap::Args)]
pub struct RaiseFloorArgs {
    /// Why, for the history
    #[arg(long, value_name = "TEXT", value_parser = words::reason)]
    reason: String,

    /// The file with the checkpoint that is ahead of the history, if no server has found it yet
    #[arg(long, value_name = "FILE")]
    checkpoint: Option<PathBuf>,

    /// Print the entry of the history as JSON
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    database: DatabaseArgs,
}

/// Runs `baton raise-floor`.
pub async fn raise_floor(args: RaiseFloorArgs) -> Result<(), Failure> {
    let ahead = args.checkpoint.as_deref().map(checkpoint::newest);
    let ahead = ahead
        .transpose()
        .map_err(|error| Failure::caused(Exit::Usage, &error).with_hint("Nothing was done."))?;
    let database = args.database.open().await?;
    let _lock = database.lock()?;
    let keeping = Keeping::open(&database).await.map_err(KeepError::from)?;
    if ahead.is_none() && head_of(&keeping.reader()).await?.seq == 0 {
        return Err(Failure::new(
            Exit::Failed,
            "this database has no history: is --database right? If it lost all of it, say so with \
             --checkpoint FILE. Nothing was done.",
        ));
    }
    let raised = keeping.raise_floor(Asker::baton(), args.reason, ahead);
    let entry = raised.await?;
    if args.json {
        return output::json_line(&serde_json::json!(entry).to_string());
    }
    let count = |key: &str| entry.details.get(key).cloned().unwrap_or_default();
    output::note(&format!(
        "{} generations are raised by {RAISED_BY}, {} tenures ended, new leases start above {}. \
         The history has it as seq {}.",
        count("leases"),
        count("tenures"),
        entry.generation,
        entry.seq
    ));
    Ok(())
}

/// Forget leases that nobody touched for long
///
/// Drops free and lapsed leases from the list; never paused, barred, reserved or
/// protected ones. What new leases start above is raised, so that a name that comes
/// back gets a generation it never had, and the history shows it. Works straight on
/// the database, also beside servers on PostgreSQL; where a server serves a SQLite
/// file it asks that server, at BATON_URL with an admin's token in BATON_TOKEN.
#[derive(Debug, clap::Args)]
pub struct ForgetArgs {
    /// Since when nobody touched them, as 90d
    #[arg(long, value_name = "DURATION")]
    idle: Millis,

    /// Why, for the history [default: not used for so long]
    #[arg(long, value_name = "TEXT", value_parser = words::reason)]
    reason: Option<String>,

    /// Print how many as JSON
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    database: DatabaseArgs,

    #[command(flatten)]
    connection: ConnectionArgs,
}

/// Who forgets.
enum Forgetting {
    Here(Keeping),
    There(Session),
}

/// Runs `baton forget`.
pub async fn forget(args: ForgetArgs) -> Result<(), Failure> {
    if args.idle.0 < FORGET_IDLE_MS_MIN {
        return Err(Failure::new(
            Exit::Usage,
            format!("--idle is at least {FORGET_IDLE_MS_MIN}ms"),
        ));
    }
    let wanted = Forget {
        idle_ms: args.idle.0,
        reason: args.reason,
    };
    let database = args.database.open().await?;
    let lock = database.lock();
    let by = match &lock {
        Err(LockError::Taken(_)) => {
            let session = args.connection.session(args.json)?;
            serves(&session, &database).await?;
            Forgetting::There(session)
        }
        Ok(_) => Forgetting::Here(Keeping::open(&database).await.map_err(KeepError::from)?),
        Err(error) => return Err(Failure::caused(Exit::Failed, error)),
    };
    let mut all = 0;
    loop {
        let step = match &by {
            Forgetting::Here(keeping) => keeping.forget(&Asker::baton(), &wanted).await?,
            Forgetting::There(session) => session.send(Call::forget(&wanted)).await?.value,
        };
        all += step.forgotten;
        if !step.more {
            return report(all, &step, args.json);
        }
    }
}

/// Makes sure that the server that is asked is the one that serves the file: its
/// history has the file's last entry.
async fn serves(session: &Session, database: &Database) -> Result<(), Failure> {
    let reader = Reader::of(database).await.map_err(KeepError::from)?;
    let head = head_of(&reader).await?;
    if head.seq == 0 {
        return Ok(());
    }
    let found = session.client().send(Call::handover(head.seq)).await;
    match found {
        Ok(answer) if answer.value.hash == head.hash => Ok(()),
        Err(error)
            if error
                .problem()
                .is_none_or(|said| said.code != Code::NotFound) =>
        {
            Err(session.failure(&error))
        }
        _ => Err(Failure::new(
            Exit::Refused,
            "the server at BATON_URL serves another database than --database names; nothing was \
             done: set BATON_URL to the one that does",
        )),
    }
}

async fn head_of(reader: &Reader) -> Result<Head, Failure> {
    match reader.end().await {
        Ok(end) => Ok(end.head),
        Err(_) => Err(Failure::new(
            Exit::Unreachable,
            "the database does not answer; nothing was done",
        )),
    }
}

fn report(all: u64, last: &Forgot, json: bool) -> Result<(), Failure> {
    if json {
        let done = serde_json::json!({ "forgotten": all, "floor": last.floor });
        return output::json_line(&done.to_string());
    }
    output::note(&match all {
        0 => "No lease was idle for so long; nothing was done.".into(),
        _ => format!(
            "{all} leases are forgotten; new leases start above {}.",
            last.floor
        ),
    });
    Ok(())
}

impl From<KeepError> for Failure {
    fn from(error: KeepError) -> Self {
        let exit = match error {
            KeepError::Store(_) => Exit::Unreachable,
            KeepError::NotOwner => Exit::NotAuthorised,
            KeepError::Locked(_) | KeepError::Exhausted | KeepError::Moved => Exit::Refused,
        };
        Self::caused(exit, &error)
    }
}

impl From<LockError> for Failure {
    fn from(error: LockError) -> Self {
        match error {
            LockError::Taken(_) => {
                Self::caused(Exit::Refused, &error).with_hint("Stop it first; nothing was done.")
            }
            LockError::Linked(_) | LockError::Io { .. } => Self::caused(Exit::Failed, &error),
        }
    }
}
