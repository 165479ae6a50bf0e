//! `baton acquire`: take a lease, perhaps after waiting in line.

use std::time::{Duration, Instant};

use baton_client::{
    Acquire, Answer, Call, Code, Generation, HolderId, Lease, LeaseName, RawJson,
    limits::WAIT_MS_MAX,
};

use super::{
    Failure, Millis, connection::ConnectionArgs, connection::Session, holder::default_holder,
    lease_text, output, safe::shell_word, words,
};

/// Take a lease
///
/// Prints the grant with its generation, the fencing token: give it along with
/// every write, so that the writes of a former holder can be told from yours.
/// The lease is yours until it expires; renew it before then.
#[derive(Debug, clap::Args)]
pub struct AcquireArgs {
    /// The lease: 1 to 200 of A–Z a–z 0–9 . _ : @ -
    lease: LeaseName,

    /// Who takes it; must be unique per process [default: USER@HOST/PID-RANDOM]
    #[arg(long)]
    holder: Option<HolderId>,

    /// How long it lasts without renewal: 1s to 24h
    #[arg(long, default_value = "10s", value_name = "DURATION")]
    ttl: Millis,

    /// How long past the expiry everyone must still wait: up to 1h
    #[arg(long, default_value = "0", value_name = "DURATION")]
    grace: Millis,

    /// Wait in line this long if it cannot be had at once
    #[arg(long, default_value = "0", value_name = "DURATION")]
    wait: Millis,

    /// Makes the command safe to repeat: the same holder and claim id get the same grant again
    /// [default: a random one]
    #[arg(long, value_name = "ID")]
    claim_id: Option<String>,

    /// The new generation must be above this one
    #[arg(long, value_name = "GENERATION")]
    above: Option<u64>,

    /// Take it only if this is still its generation; 0 for a lease that never was
    #[arg(long, value_name = "GENERATION")]
    expected_generation: Option<Generation>,

    /// Do not take work over that has lapsed this many times in a row
    #[arg(long, value_name = "N")]
    max_attempts: Option<u64>,

    /// What the work is, for whoever takes it over: JSON, up to 64 KiB
    #[arg(long, value_name = "JSON", value_parser = words::json)]
    payload: Option<RawJson>,

    /// On whose behalf
    #[arg(long, value_name = "NAME")]
    principal: Option<String>,

    /// What to show of the work: JSON or a word
    #[arg(long, value_name = "JSON|WORD", value_parser = words::json_or_word)]
    status: Option<RawJson>,

    /// Print the server's answer as JSON
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    connection: ConnectionArgs,
}

/// Runs the command.
pub async fn run(args: AcquireArgs) -> Result<(), Failure> {
    let session = args.connection.session(args.json)?;
    let holder = match &args.holder {
        Some(holder) => holder.clone(),
        None => default_holder()
            .parse()
            .map_err(|error| Failure::new(super::Exit::Failed, format!("{error}")))?,
    };
    let claim_id = args.claim_id.clone();
    let claim_id = claim_id.unwrap_or_else(|| format!("{:032x}", rand::random::<u128>()));
    let acquire = Acquire {
        grace_ms: args.grace.0,
        claim_id: Some(claim_id),
        above: args.above,
        expected_generation: args.expected_generation,
        max_attempts: args.max_attempts,
        payload: args.payload.clone(),
        principal: args.principal.clone(),
        status: args.status.clone(),
        ..Acquire::new(holder, args.ttl.0)
    };
    let answer = wait_for(&session, &args.lease, acquire, args.wait.0).await?;
    if args.json {
        return output::json_line(&answer.text);
    }
    let lease = answer.value;
    output::line(&format!(
        "Acquired with generation {}.\n\n{}\n{}",
        lease.generation,
        lease_text::details(&lease),
        lease_text::how_to_go_on(&lease)
    ))
}

/// Waits in line as often as it takes: the server lets one call wait a minute.
async fn wait_for(
    session: &Session,
    lease: &LeaseName,
    mut acquire: Acquire,
    wait_ms: u64,
) -> Result<Answer<Lease>, Failure> {
    let start = Instant::now();
    loop {
        let waited_ms = start.elapsed().as_millis() as u64;
        let left_ms = wait_ms.saturating_sub(waited_ms);
        acquire.wait_ms = left_ms.min(WAIT_MS_MAX);
        let last = left_ms <= WAIT_MS_MAX;
        let error = match session.client().send(Call::acquire(lease, &acquire)).await {
            Ok(answer) => return Ok(answer),
            Err(error) => error,
        };
        let in_line = matches!(
            error.code(),
            Some(Code::Held | Code::Barred | Code::Reserved | Code::Paused)
        );
        if in_line && !last {
            // A server that answers at once is not asked in a tight loop.
            tokio::time::sleep(Duration::from_millis(100)).await;
            continue;
        }
        if error.may_have_happened() {
            note_repeat(lease, &acquire);
        }
        return Err(session.failure(&error));
    }
}

/// The grant may be there: the same claim gets it.
fn note_repeat(lease: &LeaseName, acquire: &Acquire) {
    output::note(&format!(
        "The lease may be yours. The same claim gets the same grant:\n  \
         baton acquire {lease} --holder {} --claim-id {}",
        shell_word(acquire.holder.as_str()),
        shell_word(acquire.claim_id.as_deref().unwrap_or_default())
    ));
}
