//! Many who want the same lease at the same time: one gets it.

use baton_client::{Code, Lease};
use tokio::task::JoinSet;

use super::{ask::*, *};

const TAKERS: usize = 64;

on_both_databases![
    one_of_sixty_four_takers_wins_a_hundred_times,
    one_of_those_that_saw_the_same_generation_wins,
];

/// Lets all take the lease at once, half of them through each store.
async fn race(
    stores: &(Store, Store),
    lease: &str,
    request: impl Fn(String) -> Request,
) -> (Vec<Lease>, Vec<Code>) {
    let mut takers = JoinSet::new();
    for i in 0..TAKERS {
        let store = if i % 2 == 0 { &stores.0 } else { &stores.1 };
        let (store, lease) = (store.clone(), lease.to_owned());
        let request = request(format!("taker-{i}"));
        takers.spawn(async move { store.ask(&lease, request).await });
    }
    let (mut won, mut refused) = (Vec::new(), Vec::new());
    for answer in takers.join_all().await {
        match answer {
            Ok(lease) => won.push(lease),
            Err(error) => refused.push(code::<()>(&Err(error))),
        }
    }
    (won, refused)
}

async fn one_of_sixty_four_takers_wins_a_hundred_times(database: TestDatabase) {
    let stores = database.two_stores().await;
    for round in 0..100u64 {
        // A new lease each time, or one that changes hands again and again.
        let lease = match round % 2 {
            0 => format!("round-{round}"),
            _ => "contended".to_owned(),
        };
        let take = |taker: String| acquire(taking(&taker));
        let (won, refused) = race(&stores, &lease, take).await;
        // One wins, and everybody else is told that it is held.
        assert_eq!(won.len(), 1, "round {round}");
        assert!(
            refused.iter().all(|code| *code == Code::Held),
            "{refused:?}"
        );
        assert_eq!(refused.len(), TAKERS - 1);
        let winner = won[0].holder.as_ref().expect("is held").as_str();
        let number = won[0].generation.get();
        let freed = stores.1.ask(&lease, release(winner, number)).await;
        freed.expect("the winner holds it");
    }
    stores.0.verify().await;
}

async fn one_of_those_that_saw_the_same_generation_wins(database: TestDatabase) {
    let stores = database.two_stores().await;
    for round in 0..20u64 {
        let seen = 2 * round;
        let take = |taker: String| {
            let mut taking = taking(&taker);
            taking.expected_generation = Some(generation(seen));
            acquire(taking)
        };
        let (won, refused) = race(&stores, "contended", take).await;
        // One wins, and everybody else learns that the generation moved on.
        assert_eq!(won.len(), 1, "round {round}");
        assert!(refused.iter().all(|code| *code == Code::GenerationMoved));
        assert_eq!(won[0].generation.get(), seen + 1);
        let winner = won[0].holder.as_ref().expect("is held").as_str();
        let freed = stores.0.ask("contended", release(winner, seen + 1)).await;
        freed.expect("the winner holds it");
    }
    stores.1.verify().await;
}
