//! What watchers are sent.

use std::time::Duration;

use baton_client::{Event, EventHandovers, LeaseSort, Snapshot};
use tokio::sync::mpsc;

use super::{
    ask::*,
    faults::{Fault, Faults, Faulty, Place},
    *,
};
use crate::store::{events::Sent, record::HANDOVER_COLUMNS};

on_both_databases![
    a_stream_begins_with_a_snapshot_and_tells_what_changes,
    a_resumed_stream_has_every_entry_once,
    a_stream_that_begins_at_any_time_has_every_entry_after_its_snapshot,
    renewals_are_told_at_most_once_a_second,
    what_no_longer_matches_is_gone,
    only_entries_under_a_prefix_are_sent,
    of_a_page_only_its_leases_last_entries_are_sent,
    what_could_not_be_read_is_told_later,
    what_time_alone_ends_is_told,
    no_time_is_told_on_a_page_that_cannot_be_read,
    who_is_too_far_away_starts_anew,
    streams_end_when_the_log_lost_its_end,
    streams_end_when_the_log_goes_on_from_elsewhere,
    streams_end_when_the_server_stops,
];

/// One who watches, and what it was sent last.
struct Watcher {
    stream: mpsc::Receiver<Sent>,
    id: u64,
}

impl Watcher {
    async fn start(store: &Store, query: LeaseQuery, after: Option<u64>) -> Self {
        Self::of(store, query, EventHandovers::All, after).await
    }

    async fn of(
        store: &Store,
        query: LeaseQuery,
        handovers: EventHandovers,
        after: Option<u64>,
    ) -> Self {
        let stream = store.hub().subscribe(query, handovers, after).await;
        Self {
            stream: stream.expect("the database answers"),
            id: after.unwrap_or_default(),
        }
    }

    async fn next(&mut self) -> Event {
        let sent = tokio::time::timeout(PATIENCE, self.stream.recv()).await;
        let sent = sent.expect("something comes").expect("the stream goes on");
        self.id = sent.id.unwrap_or(self.id);
        let event = Event::read(sent.name, &sent.data).expect("is what it says");
        event.expect("is a known event")
    }

    async fn snapshot(&mut self) -> Snapshot {
        match self.next().await {
            Event::Snapshot(snapshot) => snapshot,
            other => panic!("not a snapshot: {other:?}"),
        }
    }

    /// The next event of which `pick` makes something.
    async fn until<T>(&mut self, mut pick: impl FnMut(Event) -> Option<T>) -> T {
        loop {
            if let Some(found) = pick(self.next().await) {
                return found;
            }
        }
    }
}

async fn a_stream_begins_with_a_snapshot_and_tells_what_changes(database: TestDatabase) {
    let (store, other) = database.two_stores().await;
    store.take("deploy", "a").await;
    let mut watcher = Watcher::start(&other, LeaseQuery::default(), None).await;
    let snapshot = watcher.snapshot().await;
    assert_eq!((snapshot.seq, snapshot.items.len()), (1, 1));
    assert_eq!(watcher.id, 1, "a snapshot says where to go on");

    // A change on any server comes as an entry, as the lease, and in the time.
    store.take("web", "b").await;
    let (mut entry, mut lease, mut time) = (None, None, None);
    watcher
        .until(|event| {
            match event {
                Event::Handover(new) => entry = Some(new),
                Event::Lease(new) if new.lease == name("web") => lease = Some(new),
                Event::Time(new) if new.seq == 2 => time = Some(new),
                _ => {}
            }
            (entry.is_some() && lease.is_some() && time.is_some()).then_some(())
        })
        .await;
    assert_eq!(entry.expect("came").seq, 2);
    assert_eq!(lease.expect("came").holder, Some(holder("b")));
    assert_eq!(watcher.id, 2);
}

/// Reads entries up to `last`, and says which came.
async fn entries(watcher: &mut Watcher, last: u64) -> Vec<u64> {
    let mut seqs = Vec::new();
    watcher
        .until(|event| {
            if let Event::Handover(entry) = event {
                seqs.push(entry.seq);
            }
            (seqs.last() == Some(&last)).then_some(())
        })
        .await;
    seqs
}

async fn a_resumed_stream_has_every_entry_once(database: TestDatabase) {
    let store = database.store().await;
    let many = |from: usize| {
        let names = (from..from + 30).map(|i| format!("lease-{i}"));
        store.submit_all(
            names
                .map(|lease| (name(&lease), acquire(taking("a"))))
                .collect(),
        )
    };
    many(0).await;
    let mut watcher = Watcher::start(&store, LeaseQuery::default(), Some(10)).await;
    many(30).await;
    // Whatever was before or after the snapshot: one after the other.
    assert_eq!(entries(&mut watcher, 60).await, Vec::from_iter(11..=60));
    let at = watcher.id;
    drop(watcher);
    many(60).await;
    let mut again = Watcher::start(&store, LeaseQuery::default(), Some(at)).await;
    assert_eq!(entries(&mut again, 90).await, Vec::from_iter(61..=90));
}

async fn a_stream_that_begins_at_any_time_has_every_entry_after_its_snapshot(
    database: TestDatabase,
) {
    const LAST: u64 = 240;
    let store = database.store().await;
    // Somebody watches already, so that pages are shared.
    let _first = Watcher::start(&store, LeaseQuery::default(), None).await;
    let busy = store.clone();
    let busy = tokio::spawn(async move {
        for generation in (1..LAST).step_by(2) {
            busy.take("deploy", "a").await;
            tokio::time::sleep(Duration::from_millis(3)).await;
            busy.ask("deploy", release("a", generation))
                .await
                .expect("is held");
            tokio::time::sleep(Duration::from_millis(3)).await;
        }
    });
    let mut watchers = Vec::new();
    while !busy.is_finished() && watchers.len() < 150 {
        let mut watcher = Watcher::start(&store, LeaseQuery::default(), None).await;
        watchers.push(tokio::spawn(async move {
            let snapshot = watcher.snapshot().await;
            if snapshot.seq < LAST {
                let came = entries(&mut watcher, LAST).await;
                let whole = came.iter().copied().eq(snapshot.seq + 1..=LAST);
                assert!(whole, "from {:?} after {}", came.first(), snapshot.seq);
            }
        }));
        tokio::time::sleep(Duration::from_millis(7)).await;
    }
    busy.await.expect("it went well");
    for watcher in watchers {
        watcher.await.expect("it saw every entry once");
    }
}

async fn renewals_are_told_at_most_once_a_second(database: TestDatabase) {
    let store = database.store().await;
    store.take("deploy", "a").await;
    let mut watcher = Watcher::start(&store, LeaseQuery::default(), None).await;
    watcher.snapshot().await;
    let busy = store.clone();
    let busy = tokio::spawn(async move {
        loop {
            busy.ask("deploy", renew("a", 1)).await.expect("is held");
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    });
    let started = std::time::Instant::now();
    let mut told = 0;
    while told < 4 {
        if let Event::Lease(lease) = watcher.next().await {
            assert_eq!(lease.lease, name("deploy"));
            told += 1;
        }
    }
    // Four of them take at least three times a second, and come at all.
    assert!(started.elapsed() >= Duration::from_millis(2_900));
    busy.abort();
}

async fn what_no_longer_matches_is_gone(database: TestDatabase) {
    let store = database.store().await;
    store.take("deploy", "a").await;
    let held_by_a = LeaseQuery {
        holder: Some("a".into()),
        ..LeaseQuery::default()
    };
    let mut watcher = Watcher::start(&store, held_by_a, None).await;
    assert_eq!(watcher.snapshot().await.items.len(), 1);
    store.ask("deploy", release("a", 1)).await.expect("is held");
    let gone = watcher
        .until(|event| match event {
            Event::Gone(lease) => Some(lease),
            _ => None,
        })
        .await;
    assert_eq!(gone, name("deploy"));
    // And it comes back when it matches again.
    store.take("deploy", "a").await;
    watcher
        .until(|event| match event {
            Event::Lease(lease) => (lease.holder == Some(holder("a"))).then_some(()),
            Event::Gone(lease) => panic!("{lease} is gone twice"),
            _ => None,
        })
        .await;
}

async fn only_entries_under_a_prefix_are_sent(database: TestDatabase) {
    let store = database.store().await;
    for lease in ["db.main", "web", "db.replica", "web.2"] {
        store.take(lease, "a").await;
    }
    let db = LeaseQuery {
        prefix: Some("db.".into()),
        ..LeaseQuery::default()
    };
    let mut watcher = Watcher::of(&store, db, EventHandovers::Prefix, Some(0)).await;
    // What was missed, and what comes.
    for lease in ["web.3", "db.main.2"] {
        store.take(lease, "a").await;
    }
    assert_eq!(entries(&mut watcher, 6).await, [1, 3, 6]);
}

async fn of_a_page_only_its_leases_last_entries_are_sent(database: TestDatabase) {
    let store = database.store().await;
    for lease in ["a", "b", "c", "d"] {
        store.take(lease, "x").await;
    }
    store.ask("b", release("x", 1)).await.expect("is held");
    let first_two = LeaseQuery {
        sort: Some(LeaseSort::Name),
        limit: Some(2),
        ..LeaseQuery::default()
    };
    // What happened last to each of them after what was seen, and no more.
    let mut watcher = Watcher::of(&store, first_two, EventHandovers::Page, Some(1)).await;
    assert_eq!(entries(&mut watcher, 5).await, [5]);
    let snapshot = watcher.snapshot().await;
    assert_eq!((snapshot.items.len(), watcher.id), (2, 5));

    // A lease that comes onto the page brings its last entry with it, before
    // itself; what happens elsewhere is not told.
    store.take("d2", "x").await;
    store.take("a2", "x").await;
    let mut told = Vec::new();
    watcher
        .until(|event| {
            match event {
                Event::Handover(entry) => told.push(format!("entry {}", entry.seq)),
                Event::Lease(lease) => told.push(lease.lease.to_string()),
                Event::Gone(lease) => told.push(format!("{lease} gone")),
                _ => {}
            }
            told.contains(&"a2".to_owned()).then_some(())
        })
        .await;
    assert_eq!(told, ["b gone", "entry 7", "a2"]);
    assert_eq!(watcher.id, 5, "these say not where to go on");
}

async fn what_could_not_be_read_is_told_later(database: TestDatabase) {
    let faults = Faults::default();
    let backend = Faulty::on(&database.open().await, &faults).await;
    let store = Store::on(backend).await.expect("it answers");
    store.take("deploy", "a").await;
    let mut watcher = Watcher::of(&store, LeaseQuery::default(), EventHandovers::Page, None).await;
    let seen = watcher.snapshot().await.seq;
    faults.arm(Place::Entries, Fault::Fails);
    store.ask("deploy", release("a", 1)).await.expect("is held");
    let told = watcher.until(|event| match event {
        Event::Lease(lease) if lease.holder.is_none() => Some(()),
        // Whoever goes on from there is to miss nothing.
        Event::Time(time) => {
            assert_eq!(time.seq, seen, "nothing of what follows was told yet");
            None
        }
        _ => None,
    });
    tokio::time::timeout(PATIENCE, told)
        .await
        .expect("it is told once it can be read");
    assert!(!faults.are_armed(), "the reading that failed was this one");
}

async fn what_time_alone_ends_is_told(database: TestDatabase) {
    let store = database.store().await;
    store.take("deploy", "a").await;
    let mut watcher = Watcher::start(&store, LeaseQuery::default(), None).await;
    watcher.snapshot().await;
    let force = force(1, None, Some(("b", 1_000)));
    store.ask("deploy", force).await.expect("is held");
    let mut reserved = Vec::new();
    let told = watcher.until(|event| {
        if let Event::Lease(lease) = event {
            reserved.push(lease.reserved.map(|kept| kept.holder));
        }
        (reserved.last() == Some(&None)).then_some(())
    });
    tokio::time::timeout(PATIENCE, told)
        .await
        .expect("its end is told, although nothing is written");
    assert_eq!(reserved.first(), Some(&Some(holder("b"))), "{reserved:?}");
}

async fn who_is_too_far_away_starts_anew(database: TestDatabase) {
    let store = database.store().await;
    store.take("deploy", "a").await;
    // Beyond the log's end.
    let mut watcher = Watcher::start(&store, LeaseQuery::default(), Some(99)).await;
    assert!(matches!(watcher.next().await, Event::Reset));
    assert_eq!(watcher.snapshot().await.seq, 1);

    // More than 10,000 behind, which need not be real ones.
    let head = 11_001;
    let grow = "with recursive more (seq) as (
            select 2 union all select seq + 1 from more where seq < 11001
        )
        insert into handovers
        select more.seq, at, lease, event, generation, holder, previous_generation,
            previous_holder, held_from, held_until, reason, incident, actor, actor_address,
            request_id, details, prev_hash, hash, claim_id
        from more, handovers as first where first.seq = 1";
    database.run(grow).await.expect("the owner may");
    let moved = "update log_head set seq = 11001";
    database.run(moved).await.expect("the owner may");
    let _fresh = eventually("a snapshot of all that", || async {
        let mut fresh = Watcher::start(&store, LeaseQuery::default(), None).await;
        (fresh.snapshot().await.seq == head).then_some(fresh)
    })
    .await;
    let mut watcher = Watcher::start(&store, LeaseQuery::default(), Some(1_000)).await;
    assert!(matches!(watcher.next().await, Event::Reset));
    assert_eq!(watcher.snapshot().await.seq, head);

    // Just within it.
    let mut watcher = Watcher::start(&store, LeaseQuery::default(), Some(1_001)).await;
    assert_eq!(
        entries(&mut watcher, head).await,
        Vec::from_iter(1_002..=head)
    );
}

/// The time would say that what was told of the leases is true now.
async fn no_time_is_told_on_a_page_that_cannot_be_read(database: TestDatabase) {
    let store = database.store().await;
    store.take("deploy", "a").await;
    let mut watcher = Watcher::start(&store, LeaseQuery::default(), None).await;
    watcher.snapshot().await;
    let is_time = |event| matches!(event, Event::Time(_)).then_some(());
    watcher.until(is_time).await;
    let name_it = |name: &str| format!("update leases set holder = '{name}'");
    database.script(&name_it("\t")).await.expect("it may");
    // It comes every second otherwise.
    let silence = async {
        let quiet = Duration::from_secs(4);
        while tokio::time::timeout(quiet, watcher.stream.recv())
            .await
            .is_ok()
        {}
    };
    let silence = tokio::time::timeout(PATIENCE, silence).await;
    silence.expect("it is silent");
    database.script(&name_it("a")).await.expect("it may");
    watcher.until(is_time).await;
}

async fn streams_end_when_the_log_lost_its_end(database: TestDatabase) {
    // As after a failover to a database that did not have all of it.
    let store = streams_end_at(
        &database,
        "delete from handovers where seq = 3;
        update log_head set seq = 2, hash = (select hash from handovers where seq = 2);",
    )
    .await;
    // Who comes back is told that it is another log.
    let mut watcher = Watcher::start(&store, LeaseQuery::default(), Some(3)).await;
    assert!(matches!(watcher.next().await, Event::Reset));
    assert_eq!(watcher.snapshot().await.seq, 2);
}

async fn streams_end_when_the_log_goes_on_from_elsewhere(database: TestDatabase) {
    // As after such a failover, when more came since than was lost.
    let other = "f".repeat(64);
    let columns = HANDOVER_COLUMNS;
    let moved = columns
        .replacen("seq", "4", 1)
        .replace("prev_hash", &format!("'{other}'"));
    streams_end_at(
        &database,
        &format!(
            "update handovers set hash = '{other}' where seq = 3;
            insert into handovers ({columns}) select {moved} from handovers where seq = 3;
            update log_head set seq = 4, hash = '{other}';"
        ),
    )
    .await;
}

/// Forges the log while streams have all three of its entries: they end, and say
/// before that what they told may not be so.
async fn streams_end_at(database: &TestDatabase, forgery: &str) -> Store {
    let store = database.store().await;
    for lease in ["a", "b", "c"] {
        store.take(lease, "x").await;
    }
    let all = [EventHandovers::All, EventHandovers::Page];
    let mut watchers = Vec::new();
    for handovers in all {
        let mut watcher = Watcher::of(&store, LeaseQuery::default(), handovers, None).await;
        watcher.snapshot().await;
        let followed = |event| matches!(event, Event::Time(time) if time.seq == 3).then_some(());
        watcher.until(followed).await;
        watchers.push(watcher);
    }
    database.forge(forgery).await;
    for mut watcher in watchers {
        let mut was_reset = false;
        let ended = async {
            while let Some(sent) = watcher.stream.recv().await {
                was_reset |= sent.name == "reset";
            }
        };
        let ended = tokio::time::timeout(PATIENCE, ended).await;
        ended.expect("it ends");
        assert!(was_reset);
    }
    store
}

async fn streams_end_when_the_server_stops(database: TestDatabase) {
    let store = database.store().await;
    let mut watcher = Watcher::start(&store, LeaseQuery::default(), None).await;
    watcher.snapshot().await;
    store.hub().stop();
    let ended = async { while watcher.stream.recv().await.is_some() {} };
    tokio::time::timeout(PATIENCE, ended)
        .await
        .expect("it ends");
}
