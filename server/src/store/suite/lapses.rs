//! Lapses are found and logged by the server, each once.

use std::collections::HashMap;

use baton_client::{Actor, Handover, HandoverEvent, HandoverQuery};

use super::{ask::*, *};

on_both_databases![
    a_lapse_is_logged_though_nobody_asks,
    a_tenure_recovers_until_it_is_taken,
    each_lapse_is_logged_once_whatever_finds_it,
];

/// Lapses are logged within about a second; on a loaded machine, within this.
const SOON_MS: u64 = 4_000;

async fn lapses(store: &Store) -> Vec<Handover> {
    let query = HandoverQuery {
        event: Some(HandoverEvent::Lapsed),
        ..HandoverQuery::default()
    };
    store.log(&query).await
}

async fn a_lapse_is_logged_though_nobody_asks(database: TestDatabase) {
    let store = database.store().await;
    let brief = acquire(taking_for("a", 100));
    let taken = store.ask("deploy", brief).await.expect("is free");
    let expires_at = taken.expires_at.expect("is held");
    let lapsed = eventually("the lapse", || async { lapses(&store).await.pop() }).await;
    // It is the server's act, soon after the expiry, and never before it.
    assert_eq!(lapsed.actor, Actor::Baton);
    assert!(lapsed.at >= expires_at && expires_at.ms_until(lapsed.at) < SOON_MS);
    assert_eq!(
        (lapsed.held_from, lapsed.held_until),
        (taken.granted_at, Some(expires_at))
    );
    assert_eq!(lapsed.generation, taken.generation, "nobody took it");
    store.verify().await;
}

async fn a_tenure_recovers_until_it_is_taken(database: TestDatabase) {
    let store = database.store().await;
    let brief = acquire(taking_for("a", 1));
    store.ask("deploy", brief).await.expect("is free");
    eventually("the lapse", || async { lapses(&store).await.pop() }).await;
    let recovered = store
        .ask("deploy", renew_with("a", 1, Some(60_000), None))
        .await;
    assert_eq!(
        recovered.expect("nobody took it").remaining_ms,
        Some(60_000)
    );
    let events = store.events_of("deploy").await;
    assert_eq!(events, ["granted", "lapsed", "recovered"]);
    store.verify().await;
}

async fn each_lapse_is_logged_once_whatever_finds_it(database: TestDatabase) {
    const LEASES: usize = 600;
    let (store, other) = database.two_stores().await;
    // More than fit into one transaction lapse at the same time, while two
    // servers look and holders try to renew.
    let all = |request: fn() -> Request| -> Vec<_> {
        (0..LEASES)
            .map(|i| (name(&format!("lease-{i}")), request()))
            .collect()
    };
    let taken = store
        .submit_all(all(|| acquire(taking_for("a", 300))))
        .await;
    assert!(taken.iter().all(Result::is_ok));
    eventually("every lapse", || async {
        other.submit_all(all(|| Request::Settle)).await;
        (lapses(&store).await.len() >= LEASES).then_some(())
    })
    .await;
    let all_twice = all(|| Request::Settle)
        .into_iter()
        .chain(all(|| Request::Settle));
    store.submit_all(all_twice.collect()).await;
    let mut counts: HashMap<_, usize> = HashMap::new();
    for lapsed in lapses(&store).await {
        *counts.entry(lapsed.lease).or_default() += 1;
    }
    assert_eq!(counts.len(), LEASES);
    assert!(counts.values().all(|count| *count == 1), "each lapse once");
    store.verify().await;
}
