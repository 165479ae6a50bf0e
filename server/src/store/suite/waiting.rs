//! Acquires that wait in line.

use std::time::{Duration, Instant};

use baton_client::{Code, HandoverEvent};
use sqlx::{Connection as _, PgConnection};
use tokio::task::JoinHandle;

use super::{ask::*, *};
use crate::rules::{Acquire, Bar};

on_both_databases![
    who_came_first_is_served_first,
    a_release_and_the_next_grant_are_one_transaction,
    a_waiter_that_is_gone_is_skipped,
    a_wait_ends_with_the_refusal,
    other_refusals_do_not_wait,
    a_lapse_ends_the_wait,
    a_wait_lasts_through_pause_bar_and_reservation,
    a_release_on_one_server_wakes_a_waiter_on_another,
    a_stopping_server_answers_who_waits,
    a_barred_waiter_holds_up_nobody,
];

const LONG: Duration = Duration::from_secs(60);

type Waiter = JoinHandle<Result<Lease, StoreError>>;

/// Puts an acquire in line, and comes back when it stands there.
async fn wait_in_line(store: &Store, lease: &str, taking: Acquire, wait: Duration) -> Waiter {
    let before = store.lanes.lines.len();
    let (waiting, lease) = (store.clone(), name(lease));
    let waiter = tokio::spawn(async move {
        let done = waiting.submit_waiting(lease, acquire(taking), wait).await?;
        Ok(done.lease())
    });
    eventually("a place in line", || async {
        (store.lanes.lines.len() > before).then_some(())
    })
    .await;
    waiter
}

async fn granted(waiter: Waiter) -> Lease {
    let answer = tokio::time::timeout(PATIENCE, waiter).await;
    let answer = answer.expect("an answer comes").expect("the task lives");
    answer.expect("it is granted")
}

async fn who_came_first_is_served_first(database: TestDatabase) {
    let store = database.store().await;
    store.take("deploy", "w0").await;
    let mut line = Vec::new();
    for i in 1..=4 {
        let taking = taking(&format!("w{i}"));
        line.push(wait_in_line(&store, "deploy", taking, LONG).await);
    }
    // Each release serves the next in line, past those who ask without waiting.
    for (i, waiter) in line.into_iter().enumerate() {
        let number = 1 + 2 * i as u64;
        let asked = store.submit_all(vec![
            (name("deploy"), release(&format!("w{i}"), number)),
            (name("deploy"), acquire(taking("pushy"))),
        ]);
        let mut answers = asked.await;
        assert_eq!(code(&answers.remove(1)), Code::Held);
        assert!(answers[0].is_ok(), "{i}: {answers:?}");
        let lease = granted(waiter).await;
        assert_eq!(lease.holder, Some(holder(&format!("w{}", i + 1))));
        assert_eq!(lease.generation.get(), number + 2);
    }
    store.verify().await;
}

/// Asked beside a fenced transaction, which locks the row, an acquire comes to the
/// line by another way.
#[tokio::test(flavor = "multi_thread")]
async fn who_comes_later_stands_behind_also_beside_a_fence() {
    let database = TestDatabase::postgres().await;
    let store = database.store().await;
    store.take("deploy", "a").await;
    let first = wait_in_line(&store, "deploy", taking("b"), LONG).await;
    let application = PgConnection::connect(&database.address).await;
    let mut application = application.expect("it answers");
    let fence = sqlx::raw_sql("begin; select baton_fence('deploy', 1)");
    fence.execute(&mut application).await.expect("is current");
    let second = wait_in_line(&store, "deploy", taking("c"), LONG).await;
    let end = sqlx::raw_sql("commit").execute(&mut application).await;
    end.expect("commits");
    store.ask("deploy", release("a", 1)).await.expect("is held");
    assert_eq!(granted(first).await.holder, Some(holder("b")));
    store.ask("deploy", release("b", 3)).await.expect("is held");
    assert_eq!(granted(second).await.holder, Some(holder("c")));
    store.verify().await;
}

async fn a_release_and_the_next_grant_are_one_transaction(database: TestDatabase) {
    let store = database.store().await;
    store.take("deploy", "a").await;
    let waiter = wait_in_line(&store, "deploy", taking("b"), LONG).await;
    store.ask("deploy", release("a", 1)).await.expect("is held");
    granted(waiter).await;
    let log = store.log_of("deploy").await;
    let [.., released, granted] = &log[..] else {
        panic!("two entries came of it");
    };
    // They stand next to each other, at the same time.
    assert_eq!(released.event, HandoverEvent::Released);
    assert_eq!(granted.event, HandoverEvent::Granted);
    assert_eq!((granted.seq, granted.at), (released.seq + 1, released.at));
}

async fn a_waiter_that_is_gone_is_skipped(database: TestDatabase) {
    let store = database.store().await;
    store.take("deploy", "a").await;
    let gone = wait_in_line(&store, "deploy", taking("gone"), LONG).await;
    let next = wait_in_line(&store, "deploy", taking("b"), LONG).await;
    gone.abort();
    assert!(gone.await.is_err());
    store.ask("deploy", release("a", 1)).await.expect("is held");
    granted(next).await;
    let log = store.log_of("deploy").await;
    assert!(log.iter().all(|entry| entry.holder != Some(holder("gone"))));
}

async fn a_wait_ends_with_the_refusal(database: TestDatabase) {
    let store = database.store().await;
    store.take("deploy", "a").await;
    let started = Instant::now();
    let wait = Duration::from_millis(300);
    let answer = store
        .submit_waiting(name("deploy"), acquire(taking("b")), wait)
        .await;
    // Not before its time, and with what stood against it.
    assert!(started.elapsed() >= wait);
    assert!(started.elapsed() < wait + Duration::from_secs(5));
    assert_eq!(code(&answer), Code::Held);
    eventually("the end of the line", || async {
        (store.lanes.lines.len() == 0).then_some(())
    })
    .await;
}

async fn other_refusals_do_not_wait(database: TestDatabase) {
    let store = database.store().await;
    store.take("deploy", "a").await;
    let mut taking = taking("b");
    taking.expected_generation = Some(generation(7));
    let answer = store.submit_waiting(name("deploy"), acquire(taking), LONG);
    let answer = tokio::time::timeout(PATIENCE, answer)
        .await
        .expect("at once");
    assert_eq!(code(&answer), Code::GenerationMoved);
}

async fn a_lapse_ends_the_wait(database: TestDatabase) {
    let store = database.store().await;
    let mut brief = taking_for("a", 300);
    brief.grace_ms = 200;
    let held = store.ask("deploy", acquire(brief)).await.expect("is free");
    let waiter = wait_in_line(&store, "deploy", taking("b"), LONG).await;
    let taken = granted(waiter).await;
    // When time makes it takeable, not when a poll comes by.
    let takeable = held.expires_at.expect("is held").plus_ms(200);
    let granted_at = taken.granted_at.expect("is held");
    assert!(granted_at >= takeable && takeable.ms_until(granted_at) < 3_000);
    assert_eq!((taken.generation.get(), taken.attempt), (2, 1));
    store.verify().await;
}

async fn a_wait_lasts_through_pause_bar_and_reservation(database: TestDatabase) {
    let store = database.store().await;
    let pause = Request::Pause(ana(), why());
    store.ask("paused", pause).await.expect("can be paused");
    let paused = wait_in_line(&store, "paused", taking("b"), LONG).await;
    store.take("barred", "a").await;
    let bar = force(1, Some(Bar::Everyone(500)), None);
    store.ask("barred", bar).await.expect("is held");
    let barred = wait_in_line(&store, "barred", taking("b"), LONG).await;
    store.take("reserved", "a").await;
    let keep = force(1, None, Some(("c", 500)));
    store.ask("reserved", keep).await.expect("is held");
    let reserved = wait_in_line(&store, "reserved", taking("b"), LONG).await;

    granted(barred).await;
    granted(reserved).await;
    assert!(!paused.is_finished(), "only an operator can change that");
    let unpause = Request::Unpause(ana(), why());
    store.ask("paused", unpause).await.expect("is paused");
    granted(paused).await;
    store.verify().await;
}

async fn a_release_on_one_server_wakes_a_waiter_on_another(database: TestDatabase) {
    let (store, other) = database.two_stores().await;
    store.take("deploy", "a").await;
    let waiter = wait_in_line(&other, "deploy", taking("b"), LONG).await;
    let freed = store.ask("deploy", release("a", 1)).await.expect("is held");
    let taken = granted(waiter).await;
    // By a notification, or else by the poll behind it.
    assert!(freed.now.ms_until(taken.granted_at.expect("is held")) < 4_000);
    store.verify().await;
}

async fn a_stopping_server_answers_who_waits(database: TestDatabase) {
    let store = database.store().await;
    store.take("deploy", "a").await;
    let waiter = wait_in_line(&store, "deploy", taking("b"), LONG).await;
    store.hurry();
    let answer = tokio::time::timeout(PATIENCE, waiter).await;
    let answer = answer.expect("at once").expect("the task lives");
    assert_eq!(code(&answer), Code::Held);
}

async fn a_barred_waiter_holds_up_nobody(database: TestDatabase) {
    let store = database.store().await;
    store.take("deploy", "a").await;
    let bar = force(1, Some(Bar::Holder(60_000)), None);
    store.ask("deploy", bar).await.expect("is held");
    store.take("deploy", "b").await;
    let barred = wait_in_line(&store, "deploy", taking("a"), LONG).await;
    let next = wait_in_line(&store, "deploy", taking("c"), LONG).await;
    store.ask("deploy", release("b", 3)).await.expect("is held");
    assert_eq!(granted(next).await.holder, Some(holder("c")));
    assert!(!barred.is_finished());
}
