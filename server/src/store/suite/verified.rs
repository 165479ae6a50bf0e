//! Whoever owns the database can do anything to it. What they did is found, where
//! it is, and named; the last two things only beside a checkpoint.

use sqlx::{Connection as _, PgConnection};

use super::{ask::*, *};
use crate::{
    audit::{Begins, Depth, Fault, Finding, Verified, Verifier},
    chain::{self, Head},
    rules::properties::log::check_log as fits,
    store::{
        Reader,
        checked::Pass,
        sql::{append_handovers, move_head, save_leases},
        statement::{Arg, Statement},
    },
};

on_both_databases![
    a_log_that_nobody_touched_holds,
    whatever_is_done_to_it_is_found,
    what_no_chain_can_show_is_found_by_a_checkpoint,
    what_the_database_cannot_read_is_named,
    what_is_archived_while_it_is_verified_is_not_missing,
    a_takeover_of_what_lapsed_in_the_archived_part_holds,
];

/// Entries of several leases, of which the last spoke only once.
async fn some_history(store: &Store) -> Vec<Handover> {
    store.take("db", "a").await;
    store.take("web", "b").await;
    store.ask("db", release("a", 1)).await.expect("is held");
    store.take("db", "c").await;
    store
        .ask("web", step_down(1, 60_000, Some(("d", 60_000))))
        .await
        .expect("is held");
    store
        .ask("web", force(1, None, None))
        .await
        .expect("is held");
    let pause = Request::Pause(ana(), why());
    store.ask("db", pause).await.expect("is there");
    store.take("last", "z").await;
    let log = store.whole_log().await;
    assert_eq!(log.len(), 8);
    log
}

async fn verified(database: &TestDatabase, checkpoints: &[(u64, &str)]) -> Verified {
    let looked = Database::look(&database.address)
        .await
        .expect("it is there");
    let reader = Reader::of(&looked).await.expect("it can be read");
    let mut verifier = Verifier::new(Depth::Whole);
    for (seq, hash) in checkpoints {
        verifier.links.expect(*seq, (*hash).to_owned());
    }
    reader
        .verify(verifier, |_, _| ())
        .await
        .expect("it can be read")
}

async fn a_log_that_nobody_touched_holds(database: TestDatabase) {
    let store = database.store().await;
    let nothing = verified(&database, &[]).await;
    assert!(nothing.holds() && nothing.count == 0);
    let log = some_history(&store).await;
    fits(&log);
    let checkpoints: Vec<(u64, &str)> = log.iter().map(|e| (e.seq, e.hash.as_str())).collect();
    let verified = verified(&database, &checkpoints).await;
    assert!(verified.holds(), "{:?}", verified.findings);
    assert_eq!((verified.count, verified.checkpoints), (8, 8));
    assert_eq!(verified.begins, Begins::AtTheBeginning);
    assert_eq!(verified.last.expect("there is one").hash, log[7].hash);
}

impl TestDatabase {
    /// Does something to it past its triggers: on PostgreSQL as superuser, on
    /// SQLite by editing the file.
    pub(super) async fn forge(&self, sql: &str) {
        if !self.is_postgres() {
            let triggers = ["no_update", "no_delete", "no_replace"];
            let drops = triggers.map(|name| format!("drop trigger if exists handovers_{name};"));
            let forged = self.script(&format!("{} {sql}", drops.concat())).await;
            return forged.unwrap_or_else(|error| panic!("{sql}: {error}"));
        }
        let address = Postgres::shared().await.superuser_url(&self.address);
        let mut session = PgConnection::connect(&address).await.expect("it answers");
        let sql = format!("set session_replication_role = replica; {sql}");
        let forged = sqlx::raw_sql(AssertSqlSafe(sql.clone()))
            .execute(&mut session)
            .await;
        forged.unwrap_or_else(|error| panic!("{sql}: {error}"));
    }
}

/// A statement with its values in its text.
fn literal(statement: &Statement) -> String {
    let mut text = String::new();
    for (i, piece) in statement.sql.split('?').enumerate() {
        if i > 0 {
            text.push_str(&match &statement.args[i - 1] {
                Arg::Int(None) | Arg::Text(None) => "null".to_owned(),
                Arg::Int(Some(number)) => number.to_string(),
                Arg::Text(Some(value)) => format!("'{}'", value.replace('\'', "''")),
                Arg::Bool(value) => value.to_string(),
                Arg::Bytes(_) => panic!("entries hold no bytes"),
            });
        }
        text.push_str(piece);
    }
    text
}

/// Moves every entry from a `seq` on by so many places.
fn renumber(from: u64, by: i64) -> String {
    // By way of numbers that nobody has, for each must be unique all the time.
    format!(
        "update handovers set seq = seq + 1000000 where seq >= {from};
        update handovers set seq = seq - 1000000 + {by} where seq > 1000000;
        update log_head set seq = seq + {by};"
    )
}

/// An entry after the last one, sealed as Baton would.
fn forged_end(log: &[Handover]) -> (Handover, Head) {
    let last = log.last().expect("there are entries");
    let mut entry = log[0].clone();
    entry.seq = last.seq + 1;
    entry.at = last.at;
    entry.lease = Some(name("forged"));
    entry.prev_hash.clone_from(&last.hash);
    entry.hash = chain::hash(&entry).expect("has a form");
    let head = Head {
        seq: entry.seq,
        at: entry.at,
        hash: entry.hash.clone(),
    };
    (entry, head)
}

/// What is done, in SQL, and what must be found of it, at which `seq`; 0 if at none.
type Attack = (&'static str, String, u64, fn(&Fault) -> bool);

fn attacks(log: &[Handover]) -> Vec<Attack> {
    let mut rehashed = log[2].clone();
    rehashed.reason = "forged".into();
    rehashed.hash = chain::hash(&rehashed).expect("has a form");
    let mut copy = log[2].clone();
    copy.seq = 4;
    let (end, head) = forged_end(log);
    vec![
        (
            "a reason is edited",
            "update handovers set reason = 'forged' where seq = 3".into(),
            3,
            |fault| *fault == Fault::Edited { was: None },
        ),
        (
            "the address of who asked is taken out",
            "update handovers set actor_address = null where seq = 6".into(),
            6,
            |fault| *fault == Fault::Edited { was: None },
        ),
        (
            "a detail is edited",
            "update handovers set details = '{}' where seq = 5".into(),
            5,
            |fault| *fault == Fault::Edited { was: None },
        ),
        (
            "an entry is edited and hashed anew",
            format!(
                "update handovers set reason = 'forged', hash = '{}' where seq = 3",
                rehashed.hash
            ),
            4,
            |fault| *fault == Fault::Unchained,
        ),
        (
            "an entry is deleted",
            "delete from handovers where seq = 3".into(),
            4,
            |fault| *fault == Fault::Missing { from: 3, to: 3 },
        ),
        (
            "entries are deleted and the rest renumbered",
            format!(
                "delete from handovers where seq in (3, 4); {}",
                renumber(5, -2)
            ),
            3,
            |fault| *fault == Fault::Edited { was: Some(5) },
        ),
        (
            "the first entries are deleted",
            "delete from handovers where seq < 4".into(),
            4,
            |fault| *fault == Fault::BeginningMissing,
        ),
        (
            "an entry is inserted and the rest renumbered",
            format!("{} {}", renumber(4, 1), literal(&append_handovers(&[copy]))),
            5,
            |fault| *fault == Fault::Edited { was: Some(4) },
        ),
        (
            "two entries are swapped",
            "update handovers set seq = 1000000 where seq = 3;
            update handovers set seq = 3 where seq = 4;
            update handovers set seq = 4 where seq = 1000000"
                .into(),
            3,
            |fault| *fault == Fault::Edited { was: Some(4) },
        ),
        (
            "an entry is added, and the head left",
            literal(&append_handovers(std::slice::from_ref(&end))),
            9,
            |fault| *fault == Fault::WrongHead { seq: 8 },
        ),
        (
            "an entry is added, and the head moved",
            format!(
                "{}; {}",
                literal(&append_handovers(&[end])),
                literal(&move_head(&head))
            ),
            0,
            |fault| matches!(fault, Fault::Table { lease, .. } if lease.as_str() == "forged"),
        ),
        (
            "the tail is cut off, and the head left",
            "delete from handovers where seq > 6".into(),
            6,
            |fault| *fault == Fault::WrongHead { seq: 8 },
        ),
        (
            "everything is deleted",
            "delete from handovers".into(),
            0,
            |fault| *fault == Fault::WrongHead { seq: 8 },
        ),
        (
            "an event becomes none",
            "update handovers set event = 'vanished' where seq = 5".into(),
            5,
            |fault| matches!(fault, Fault::Unreadable(why) if why.contains("vanished")),
        ),
        (
            "a row of the table is no lease any more",
            "update leases set holder = '' where name = 'db'".into(),
            0,
            |fault| matches!(fault, Fault::Stopped(why) if why.contains("lease table")),
        ),
        (
            "a generation in the table is edited",
            "update leases set generation = 1 where name = 'db'".into(),
            0,
            |fault| {
                matches!(fault, Fault::Table { lease, what } if lease.as_str() == "db"
                && what.contains("generation 3"))
            },
        ),
        (
            "a pause is lifted in the table",
            "update leases set paused = null".into(),
            0,
            |fault| matches!(fault, Fault::Table { what, .. } if what.contains("pause")),
        ),
        (
            "a lease is deleted",
            "delete from payloads; delete from leases where name = 'web'".into(),
            0,
            |fault| matches!(fault, Fault::Table { what, .. } if what.contains("not in the table")),
        ),
        (
            "a time is moved",
            "update handovers set at = at - 60000000 where seq = 4".into(),
            4,
            |fault| matches!(fault, Fault::TimeFell { .. }),
        ),
    ]
}

async fn whatever_is_done_to_it_is_found(database: TestDatabase) {
    let log = some_history(&database.store().await).await;
    let count = attacks(&log).len();
    for i in 0..count {
        // Hashes differ from history to history, and so do the attacks.
        let database = database.another().await;
        let log = some_history(&database.store().await).await;
        let (what, sql, seq, is_it) = attacks(&log).swap_remove(i);
        database.forge(&sql).await;
        let verified = verified(&database, &[]).await;
        let seq = (seq > 0).then_some(seq);
        let found = |finding: &Finding| finding.seq == seq && is_it(&finding.fault);
        assert!(
            verified.findings.kept.iter().any(found),
            "{what} {:?}",
            verified.findings
        );
        for finding in &verified.findings.kept {
            assert!(finding.to_string().contains("Possible cause: "));
        }
    }
}

async fn what_no_chain_can_show_is_found_by_a_checkpoint(database: TestDatabase) {
    let store = database.store().await;
    let log = some_history(&store).await;
    let seen = (8, log[7].hash.as_str());

    // The tail is cut off, with all that speaks of it.
    let head = Head {
        seq: 7,
        at: log[6].at,
        hash: log[6].hash.clone(),
    };
    let cut = database.another().await;
    let copy = cut.store().await;
    drop(copy);
    let rows = store.log_and_table().await.1;
    let copied = |rows: &[LeaseRow], log: &[Handover], head: &Head| {
        let rows: Vec<&LeaseRow> = rows.iter().collect();
        format!(
            "delete from handovers; delete from payloads; delete from leases; {}; {}; {}",
            literal(&save_leases(&rows)),
            literal(&append_handovers(log)),
            literal(&move_head(head))
        )
    };
    let without_last: Vec<LeaseRow> = rows
        .into_iter()
        .filter(|row| row.name.as_str() != "last")
        .collect();
    cut.forge(&copied(&without_last, &log[..7], &head)).await;
    let alone = verified(&cut, &[]).await;
    assert!(
        alone.holds(),
        "which it can't tell by itself: {:?}",
        alone.findings
    );
    let beside = verified(&cut, &[seen]).await;
    let behind = Finding {
        seq: Some(7),
        fault: Fault::Behind { seq: 8 },
    };
    assert_eq!(beside.findings.kept, [behind]);

    // Everything is written anew, from another history that is whole.
    let other = database.another().await;
    let other = other.store().await;
    some_history(&other).await;
    other.take("more", "q").await;
    let (log, rows) = other.log_and_table().await;
    let head = Head {
        seq: 9,
        at: log[8].at,
        hash: log[8].hash.clone(),
    };
    cut.forge(&copied(&rows, &log, &head)).await;
    let alone = verified(&cut, &[]).await;
    assert!(
        alone.holds(),
        "which it can't tell by itself: {:?}",
        alone.findings
    );
    let beside = verified(&cut, &[seen]).await;
    let replaced = Finding {
        seq: Some(8),
        fault: Fault::Replaced,
    };
    assert_eq!(beside.findings.kept, [replaced]);
}

/// Damages what keeps an entry, past the database: on PostgreSQL a part of its reason
/// that is kept elsewhere, on SQLite the page that it is on.
async fn damage(database: &TestDatabase, hash: &str) {
    if database.is_postgres() {
        let cut = "create extension pg_surgery; do $$ declare kept regclass; begin
            select reltoastrelid into kept from pg_class where oid = 'handovers'::regclass;
            execute format('select heap_force_kill(%L, array(select ctid from %s))', kept, kept);
            end $$";
        return database.forge(cut).await;
    }
    let file = database.address.trim_start_matches("sqlite://");
    let connection = rusqlite::Connection::open(file).expect("it opens");
    let whole: i64 = connection
        .query_row("pragma wal_checkpoint(truncate)", [], |row| row.get(0))
        .expect("it is copied");
    assert_eq!(whole, 0, "nobody reads it");
    let page: i64 = connection
        .query_row("pragma page_size", [], |row| row.get(0))
        .expect("it has pages");
    drop(connection);
    let mut bytes = std::fs::read(file).expect("it can be read");
    let places = bytes.windows(hash.len()).enumerate();
    // The last column of its row: the next one has it as the hash before.
    let place = places
        .filter(|(_, window)| *window == hash.as_bytes())
        .map(|(place, _)| place)
        .max()
        .expect("it is there");
    let start = place - place % page as usize;
    bytes[start..start + page as usize].fill(0);
    std::fs::write(file, bytes).expect("it can be written");
}

/// Text that takes a lot of room, however it is packed.
fn long_reason() -> String {
    let mut state: u32 = 1;
    let letters = std::iter::from_fn(|| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        char::from_u32(0x4e00 + (state >> 12) % 20_000)
    });
    letters.take(2_000).collect()
}

async fn what_the_database_cannot_read_is_named(database: TestDatabase) {
    let log = database
        .short_lived(|database| async move {
            let store = Store::start(&database).await.expect("it starts");
            for i in 0..60 {
                store.take(&format!("l-{i}"), "h").await;
            }
            let release = crate::rules::Release {
                holder: holder("h"),
                generation: generation(1),
                reason: Some(long_reason()),
            };
            let release = Request::Release(ci(), release);
            store.ask("l-7", release).await.expect("is held");
            for i in 60..120 {
                store.take(&format!("l-{i}"), "h").await;
            }
            store.whole_log().await
        })
        .await;
    let damaged = &log[60];
    damage(&database, &damaged.hash).await;
    let found = verified(&database, &[(121, &log[120].hash)]).await;
    let is_it = |finding: &Finding| {
        finding.seq == Some(damaged.seq) && matches!(finding.fault, Fault::Unreadable(_))
    };
    assert!(
        found.findings.kept.iter().any(is_it),
        "{:?}",
        found.findings
    );
    // What is around it was looked at all the same.
    assert_eq!((found.count, found.checkpoints), (121, 1));
    assert_eq!(found.last.expect("there is one").hash, log[120].hash);
}

async fn what_is_archived_while_it_is_verified_is_not_missing(database: TestDatabase) {
    let store = database.store().await;
    super::export::long_history(&store, 2_000).await;
    let log = store.whole_log().await;
    let reader = store.reader();
    let archive_before = async |seq: usize| {
        // Several entries may have the same time.
        let keeping = store.keeping();
        let older = keeping.older(log[seq].at).await.expect("it answers");
        let older = older.expect("some are older");
        let count = older.end.head.seq - older.after;
        let archived = keeping.archive(&older, count, ana(), "old".into()).await;
        archived.expect("the owner may");
        older.end.head.seq
    };
    let mut pass = Pass::begin(reader).await.expect("it answers");
    let seen = pass.step(reader).await.expect("it answers");
    assert!(seen.is_none(), "there is more than one read");
    // What was shown, and what comes next; then once more, before it has caught up.
    archive_before(700).await;
    pass.step(reader).await.expect("it answers");
    let archived = archive_before(1_250).await;
    let end = loop {
        if let Some(end) = pass.step(reader).await.expect("it answers") {
            break end;
        }
    };
    let mut verifier = pass.verifier.clone();
    verifier.links.ends_with(end.head.seq, &end.head.hash);
    let verified = verifier.finish();
    assert!(verified.holds(), "{:?}", verified.findings);
    assert_eq!(verified.begins, Begins::AfterArchived { seq: archived });
    // What is missing without having been archived, is.
    let last = log.len() as u64;
    database
        .forge(&format!("delete from handovers where seq = {last}"))
        .await;
    let mut pass = Pass::begin(reader).await.expect("it answers");
    while pass.step(reader).await.expect("it answers").is_none() {}
    let verified = pass.verifier.finish();
    let missing = Fault::Missing {
        from: last,
        to: last,
    };
    assert_eq!(verified.findings.kept[0].fault, missing);
}

async fn a_takeover_of_what_lapsed_in_the_archived_part_holds(database: TestDatabase) {
    let store = database.store().await;
    let brief = acquire(taking_for("a", 100));
    store.ask("db", brief).await.expect("is free");
    eventually("the lapse", || async {
        (store.log_of("db").await.len() == 2).then_some(())
    })
    .await;
    let lapsed = store.log_of("db").await[1].at;
    eventually("the clock has moved", || async {
        (store.now().await.expect("it answers") > lapsed).then_some(())
    })
    .await;
    for request in [Request::Pause(ana(), why()), Request::Unpause(ana(), why())] {
        store.ask("db", request).await.expect("is there");
    }
    store.take("db", "b").await;
    let paused = store.log_of("db").await[2].at;
    let keeping = store.keeping();
    let older = keeping.older(paused).await.expect("it answers");
    let older = older.expect("two are older");
    let archived = keeping.archive(&older, 2, ana(), "old".into()).await;
    archived.expect("the owner may");
    let rest = verified(&database, &[]).await;
    assert!(rest.holds(), "{:?}", rest.findings);
}

/// SQLite lets whoever asks leave the table's checks out.
#[tokio::test(flavor = "multi_thread")]
async fn an_entry_that_no_log_has_is_found() {
    for seq in ["0", "-1"] {
        let database = TestDatabase::sqlite();
        let store = database.store().await;
        some_history(&store).await;
        let columns = crate::store::record::HANDOVER_COLUMNS;
        let moved = columns.replacen("seq", seq, 1);
        let insert = format!(
            "pragma ignore_check_constraints = 1;
            insert into handovers ({columns}) select {moved} from handovers where seq = 1;"
        );
        database.script(&insert).await.expect("nothing guards it");
        let verified = verified(&database, &[]).await;
        assert!(!verified.holds(), "{seq}");
    }
}
