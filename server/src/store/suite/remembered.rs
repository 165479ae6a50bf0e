//! A server renews from memory what it wrote last, and what somebody else wrote
//! since is neither lost nor believed to be as it was.

use baton_client::Code;

use super::{ask::*, *};

on_both_databases![
    two_servers_renew_the_same_lease_by_turns,
    what_another_server_did_decides,
    renewals_of_both_servers_at_once_are_all_granted,
    a_remembered_row_that_somebody_changed_is_read_again,
];

async fn two_servers_renew_the_same_lease_by_turns(database: TestDatabase) {
    let (one, other) = database.two_stores().await;
    one.take("a", "h").await;
    let mut last = one.ask("a", renew("h", 1)).await.expect("is held");
    for store in [&one, &other, &other, &one, &one, &other, &one] {
        let lease = store.ask("a", renew("h", 1)).await.expect("is held");
        assert_eq!(lease.generation, generation(1));
        assert!(
            lease.renewed_at > last.renewed_at,
            "by the database's clock"
        );
        last = lease;
    }
    let read = other.lease(&"a".parse().expect("a name")).await;
    let read = read.expect("it answers").expect("there is one");
    assert_eq!(
        read.renewed_at, last.renewed_at,
        "what was answered is there"
    );
    one.verify().await;
}

async fn what_another_server_did_decides(database: TestDatabase) {
    let (one, other) = database.two_stores().await;
    for lease in ["a", "b", "c"] {
        one.take(lease, "h").await;
        one.ask(lease, renew("h", 1)).await.expect("is held");
    }
    other.ask("a", force(1, None, None)).await.expect("is held");
    other.ask("b", release("h", 1)).await.expect("is held");
    other.take("b", "next").await;
    other
        .ask("c", step_down(1, 60_000, None))
        .await
        .expect("is held");
    for lease in ["a", "b"] {
        let late = one.ask(lease, renew("h", 1)).await;
        assert_eq!(code(&late), Code::Lost, "{lease}");
    }
    // A holder whom this server never saw is known to the database.
    one.ask("b", renew("next", 3)).await.expect("is held");
    let asked = one.ask("c", renew("h", 1)).await.expect("is held");
    assert!(asked.step_down.is_some(), "the holder is told at once");
    one.verify().await;
}

async fn renewals_of_both_servers_at_once_are_all_granted(database: TestDatabase) {
    let (one, other) = database.two_stores().await;
    let leases: Vec<String> = (0..40).map(|i| format!("lease-{i}")).collect();
    for lease in &leases {
        one.take(lease, "h").await;
    }
    for _ in 0..10 {
        let mut renewals = tokio::task::JoinSet::new();
        for lease in &leases {
            for store in [&one, &other] {
                let (store, lease) = (store.clone(), lease.clone());
                renewals.spawn(async move { store.ask(&lease, renew("h", 1)).await });
            }
        }
        for renewed in renewals.join_all().await {
            assert_eq!(renewed.expect("is held").generation, generation(1));
        }
    }
    one.verify().await;
}

async fn a_remembered_row_that_somebody_changed_is_read_again(database: TestDatabase) {
    let store = database.store().await;
    store.take("a", "h").await;
    store.ask("a", renew("h", 1)).await.expect("is held");
    database
        .run("update leases set protected = true where name = 'a'")
        .await
        .expect("it can be done");
    let renewed = store.ask("a", renew("h", 1)).await.expect("is held");
    assert!(renewed.protected, "as it is, not as it was");
}
