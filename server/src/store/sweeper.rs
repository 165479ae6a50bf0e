//! Lapses and deadlines are logged within about a second of happening, also
//! when nobody asks. With several servers, whichever gets the row first logs
//! it, and the others find nothing due.

use std::time::Duration;

use super::{Store, in_time};

/// How often to look.
const EVERY: Duration = Duration::from_millis(500);
/// Most lapses in one transaction.
const AT_ONCE: u32 = 500;
/// Looking may take this share of the time at most: one part in so many.
const SHARE: u32 = 20;

/// Looks for what is due, for ever.
pub async fn run(store: Store) {
    let mut looks: u32 = 0;
    loop {
        let started = std::time::Instant::now();
        let due = in_time(store.lanes.backend.due(AT_ONCE)).await;
        let took = started.elapsed();
        match due {
            Ok(names) if names.is_empty() => {}
            Ok(names) => {
                let more = names.len() == AT_ONCE as usize;
                // If none could be settled, the same would be found at once.
                if store.settle(names).await && more {
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
