//! Lists: every filter, and pages that are whole.

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use std::collections::BTreeSet;

use baton_client::{Actor, HandoverEvent, LeaseSort, LeaseState};
use tokio::sync::oneshot;

use super::{ask::*, *};
use crate::store::ListError;

on_both_databases![
    the_history_is_found_by_every_filter,
    the_history_s_pages_are_whole_in_both_orders,
    leases_are_found_by_every_filter,
    pages_of_leases_are_whole_in_every_sort_while_others_change,
    names_sort_by_their_bytes,
    foreign_cursors_are_refused,
];

async fn some_history(database: &TestDatabase) -> Store {
    let store = database.store().await;
    store.take("db.main", "a").await;
    store.take("db.replica", "b").await;
    store.take("web", "a").await;
    let other = by(Actor::Token("other".into()));
    let taken = store
        .ask("web2", Request::Acquire(other, taking("c")))
        .await;
    taken.expect("is free");
    store
        .ask("db.main", release("a", 1))
        .await
        .expect("is held");
    store.take("db.main", "b").await;
    store
        .ask("web", force(1, None, None))
        .await
        .expect("is held");
    let pause = Request::Pause(ana(), why());
    store.ask("web", pause).await.expect("is there");
    store
}

async fn the_history_is_found_by_every_filter(database: TestDatabase) {
    let store = some_history(&database).await;
    let all = store.whole_log().await;
    let seqs = async |query: HandoverQuery| -> Vec<u64> {
        let found = store.log(&query).await;
        found.iter().map(|entry| entry.seq).collect()
    };
    let none = HandoverQuery::default;
    // Each filter finds what a reader of the whole log would.
    let main = HandoverQuery {
        lease: Some(name("db.main")),
        ..none()
    };
    assert_eq!(seqs(main).await, [1, 5, 6]);
    let prefix = HandoverQuery {
        prefix: Some("db.".into()),
        ..none()
    };
    assert_eq!(seqs(prefix).await, [1, 2, 5, 6]);
    let either_side = HandoverQuery {
        holder: Some("a".into()),
        ..none()
    };
    assert_eq!(seqs(either_side).await, [1, 3, 5, 7]);
    let forced = HandoverQuery {
        event: Some(HandoverEvent::Forced),
        ..none()
    };
    assert_eq!(seqs(forced).await, [7]);
    let ana = HandoverQuery {
        actor: Some(ana().actor),
        ..none()
    };
    assert_eq!(seqs(ana).await, [7, 8]);
    let other = Actor::Token("other".into());
    let other = HandoverQuery {
        actor: Some(other),
        ..none()
    };
    assert_eq!(seqs(other).await, [4]);
    let incident = HandoverQuery {
        incident: why().incident,
        ..none()
    };
    assert_eq!(seqs(incident).await, [7, 8]);
    let after = HandoverQuery {
        after: Some(6),
        ..none()
    };
    assert_eq!(seqs(after).await, [7, 8]);
    // From a time on, and up to but without another.
    let (from, to) = (Some(all[2].at), Some(all[5].at));
    let between = HandoverQuery { from, to, ..none() };
    let expected: Vec<u64> = all
        .iter()
        .filter(|entry| entry.at >= all[2].at && entry.at < all[5].at)
        .map(|entry| entry.seq)
        .collect();
    assert_eq!(seqs(between).await, expected);
    // All of them together.
    let both = HandoverQuery {
        prefix: Some("db.".into()),
        holder: Some("b".into()),
        event: Some(HandoverEvent::Granted),
        ..none()
    };
    assert_eq!(seqs(both).await, [2, 6]);
    // One by its seq.
    let entry = store.handover(3).await.expect("it answers");
    assert_eq!(entry.as_ref(), Some(&all[2]));
    assert!(store.handover(9).await.expect("it answers").is_none());
}

async fn the_history_s_pages_are_whole_in_both_orders(database: TestDatabase) {
    let store = database.store().await;
    let many = (0..57).map(|i| (name(&format!("l-{i}")), acquire(taking("a"))));
    store.submit_all(many.collect()).await;
    for order in [Order::Asc, Order::Desc] {
        let mut query = HandoverQuery {
            order: Some(order),
            limit: Some(10),
            ..HandoverQuery::default()
        };
        let mut seqs = Vec::new();
        loop {
            let page = store.handovers(&query).await.expect("can be read");
            seqs.extend(page.items.iter().map(|entry| entry.seq));
            // What comes in between is no part of pages already read.
            store
                .take(&format!("more-{order:?}-{}", seqs.len()), "a")
                .await;
            query.cursor = page.next;
            if query.cursor.is_none() {
                break;
            }
        }
        if order == Order::Desc {
            seqs.reverse();
        }
        let first = seqs[0];
        let whole: Vec<u64> = (first..first + seqs.len() as u64).collect();
        assert_eq!(seqs, whole, "no gap and no repetition");
        assert!(first == 1 && seqs.len() >= 57);
    }
}

async fn names(store: &Store, query: LeaseQuery) -> Vec<String> {
    let page = store.leases(&query).await.expect("can be read");
    page.items
        .iter()
        .map(|lease| lease.lease.to_string())
        .collect()
}

async fn leases_are_found_by_every_filter(database: TestDatabase) {
    let store = some_history(&database).await;
    let brief = acquire(taking_for("Zoë", 1));
    store.ask("brief", brief).await.expect("is free");
    // It needs attention once its lapse is in the log.
    eventually("the lapse", || async {
        let attention = LeaseQuery {
            attention: Some(true),
            ..LeaseQuery::default()
        };
        (names(&store, attention).await == ["brief"]).then_some(())
    })
    .await;
    store
        .ask("web2", step_down(1, 60_000, None))
        .await
        .expect("is held");
    let none = LeaseQuery::default;
    let all = ["brief", "db.main", "db.replica", "web", "web2"];
    assert_eq!(names(&store, none()).await, all);
    let search = |text: &str| LeaseQuery {
        search: Some(text.into()),
        ..none()
    };
    assert_eq!(names(&store, search("ai")).await, ["db.main"]);
    assert_eq!(
        names(&store, search("Zo")).await,
        ["brief"],
        "holders count too"
    );
    assert!(
        names(&store, search("%")).await.is_empty(),
        "it is no pattern"
    );
    let prefix = LeaseQuery {
        prefix: Some("web".into()),
        ..none()
    };
    assert_eq!(names(&store, prefix).await, ["web", "web2"]);
    let holder = LeaseQuery {
        holder: Some("b".into()),
        ..none()
    };
    assert_eq!(names(&store, holder).await, ["db.main", "db.replica"]);
    let state = |state| LeaseQuery {
        state: Some(state),
        ..none()
    };
    assert_eq!(names(&store, state(LeaseState::Free)).await, ["web"]);
    let held = ["db.main", "db.replica", "web2"];
    assert_eq!(names(&store, state(LeaseState::Held)).await, held);
    let attention = LeaseQuery {
        attention: Some(true),
        ..none()
    };
    assert_eq!(names(&store, attention.clone()).await, ["brief", "web2"]);
    let by_attention = LeaseQuery {
        sort: Some(LeaseSort::Attention),
        ..attention
    };
    assert_eq!(names(&store, by_attention).await, ["brief", "web2"]);
    let all_by_attention = LeaseQuery {
        sort: Some(LeaseSort::Attention),
        ..none()
    };
    assert_eq!(
        names(&store, all_by_attention).await,
        ["brief", "web2", "db.main", "db.replica", "web"]
    );
    // And the numbers agree with the lists.
    let totals = store.totals().await.expect("it answers");
    assert_eq!(
        (totals.all, totals.held, totals.lapsed, totals.free),
        (5, 3, 1, 1)
    );
    assert_eq!((totals.paused, totals.flapping), (1, 0));
}

async fn pages_of_leases_are_whole_in_every_sort_while_others_change(database: TestDatabase) {
    let store = database.store().await;
    let calm: BTreeSet<String> = (0..45).map(|i| format!("calm-{i:02}")).collect();
    let taken = calm.iter().enumerate().map(|(i, lease)| {
        let ttl_ms = 3_600_000 + (i as u64 % 5) * 1_000;
        (name(lease), acquire(taking_for("a", ttl_ms)))
    });
    store.submit_all(taken.collect()).await;
    let asked = (0..9).map(|i| (name(&format!("calm-{i:02}")), step_down(1, 3_600_000, None)));
    store.submit_all(asked.collect()).await;
    // Somebody else's leases change hands and are renewed all the time.
    let (stop, mut stopped) = oneshot::channel::<()>();
    let busy = store.clone();
    let busy = tokio::spawn(async move {
        let mut generation = 1;
        while stopped.try_recv() == Err(oneshot::error::TryRecvError::Empty) {
            for lease in ["a-busy", "calm-busy", "z-busy"] {
                busy.take(lease, "b").await;
                busy.ask(lease, renew("b", generation))
                    .await
                    .expect("is held");
                busy.ask(lease, release("b", generation))
                    .await
                    .expect("is held");
            }
            generation += 2;
        }
    });
    for sort in [
        LeaseSort::Name,
        LeaseSort::Attention,
        LeaseSort::Expires,
        LeaseSort::Changed,
    ] {
        let mut query = LeaseQuery {
            sort: Some(sort),
            limit: Some(7),
            ..LeaseQuery::default()
        };
        let mut seen = Vec::new();
        loop {
            let page = store.leases(&query).await.expect("can be read");
            let names = page.items.iter().map(|lease| lease.lease.to_string());
            seen.extend(names.filter(|name| calm.contains(name)));
            query.cursor = page.next;
            if query.cursor.is_none() {
                break;
            }
        }
        // Each of the leases that did not change is there once.
        assert_eq!(seen.len(), calm.len(), "{sort:?}");
        assert_eq!(BTreeSet::from_iter(seen.clone()), calm);
        if sort == LeaseSort::Attention {
            assert!(seen[..9].iter().all(|name| name.as_str() < "calm-09"));
        }
    }
    stop.send(()).expect("it listens");
    busy.await.expect("it went well");
    store.verify().await;
}

async fn names_sort_by_their_bytes(database: TestDatabase) {
    let store = database.store().await;
    let mut all = [
        "b", "B", "a-1", "a.1", "a_1", "a:1", "a@1", "A1", "a1", "1", "Z", "aB", "ab",
    ];
    let taken = all.iter().map(|lease| (name(lease), acquire(taking("a"))));
    store.submit_all(taken.collect()).await;
    all.sort_unstable();
    assert_eq!(names(&store, LeaseQuery::default()).await, all);
    let prefix = LeaseQuery {
        prefix: Some("a".into()),
        ..LeaseQuery::default()
    };
    let expected: Vec<&str> = all
        .into_iter()
        .filter(|name| name.starts_with('a'))
        .collect();
    assert_eq!(names(&store, prefix).await, expected);
}

async fn foreign_cursors_are_refused(database: TestDatabase) {
    let store = some_history(&database).await;
    let page = |sort, cursor: Option<String>| LeaseQuery {
        sort: Some(sort),
        limit: Some(1),
        cursor,
        ..LeaseQuery::default()
    };
    let first = store.leases(&page(LeaseSort::Name, None)).await;
    let by_name = first.expect("can be read").next.expect("there is more");
    let long = "x".repeat(10_000);
    for bad in ["", "!", "AAAA", by_name.as_str(), long.as_str()] {
        let answer = store
            .leases(&page(LeaseSort::Expires, Some(bad.to_owned())))
            .await;
        assert!(matches!(answer, Err(ListError::Cursor(_))), "{bad}");
    }
    // One that was made up, with a rank that no lease of this list has.
    for (attention, rank) in [(None, 5), (Some(true), 4), (None, -1), (None, i64::MIN)] {
        let made_up = serde_json::json!({ "sort": "attention", "key": rank, "name": "a" });
        let query = LeaseQuery {
            attention,
            ..page(
                LeaseSort::Attention,
                Some(URL_SAFE_NO_PAD.encode(made_up.to_string())),
            )
        };
        let answer = store.leases(&query).await;
        assert!(matches!(answer, Err(ListError::Cursor(_))), "{rank}");
    }
    for bad in ["", "!", "AAAA", by_name.as_str()] {
        let query = HandoverQuery {
            cursor: Some(bad.to_owned()),
            ..HandoverQuery::default()
        };
        let answer = store.handovers(&query).await;
        assert!(matches!(answer, Err(ListError::Cursor(_))), "{bad}");
    }
}
