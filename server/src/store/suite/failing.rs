//! Databases that fail: what is answered, and what has happened then.

use std::{sync::Arc, time::Duration};

use baton_client::{Code, Outcome};
use sqlx::{Connection as _, PgConnection};
use tokio::sync::oneshot;

use super::{
    ask::*,
    faults::{Fault, Faults, Faulty, Place},
    *,
};
use crate::store::backend_of;

on_both_databases![
    what_fails_before_the_commit_did_not_happen,
    when_the_commit_s_answer_is_lost_nobody_knows,
    a_killed_writer_leaves_nothing_half_done,
    who_waits_is_not_forgotten_by_a_failure,
];

async fn faulty(database: &TestDatabase) -> (Store, Faults) {
    let faults = Faults::default();
    let backend: Arc<Faulty> = Faulty::on(&database.open().await, &faults).await;
    let store = Store::on(backend).await.expect("it answers");
    (store, faults)
}

fn outcome(answer: &Result<Lease, StoreError>) -> Outcome {
    match answer {
        Err(StoreError::Unavailable(outcome)) => *outcome,
        other => panic!("not unavailable: {other:?}"),
    }
}

const BEFORE_COMMIT: [Place; 5] = [
    Place::Begin,
    Place::Lock,
    Place::Head,
    Place::Write,
    Place::Append,
];

async fn what_fails_before_the_commit_did_not_happen(database: TestDatabase) {
    let (store, faults) = faulty(&database).await;
    for (i, place) in BEFORE_COMMIT.into_iter().enumerate() {
        for fault in [Fault::Fails, Fault::FailsAfter] {
            faults.arm(place, fault);
            let answer = store.ask("deploy", acquire(taking("a"))).await;
            // It says so, nothing is there, and the next one succeeds.
            assert_eq!(outcome(&answer), Outcome::NotDone, "{place:?}");
            assert_eq!(store.log_of("deploy").await.len(), 2 * i);
        }
        let number = store.take("deploy", "a").await.generation.get();
        store
            .ask("deploy", release("a", number))
            .await
            .expect("is held");
    }
    let held = store.take("deploy", "a").await;
    let number = held.generation.get();
    for place in [Place::Begin, Place::Lock, Place::Write] {
        faults.arm(place, Fault::Fails);
        let answer = store
            .ask("deploy", renew_with("a", number, Some(90_000), None))
            .await;
        assert_eq!(outcome(&answer), Outcome::NotDone, "{place:?}");
        let tenure = store.row("deploy").await.tenure.expect("is held");
        assert_eq!(Some(tenure.expires_at), held.expires_at);
    }
    store
        .ask("deploy", renew("a", number))
        .await
        .expect("is held");
    store.verify().await;
}

async fn when_the_commit_s_answer_is_lost_nobody_knows(database: TestDatabase) {
    let (store, faults) = faulty(&database).await;
    let claim = || acquire(claiming("a", "c-1"));
    // Not done, but that is not known; it can be repeated.
    faults.arm(Place::Commit, Fault::Fails);
    let answer = store.ask("deploy", claim()).await;
    assert_eq!(outcome(&answer), Outcome::Unknown);
    assert!(store.whole_log().await.is_empty());

    // Done, and its answer lost; repeated, it gives the same grant.
    faults.arm(Place::Commit, Fault::FailsAfter);
    let answer = store.ask("deploy", claim()).await;
    assert_eq!(outcome(&answer), Outcome::Unknown);
    let again = store.ask("deploy", claim()).await.expect("the same grant");
    assert_eq!(again.generation.get(), 1);
    assert_eq!(store.events_of("deploy").await, ["granted"]);

    // A renewal and a release can be repeated as well.
    faults.arm(Place::Commit, Fault::FailsAfter);
    let answer = store.ask("deploy", renew("a", 1)).await;
    assert_eq!(outcome(&answer), Outcome::Unknown);
    store.ask("deploy", renew("a", 1)).await.expect("is held");
    faults.arm(Place::Commit, Fault::FailsAfter);
    let answer = store.ask("deploy", release("a", 1)).await;
    assert_eq!(outcome(&answer), Outcome::Unknown);
    let again = store.ask("deploy", release("a", 1)).await;
    assert_eq!(code(&again), Code::Lost);
    store.verify().await;
}

async fn a_killed_writer_leaves_nothing_half_done(database: TestDatabase) {
    for place in [Place::Head, Place::Write, Place::Append, Place::Commit] {
        let database = database.another().await;
        // The server dies while its writer is between reading and committing.
        database
            .short_lived(move |database| async move {
                let faults = Faults::default();
                let store = Store::on(Faulty::on(&database, &faults).await).await;
                let store = store.expect("it answers");
                let (tell, there) = oneshot::channel();
                faults.arm(place, Fault::Hangs(tell));
                let asking = store.clone();
                tokio::spawn(async move { asking.ask("deploy", acquire(taking("a"))).await });
                there.await.expect("the writer comes there");
            })
            .await;
        // The next one finds nothing of it, and no lock in its way.
        let store = database.store().await;
        assert!(store.whole_log().await.is_empty(), "{place:?}");
        let other = store.ask("deploy", acquire(taking("b")));
        let taken = tokio::time::timeout(PATIENCE, other)
            .await
            .expect("nothing is in its way");
        taken.expect("is free");
        store.verify().await;
    }
}

async fn who_waits_is_not_forgotten_by_a_failure(database: TestDatabase) {
    let (store, faults) = faulty(&database).await;
    store.take("deploy", "a").await;
    let wait = |waiter: &'static str, ms| {
        let store = store.clone();
        tokio::spawn(async move {
            let wait = Duration::from_millis(ms);
            let request = acquire(taking(waiter));
            let done = store.submit_waiting(name("deploy"), request, wait).await?;
            Ok::<_, StoreError>(done.lease())
        })
    };
    let in_line = |count: usize| {
        let store = store.clone();
        eventually("the line", move || {
            let store = store.clone();
            async move { (store.lanes.lines.len() == count).then_some(()) }
        })
    };
    // What fails before the commit costs nobody the place in line.
    let waiter = wait("b", 60_000);
    in_line(1).await;
    faults.arm(Place::Append, Fault::Fails);
    let answer = store.ask("deploy", release("a", 1)).await;
    assert_eq!(outcome(&answer), Outcome::NotDone);
    store.ask("deploy", release("a", 1)).await.expect("is held");
    let granted = waiter.await.expect("lives").expect("is granted");
    assert_eq!(granted.generation.get(), 3);

    // Who may have been granted it in a lost commit is told so.
    let waiter = wait("c", 60_000);
    in_line(1).await;
    faults.arm(Place::Commit, Fault::FailsAfter);
    let answer = store.ask("deploy", release("b", 3)).await;
    assert_eq!(outcome(&answer), Outcome::Unknown);
    let answer = tokio::time::timeout(PATIENCE, waiter)
        .await
        .expect("at once");
    assert_eq!(outcome(&answer.expect("lives")), Outcome::Unknown);
    store.verify().await;
}

/// Only PostgreSQL can go away by itself.
#[tokio::test(flavor = "multi_thread")]
async fn a_database_that_goes_away_and_comes_back_is_reconnected_to() {
    let postgres = Postgres::start();
    let database = TestDatabase {
        address: postgres.database().await,
        _folder: None,
    };
    let store = database.store().await;
    store.take("deploy", "a").await;
    let waiting = store.clone();
    store.take("line", "a").await;
    let waiter = tokio::spawn(async move {
        let wait = Duration::from_millis(500);
        let request = acquire(taking("b"));
        waiting.submit_waiting(name("line"), request, wait).await
    });
    eventually("the line", || async {
        (store.lanes.lines.len() == 1).then_some(())
    })
    .await;

    // Meanwhile every call is answered, and says that nothing was done.
    tokio::task::block_in_place(|| postgres.go_away());
    let answer = store.ask("deploy", renew("a", 1)).await;
    assert!(
        matches!(answer, Err(StoreError::Unavailable(_))),
        "{answer:?}"
    );
    let answer = store.ask("other", acquire(taking("a"))).await;
    assert_eq!(outcome(&answer), Outcome::NotDone);
    assert!(store.now().await.is_err());
    // Who waited in line is answered when the wait is over.
    let answer = tokio::time::timeout(PATIENCE, waiter)
        .await
        .expect("in time");
    let answer = answer.expect("lives").map(|done| done.lease());
    assert_eq!(outcome(&answer), Outcome::NotDone);

    // Afterwards everything goes on.
    tokio::task::block_in_place(|| postgres.come_back());
    eventually("the database", || async {
        store.ask("deploy", renew("a", 1)).await.ok()
    })
    .await;
    store.take("other", "a").await;
    store.verify().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_terminated_session_costs_its_transaction_only() {
    let database = TestDatabase::postgres().await;
    let (store, faults) = faulty(&database).await;
    let superuser = Postgres::shared().await.superuser_url(&database.address);
    let mut superuser = PgConnection::connect(&superuser).await.expect("it answers");
    for round in 0..5u64 {
        // The writer stands between reading and committing, holding its locks.
        let (tell, there) = oneshot::channel();
        faults.arm(Place::Append, Fault::Hangs(tell));
        let asking = store.clone();
        let asked = tokio::spawn(async move { asking.ask("deploy", acquire(taking("a"))).await });
        there.await.expect("the writer comes there");
        sqlx::query(
            "select pg_terminate_backend(pid) from pg_stat_activity
            where datname = current_database() and pid <> pg_backend_pid()",
        )
        .execute(&mut superuser)
        .await
        .expect("the superuser may");
        // Nothing happened, which is known, and the next one succeeds.
        let answer = asked.await.expect("the task lives");
        assert_eq!(outcome(&answer), Outcome::NotDone);
        let taken = eventually("the database", || async {
            store.ask("deploy", acquire(taking("a"))).await.ok()
        })
        .await;
        assert_eq!(taken.generation.get(), 2 * round + 1);
        store
            .ask("deploy", release("a", 2 * round + 1))
            .await
            .expect("is held");
    }
    store.verify().await;
}

/// A client that hangs up, or a bound on a read, ends the wait for a transaction to
/// begin. It is not left open in the pool for who comes next.
#[tokio::test(flavor = "multi_thread")]
async fn a_read_that_is_given_up_leaves_no_transaction_open() {
    let database = TestDatabase::postgres().await;
    let backend = backend_of(&database.open().await).await;
    let backend = backend.expect("it answers");
    let mut looking = PgConnection::connect(&database.address)
        .await
        .expect("it answers");
    for patience in 0..300 {
        let given_up = async {
            for _ in 0..patience % 100 {
                tokio::task::yield_now().await;
            }
        };
        tokio::select! {
            biased;
            _ = backend.read() => {}
            () = given_up => {}
        }
        let mut open = 1_i64;
        let tried = async {
            while open > 0 {
                open = sqlx::query_scalar(
                    "select count(*) from pg_stat_activity
                    where datname = current_database() and state like 'idle in transaction%'",
                )
                .fetch_one(&mut looking)
                .await
                .expect("it answers");
            }
        };
        // Before the database itself ends what is idle for 5 s.
        let tried = tokio::time::timeout(Duration::from_secs(4), tried).await;
        assert!(tried.is_ok(), "after {patience}: {open} left open");
    }
}

/// A full disk makes SQLite take a commit back by itself, and fails what comes after
/// only as long as it is full.
#[tokio::test(flavor = "multi_thread")]
async fn when_there_is_room_again_a_full_disk_is_got_over() {
    let database = TestDatabase::sqlite();
    let open = database.open().await;
    let Database::Sqlite(sqlite) = &open else {
        panic!("it is SQLite");
    };
    let store = Store::start(&open).await.expect("the store starts");
    store.take("before", "a").await;
    let mut writer = sqlite.writer.acquire().await.expect("it is there");
    // The hook takes a commit back as SQLite itself does.
    let mut handle = writer.lock_handle().await.expect("it answers");
    let full = Arc::new(std::sync::atomic::AtomicBool::new(true));
    let is_full = full.clone();
    handle.set_commit_hook(move || !is_full.load(std::sync::atomic::Ordering::Acquire));
    drop(handle);
    drop(writer);
    let refused = store.ask("job", acquire(taking("a"))).await;
    assert_eq!(outcome(&refused), Outcome::Unknown);
    full.store(false, std::sync::atomic::Ordering::Release);
    let taken = eventually("room", || async {
        store.ask("job", acquire(taking("a"))).await.ok()
    });
    assert_eq!(taken.await.generation.get(), 1);
    store.verify().await;
}
