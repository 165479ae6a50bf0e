//! Lapses and deadlines are logged within about a second of happening, also
//! when nobody asks. With several servers, whichever gets the row first logs
//! it, and the others find nothing due.

use std::time::Duration;

use baton_client::LeaseName;
use tokio::task::JoinSet;

use super::{Store, backend::Place, in_time};

/// How long one look through all leases may take, if they are few enough.
const ROUND: Duration = Duration::from_millis(500);
/// How long to rest at least after each part of it, as a multiple of the time
/// that the part took.
const REST: u32 = 4;
/// Every so many rounds the leases are counted.
const COUNT_EVERY: u32 = 10;
/// How many locked leases are waited for, beside the looking: to log a lapse
/// need not wait for fenced transactions, but only the side lane knows that.
const LOCKED_AT_ONCE: usize = 2;
/// How long to wait for one.
const LOCKED_PATIENCE: Duration = Duration::from_secs(1);

/// Looks for what is due, for ever.
pub async fn run(store: Store) {
    let mut waiting: JoinSet<()> = JoinSet::new();
    let mut rounds: u32 = 0;
    // How many parts the table had in the round before.
    let mut parts: u32 = 1;
    loop {
        if rounds.is_multiple_of(COUNT_EVERY)
            && let Ok(totals) = store.totals().await
        {
            crate::metrics::leases(totals.free, totals.held, totals.lapsed);
        }
        rounds = rounds.wrapping_add(1);
        parts = round(&store, &mut waiting, ROUND / parts).await;
    }
}

/// One look through all leases, a part at a time, and so much rest after each.
/// Says how many parts there were.
async fn round(store: &Store, waiting: &mut JoinSet<()>, rest: Duration) -> u32 {
    let mut place = Some(Place::Start);
    let mut parts = 0;
    while let Some(from) = place {
        let started = std::time::Instant::now();
        let due = in_time(store.lanes.backend.due(&from)).await;
        let took = started.elapsed();
        place = match due {
            Ok(due) => {
                settle(store, waiting, due.names).await;
                due.next
            }
            Err(error) => {
                tracing::warn!(%error, "cannot look for lapses");
                None
            }
        };
        parts += 1;
        store.measure();
        tokio::time::sleep(rest.max(took * REST)).await;
    }
    parts
}

async fn settle(store: &Store, waiting: &mut JoinSet<()>, names: Vec<LeaseName>) {
    if names.is_empty() {
        return;
    }
    // What is locked must not delay the others.
    let mut locked = store.settle(names, Duration::ZERO).await;
    if !locked.is_empty() {
        let first = rand::random_range(0..locked.len());
        locked.rotate_left(first);
        wait_for(store, waiting, locked);
    }
}

/// Waits for a few of the locked leases, if nothing is waited for already.
fn wait_for(store: &Store, waiting: &mut JoinSet<()>, locked: Vec<LeaseName>) {
    while waiting.try_join_next().is_some() {}
    if !waiting.is_empty() {
        return;
    }
    for name in locked.into_iter().take(LOCKED_AT_ONCE) {
        let store = store.clone();
        waiting.spawn(async move {
            store.settle(vec![name], LOCKED_PATIENCE).await;
        });
    }
}
