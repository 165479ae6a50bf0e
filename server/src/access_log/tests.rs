//! The access log, on both databases: it chains, it lists, and nothing changes
//! what it says.

use baton_client::{AccessEvent, Actor, Order};
use serde_json::json;
use sqlx::{AssertSqlSafe, Connection as _, PgConnection};

use super::{entry::hash, *};
use crate::{
    chain::GENESIS,
    people::testing::{Place, on_both_databases},
    rules::Asker,
};

on_both_databases![
    entries_chain_also_from_many_writers,
    every_filter_finds_what_it_says,
    pages_are_whole_in_both_orders,
    the_log_cannot_be_changed,
];

fn ana() -> Asker {
    Asker {
        actor: Actor::User("ana".into()),
        address: Some("192.0.2.1".into()),
        request_id: Some("r-1".into()),
    }
}

fn refused(lease: &str) -> Draft {
    let details = json!({ "action": "pause", "code": "forbidden", "count": 1 });
    Draft::new(AccessEvent::Refused, &ana(), Some(lease), details)
}

fn made(token: &str) -> Draft {
    let details = json!({ "role": "holder" });
    Draft::new(
        AccessEvent::TokenCreated,
        &Asker::baton(),
        Some(token),
        details,
    )
}

async fn whole(log: &AccessLog) -> Vec<AccessEntry> {
    let upto = log.ends().await.expect("it answers").tip.seq;
    let mut all = Vec::new();
    while (all.len() as u64) < upto {
        let query = AccessQuery::default();
        let more = log.stretch(&query, all.len() as u64, upto).await;
        all.extend(more.expect("it answers"));
    }
    all
}

/// Panics unless the chain holds.
pub fn check_chain(entries: &[AccessEntry]) {
    let mut before = GENESIS.to_owned();
    let mut at = Timestamp::default();
    for (i, entry) in entries.iter().enumerate() {
        assert_eq!(entry.seq, i as u64 + 1, "seq has no gap");
        assert!(entry.at >= at, "`at` never falls");
        assert_eq!(entry.prev_hash, before, "the chain holds");
        assert_eq!(entry.hash, hash(entry).expect("has a form"));
        before.clone_from(&entry.hash);
        at = entry.at;
    }
}

async fn entries_chain_also_from_many_writers(place: Place) {
    let logs = [
        AccessLog::new(&place.database().await),
        AccessLog::new(&place.database().await),
    ];
    let mut writers = tokio::task::JoinSet::new();
    for writer in 0..8 {
        let log = logs[writer % 2].clone();
        writers.spawn(async move {
            for i in 0..10 {
                let drafts = [refused(&format!("lease-{writer}-{i}")), made("t")];
                log.record(&drafts).await.expect("it answers");
            }
        });
    }
    while let Some(done) = writers.join_next().await {
        done.expect("it lives");
    }
    let entries = whole(&logs[0]).await;
    assert_eq!(entries.len(), 160);
    check_chain(&entries);
    // What is written together stands together.
    for pair in entries.chunks(2) {
        assert_eq!(pair[0].event, AccessEvent::Refused);
        assert_eq!(pair[1].event, AccessEvent::TokenCreated);
    }
}

async fn some_entries(place: &Place) -> AccessLog {
    let log = AccessLog::new(&place.database().await);
    for draft in [refused("a"), made("a"), refused("b"), made("ci")] {
        log.record(&[draft]).await.expect("it answers");
    }
    log.sign_in_failed("192.0.2.9".parse().expect("is one"), Some("ana"));
    log.finish().await;
    log
}

async fn every_filter_finds_what_it_says(place: Place) {
    let log = some_entries(&place).await;
    let all = whole(&log).await;
    let seqs = async |query: AccessQuery| -> Vec<u64> {
        let query = AccessQuery {
            order: Some(Order::Asc),
            ..query
        };
        let page = log.page(&query).await.expect("it answers");
        page.items.iter().map(|entry| entry.seq).collect()
    };
    let none = AccessQuery::default;
    assert_eq!(seqs(none()).await, [1, 2, 3, 4, 5]);
    let event = Some(AccessEvent::Refused);
    assert_eq!(seqs(AccessQuery { event, ..none() }).await, [1, 3]);
    let actor = Some(Actor::Baton);
    assert_eq!(seqs(AccessQuery { actor, ..none() }).await, [2, 4]);
    let subject = Some("a".to_owned());
    assert_eq!(seqs(AccessQuery { subject, ..none() }).await, [1, 2]);
    let address = Some("192.0.2.9".to_owned());
    assert_eq!(seqs(AccessQuery { address, ..none() }).await, [5]);
    let after = Some(3);
    assert_eq!(seqs(AccessQuery { after, ..none() }).await, [4, 5]);
    let (from, to) = (Some(all[2].at), Some(all[3].at));
    let between = all.iter().filter(|e| e.at >= all[2].at && e.at < all[3].at);
    let between: Vec<u64> = between.map(|entry| entry.seq).collect();
    assert_eq!(seqs(AccessQuery { from, to, ..none() }).await, between);
    assert_eq!(all[4].details["accounts"], "ana");
}

async fn pages_are_whole_in_both_orders(place: Place) {
    let log = some_entries(&place).await;
    for order in [Order::Asc, Order::Desc] {
        let mut query = AccessQuery {
            order: Some(order),
            limit: Some(2),
            ..AccessQuery::default()
        };
        let mut seqs = Vec::new();
        loop {
            let page = log.page(&query).await.expect("it answers");
            assert!(page.items.len() <= 2);
            seqs.extend(page.items.iter().map(|entry| entry.seq));
            query.cursor = page.next;
            if query.cursor.is_none() {
                break;
            }
        }
        if order == Order::Desc {
            seqs.reverse();
        }
        assert_eq!(seqs, [1, 2, 3, 4, 5]);
    }
    let foreign = AccessQuery {
        cursor: Some("no cursor".into()),
        ..AccessQuery::default()
    };
    let refused = log.page(&foreign).await;
    assert!(matches!(refused, Err(AccessLogError::Cursor(_))));
}

/// A copy of the first entry, with one thing changed.
const FORGED: &str = "select 1, at, event, 'user:eve', actor_address, request_id, subject, \
    details, prev_hash, hash from access_log where seq = 1";

/// Runs several statements on a connection of their own, as the owner.
async fn script(place: &Place, sql: &str) -> sqlx::Result<()> {
    let sql = AssertSqlSafe(sql.to_owned());
    match place.database().await {
        Database::Sqlite(sqlite) => {
            let mut connection = sqlite.writer.acquire().await?.detach();
            let result = sqlx::raw_sql(sql).execute(&mut connection).await;
            connection.close().await?;
            result.map(drop)
        }
        Database::Postgres(pool) => {
            let options = (*pool.connect_options()).clone();
            let mut connection = PgConnection::connect_with(&options).await?;
            sqlx::raw_sql(sql).execute(&mut connection).await.map(drop)
        }
    }
}

async fn the_log_cannot_be_changed(place: Place) {
    let log = some_entries(&place).await;
    let before = whole(&log).await;
    let postgres = matches!(place.database().await, Database::Postgres(_));
    let mut attacks = vec![
        "update access_log set actor = 'user:eve' where seq = 1".to_owned(),
        "update access_log set seq = seq + 10".to_owned(),
        "delete from access_log where seq = 1".to_owned(),
        "delete from access_log".to_owned(),
        format!("insert into access_log {FORGED}"),
        format!(
            "insert into access_log {FORGED} and true on conflict (seq) do update set actor = 'x'"
        ),
        "begin; delete from access_log; commit".to_owned(),
    ];
    if postgres {
        attacks.push("truncate access_log".to_owned());
        attacks.push("truncate access_log cascade".to_owned());
        attacks.push(
            "merge into access_log using (values (1)) as v (seq) on access_log.seq = v.seq \
             when matched then delete"
                .to_owned(),
        );
    } else {
        attacks.push(format!("insert or replace into access_log {FORGED}"));
        attacks.push(format!(
            "pragma recursive_triggers = off; insert or replace into access_log {FORGED}"
        ));
        attacks.push("update or replace access_log set seq = 2 where seq = 1".to_owned());
    }
    for attack in attacks {
        let refused = script(&place, &attack).await;
        let why = refused.expect_err(&attack).to_string();
        assert!(
            why.contains("append-only") || why.contains("unique constraint"),
            "{attack}: {why}"
        );
        assert_eq!(whole(&log).await, before, "{attack}");
    }
    log.record(&[refused("c")]).await.expect("it answers");
    check_chain(&whole(&log).await);
}
