//! The whole store at once: checkpoints, raising the floor, forgetting.

use baton_client::{Forget, Generation};
use sqlx::{Connection as _, PgConnection, postgres::PgConnectOptions};

use super::{ask::*, *};
use crate::{
    rules::keeping::{FORGOTTEN_MAX, RAISED_BY, Seen},
    store::keeping::{KeepError, Lacking, Standing},
};

on_both_databases![
    a_checkpoint_that_the_log_contains_changes_nothing,
    a_checkpoint_ahead_stops_grants_until_everything_is_raised,
    raising_ends_all_tenures_and_leaves_what_operators_did,
    raising_beside_other_writers_misses_no_lease,
    what_nobody_touched_is_forgotten_and_nothing_else,
    a_forgotten_name_comes_back_above_all_it_had,
    forgetting_goes_beside_renewals,
    what_was_archived_is_cut_and_the_rest_goes_on,
    an_archive_that_fails_removes_nothing,
];

/// Some history; its fifth entry is younger than the fourth.
async fn five_entries(store: &Store) -> Vec<Handover> {
    store.take("a", "h").await;
    store.take("b", "h").await;
    store.ask("a", release("h", 1)).await.expect("is held");
    store.take("a", "h").await;
    let fourth = store.whole_log().await[3].at;
    eventually("the clock has moved", || async {
        let now = store.now().await.expect("it answers");
        (now > fourth).then_some(())
    })
    .await;
    store.ask("a", release("h", 3)).await.expect("is held");
    store.whole_log().await
}

async fn what_was_archived_is_cut_and_the_rest_goes_on(database: TestDatabase) {
    let store = database.store().await;
    let log = five_entries(&store).await;
    let keeping = store.keeping();
    let nothing = keeping.older(log[0].at).await.expect("it answers");
    assert_eq!(nothing, None, "nothing is from before the first");
    let older = keeping.older(log[4].at).await.expect("it answers");
    let older = older.expect("four are from before");
    assert_eq!((older.after, older.end.head.seq), (0, 4));
    // What was not written is not removed.
    let too_few = keeping.archive(&older, 3, ana(), "old".into()).await;
    assert!(matches!(too_few, Err(KeepError::Moved)), "{too_few:?}");
    assert_eq!(store.whole_log().await, log);

    let entry = keeping.archive(&older, 4, ana(), "old".into()).await;
    let entry = entry.expect("the owner may");
    assert_eq!(entry.event.as_str(), "archived");
    assert_eq!(entry.details["archived_seq"], 4);
    assert_eq!(entry.details["archived_hash"], log[3].hash.as_str());
    let twice = keeping.archive(&older, 4, ana(), "old".into()).await;
    assert!(matches!(twice, Err(KeepError::Moved)), "{twice:?}");
    store.take("a", "h").await;
    let rest = store.whole_log().await;
    let seqs: Vec<u64> = rest.iter().map(|entry| entry.seq).collect();
    assert_eq!(seqs, [5, 6, 7]);
    // Both parts are one log.
    let whole: Vec<Handover> = log[..4].iter().chain(&rest).cloned().collect();
    check_log(&whole);
    // A checkpoint of the part that is gone is no reason to stop.
    let standing = keeping.check(&end_of(&log[..2])).await.expect("it answers");
    assert_eq!(standing, Standing::Archived);
    let standing = keeping.check(&end_of(&log)).await.expect("it answers");
    assert_eq!(standing, Standing::Contained);
    // What is left is guarded as before.
    let refused = database.run("delete from handovers where seq = 5").await;
    let why = refused.expect_err("it is append-only").to_string();
    assert!(why.contains("append-only"), "{why}");
    // And the next one begins where this one ended.
    let now = store.now().await.expect("it answers");
    let older = keeping.older(now).await.expect("it answers");
    assert_eq!(older.expect("there is more").after, 4);
}

async fn an_archive_that_fails_removes_nothing(database: TestDatabase) {
    use super::faults::{Fault, Faults, Faulty, Place};
    let faults = Faults::default();
    let faulty = Faulty::on(&database.open().await, &faults).await;
    let store = Store::on(faulty).await.expect("it starts");
    let log = five_entries(&store).await;
    let keeping = store.keeping();
    let older = keeping.older(log[4].at).await.expect("it answers");
    let older = older.expect("four are from before");
    for place in [Place::Write, Place::Append, Place::Commit] {
        faults.arm(place, Fault::Fails);
        let broken = keeping.archive(&older, 4, ana(), "old".into()).await;
        assert!(matches!(broken, Err(KeepError::Store(_))), "{broken:?}");
        assert_eq!(store.whole_log().await, log, "{place:?}");
        let refused = database.run("delete from handovers where seq = 1").await;
        refused.expect_err("what guards it is there again");
    }
    let done = keeping.archive(&older, 4, ana(), "old".into()).await;
    done.expect("nothing is in the way any more");
}

fn end_of(log: &[Handover]) -> Seen {
    let last = log.last().expect("something happened");
    Seen {
        seq: last.seq,
        hash: last.hash.clone(),
    }
}

fn ahead(seq: u64) -> Seen {
    Seen {
        seq,
        hash: "a".repeat(64),
    }
}

fn idle(idle_ms: u64) -> Forget {
    Forget {
        idle_ms,
        reason: None,
    }
}

async fn raise(store: &Store) -> Handover {
    let keeping = store.keeping();
    let raised = keeping.raise_floor(ana(), "restored".into(), None);
    raised.await.expect("nobody locks anything")
}

/// Forgets until nothing is left to forget; says how many, in how many steps.
async fn forget(store: &Store, idle_ms: u64) -> (u64, u64) {
    let (mut all, mut steps) = (0, 0);
    loop {
        let keeping = store.keeping();
        let step = keeping.forget(&ana(), &idle(idle_ms)).await;
        let step = step.expect("the database answers");
        all += step.forgotten;
        if !step.more {
            return (all, steps);
        }
        steps += 1;
    }
}

/// Makes leases seem untouched for a day, behind the store's back.
async fn age(database: &TestDatabase, condition: &str) {
    let day: i64 = 86_400_000_000;
    let sql = format!(
        "update leases set changed_at = changed_at - {day}, expires_at = expires_at - {day}, \
         renewed_at = renewed_at - {day} where {condition}"
    );
    database.run(&sql).await.expect("it may");
}

async fn a_checkpoint_that_the_log_contains_changes_nothing(database: TestDatabase) {
    let store = database.store().await;
    store.take("a", "h").await;
    store.take("b", "h").await;
    let log = store.whole_log().await;
    for seen in [end_of(&log[..1]), end_of(&log)] {
        let standing = store.keeping().check(&seen).await.expect("it answers");
        assert_eq!(standing, Standing::Contained);
    }
    store.take("c", "h").await;
}

async fn a_checkpoint_ahead_stops_grants_until_everything_is_raised(database: TestDatabase) {
    let (store, other_server) = database.two_stores().await;
    let taken = store.take("a", "h").await;
    // Ahead by its seq, or of another history.
    let first = store.whole_log().await.swap_remove(0);
    let other = Lacking::Other {
        hash: Some(first.hash),
    };
    for (seen, lacking) in [
        (ahead(1), other),
        (ahead(100), Lacking::Shorter { head: 1 }),
    ] {
        let standing = store.keeping().check(&seen).await.expect("it answers");
        assert_eq!(standing, Standing::Lacking(lacking.clone()), "{seen:?}");
        // It stays known.
        let known = other_server.keeping().lacks().await.expect("it answers");
        assert_eq!(known, Some((seen, lacking)));
    }
    let seen = ahead(100);
    store.keeping().check(&seen).await.expect("it answers");
    // On every server, and for who waits in line too.
    for server in [&store, &other_server] {
        let refused = server.ask("b", acquire(taking("h"))).await;
        assert_eq!(code(&refused), Code::HistoryBehind);
    }
    let wait = Duration::from_secs(60);
    let waiting = store.submit_waiting(name("b"), acquire(taking("h")), wait);
    assert_eq!(code(&waiting.await), Code::HistoryBehind);
    // What is held may go on until then.
    let renewed = other_server
        .ask("a", renew("h", taken.generation.get()))
        .await;
    renewed.expect("it is held");

    let entry = raise(&other_server).await;
    let known = store.keeping().lacks().await.expect("it answers");
    assert_eq!(known, None);
    assert_eq!(entry.details["checkpoint_seq"], 100);
    let lost = store.ask("a", renew("h", taken.generation.get())).await;
    assert_eq!(code(&lost), Code::Lost);
    let granted = store.take("a", "h").await;
    assert_eq!(granted.generation.get(), RAISED_BY + 2);
    let new = other_server.take("b", "h").await;
    assert_eq!(new.generation.get(), RAISED_BY + 1);
    // The same checkpoint is no reason any more; another one is.
    let standing = store.keeping().check(&seen).await.expect("it answers");
    assert_eq!(standing, Standing::Answered);
    let standing = store
        .keeping()
        .check(&ahead(101))
        .await
        .expect("it answers");
    assert_eq!(standing, Standing::Lacking(Lacking::Shorter { head: 4 }));
    raise(&store).await;
    store.verify().await;
}

async fn raising_ends_all_tenures_and_leaves_what_operators_did(database: TestDatabase) {
    let store = database.store().await;
    let mut work = taking("h");
    work.payload = Some(raw("{\"job\":7}"));
    store.ask("held", acquire(work)).await.expect("is free");
    store.take("asked", "h").await;
    let asked = step_down(1, 600_000, Some(("next", 600_000)));
    store.ask("asked", asked).await.expect("is held");
    store.take("free", "h").await;
    store.ask("free", release("h", 1)).await.expect("is held");
    let pause = Request::Pause(ana(), why());
    store.ask("paused", pause).await.expect("can be paused");

    let entry = raise(&store).await;
    assert_eq!(
        (&entry.details["leases"], &entry.details["tenures"]),
        (&3.into(), &2.into())
    );
    assert_eq!(entry.generation.get(), RAISED_BY);
    assert_eq!(store.row("held").await.generation.get(), RAISED_BY + 1);
    assert_eq!(store.row("free").await.generation.get(), RAISED_BY + 2);
    let paused = store.row("paused").await;
    assert_eq!(paused.generation, Generation::ZERO, "nothing was granted");
    assert!(paused.paused.is_some());
    // The step-down's promise holds, and who takes over inherits the work.
    let refused = store.ask("asked", acquire(taking("other"))).await;
    assert_eq!(code(&refused), Code::Reserved);
    store.take("asked", "next").await;
    let heir = store.take("held", "heir").await;
    let payload = heir.payload.flatten().expect("is inherited");
    assert_eq!(payload.get(), "{\"job\":7}");
    let unpause = Request::Unpause(ana(), why());
    store.ask("paused", unpause).await.expect("is paused");
    let new = store.take("paused", "h").await;
    assert_eq!(new.generation.get(), RAISED_BY + 1, "above the floor");
    store.verify().await;
}

async fn raising_beside_other_writers_misses_no_lease(database: TestDatabase) {
    let (store, other) = database.two_stores().await;
    let mut takers = tokio::task::JoinSet::new();
    for server in [store.clone(), other.clone()] {
        for i in 0..8 {
            let server = server.clone();
            takers.spawn(async move {
                let mut taken = 0;
                for round in 0..40 {
                    let lease = name(&format!("job-{i}-{round}"));
                    let answer = server.submit(lease, acquire(taking("h"))).await;
                    taken += u64::from(answer.is_ok());
                }
                taken
            });
        }
    }
    for _ in 0..3 {
        raise(&store).await;
    }
    let mut taken = 0;
    while let Some(one) = takers.join_next().await {
        taken += one.expect("it lives");
    }
    assert!(taken >= 320, "nobody was held up for long: {taken}");
    // Every lease that was there was raised: the log tells the table.
    store.verify().await;
    other.verify().await;
}

async fn what_nobody_touched_is_forgotten_and_nothing_else(database: TestDatabase) {
    let store = database.store().await;
    for lease in ["free", "paused", "protected", "barred", "reserved", "fresh"] {
        store.take(lease, "h").await;
        store.ask(lease, release("h", 1)).await.expect("is held");
    }
    store.take("held", "h").await;
    let brief = acquire(taking_for("h", 1));
    store.ask("lapsed", brief).await.expect("is free");
    eventually("the lapse", || async {
        (store.events_of("lapsed").await.len() == 2).then_some(())
    })
    .await;
    let pause = Request::Pause(ana(), why());
    store.ask("paused", pause).await.expect("is there");
    let protect = Request::Protect(ana(), why());
    store.ask("protected", protect).await.expect("is there");
    let bar = force(2, Some(rules::Bar::Everyone(600_000)), None);
    store.ask("barred", bar).await.expect("is there");
    let keep = force(2, None, Some(("next", 600_000)));
    store.ask("reserved", keep).await.expect("is there");
    assert_eq!(forget(&store, 3_600_000).await, (0, 0), "nothing is idle");
    age(&database, "name not in ('fresh', 'held')").await;

    let before = store.whole_log().await.len();
    assert_eq!(forget(&store, 3_600_000).await, (2, 1));
    let log = store.whole_log().await;
    assert_eq!(log.len(), before + 1);
    let entry = log.last().expect("it was logged");
    assert_eq!(entry.event.as_str(), "forgotten");
    assert_eq!(entry.details["leases"], "free lapsed");
    assert_eq!(entry.generation.get(), 2, "above all that was dropped");
    assert!(entry.lease.is_none());
    for lease in ["free", "lapsed"] {
        let gone = store.lease(&name(lease)).await.expect("it answers");
        assert!(gone.is_none(), "{lease}");
    }
    let late = store.ask("lapsed", renew("h", 1)).await;
    assert_eq!(code(&late), Code::Lost);
    assert_eq!(forget(&store, 3_600_000).await, (0, 0), "once is enough");
    let renewed = store.ask("held", renew("h", 1)).await;
    renewed.expect("is held");
}

async fn a_forgotten_name_comes_back_above_all_it_had(database: TestDatabase) {
    let (store, other) = database.two_stores().await;
    let mut work = claiming("h", "claim-1");
    work.payload = Some(raw("1"));
    store.ask("job", acquire(work)).await.expect("is free");
    for generation in [1, 3, 5] {
        let released = store.ask("job", release("h", generation)).await;
        released.expect("is held");
        store.take("job", "h").await;
    }
    store.ask("job", release("h", 7)).await.expect("is held");
    age(&database, "true").await;
    assert_eq!(forget(&store, 3_600_000).await, (1, 1));
    // A claim of then is not granted anew.
    let repeated = other.ask("job", acquire(claiming("h", "claim-1"))).await;
    assert_eq!(code(&repeated), Code::Lost);
    let back = other.take("job", "h").await;
    assert_eq!(back.generation.get(), 9);
    assert!(
        back.payload.flatten().is_none(),
        "nothing is left of before"
    );
    let new = other.take("another", "h").await;
    assert_eq!(new.generation.get(), 9, "any new one is above it");
    other.verify().await;
}

async fn forgetting_goes_beside_renewals(database: TestDatabase) {
    churn(database, 3_000, 50).await;
}

/// A million names forgotten while fifty others are renewed in time.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "takes minutes"]
async fn a_million_names_are_forgotten_beside_renewals_on_sqlite() {
    churn(TestDatabase::sqlite(), 1_000_000, 50).await;
}

/// A million names forgotten while fifty others are renewed in time.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "takes minutes"]
async fn a_million_names_are_forgotten_beside_renewals_on_postgres() {
    churn(TestDatabase::postgres().await, 1_000_000, 50).await;
}

/// Forgets so many names that came and went, while others are renewed, each a
/// second at most after the renewal before.
async fn churn(database: TestDatabase, names: usize, renewed: usize) {
    let store = database.store().await;
    // What came and went, without the minutes that it would take.
    let series = if database.is_postgres() {
        format!("select g from generate_series(1, {names}) as g")
    } else {
        format!(
            "with recursive s (g) as (select 1 union all select g + 1 from s where g < {names}) \
             select g from s"
        )
    };
    let (lapsed, protected) = match database.is_postgres() {
        true => ("false", "false"),
        false => ("0", "0"),
    };
    let sql = format!(
        "insert into leases (name, generation, lapsed, last_end, attempt, protected, hands, changed_at)
        select 'job-' || g, 2 + g % 7, {lapsed}, 'released', 0, {protected}, '[]', g
        from ({series}) as s"
    );
    database.run(&sql).await.expect("it may");
    for i in 0..renewed {
        store.take(&format!("live-{i}"), "h").await;
    }
    let (stop, stopped) = tokio::sync::watch::channel(false);
    let mut holders = tokio::task::JoinSet::new();
    for i in 0..renewed {
        let (store, stopped) = (store.clone(), stopped.clone());
        holders.spawn(async move {
            let mut slowest = Duration::ZERO;
            while !*stopped.borrow() {
                let asked = std::time::Instant::now();
                let answer = store.ask(&format!("live-{i}"), renew("h", 1)).await;
                answer.expect("it is held");
                slowest = slowest.max(asked.elapsed());
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
            slowest
        });
    }
    let started = std::time::Instant::now();
    let (all, steps) = forget(&store, 1_000).await;
    let took = started.elapsed();
    stop.send_replace(true);
    let mut slowest = Duration::ZERO;
    while let Some(one) = holders.join_next().await {
        slowest = slowest.max(one.expect("every renewal was in time"));
    }
    println!("{all} names in {took:?}, {steps} steps; slowest renewal {slowest:?}");
    assert_eq!(all as usize, names);
    assert_eq!(steps as usize, names.div_ceil(FORGOTTEN_MAX));
    assert!(slowest < Duration::from_secs(10), "{slowest:?}");
    let log = store.whole_log().await;
    let forgotten = log
        .iter()
        .filter(|entry| entry.event.as_str() == "forgotten");
    assert_eq!(forgotten.count() as u64, steps);
    let back = store.take("job-6", "h").await;
    assert!(back.generation.get() > 8, "{}", back.generation);
}

/// Fenced transactions hold raising off, which then says so and does nothing.
#[tokio::test(flavor = "multi_thread")]
async fn raising_waits_for_fenced_transactions_only_for_a_while() {
    let database = TestDatabase::postgres().await;
    let store = database.store().await;
    store.take("a", "h").await;
    // A session of an application's, which may stay idle for long.
    let options: PgConnectOptions = database.address.parse().expect("is one");
    let options = options.application_name("ledger-writer");
    let mut fenced = PgConnection::connect_with(&options)
        .await
        .expect("it answers");
    sqlx::raw_sql("begin; select baton_fence('a', 1)")
        .execute(&mut fenced)
        .await
        .expect("it is held");
    let keeping = store.keeping();
    let mut raising =
        tokio::spawn(async move { keeping.raise_floor(ana(), "restored".into(), None).await });
    // Others go on meanwhile: they wait for it only now and then.
    let mut grants = 0;
    let refused = loop {
        let beside = format!("beside-{grants}");
        tokio::select! {
            refused = &mut raising => break refused.expect("it ends"),
            _ = store.take(&beside, "h") => grants += 1,
        }
    };
    let who = match refused {
        Err(KeepError::Locked(who)) => who,
        other => panic!("it is locked: {other:?}"),
    };
    assert!(who.contains("ledger-writer as "), "{who}");
    assert!(grants > 20, "{grants} grants in ten seconds");
    let log = store.whole_log().await;
    assert!(log.iter().all(|entry| entry.event.as_str() == "granted"));
    fenced.close().await.expect("it answers");
    raise(&store).await;
    store.verify().await;
}
