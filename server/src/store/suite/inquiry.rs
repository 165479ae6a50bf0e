//! What an auditor asks, against what happened.

use baton_client::{
    HandoverEvent, LeaseAt, LeaseState, Report, ReportQuery, Tenure, TenureQuery, Timestamp,
};

use super::{ask::*, *};
use crate::rules::keeping::RAISED_BY;

on_both_databases![
    who_held_it_is_told_for_every_moment,
    what_comes_after_a_lapse_does_not_undo_it,
    what_was_archived_is_told_by_what_is_left,
    a_report_adds_up,
    a_holder_s_tenures_are_found_whenever_they_began,
    raising_everything_ended_what_was_open,
];

/// Just before and after a time.
fn near(at: Timestamp, by_us: i64) -> Timestamp {
    Timestamp::from_micros(at.micros() + by_us)
}

async fn at(store: &Store, lease: &str, time: Timestamp) -> LeaseAt {
    let held = store.reader().held_at(&name(lease), time).await;
    held.expect("it answers").expect("the lease is known")
}

fn who(at: &LeaseAt) -> Option<&str> {
    at.tenure.as_ref().map(|tenure| tenure.holder.as_str())
}

/// A lease that is taken, lapses, is taken over, forced and left.
async fn an_eventful_lease(store: &Store) -> Vec<Handover> {
    let brief = acquire(taking_for("a", 150));
    store.ask("db", brief).await.expect("is free");
    eventually("the lapse", || async {
        (store.log_of("db").await.len() == 2).then_some(())
    })
    .await;
    store
        .ask("db", renew("a", 1))
        .await
        .expect("nobody took it");
    eventually("the second lapse", || async {
        (store.log_of("db").await.len() == 4).then_some(())
    })
    .await;
    store.take("db", "b").await;
    store
        .ask("db", force(2, None, None))
        .await
        .expect("is held");
    store.take("db", "c").await;
    let log = store.log_of("db").await;
    let events: Vec<&str> = log.iter().map(|entry| entry.event.as_str()).collect();
    let expected = [
        "granted",
        "lapsed",
        "recovered",
        "lapsed",
        "granted",
        "forced",
        "granted",
    ];
    assert_eq!(events, expected);
    log
}

async fn who_held_it_is_told_for_every_moment(database: TestDatabase) {
    let store = database.store().await;
    store.take("beside", "x").await;
    let log = an_eventful_lease(&store).await;
    let until = |i: usize| log[i].held_until.expect("a tenure was over");
    // Before it was known to anybody.
    let before = at(&store, "db", near(log[0].at, -1)).await;
    assert_eq!(
        (who(&before), before.state, before.seq),
        (None, LeaseState::Free, None)
    );
    for (time, state, holder, number) in [
        (log[0].at, LeaseState::Held, Some("a"), 1),
        (near(until(1), -1), LeaseState::Held, Some("a"), 1),
        // It lapses at its expiry, however much later that was logged.
        (until(1), LeaseState::Lapsed, Some("a"), 1),
        (log[1].at, LeaseState::Lapsed, Some("a"), 1),
        (log[2].at, LeaseState::Held, Some("a"), 1),
        (near(until(3), -1), LeaseState::Held, Some("a"), 1),
        (near(log[4].at, -1), LeaseState::Lapsed, Some("a"), 1),
        (log[4].at, LeaseState::Held, Some("b"), 2),
        (log[5].at, LeaseState::Free, None, 3),
        (log[6].at, LeaseState::Held, Some("c"), 4),
        (near(log[6].at, 1), LeaseState::Held, Some("c"), 4),
    ] {
        let answer = at(&store, "db", time).await;
        assert_eq!((answer.state, who(&answer)), (state, holder), "at {time}");
        assert_eq!(answer.generation, generation(number), "at {time}");
    }
    // The whole tenure is told, whatever moment was asked about.
    let answer = at(&store, "db", log[0].at).await;
    let gap = until(1).ms_until(log[2].at);
    let tenure = Tenure {
        lease: name("db"),
        holder: ask::holder("a"),
        generation: generation(1),
        from: log[0].at,
        until: Some(until(3)),
        ended: Some(baton_client::HandoverEvent::Lapsed),
        lapsed_ms: gap,
    };
    assert_eq!(answer.tenure, Some(tenure));
    let never = store.reader().held_at(&name("never"), log[0].at).await;
    assert!(never.expect("it answers").is_none());
}

async fn what_comes_after_a_lapse_does_not_undo_it(database: TestDatabase) {
    let store = database.store().await;
    let brief = acquire(taking_for("a", 100));
    store.ask("db", brief).await.expect("is free");
    eventually("the lapse", || async {
        (store.log_of("db").await.len() == 2).then_some(())
    })
    .await;
    for request in [Request::Pause(ana(), why()), Request::Unpause(ana(), why())] {
        store.ask("db", request).await.expect("is there");
    }
    store.take("db", "b").await;
    for entry in &store.log_of("db").await[2..4] {
        let answer = at(&store, "db", entry.at).await;
        assert_eq!(
            (answer.state, who(&answer)),
            (LeaseState::Lapsed, Some("a"))
        );
    }
}

async fn what_was_archived_is_told_by_what_is_left(database: TestDatabase) {
    let store = database.store().await;
    assert_eq!(store.reader().begins().await.expect("it answers"), None);
    store.take("db", "a").await;
    store.take("kept", "b").await;
    store.take("left", "c").await;
    store.ask("left", release("c", 1)).await.expect("is held");
    let log = store.whole_log().await;
    eventually("the clock has moved", || async {
        (store.now().await.expect("it answers") > log[3].at).then_some(())
    })
    .await;
    store.take("new", "d").await;
    let cut = store.whole_log().await[4].at;
    let keeping = store.keeping();
    let older = keeping.older(cut).await.expect("it answers");
    let older = older.expect("four are older");
    let archived = keeping.archive(&older, 4, ana(), "old".into()).await;
    archived.expect("the owner may");
    store.ask("db", release("a", 1)).await.expect("is held");
    assert_eq!(
        store.reader().begins().await.expect("it answers"),
        Some(cut)
    );
    for (lease, holder, state, number) in [
        ("db", Some("a"), LeaseState::Held, 1),
        ("kept", Some("b"), LeaseState::Held, 1),
        ("left", None, LeaseState::Free, 2),
        ("new", Some("d"), LeaseState::Held, 1),
    ] {
        let answer = at(&store, lease, cut).await;
        assert_eq!((who(&answer), answer.state), (holder, state), "{lease}");
        assert_eq!(answer.generation, generation(number), "{lease}");
        let from = answer.tenure.map(|tenure| tenure.from);
        let granted = log.iter().find(|entry| entry.lease == Some(name(lease)));
        let granted = granted.filter(|_| holder.is_some()).map(|entry| entry.at);
        assert_eq!(from.filter(|_| lease != "new"), granted, "{lease}");
    }
    // A report counts what it says that it is about.
    let released = store.log_of("db").await[0].at;
    let now = store.now().await.expect("it answers");
    let report = report(&store, log[0].at, now).await;
    assert_eq!((report.from, report.tenures), (cut, 1));
    assert_eq!(report.held_ms, cut.ms_until(released));
}

async fn report(store: &Store, from: Timestamp, to: Timestamp) -> Report {
    let query = ReportQuery { from, to };
    let report = store.reader().report(&name("db"), &query).await;
    report.expect("it answers").expect("the lease is known")
}

async fn a_report_adds_up(database: TestDatabase) {
    let store = database.store().await;
    let log = an_eventful_lease(&store).await;
    let until = |i: usize| log[i].held_until.expect("a tenure was over");
    let (first, last) = (log[0].at, near(log[6].at, 1_000));
    // From long before to a little after everything.
    let whole = report(&store, Timestamp::from_micros(0), last).await;
    assert_eq!((whole.from, whole.to), (first, last));
    let us = |from: Timestamp, to: Timestamp| to.micros() - from.micros();
    let gaps = [
        us(until(1), log[2].at),
        us(until(3), log[4].at),
        us(log[5].at, log[6].at),
    ];
    let unheld: i64 = gaps.iter().sum();
    let all = us(first, last);
    assert_eq!(whole.unheld_ms, unheld as u64 / 1_000);
    assert_eq!(whole.held_ms, (all - unheld) as u64 / 1_000);
    assert_eq!(
        whole.availability_ppm,
        ((all - unheld) * 1_000_000 / all) as u64
    );
    assert_eq!((whole.gaps, whole.tenures), (3, 3));
    assert_eq!(whole.mean_gap_ms, Some(unheld as u64 / 1_000 / 3));
    let longest = gaps.iter().max().expect("there are some");
    assert_eq!(
        whole.longest_gap.expect("there is one").ms,
        *longest as u64 / 1_000
    );
    assert_eq!(whole.events["granted"], 3);
    assert_eq!((whole.events["lapsed"], whole.events["forced"]), (2, 1));
    assert_eq!(whole.forced_by.len(), 1);
    assert_eq!(
        (&whole.forced_by[0].actor, whole.forced_by[0].count),
        (&ana().actor, 1)
    );
    let longest = whole.longest_tenure.expect("there is one");
    assert_eq!(
        (longest.holder.as_str(), longest.lapsed_ms),
        ("a", gaps[0] as u64 / 1_000)
    );
    // Cut anywhere, the parts are the whole.
    for cut in [
        until(1),
        log[1].at,
        log[2].at,
        near(log[2].at, 5_000),
        log[4].at,
        log[5].at,
    ] {
        let (one, other) = (
            report(&store, first, cut).await,
            report(&store, cut, last).await,
        );
        let held = one.held_ms + other.held_ms;
        assert!(whole.held_ms - held <= 1, "{cut}: {one:?} {other:?}");
        let unheld = one.unheld_ms + other.unheld_ms;
        assert!(whole.unheld_ms - unheld <= 1, "{cut}: {one:?} {other:?}");
        let count = |report: &Report| report.events.values().sum::<u64>();
        assert_eq!(count(&one) + count(&other), 7, "{cut}");
    }
    // The lease is held, and what is to come is not counted.
    let year = near(last, 365 * 86_400_000_000);
    let open = report(&store, log[6].at, year).await;
    assert_eq!((open.to, open.unheld_ms, open.gaps), (open.now, 0, 0));
    assert_eq!(open.longest_tenure.expect("it goes on").until, None);
}

async fn tenures(
    store: &Store,
    who: &str,
    from: Option<Timestamp>,
    to: Option<Timestamp>,
) -> Vec<Tenure> {
    let mut query = TenureQuery {
        holder: holder(who),
        from,
        to,
        limit: Some(2),
        cursor: None,
    };
    let mut found = Vec::new();
    loop {
        let page = store.reader().tenures(&query).await.expect("it answers");
        found.extend(page.items);
        query.cursor = page.next;
        if query.cursor.is_none() {
            return found;
        }
    }
}

async fn a_holder_s_tenures_are_found_whenever_they_began(database: TestDatabase) {
    let store = database.store().await;
    let mut all = Vec::new();
    for i in 0..5 {
        let lease = format!("l-{i}");
        store.take(&lease, "h").await;
        if i != 3 {
            store.ask(&lease, release("h", 1)).await.expect("is held");
        }
        // Somebody else's are not told.
        if i < 2 {
            store.take(&lease, "other").await;
        }
        all.push(store.log_of(&lease).await);
    }
    let brief = acquire(taking_for("h", 100));
    store.ask("l-5", brief).await.expect("is free");
    eventually("the lapse", || async {
        (store.log_of("l-5").await.len() == 2).then_some(())
    })
    .await;
    store.take("l-5", "other").await;
    all.push(store.log_of("l-5").await);
    let whole = tenures(&store, "h", None, None).await;
    let leases: Vec<&str> = whole.iter().map(|tenure| tenure.lease.as_str()).collect();
    assert_eq!(leases, ["l-0", "l-1", "l-2", "l-3", "l-4", "l-5"]);
    for (tenure, log) in whole.iter().zip(&all) {
        let end = log.get(1).and_then(|entry| entry.held_until);
        assert_eq!((tenure.from, tenure.until), (log[0].at, end));
    }
    // Any two times: those that overlap, each once.
    let mut times: Vec<Timestamp> = whole.iter().map(|tenure| tenure.from).collect();
    times.extend(whole.iter().filter_map(|tenure| tenure.until));
    times.sort();
    for (i, from) in times.iter().enumerate() {
        for to in &times[i + 1..] {
            let found = tenures(&store, "h", Some(*from), Some(*to)).await;
            let overlap = |tenure: &&Tenure| {
                tenure.from < *to
                    && tenure
                        .until
                        .is_none_or(|until| until > *from || tenure.from >= *from)
            };
            let mut expected: Vec<&Tenure> = whole.iter().filter(overlap).collect();
            let mut found: Vec<&Tenure> = found.iter().collect();
            expected.sort_by_key(|tenure| &tenure.lease);
            found.sort_by_key(|tenure| &tenure.lease);
            assert_eq!(found, expected, "from {from} to {to}");
        }
    }
}

/// Raises every generation, as after a restored backup.
async fn raise(store: &Store) -> Handover {
    let keeping = store.keeping();
    let raised = keeping.raise_floor(ana(), "restored".into(), None);
    raised.await.expect("nobody locks anything")
}

async fn raising_everything_ended_what_was_open(database: TestDatabase) {
    let store = database.store().await;
    let ended = |tenure: &Tenure| (tenure.until, tenure.ended);
    // One before anything was there, and one that ended other tenures before.
    raise(&store).await;
    store.take("older", "a").await;
    let earlier = raise(&store).await;
    store.take("db", "a").await;
    store.take("idle", "a").await;
    store.take("left", "a").await;
    let number = store.row("left").await.generation.get();
    store
        .ask("left", release("a", number))
        .await
        .expect("is held");
    store
        .ask("brief", acquire(taking_for("a", 100)))
        .await
        .expect("is free");
    eventually("the lapse", || async {
        (store.log_of("brief").await.len() == 2).then_some(())
    })
    .await;
    let raised = raise(&store).await;
    store.take("db", "b").await;
    let db = store.log_of("db").await;
    let (granted, next) = (&db[0], &db[1]);

    // Who held it?
    let over = (Some(raised.at), Some(HandoverEvent::FloorRaised));
    for time in [granted.at, near(raised.at, -1)] {
        let answer = at(&store, "db", time).await;
        assert_eq!((answer.state, who(&answer)), (LeaseState::Held, Some("a")));
        assert_eq!(answer.tenure.as_ref().map(ended), Some(over));
    }
    for (lease, time) in [
        ("db", raised.at),
        ("db", near(next.at, -1)),
        ("idle", next.at),
        ("brief", raised.at),
    ] {
        let answer = at(&store, lease, time).await;
        assert_eq!(
            (answer.state, who(&answer)),
            (LeaseState::Free, None),
            "{lease}"
        );
        assert_eq!(answer.seq, Some(raised.seq), "{lease}");
        let before = at(&store, lease, near(raised.at, -1)).await.generation;
        assert_eq!(answer.generation.get(), before.get() + RAISED_BY, "{lease}");
    }
    let answer = at(&store, "db", next.at).await;
    assert_eq!(
        (who(&answer), answer.generation),
        (Some("b"), next.generation)
    );
    let answer = at(&store, "older", next.at).await;
    assert_eq!(answer.generation.get(), RAISED_BY + 1 + 2 * RAISED_BY);
    let lapsed = at(&store, "brief", near(raised.at, -1)).await;
    let lapse = store.log_of("brief").await[1].held_until;
    assert_eq!(lapsed.state, LeaseState::Lapsed);
    let tenure = lapsed.tenure.expect("it stood lapsed");
    assert_eq!(ended(&tenure), (lapse, Some(HandoverEvent::FloorRaised)));

    // How did it fare?
    let end = near(next.at, 1_000);
    eventually("the end is past", || async {
        (store.now().await.expect("it answers") >= end).then_some(())
    })
    .await;
    let whole = report(&store, Timestamp::from_micros(0), end).await;
    let gap_us = next.at.micros() - raised.at.micros();
    assert_eq!(whole.unheld_ms, gap_us as u64 / 1_000);
    assert_eq!((whole.gaps, whole.tenures), (1, 2));
    assert_eq!(whole.mean_gap_ms, Some(gap_us as u64 / 1_000));
    assert_eq!(whole.events["floor_raised"], 1);
    assert_eq!(whole.events["granted"], 2);
    // It was over before that time, and nobody came.
    let query = ReportQuery {
        from: near(raised.at, 1),
        to: end,
    };
    let idle = store.reader().report(&name("idle"), &query).await;
    let idle = idle.expect("it answers").expect("the lease is known");
    assert_eq!((idle.held_ms, idle.tenures, idle.gaps), (0, 0, 1));
    assert_eq!(idle.longest_gap.expect("there is one").from, raised.at);

    // What did they hold?
    let of = |tenures: Vec<Tenure>| -> Vec<(String, Option<Timestamp>)> {
        let told = tenures.iter().map(|t| (t.lease.to_string(), t.until));
        let mut told: Vec<_> = told.collect();
        told.sort();
        told
    };
    let left = store.log_of("left").await[1].held_until;
    let some = |lease: &str, until| (lease.to_owned(), until);
    let all = [
        some("brief", lapse),
        some("db", Some(raised.at)),
        some("idle", Some(raised.at)),
        some("left", left),
        some("older", Some(earlier.at)),
    ];
    assert_eq!(of(tenures(&store, "a", None, None).await), all);
    let from = Some(near(raised.at, -1));
    assert_eq!(of(tenures(&store, "a", from, None).await), all[1..3]);
    let none = of(tenures(&store, "a", Some(raised.at), None).await);
    assert_eq!(none, []);
    let from = Some(near(earlier.at, -1));
    assert_eq!(of(tenures(&store, "a", from, None).await), all);
    store.verify().await;
}
