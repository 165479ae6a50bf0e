//! The database itself refuses to change or lose what the log says, also from
//! the role that owns it.

use sqlx::{Connection as _, PgConnection};

use super::{ask::*, *};

on_both_databases![the_log_cannot_be_changed, what_is_refused_changes_nothing,];

/// A copy of the entry at a seq, with one thing changed.
const FORGED: &str = "select 1, at, lease, event, generation, holder, previous_generation,
    previous_holder, held_from, held_until, 'forged', incident, actor, actor_address,
    request_id, details, prev_hash, hash, claim_id from handovers where seq = 1";

/// Each way to change what stands there, and whether it is PostgreSQL's or
/// SQLite's, or both's.
fn attacks(postgres: bool) -> Vec<String> {
    let mut attacks = vec![
        "update handovers set reason = 'forged' where seq = 1".to_owned(),
        "update handovers set seq = seq + 10".to_owned(),
        "delete from handovers where seq = 1".to_owned(),
        "delete from handovers".to_owned(),
        format!("insert into handovers {FORGED}"),
        format!("insert into handovers {FORGED} on conflict (seq) do update set reason = 'forged'"),
        "with gone as (select 1 as seq) delete from handovers where seq in (select seq from gone)"
            .to_owned(),
    ];
    if postgres {
        attacks.extend([
            "truncate handovers".to_owned(),
            "truncate handovers cascade".to_owned(),
            "with gone as (delete from handovers returning 1) select * from gone".to_owned(),
            "merge into handovers using (values (1)) as v (seq) on handovers.seq = v.seq
                when matched then delete"
                .to_owned(),
        ]);
    } else {
        attacks.extend([
            format!("insert or replace into handovers {FORGED}"),
            format!("replace into handovers {FORGED}"),
            format!("pragma recursive_triggers = off; insert or replace into handovers {FORGED}"),
            "update or replace handovers set seq = 2 where seq = 1".to_owned(),
            "update or ignore handovers set reason = 'forged'".to_owned(),
        ]);
    }
    // `on conflict … where true` is how SQLite tells it from a join.
    if !postgres {
        for attack in &mut attacks {
            *attack = attack.replace(
                "where seq = 1 on conflict",
                "where seq = 1 and true on conflict",
            );
        }
    }
    attacks
}

async fn some_history(database: &TestDatabase) -> Store {
    let store = database.store().await;
    store.take("deploy", "a").await;
    store.ask("deploy", release("a", 1)).await.expect("is held");
    store
}

async fn the_log_cannot_be_changed(database: TestDatabase) {
    let store = some_history(&database).await;
    let before = store.whole_log().await;
    for attack in attacks(database.is_postgres()) {
        let refused = database.script(&attack).await;
        let why = refused.expect_err(&attack).to_string();
        // It is refused for what it is, not for a slip in its text.
        assert!(
            why.contains("append-only") || why.contains("unique constraint"),
            "{attack}: {why}"
        );
        assert_eq!(store.whole_log().await, before, "{attack}");
    }
    store.take("deploy", "b").await;
    store.verify().await;
}

async fn what_is_refused_changes_nothing(database: TestDatabase) {
    let store = some_history(&database).await;
    // Hidden in a transaction with something harmless: all of it is undone.
    let hidden = "begin; update leases set principal = 'eve'; delete from handovers; commit";
    assert!(database.script(hidden).await.is_err());
    assert_eq!(store.row("deploy").await.principal, None);
    store.verify().await;
}

impl TestDatabase {
    /// Runs several statements on a connection of their own.
    pub(super) async fn script(&self, sql: &str) -> sqlx::Result<()> {
        let sql = AssertSqlSafe(sql.to_owned());
        match self.open().await {
            Database::Sqlite(sqlite) => {
                let mut connection = sqlite.writer.acquire().await?.detach();
                let result = sqlx::raw_sql(sql).execute(&mut connection).await;
                connection.close().await?;
                result.map(drop)
            }
            Database::Postgres(_) => {
                let mut connection = PgConnection::connect(&self.address).await?;
                let result = sqlx::raw_sql(sql).execute(&mut connection).await;
                drop(connection);
                result.map(drop)
            }
        }
    }
}

/// A server need not own the schema: with what `baton_grant` gives it can serve,
/// and not even try to change the log.
#[tokio::test(flavor = "multi_thread")]
async fn a_serving_role_can_serve_and_nothing_more() {
    let database = TestDatabase::postgres().await;
    drop(database.open().await);
    let postgres = Postgres::shared().await;
    let superuser = postgres.superuser_url(&database.address);
    let role = format!(
        "server_{}",
        database.address.rsplit('/').next().expect("has a name")
    );
    let mut session = PgConnection::connect(&superuser).await.expect("it answers");
    let create = format!("create role {role} login");
    sqlx::raw_sql(AssertSqlSafe(create))
        .execute(&mut session)
        .await
        .expect("it may");
    database
        .script(&format!("select baton_grant('{role}')"))
        .await
        .expect("the owner may");

    let serving = TestDatabase {
        address: database.address.replace("//baton@", &format!("//{role}@")),
        _folder: None,
    };
    let store = serving.store().await;
    // It serves.
    let mut work = taking("a");
    work.payload = Some(raw("1"));
    store.ask("deploy", acquire(work)).await.expect("is free");
    store.ask("deploy", renew("a", 1)).await.expect("is held");
    store.ask("deploy", release("a", 1)).await.expect("is held");
    let brief = acquire(taking_for("b", 1));
    store.ask("deploy", brief).await.expect("is free");
    eventually("the lapse", || async {
        (store.events_of("deploy").await.len() == 4).then_some(())
    })
    .await;
    store.verify().await;

    // And it cannot touch what was written, nor lift what protects it.
    for attack in [
        "update handovers set reason = 'forged'",
        "delete from handovers",
        "truncate handovers",
        "alter table handovers disable trigger all",
        "drop trigger handovers_append_only on handovers",
        "drop table handovers",
        "create or replace function handovers_refuse() returns trigger language plpgsql
            as $$ begin return null; end $$",
        "set session_replication_role = replica",
    ] {
        let refused = serving.script(attack).await;
        let why = refused.expect_err(attack).to_string();
        let denied = ["permission denied", "must be owner"];
        assert!(
            denied.iter().any(|words| why.contains(words)),
            "{attack}: {why}"
        );
    }
    store.verify().await;
}
