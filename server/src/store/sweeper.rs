//! Lapses and deadlines are logged within about a second of happening, also
//! when nobody asks. With several servers, whichever gets the row first logs
//! it, and the others find nothing due.

use std::time::Duration;

use baton_client::LeaseName;
use tokio::task::JoinSet;

use super::{Store, in_time};

/// How often to look.
const EVERY: Duration = Duration::from_millis(500);
/// Most lapses in one transaction.
const AT_ONCE: u32 = 500;
/// How many locked leases are waited for, beside the looking: to log a lapse
/// need not wait for fenced transactions, but only the side lane knows that.
const LOCKED_AT_ONCE: usize = 2;
/// How long to wait for one.
const LOCKED_PATIENCE: Duration = Duration::from_secs(1);
/// Looking may take this share of the time at most: one part in so many.
const SHARE: u32 = 20;

/// Looks for what is due, for ever.
pub async fn run(store: Store) {
    let mut looks: u32 = 0;
    let mut waiting: JoinSet<()> = JoinSet::new();
    loop {
        let started = std::time::Instant::now();
        let due = in_time(store.lanes.backend.due(AT_ONCE)).await;
        let took = started.elapsed();
        match due {
            Ok(names) if names.is_empty() => {}
            Ok(names) => {
                let more = names.len() == AT_ONCE as usize;
                // What is locked must not delay the others.
                let (settled, mut locked) = store.settle(names, Duration::ZERO).await;
                if !locked.is_empty() {
                    let first = looks as usize % locked.len();
                    locked.rotate_left(first);
                    wait_for(&store, &mut waiting, locked);
                }
                // If none could be settled, the same would be found at once.
                if settled && more {
                    continue;
                }
            }
            Err(error) => tracing::warn!(%error, "cannot look for lapses"),
        }
        store.measure();
        if looks.is_multiple_of(10)
            && let Ok(totals) = store.totals().await
        {
            crate::metrics::leases(totals.free, totals.held, totals.lapsed);
        }
        looks = looks.wrapping_add(1);
        tokio::time::sleep(EVERY.max(took * SHARE)).await;
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
