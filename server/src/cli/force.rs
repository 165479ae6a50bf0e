//! `baton force-release` and `baton step-down`: an operator moves a lease out
//! of its holder's hands. Both act on one generation only, the one that the
//! operator saw.

use baton_client::{BarWhom, Call, ForceRelease, Generation, HolderId, LeaseName, StepDownRequest};

use super::{
    Failure, Millis, confirm, connection::ConnectionArgs, lease_text, output, table::span, words,
};

/// What both have in common.
#[derive(Debug, clap::Args)]
struct OperatorArgs {
    /// The lease
    lease: LeaseName,

    /// The generation that you saw; if another one is current, nothing happens
    /// [default at a terminal: shows the lease as it is, and asks]
    #[arg(long, value_name = "GENERATION")]
    expected_generation: Option<Generation>,

    /// Why, for the history and for the holder
    #[arg(long, value_name = "TEXT")]
    reason: String,

    /// Link or number of the incident, for the history
    #[arg(long, value_name = "TEXT")]
    incident: Option<String>,

    /// Afterwards only this holder may acquire, for --reserve-for
    #[arg(long, value_name = "HOLDER", requires = "reserve_for")]
    successor: Option<HolderId>,

    /// How long the lease is kept for the successor: 1s to 24h
    #[arg(long, value_name = "DURATION", requires = "successor")]
    reserve_for: Option<Millis>,

    /// Print the server's answer as JSON
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    connection: ConnectionArgs,
}

/// Take a lease away from its holder, now
///
/// The generation grows, so that fenced writes of the deposed holder are
/// refused. The holder itself learns of it with its next renewal, or stops at
/// its own deadline: to be sure that nobody else works until then, bar everyone
/// for the ttl. `baton step-down` asks the holder first.
#[derive(Debug, clap::Args)]
pub struct ForceReleaseArgs {
    /// Afterwards nobody (everyone), or not the deposed holder (holder), may acquire, for --bar-for
    #[arg(
        long,
        requires = "bar_for",
        value_parser = words::one_of::<BarWhom>(["everyone", "holder"])
    )]
    bar: Option<BarWhom>,

    /// How long the bar lasts: 1s to 24h
    #[arg(long, value_name = "DURATION", requires = "bar")]
    bar_for: Option<Millis>,

    // Last: what follows its connection would stand under that heading.
    #[command(flatten)]
    operator: OperatorArgs,
}

/// Ask a holder to let go, and force it at a deadline
///
/// The holder learns of it with its next renewal and can finish what it does.
/// `baton cancel-step-down` takes it back.
#[derive(Debug, clap::Args)]
pub struct StepDownArgs {
    /// How long the holder has: 1s to 24h
    #[arg(long, value_name = "DURATION")]
    deadline: Millis,

    // Last: what follows its connection would stand under that heading.
    #[command(flatten)]
    operator: OperatorArgs,
}

/// Runs `baton force-release`.
pub async fn force_release(args: ForceReleaseArgs) -> Result<(), Failure> {
    let operator = args.operator;
    let session = operator.connection.session(operator.json)?;
    let lease = &operator.lease;
    let expected_generation = confirm::generation(
        &session,
        lease,
        operator.expected_generation,
        "force the release of",
    )
    .await?;
    let force = ForceRelease {
        expected_generation,
        reason: operator.reason,
        incident: operator.incident,
        bar: args.bar,
        bar_ms: args.bar_for.map(|bar| bar.0),
        successor: operator.successor,
        reserve_ms: operator.reserve_for.map(|reserve| reserve.0),
    };
    let answer = session.send(Call::force_release(lease, &force)).await?;
    if operator.json {
        return output::json_line(&answer.text);
    }
    output::line(&format!(
        "Released by force; generation {expected_generation} is over.\n\n{}",
        lease_text::details(&answer.value)
    ))
}

/// Runs `baton step-down`.
pub async fn step_down(args: StepDownArgs) -> Result<(), Failure> {
    let operator = args.operator;
    let session = operator.connection.session(operator.json)?;
    let lease = &operator.lease;
    let expected_generation = confirm::generation(
        &session,
        lease,
        operator.expected_generation,
        "ask for the step-down of",
    )
    .await?;
    let step_down = StepDownRequest {
        expected_generation,
        reason: operator.reason,
        incident: operator.incident,
        deadline_ms: args.deadline.0,
        successor: operator.successor,
        reserve_ms: operator.reserve_for.map(|reserve| reserve.0),
    };
    let answer = session.send(Call::step_down(lease, &step_down)).await?;
    if operator.json {
        return output::json_line(&answer.text);
    }
    let lease = answer.value;
    output::line(&format!(
        "Asked {} to step down within {}.\n\n{}",
        lease_text::holder(&lease),
        span(args.deadline.0),
        lease_text::details(&lease)
    ))
}
