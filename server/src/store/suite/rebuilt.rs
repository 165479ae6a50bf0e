//! After anything that many clients do at once, the log tells the table.

use baton_client::Generation;
use rand::{RngExt as _, SeedableRng as _, rngs::StdRng};
use tokio::task::JoinSet;

use super::{ask::*, *};
use crate::rules::Bar;

on_both_databases![the_log_tells_the_table_after_a_random_workload];

const CLIENTS: u64 = 8;
const REQUESTS: usize = 250;
const LEASES: usize = 12;

/// What a client asks next, half of the time about the generation it saw last.
fn request(random: &mut StdRng, who: &str, seen: Generation) -> Request {
    let number = seen.get();
    let ms = random.random_range(1..400);
    match random.random_range(0..20) {
        0..6 => acquire(taking_for(who, ms)),
        6..8 => {
            let mut taking = claiming(who, if ms % 2 == 0 { "c-0" } else { "c-1" });
            taking.ttl_ms = ms;
            taking.payload = (ms % 3 == 0).then(|| raw(&ms.to_string()));
            acquire(taking)
        }
        8..12 => renew_with(who, number, Some(ms), None),
        12..14 => release(who, number),
        14 => force(number, None, Some(("client-1", ms))),
        15 => force(number, Some(Bar::Everyone(ms)), None),
        16 => force(number, Some(Bar::Holder(ms)), None),
        17 => step_down(number, ms, Some(("client-2", ms))),
        18 => match ms % 4 {
            0 => Request::Pause(ana(), why()),
            1 => Request::Protect(ana(), why()),
            2 => Request::CancelStepDown(ana(), why()),
            _ => Request::Unprotect(ana(), why()),
        },
        _ => Request::Unpause(ana(), why()),
    }
}

async fn client(store: Store, seed: u64) {
    let mut random = StdRng::seed_from_u64(seed);
    let who = format!("client-{seed}");
    let mut seen = [Generation::ZERO; LEASES];
    for _ in 0..REQUESTS {
        let lease = random.random_range(0..LEASES);
        let request = request(&mut random, &who, seen[lease]);
        let name = name(&format!("lease-{lease}"));
        let answer = match &request {
            Request::Acquire(..) if random.random_bool(0.3) => {
                let wait = Duration::from_millis(random.random_range(1..50));
                store.submit_waiting(name, request, wait).await
            }
            _ => store.submit(name, request).await,
        };
        match answer {
            Ok(done) => seen[lease] = done.row.generation,
            Err(StoreError::Refused(refused)) => {
                if let Some(lease_now) = refused.lease {
                    seen[lease] = lease_now.generation;
                }
            }
            Err(StoreError::Blocked(_)) => {}
            Err(other) => panic!("the database is there: {other:?}"),
        }
    }
}

async fn the_log_tells_the_table_after_a_random_workload(database: TestDatabase) {
    let (store, other) = database.two_stores().await;
    let mut clients = JoinSet::new();
    for seed in 0..CLIENTS {
        let store = if seed % 2 == 0 { &store } else { &other };
        clients.spawn(client(store.clone(), seed));
    }
    while let Some(done) = clients.join_next().await {
        done.expect("the client lives");
    }
    // Both servers see the same, and it is whole.
    store.verify().await;
    other.verify().await;
    assert!(store.whole_log().await.len() > 300, "a lot happened");
}
