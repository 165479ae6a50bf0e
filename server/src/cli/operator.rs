//! `baton cancel-step-down`, `pause`, `unpause`, `protect` and `unprotect`:
//! what operators and admins do that needs only a reason.

use baton_client::{Call, Lease, LeaseName, Protect, Reason};

use super::{Failure, connection::ConnectionArgs, lease_text, output};

/// A lease, and why.
#[derive(Debug, clap::Args)]
struct ReasonArgs {
    /// The lease
    lease: LeaseName,

    /// Why, for the history
    #[arg(long, value_name = "TEXT")]
    reason: String,

    /// Print the server's answer as JSON
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    connection: ConnectionArgs,
}

/// The incident that it belongs to.
#[derive(Debug, clap::Args)]
struct IncidentArgs {
    /// Link or number of the incident, for the history
    #[arg(long, value_name = "TEXT")]
    incident: Option<String>,
}

/// Take a step-down back: the holder may stay
#[derive(Debug, clap::Args)]
pub struct CancelStepDownArgs {
    #[command(flatten)]
    reason: ReasonArgs,
    #[command(flatten)]
    incident: IncidentArgs,
}

/// Pause a lease: nobody can acquire it; its holder may go on
///
/// A lease that does not exist yet comes into being, paused.
#[derive(Debug, clap::Args)]
pub struct PauseArgs {
    #[command(flatten)]
    reason: ReasonArgs,
    #[command(flatten)]
    incident: IncidentArgs,
}

/// Let a paused lease be acquired again
#[derive(Debug, clap::Args)]
pub struct UnpauseArgs {
    #[command(flatten)]
    reason: ReasonArgs,
    #[command(flatten)]
    incident: IncidentArgs,
}

/// Protect a lease: who forces it on the page or at the prompt must type its name
#[derive(Debug, clap::Args)]
pub struct ProtectArgs {
    #[command(flatten)]
    reason: ReasonArgs,
}

/// Take a lease's protection back
#[derive(Debug, clap::Args)]
pub struct UnprotectArgs {
    #[command(flatten)]
    reason: ReasonArgs,
}

/// Runs `baton cancel-step-down`.
pub async fn cancel_step_down(args: CancelStepDownArgs) -> Result<(), Failure> {
    let body = with_incident(&args.reason, args.incident);
    let call = Call::cancel_step_down(&args.reason.lease, &body);
    change(args.reason, call, "The step-down is cancelled").await
}

/// Runs `baton pause`.
pub async fn pause(args: PauseArgs) -> Result<(), Failure> {
    let body = with_incident(&args.reason, args.incident);
    let call = Call::pause(&args.reason.lease, &body);
    change(args.reason, call, "Paused").await
}

/// Runs `baton unpause`.
pub async fn unpause(args: UnpauseArgs) -> Result<(), Failure> {
    let body = with_incident(&args.reason, args.incident);
    let call = Call::unpause(&args.reason.lease, &body);
    change(args.reason, call, "Not paused any more").await
}

/// Runs `baton protect`.
pub async fn protect(args: ProtectArgs) -> Result<(), Failure> {
    let body = Protect {
        reason: args.reason.reason.clone(),
    };
    let call = Call::protect(&args.reason.lease, &body);
    change(args.reason, call, "Protected").await
}

/// Runs `baton unprotect`.
pub async fn unprotect(args: UnprotectArgs) -> Result<(), Failure> {
    let body = Protect {
        reason: args.reason.reason.clone(),
    };
    let call = Call::unprotect(&args.reason.lease, &body);
    change(args.reason, call, "Not protected any more").await
}

fn with_incident(args: &ReasonArgs, incident: IncidentArgs) -> Reason {
    Reason {
        reason: args.reason.clone(),
        incident: incident.incident,
    }
}

async fn change(args: ReasonArgs, call: Call<Lease>, done: &str) -> Result<(), Failure> {
    let session = args.connection.session(args.json)?;
    let answer = session.send(call).await?;
    if args.json {
        return output::json_line(&answer.text);
    }
    output::line(&format!(
        "{done}.\n\n{}",
        lease_text::details(&answer.value)
    ))
}
