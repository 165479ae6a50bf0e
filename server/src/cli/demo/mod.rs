//! `baton demo`: simulated holders against a running server, so that a newcomer
//! sees life on the page. [`cast`] says who they are, [`player`] how one of them
//! lives. It uses nothing but the API, and no rule of its own.

mod cast;
mod player;

use std::time::{Duration, Instant};

use baton_client::{Call, LeaseQuery};
use rand::{SeedableRng as _, rngs::StdRng};
use tokio::{
    signal::unix::{SignalKind, signal},
    sync::mpsc,
    task::JoinSet,
};
use tokio_util::sync::CancellationToken;

use self::player::{Player, Said};
use super::{
    Exit, Failure, Millis, connection::ConnectionArgs, failure::token_hint, output, safe::safe,
};

/// How long the holders have to let go after a signal.
const FAREWELL: Duration = Duration::from_secs(5);

/// Bring a running server to life with a dozen simulated holders
///
/// They acquire, renew, wait in line, hang until their lease lapses, crash and
/// release, each as its nature is. Needs a token that may hold any lease. Runs
/// until Ctrl-C, then releases what it holds.
#[derive(Debug, clap::Args)]
pub struct DemoArgs {
    /// Make the same decisions as an earlier run; each run prints its seed [default: random]
    #[arg(long, value_name = "N")]
    seed: Option<u64>,

    /// Stop by itself after this time
    #[arg(long = "for", value_name = "DURATION")]
    run_for: Option<Millis>,

    #[command(flatten)]
    connection: ConnectionArgs,
}

/// Runs the command.
pub async fn run(args: DemoArgs) -> Result<(), Failure> {
    let session = args.connection.session(false)?;
    if !session.has_token() {
        return Err(Failure::new(
            Exit::NotAuthorised,
            format!("the demo's holders need a token. {}", token_hint(false)),
        ));
    }
    // Finds out about a wrong address or token before anyone starts.
    let one = LeaseQuery {
        limit: Some(1),
        ..LeaseQuery::default()
    };
    session.send(Call::leases(&one)).await?;

    let seed = args
        .seed
        .unwrap_or_else(|| rand::random_range(0..1_000_000));
    output::line(&format!(
        "{} holders play on {} leases at {} (seed {seed}). Ctrl-C ends it.",
        cast::CAST
            .iter()
            .map(|part| part.members.len())
            .sum::<usize>(),
        cast::CAST.len(),
        session.client().address(),
    ))?;

    let stop = CancellationToken::new();
    let (said, hear) = mpsc::unbounded_channel();
    // Holders of two demos, or of one run twice, are never the same.
    let run = rand::random_range(0x1000..=0xffff_u32);
    let mut players = JoinSet::new();
    let members = cast::CAST
        .iter()
        .flat_map(|part| part.members.iter().map(move |member| (part, member)));
    for (index, (part, member)) in members.enumerate() {
        let rng = StdRng::seed_from_u64(seed.wrapping_mul(1_000).wrapping_add(index as u64));
        let player = Player::new(part, member, run, rng, &session, &said, &stop)?;
        players.spawn(player.live());
    }
    drop(said);
    let outcome = watch_over(hear, &stop, args.run_for).await;
    stop.cancel();
    players.shutdown().await;
    outcome
}

/// Prints what happens until everyone has left: because of a signal, because
/// time is up, or because the server does not let them play.
async fn watch_over(
    mut hear: mpsc::UnboundedReceiver<Said>,
    stop: &CancellationToken,
    run_for: Option<Millis>,
) -> Result<(), Failure> {
    let broken = |error| Failure::new(Exit::Failed, format!("cannot listen for signals: {error}"));
    let mut interrupt = signal(SignalKind::interrupt()).map_err(broken)?;
    let mut terminate = signal(SignalKind::terminate()).map_err(broken)?;
    let start = Instant::now();
    let mut end = run_for.map(|time| start + Duration::from_millis(time.0));
    let mut outcome = Ok(());
    loop {
        let next = tokio::select! {
            next = hear.recv() => next,
            _ = interrupt.recv() => None,
            _ = terminate.recv() => None,
            () = until(end) => None,
        };
        match next {
            Some(Said::Line { who, lease, text }) => {
                let line = format!(
                    "{:>7.1}  {who:<12}  {lease:<20}  {}",
                    start.elapsed().as_secs_f64(),
                    safe(&text)
                );
                if let (Err(left), Ok(())) = (output::line(&line), &outcome) {
                    outcome = Err(left);
                    stop.cancel();
                    end = Some(Instant::now() + FAREWELL);
                }
            }
            Some(Said::Refused(failure)) => {
                if outcome.is_ok() {
                    outcome = Err(failure);
                }
                stop.cancel();
                end = Some(Instant::now() + FAREWELL);
            }
            // Everyone has left, or was told to twice.
            None if stop.is_cancelled() => {
                if outcome.is_ok() {
                    output::note("The demo has ended.");
                }
                return outcome;
            }
            None => {
                output::note("Ending: everyone lets go.");
                stop.cancel();
                end = Some(Instant::now() + FAREWELL);
            }
        }
    }
}

async fn until(end: Option<Instant>) {
    match end {
        Some(end) => tokio::time::sleep_until(end.into()).await,
        None => std::future::pending().await,
    }
}
