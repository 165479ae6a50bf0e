//! An export is what the list shows, for every filter, whatever happens beside it.

use std::collections::BTreeSet;

use baton_client::{Actor, ExportFormat, ExportQuery, HandoverEvent, Timestamp, TrailerLine};
use rand::{RngExt as _, SeedableRng as _, rngs::StdRng, seq::IndexedRandom as _};

use super::{ask::*, *};
use crate::{
    chain,
    export::{Export, Tally},
};

on_both_databases![
    an_export_is_the_list_for_every_filter,
    an_export_ends_where_the_log_ended_when_it_began,
    an_export_of_what_is_archived_meanwhile_is_not_whole,
    a_slow_reader_holds_nothing,
    an_empty_log_can_be_exported,
    an_incident_is_told_for_people,
    who_was_waiting_is_the_next_holder,
    a_raised_floor_ends_what_an_incident_tells_of,
];

/// Different enough that every filter finds something and leaves something out.
pub(super) async fn long_history(store: &Store, entries: usize) {
    let mut random = StdRng::seed_from_u64(7);
    let mut wanted = Vec::new();
    for i in 0..entries / 3 + 1 {
        let lease = name(&format!("{}.{}", ["db", "web", "x"][i % 3], i % 7));
        let who = ["a", "b", "Zoë 🦊", "=cmd|'/C calc'!A0"][random.random_range(0..4)];
        wanted.push((lease, who));
    }
    for (lease, who) in &wanted {
        let by = by(Actor::Token(["ci", "other"][who.len() % 2].into()));
        let taken = store
            .submit(lease.clone(), Request::Acquire(by.clone(), taking(who)))
            .await;
        let generation = taken.expect("is free").row.generation;
        if random.random_bool(0.3) {
            let forced = store.submit(lease.clone(), force(generation.get(), None, None));
            forced.await.expect("is held");
        } else {
            let mut release = release_with(who, generation.get());
            release.reason = Some("done, \"so far\"\r\n\t– über".into());
            let request = Request::Release(by, release);
            store.submit(lease.clone(), request).await.expect("is held");
        }
    }
}

fn release_with(who: &str, number: u64) -> crate::rules::Release {
    crate::rules::Release {
        holder: holder(who),
        generation: generation(number),
        reason: None,
    }
}

async fn whole(mut export: Export) -> (Vec<u8>, Export) {
    let mut text = Vec::new();
    while let Some(piece) = export.next().await {
        text.extend(piece.expect("the log can be read"));
    }
    (text, export)
}

/// Any filter, of what is in the log and of what is not.
fn any_filter(random: &mut StdRng, log: &[Handover]) -> HandoverQuery {
    let some = |random: &mut StdRng| log.choose(random).expect("there are entries").clone();
    let often = 0.25;
    let mut query = HandoverQuery::default();
    if random.random_bool(often) {
        query.lease = some(random).lease;
    }
    if random.random_bool(often) {
        query.prefix = Some(["db.", "w", "x.1", "nothing", ""][random.random_range(0..5)].into());
    }
    if random.random_bool(often) {
        let holder = some(random).holder.map(|holder| holder.to_string());
        query.holder = holder.or(Some("nobody".into()));
    }
    if random.random_bool(often) {
        query.event = Some(some(random).event);
    }
    if random.random_bool(often) {
        query.actor = Some(some(random).actor);
    }
    if random.random_bool(often / 2.0) {
        query.incident = why().incident;
    }
    let near = |random: &mut StdRng| {
        let at = some(random).at.micros() + random.random_range(-1..=1);
        Some(Timestamp::from_micros(at))
    };
    if random.random_bool(often) {
        query.from = near(random);
    }
    if random.random_bool(often) {
        query.to = near(random);
    }
    if random.random_bool(often) {
        query.after = Some(random.random_range(0..log.len() as u64 + 2));
    }
    query
}

/// What a reader of the whole log would pick.
fn matches(query: &HandoverQuery, entry: &Handover) -> bool {
    let lease = entry.lease.as_ref().map_or("", |lease| lease.as_str());
    let holds = |holder: &Option<baton_client::HolderId>| {
        holder.as_ref().map(|holder| holder.as_str()) == query.holder.as_deref()
    };
    query
        .lease
        .as_ref()
        .is_none_or(|only| lease == only.as_str())
        && query
            .prefix
            .as_ref()
            .is_none_or(|prefix| lease.starts_with(prefix))
        && (query.holder.is_none() || holds(&entry.holder) || holds(&entry.previous_holder))
        && query.event.is_none_or(|event| entry.event == event)
        && query
            .actor
            .as_ref()
            .is_none_or(|actor| entry.actor == *actor)
        && (query.incident.is_none() || entry.incident == query.incident)
        && query.from.is_none_or(|from| entry.at >= from)
        && query.to.is_none_or(|to| entry.at < to)
        && query.after.is_none_or(|after| entry.seq > after)
}

async fn an_export_is_the_list_for_every_filter(database: TestDatabase) {
    let store = database.store().await;
    long_history(&store, 240).await;
    let log = store.whole_log().await;
    let mut random = StdRng::seed_from_u64(11);
    let mut sizes = BTreeSet::new();
    for _ in 0..150 {
        let query = any_filter(&mut random, &log);
        let listed = store.log(&query).await;
        let expected = log.iter().filter(|entry| matches(&query, entry));
        assert!(listed.iter().eq(expected), "{query:?}");
        // Newest first it is the same, backwards.
        let mut backwards = Vec::new();
        let mut page = HandoverQuery {
            limit: Some(17),
            ..query.clone()
        };
        loop {
            let read = store.handovers(&page).await.expect("can be read");
            backwards.extend(read.items);
            page.cursor = read.next;
            if page.cursor.is_none() {
                break;
            }
        }
        assert!(listed.iter().rev().eq(&backwards), "{query:?}");
        sizes.insert(listed.len());

        let asked = ExportQuery::of(&query, ExportFormat::Jsonl);
        let export = Export::begin(store.reader(), &asked).await;
        let (text, export) = whole(export.expect("it begins")).await;
        let text = String::from_utf8(text).expect("is UTF-8");
        let mut lines: Vec<&str> = text.lines().collect();
        let trailer: TrailerLine =
            serde_json::from_str(lines.pop().expect("a trailer")).expect("a trailer");
        assert_eq!(lines.len(), listed.len(), "{query:?}");
        let mut tally = Tally::new(query);
        for (line, entry) in lines.iter().zip(&listed) {
            assert_eq!(
                line.as_bytes(),
                chain::canonical(entry).expect("has a form")
            );
            tally.count(entry);
        }
        assert_eq!(trailer.trailer, tally.trailer(export.end()));

        let asked = ExportQuery::of(&asked.filter(), ExportFormat::Csv);
        let export = Export::begin(store.reader(), &asked).await;
        let (text, _) = whole(export.expect("it begins")).await;
        let mut rows = csv::Reader::from_reader(text.as_slice());
        let rows: Vec<csv::StringRecord> = rows.records().map(|row| row.expect("fits")).collect();
        assert_eq!(rows.len(), listed.len());
        for (row, entry) in rows.iter().zip(&listed) {
            assert_eq!(row[0], entry.seq.to_string());
            assert_eq!(row[17], entry.hash);
            let reason = row[10].strip_prefix('\'').unwrap_or(&row[10]);
            assert_eq!(reason, entry.reason);
        }
    }
    assert!(sizes.len() > 20, "the filters differ: {sizes:?}");
}

async fn an_export_ends_where_the_log_ended_when_it_began(database: TestDatabase) {
    let store = database.store().await;
    // More than a read brings, so that it is under way while the log grows.
    long_history(&store, 2_000).await;
    let before = store.whole_log().await;
    let query = ExportQuery::default();
    let mut export = Export::begin(store.reader(), &query)
        .await
        .expect("it begins");
    let mut text = Vec::new();
    while let Some(piece) = export.next().await {
        text.extend(piece.expect("the log can be read"));
        if text.len() % 3 == 0 {
            store.take(&format!("more-{}", text.len()), "a").await;
        }
    }
    let lines = text.split(|byte| *byte == b'\n').count() - 1;
    assert_eq!(lines, before.len() + 1);
    let trailer = export.trailer();
    assert_eq!(trailer.count, before.len() as u64);
    assert_eq!(trailer.last_seq, Some(trailer.head_seq));
    assert_eq!(trailer.last_hash.as_ref(), Some(&trailer.head_hash));
    let last = before.last().expect("there are entries");
    assert_eq!(
        (trailer.head_seq, &trailer.head_hash),
        (last.seq, &last.hash)
    );
    assert!(
        store.whole_log().await.len() > before.len(),
        "it grew beside it"
    );
}

async fn an_export_of_what_is_archived_meanwhile_is_not_whole(database: TestDatabase) {
    let store = database.store().await;
    long_history(&store, 3_000).await;
    let log = store.whole_log().await;
    let mut export = Export::begin(store.reader(), &ExportQuery::default())
        .await
        .expect("it begins");
    let first = export.next().await.expect("there is one");
    first.expect("it can be read");
    let keeping = store.keeping();
    let older = keeping.older(log[log.len() - 50].at).await;
    let older = older.expect("it answers").expect("most are older");
    let count = older.end.head.seq;
    let archived = keeping.archive(&older, count, ana(), "old".into()).await;
    archived.expect("the owner may");
    let mut failed = false;
    while let Some(piece) = export.next().await {
        failed |= piece.is_err();
    }
    assert!(failed, "it would look whole");
}

async fn a_slow_reader_holds_nothing(database: TestDatabase) {
    let store = database.store().await;
    long_history(&store, 2_000).await;
    // More readers that stand still than there are connections.
    let mut exports = Vec::new();
    for _ in 0..20 {
        let export = Export::begin(store.reader(), &ExportQuery::default()).await;
        let mut export = export.expect("it begins");
        export
            .next()
            .await
            .expect("there is more")
            .expect("it can be read");
        exports.push(export);
    }
    store.take("beside", "a").await;
    assert_eq!(store.log_of("beside").await.len(), 1);
    for export in exports {
        let (_, export) = whole(export).await;
        assert_eq!(export.trailer().last_seq, Some(export.trailer().head_seq));
    }
}

async fn an_empty_log_can_be_exported(database: TestDatabase) {
    let store = database.store().await;
    let export = Export::begin(store.reader(), &ExportQuery::default()).await;
    let (text, export) = whole(export.expect("it begins")).await;
    let line: TrailerLine = serde_json::from_slice(&text).expect("a trailer alone");
    assert_eq!(line.trailer, export.trailer());
    assert_eq!((line.trailer.count, line.trailer.head_seq), (0, 0));
    let nothing = ExportQuery {
        format: Some(ExportFormat::Csv),
        event: Some(HandoverEvent::Forced),
        ..ExportQuery::default()
    };
    let export = Export::begin(store.reader(), &nothing).await;
    let (text, _) = whole(export.expect("it begins")).await;
    assert_eq!(text.iter().filter(|byte| **byte == b'\n').count(), 1);
}

async fn an_incident_is_told_for_people(database: TestDatabase) {
    let store = database.store().await;
    store
        .take(
            "fleet|manager".replace('|', ".").as_str(),
            "gh-7 | <b>*x*</b>",
        )
        .await;
    store.take("beside", "other").await;
    let lease = "fleet.manager";
    store
        .ask(lease, force(1, None, None))
        .await
        .expect("is held");
    store.take(lease, "gh-8").await;
    // Another story of the same lease.
    store.ask(lease, release("gh-8", 3)).await.expect("is held");
    let log = store.log_of(lease).await;
    let asked = ExportQuery {
        format: Some(ExportFormat::Md),
        incident: why().incident,
        ..ExportQuery::default()
    };
    let export = Export::begin(store.reader(), &asked).await;
    let (text, export) = whole(export.expect("it begins")).await;
    let text = String::from_utf8(text).expect("is UTF-8");
    assert!(text.starts_with("# Incident INC\\-7\n"), "{text}");
    let gap = log[1].at.ms_until(log[2].at);
    let gap = format!("{}.{:03} s", gap / 1_000, gap % 1_000);
    for part in [
        "- 1 leases: fleet.manager.",
        "- 1 holders were deposed.",
        "- 1 times a lease had no holder; 0 still had none.",
        // Whoever was deposed is only text.
        "| gh\\-7 \\| \\<b\\>\\*x\\*\\</b\\> | 1 | user:ana | the deploy is stuck |",
        &format!("| gh\\-8 after {gap} |"),
        &format!("| fleet.manager | {} | {} | {gap} |", log[1].at, log[2].at),
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    // The timeline has what came between, and the next holder, and no more.
    let timeline = text.split("## Timeline").nth(1).expect("there is one");
    assert_eq!(timeline.matches("| fleet.manager |").count(), 2, "{text}");
    assert!(
        !text.contains("beside") && !timeline.contains("| released |"),
        "{text}"
    );
    let trailer = text.lines().next_back().expect("there is one");
    let trailer = trailer
        .strip_prefix("<!-- ")
        .and_then(|rest| rest.strip_suffix(" -->"));
    let trailer: TrailerLine = serde_json::from_str(trailer.expect("a comment")).expect("is one");
    assert_eq!(trailer.trailer, export.trailer());
    assert_eq!(trailer.trailer.count, 1);

    let nothing = ExportQuery {
        incident: Some("INC-0".into()),
        ..asked
    };
    let export = Export::begin(store.reader(), &nothing).await;
    let (text, _) = whole(export.expect("it begins")).await;
    let text = String::from_utf8(text).expect("is UTF-8");
    assert!(
        text.contains("Nothing matches.") && text.contains("Nobody."),
        "{text}"
    );
}

async fn who_was_waiting_is_the_next_holder(database: TestDatabase) {
    let store = database.store().await;
    store.take("db", "a").await;
    let waiting = store.clone();
    let waiter = tokio::spawn(async move {
        let wait = std::time::Duration::from_secs(60);
        let request = acquire(taking("b"));
        waiting.submit_waiting(name("db"), request, wait).await
    });
    eventually("a place in line", || async {
        (store.lanes.lines.len() == 1).then_some(())
    })
    .await;
    store
        .ask("db", force(1, None, None))
        .await
        .expect("is held");
    waiter.await.expect("the task lives").expect("it is free");
    let asked = ExportQuery {
        format: Some(ExportFormat::Md),
        ..ExportQuery::default()
    };
    let export = Export::begin(store.reader(), &asked).await;
    let (text, _) = whole(export.expect("it begins")).await;
    let text = String::from_utf8(text).expect("is UTF-8");
    for part in ["- 0 times a lease had no holder", "| b after 0"] {
        assert!(text.contains(part), "{part}: {text}");
    }
}

async fn a_raised_floor_ends_what_an_incident_tells_of(database: TestDatabase) {
    let store = database.store().await;
    store.take("db", "a").await;
    store.take("held", "x").await;
    let keeping = store.keeping();
    let raised = keeping.raise_floor(ana(), "restored".into(), None);
    let raised = raised.await.expect("nobody locks anything");
    store.take("db", "b").await;
    let taken = &store.log_of("db").await[1];
    let asked = ExportQuery {
        format: Some(ExportFormat::Md),
        to: Some(raised.at),
        ..ExportQuery::default()
    };
    let text_of = async |asked: &ExportQuery| {
        let export = Export::begin(store.reader(), asked).await;
        let (text, _) = whole(export.expect("it begins")).await;
        String::from_utf8(text).expect("is UTF-8")
    };
    // Both stories were over before it.
    let text = text_of(&asked).await;
    assert!(text.contains("- 0 times a lease had no holder"), "{text}");
    let asked = ExportQuery {
        prefix: Some("db".into()),
        to: None,
        ..asked
    };
    let text = text_of(&asked).await;
    let gap = format!("| db | {} | {} |", raised.at, taken.at);
    assert!(text.contains(&gap), "{gap}: {text}");
    let row = "| all | floor\\_raised |";
    assert!(text.contains(row), "{row}: {text}");
}
