//! `baton renew` and `baton release`: what a holder does with its tenure.

use baton_client::{Call, Generation, HolderId, Lease, LeaseName, RawJson, Release, Renew};

use super::{
    Failure, Millis,
    connection::ConnectionArgs,
    lease_text, output,
    safe::safe,
    table::{clock, relative, span},
    words,
};

/// Which tenure: inside `baton run` the variables say it.
#[derive(Debug, clap::Args)]
struct TenureArgs {
    /// The lease
    lease: LeaseName,

    /// Who holds it, as given to acquire
    #[arg(long, env = "BATON_HOLDER")]
    holder: HolderId,

    /// The generation of the grant
    #[arg(long, env = "BATON_GENERATION", value_name = "GENERATION")]
    generation: Generation,
}

/// Renew a lease that you hold
///
/// Moves the expiry; the generation stays. Refused as `lost` (exit code 3) when
/// the lease has changed hands since: then stop the work.
#[derive(Debug, clap::Args)]
pub struct RenewArgs {
    #[command(flatten)]
    tenure: TenureArgs,

    /// How long it lasts from now on without renewal [default: as before]
    #[arg(long, value_name = "DURATION")]
    ttl: Option<Millis>,

    /// What to show of the work: JSON or a word [default: as before]
    #[arg(long, value_name = "JSON|WORD", value_parser = words::json_or_word)]
    status: Option<RawJson>,

    /// Show no status any more
    #[arg(long, conflicts_with = "status")]
    clear_status: bool,

    /// Print the server's answer as JSON
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    connection: ConnectionArgs,
}

/// Give a lease back
///
/// Whoever waits in line gets it at once, with a higher generation.
#[derive(Debug, clap::Args)]
pub struct ReleaseArgs {
    #[command(flatten)]
    tenure: TenureArgs,

    /// Why, for the history
    #[arg(long, value_name = "TEXT")]
    reason: Option<String>,

    /// Print the server's answer as JSON
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    connection: ConnectionArgs,
}

/// Runs `baton renew`.
pub async fn renew(args: RenewArgs) -> Result<(), Failure> {
    let session = args.connection.session(args.json)?;
    let status = match (args.status, args.clear_status) {
        (Some(status), _) => Some(Some(status)),
        (None, true) => Some(None),
        (None, false) => None,
    };
    let renew = Renew {
        holder: args.tenure.holder,
        generation: args.tenure.generation,
        ttl_ms: args.ttl.map(|ttl| ttl.0),
        status,
    };
    let answer = session
        .send(Call::renew(&args.tenure.lease, &renew))
        .await?;
    if args.json {
        return output::json_line(&answer.text);
    }
    output::line(&renewed(&answer.value))
}

fn renewed(lease: &Lease) -> String {
    let mut text = format!("Renewed {}, generation {}", lease.lease, lease.generation);
    if let Some(at) = lease.expires_at {
        text.push_str(&format!(
            ": expires {}, at {}",
            relative(lease.now, at),
            clock(at)
        ));
    }
    text.push('.');
    if let Some(asked) = &lease.step_down {
        text.push_str(&format!(
            "\n{} asks you to step down within {}: {}",
            safe(&asked.actor.to_string()),
            span(lease.now.ms_until(asked.deadline)),
            safe(&asked.reason)
        ));
    }
    text
}

/// Runs `baton release`.
pub async fn release(args: ReleaseArgs) -> Result<(), Failure> {
    let session = args.connection.session(args.json)?;
    let release = Release {
        holder: args.tenure.holder,
        generation: args.tenure.generation,
        reason: args.reason,
    };
    let call = Call::release(&args.tenure.lease, &release);
    let answer = session.send(call).await?;
    if args.json {
        return output::json_line(&answer.text);
    }
    let lease = answer.value;
    // With somebody in line, the answer is already the next tenure's.
    let next = match &lease.holder {
        Some(_) => format!("; {} has it now", lease_text::holder(&lease)),
        None => String::new(),
    };
    output::line(&format!(
        "Released {}. Its generation is {}{next}.",
        lease.lease, lease.generation
    ))
}
