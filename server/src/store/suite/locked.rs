//! Rows that somebody else has locked, on PostgreSQL: only who asks about that
//! very lease waits, and not for ever.

use std::time::{Duration, Instant};

use baton_client::{Code, HandoverEvent, Outcome};
use sqlx::{AssertSqlSafe, Connection as _, PgConnection};

use super::{ask::*, *};

/// How long a call about an unlocked lease may take, whatever else is locked.
const QUICK: Duration = Duration::from_secs(2);
/// How long a call about a locked lease may take.
const BLOCKED: Duration = Duration::from_secs(9);

/// Another session, which keeps a row locked.
struct Locker(PgConnection);

impl Locker {
    async fn lock(database: &TestDatabase, lease: &str, strength: &str) -> Self {
        let mut session = PgConnection::connect(&database.address)
            .await
            .expect("it answers");
        let sql = format!("begin; select 1 from leases where name = '{lease}' {strength}");
        sqlx::raw_sql(AssertSqlSafe(sql))
            .execute(&mut session)
            .await
            .expect("the row can be locked");
        Self(session)
    }

    async fn run(&mut self, sql: &str) {
        sqlx::raw_sql(AssertSqlSafe(sql.to_owned()))
            .execute(&mut self.0)
            .await
            .expect("it can be done");
    }
}

async fn quickly<T>(work: impl Future<Output = T>) -> T {
    tokio::time::timeout(QUICK, work).await.expect("in time")
}

async fn blocked(answer: impl Future<Output = Result<Lease, StoreError>>) {
    let answer = tokio::time::timeout(BLOCKED, answer)
        .await
        .expect("in time");
    is_blocked(answer);
}

fn is_blocked(answer: Result<Lease, StoreError>) {
    assert_eq!(code(&answer), Code::Blocked);
    let Err(StoreError::Blocked(Some(lease))) = answer else {
        panic!("it says what the lease is");
    };
    assert!(lease.holder.is_some());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_locked_row_delays_only_its_own_lease() {
    let database = TestDatabase::postgres().await;
    let store = database.store().await;
    store.take("stuck", "a").await;
    let others: Vec<String> = (0..50).map(|i| format!("lease-{i}")).collect();
    for lease in &others {
        store.take(lease, "a").await;
    }
    let locker = Locker::lock(&database, "stuck", "for update").await;
    let started = Instant::now();
    let stuck = store.clone();
    let stuck = tokio::spawn(async move {
        blocked(stuck.ask("stuck", renew("a", 1))).await;
        blocked(stuck.ask("stuck", acquire(taking("b")))).await;
    });
    // For ten seconds everything else goes through in time: renewals alone, in
    // one call with the stuck lease's neighbours, and changes of hands.
    let mut rounds = 0u64;
    while started.elapsed() < Duration::from_secs(10) {
        for lease in &others {
            quickly(store.ask(lease, renew("a", 1)))
                .await
                .expect("is held");
        }
        // In one call with the lease that is stuck, they get their answers.
        let together = others.iter().map(String::as_str).chain(["stuck"]);
        let together = together.map(|lease| (name(lease), renew("a", 1))).collect();
        let mut answers = quickly(store.renew_all(together)).await;
        let stuck = answers.pop().map(|answer| answer.map(|done| done.lease()));
        let Some(Err(StoreError::Unavailable(Outcome::Unknown))) = stuck else {
            panic!("nobody knows yet what becomes of it: {stuck:?}");
        };
        for answer in answers {
            answer.expect("is held");
        }
        let lease = format!("new-{rounds}");
        quickly(store.take(&lease, "a")).await;
        quickly(store.ask(&lease, release("a", 1)))
            .await
            .expect("is held");
        rounds += 1;
    }
    assert!(rounds > 2, "{rounds} rounds in ten seconds");
    stuck.await.expect("the stuck calls are answered");
    // Once it is unlocked, it goes on.
    drop(locker);
    eventually("the lock's end", || async {
        store.ask("stuck", renew("a", 1)).await.ok()
    })
    .await;
    store.verify().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_short_lock_is_waited_for() {
    let database = TestDatabase::postgres().await;
    let store = database.store().await;
    store.take("stuck", "a").await;
    let mut locker = Locker::lock(&database, "stuck", "for update").await;
    let asking = store.clone();
    let renewal = tokio::spawn(async move { asking.ask("stuck", renew("a", 1)).await });
    tokio::time::sleep(Duration::from_millis(1_200)).await;
    assert!(!renewal.is_finished(), "it waits");
    locker.run("commit").await;
    let renewed = quickly(renewal).await.expect("the task lives");
    renewed.expect("nothing stands against it any more");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_fenced_transaction_lets_renewals_through_and_holds_off_changes_of_hands() {
    let database = TestDatabase::postgres().await;
    let store = database.store().await;
    store.take("fenced", "a").await;
    let mut fence = Locker::lock(&database, "fenced", "for key share").await;
    // Renewals pass, also beside changes that wait, and the changes are refused
    // in the end.
    let changes = [force(1, None, None), release("a", 1), acquire(taking("b"))];
    // At once: an acquire that nothing goes ahead of is told that it is held.
    let asked = changes.map(|change| (name("fenced"), change)).into();
    let asking = store.clone();
    let waiting = tokio::spawn(async move {
        tokio::time::timeout(BLOCKED, asking.submit_all(asked))
            .await
            .expect("in time")
    });
    for _ in 0..20 {
        quickly(store.ask("fenced", renew("a", 1)))
            .await
            .expect("is held");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    for answer in waiting.await.expect("they are refused in time") {
        is_blocked(answer.map(|done| done.lease()));
    }
    assert_eq!(store.events_of("fenced").await, ["granted"]);
    // Afterwards it changes hands.
    fence.run("commit").await;
    store
        .ask("fenced", force(1, None, None))
        .await
        .expect("is held");
    store.verify().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lapsed_tenure_recovers_beside_its_own_fence() {
    let database = TestDatabase::postgres().await;
    let store = database.store().await;
    store
        .ask("fenced", acquire(taking_for("a", 200)))
        .await
        .expect("is free");
    let _fence = Locker::lock(&database, "fenced", "for key share").await;
    eventually("the expiry", || async {
        let lease = store.lease(&name("fenced")).await.expect("it answers")?;
        (lease.remaining_ms == Some(0)).then_some(())
    })
    .await;
    // That is no change of hands, so it need not wait for the fence.
    let recovered = quickly(store.ask("fenced", renew_with("a", 1, Some(60_000), None))).await;
    recovered.expect("nobody took it");
    let events = store.events_of("fenced").await;
    assert_eq!(events, ["granted", "lapsed", "recovered"]);
    store.verify().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_locked_row_does_not_delay_other_lapses() {
    let database = TestDatabase::postgres().await;
    let store = database.store().await;
    store
        .ask("stuck", acquire(taking_for("a", 300)))
        .await
        .expect("is free");
    let _locker = Locker::lock(&database, "stuck", "for update").await;
    for i in 0..4 {
        let lease = format!("lease-{i}");
        let brief = acquire(taking_for("a", 500));
        let taken = store.ask(&lease, brief).await.expect("is free");
        let lapsed = eventually("the lapse", || async {
            let log = store.log_of(&lease).await;
            log.into_iter()
                .find(|entry| entry.event == HandoverEvent::Lapsed)
        })
        .await;
        let late_ms = taken.expires_at.expect("is held").ms_until(lapsed.at);
        assert!(late_ms < 3_000, "{late_ms} ms late");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn who_waits_for_a_locked_lease_is_answered_in_time() {
    let database = TestDatabase::postgres().await;
    let store = database.store().await;
    store.take("stuck", "a").await;
    let waiting = store.clone();
    let waiter = tokio::spawn(async move {
        let wait = Duration::from_millis(800);
        let request = acquire(taking("b"));
        waiting.submit_waiting(name("stuck"), request, wait).await
    });
    eventually("the line", || async {
        (store.lanes.lines.len() == 1).then_some(())
    })
    .await;
    let _locker = Locker::lock(&database, "stuck", "for update").await;
    let answer = tokio::time::timeout(BLOCKED, waiter)
        .await
        .expect("in time");
    let answer = answer.expect("the task lives");
    assert!(matches!(code(&answer), Code::Blocked | Code::Held));
}

/// What another server wrote while this one waited for the row is what counts,
/// the payload included.
#[tokio::test(flavor = "multi_thread")]
async fn a_payload_that_changed_during_the_wait_is_the_new_one() {
    let database = TestDatabase::postgres().await;
    let store = database.store().await;
    let mut work = taking_for("a", 200);
    work.payload = Some(raw("\"old\""));
    store.ask("job", acquire(work)).await.expect("is free");
    eventually("the lapse", || async {
        let events = store.events_of("job").await;
        (events == ["granted", "lapsed"]).then_some(())
    })
    .await;
    let mut other = Locker::lock(&database, "job", "for update").await;
    let asking = store.clone();
    let takeover = tokio::spawn(async move { asking.ask("job", acquire(taking("b"))).await });
    // Until it waits for the row.
    let mut looking = PgConnection::connect(&database.address)
        .await
        .expect("it answers");
    loop {
        let waiting: i64 = sqlx::query_scalar(
            "select count(*) from pg_stat_activity
            where wait_event_type = 'Lock' and datname = current_database()",
        )
        .fetch_one(&mut looking)
        .await
        .expect("it answers");
        if waiting > 0 {
            break;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    other
        .run("update payloads set payload = '\"new\"' where lease = 'job'")
        .await;
    other
        .run("update leases set principal = 'eve' where name = 'job'; commit")
        .await;
    let taken = takeover.await.expect("the task lives").expect("has lapsed");
    assert_eq!(taken.principal.as_deref(), Some("eve"));
    assert_eq!(
        taken.payload.flatten().expect("is inherited").get(),
        "\"new\""
    );
}
