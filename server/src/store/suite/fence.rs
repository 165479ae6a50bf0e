//! Fenced transactions, on PostgreSQL: a transaction that writes in a holder's
//! name holds off a change of hands, and only that.

use std::time::Duration;

use baton_client::Code;
use sqlx::{AssertSqlSafe, Connection as _, PgConnection};

use super::{ask::*, *};

/// How long whatever needs no change of hands may take beside a fence.
const QUICK: Duration = Duration::from_secs(3);
/// How long a call about a fenced lease may take.
const BLOCKED: Duration = Duration::from_secs(9);

/// An application's session.
struct Application(PgConnection);

impl Application {
    async fn connect(database: &TestDatabase) -> Self {
        let session = PgConnection::connect(&database.address).await;
        Self(session.expect("it answers"))
    }

    async fn run(&mut self, sql: &str) -> sqlx::Result<()> {
        let sql = AssertSqlSafe(sql.to_owned());
        sqlx::raw_sql(sql).execute(&mut self.0).await.map(drop)
    }

    /// Begins a transaction and fences it.
    async fn fence(&mut self, lease: &str, generation: u64) -> sqlx::Result<()> {
        self.run("begin").await?;
        self.run(&format!("select baton_fence('{lease}', {generation})"))
            .await
    }
}

fn is_fenced_off(result: sqlx::Result<()>) -> bool {
    let error = result.expect_err("it is fenced off");
    let code = error
        .as_database_error()
        .and_then(|error| error.code().map(String::from));
    code.as_deref() == Some("BT409")
}

#[tokio::test(flavor = "multi_thread")]
async fn only_the_current_generation_passes_the_fence() {
    let database = TestDatabase::postgres().await;
    let store = database.store().await;
    store.take("job", "a").await;
    let mut application = Application::connect(&database).await;
    application.fence("job", 1).await.expect("is current");
    application.run("commit").await.expect("commits");
    for (lease, generation) in [("job", 2), ("job", 0), ("other", 1)] {
        assert!(is_fenced_off(application.fence(lease, generation).await));
        application.run("rollback").await.expect("rolls back");
    }
    store.ask("job", release("a", 1)).await.expect("is held");
    assert!(is_fenced_off(application.fence("job", 1).await));
    application.run("rollback").await.expect("rolls back");
    assert!(
        is_fenced_off(application.fence("job", 2).await),
        "free is nobody's"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tenure_that_ran_out_writes_no_more() {
    let database = TestDatabase::postgres().await;
    let store = database.store().await;
    let brief = acquire(taking_for("a", 300));
    store.ask("job", brief).await.expect("is free");
    let mut application = Application::connect(&database).await;
    eventually("the expiry", || async {
        let lease = store.lease(&name("job")).await.expect("it answers")?;
        (lease.remaining_ms == Some(0)).then_some(())
    })
    .await;
    assert!(is_fenced_off(application.fence("job", 1).await));
    application.run("rollback").await.expect("rolls back");
    let renewed = store
        .ask("job", renew_with("a", 1, Some(60_000), None))
        .await;
    renewed.expect("nobody took it");
    application.fence("job", 1).await.expect("is its again");
}

/// The whole story: renewals pass, what changes no hands is answered at once, a
/// takeover waits and says why, no new fence gets in meanwhile, and when the
/// open one ends it goes through.
#[tokio::test(flavor = "multi_thread")]
async fn a_takeover_waits_for_open_fences_and_lets_no_new_one_in() {
    let database = TestDatabase::postgres().await;
    let store = database.store().await;
    store.take("other", "a").await;
    let work = taking_for("a", 2_500);
    store.ask("job", acquire(work)).await.expect("is free");
    let mut open = Application::connect(&database).await;
    open.run("set application_name = 'gateway'")
        .await
        .expect("is set");
    open.fence("job", 1).await.expect("is current");

    // While it is held: renewals pass, and others are refused at once.
    for _ in 0..5 {
        let renewed = store.ask("job", renew("a", 1));
        let renewed = tokio::time::timeout(QUICK, renewed).await;
        renewed.expect("in time").expect("is held");
    }
    let refused = tokio::time::timeout(QUICK, store.ask("job", acquire(taking("b")))).await;
    assert_eq!(code(&refused.expect("in time")), Code::Held);

    // Once it has lapsed, a takeover waits, and says for whom.
    eventually("the lapse", || async {
        (store.events_of("job").await == ["granted", "lapsed"]).then_some(())
    })
    .await;
    let taker = store.clone();
    let takeover = tokio::spawn(async move { taker.ask("job", acquire(taking("b"))).await });
    let blocked = eventually("the mark", || async {
        store
            .lease(&name("job"))
            .await
            .expect("it answers")?
            .blocked
    })
    .await;
    assert!(blocked.contains("gateway"), "{blocked}");
    let query = LeaseQuery {
        attention: Some(true),
        ..LeaseQuery::default()
    };
    let listed = store.leases(&query).await.expect("it answers").items;
    assert!(listed.iter().any(|lease| lease.lease.as_str() == "job"));

    // Other leases are not delayed.
    let other = tokio::time::timeout(QUICK, store.ask("other", release("a", 1))).await;
    other.expect("in time").expect("is held");

    // The open one ends, and the takeover goes through.
    open.run("commit").await.expect("commits");
    let taken = tokio::time::timeout(BLOCKED, takeover)
        .await
        .expect("in time");
    let taken = taken.expect("the task lives").expect("has lapsed");
    assert_eq!(taken.generation, generation(2));
    assert_eq!(taken.blocked, None);
    assert!(is_fenced_off(open.fence("job", 1).await));
    store.verify().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn overlapping_fences_do_not_starve_a_change_of_hands() {
    let database = TestDatabase::postgres().await;
    let store = database.store().await;
    store.take("job", "a").await;
    // Two sessions take turns, so that one fence is always open.
    let (mut one, mut other) = (
        Application::connect(&database).await,
        Application::connect(&database).await,
    );
    one.fence("job", 1).await.expect("is current");
    let releasing = store.clone();
    let released = tokio::spawn(async move { releasing.ask("job", release("a", 1)).await });
    let refused = eventually("a fence that is refused", || async {
        let lease = store.lease(&name("job")).await.expect("it answers")?;
        lease.blocked.is_some().then_some(())
    });
    refused.await;
    assert!(
        is_fenced_off(other.fence("job", 1).await),
        "no new one gets in"
    );
    one.run("commit").await.expect("commits");
    let released = tokio::time::timeout(BLOCKED, released)
        .await
        .expect("in time");
    released.expect("the task lives").expect("is held");
    store.verify().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_forced_release_ends_the_fences_that_stay() {
    let database = TestDatabase::postgres().await;
    let store = database.store().await;
    store.take("job", "a").await;
    let mut wedged = Application::connect(&database).await;
    wedged.fence("job", 1).await.expect("is current");
    let forced = tokio::time::timeout(BLOCKED, store.ask("job", force(1, None, None))).await;
    let forced = forced.expect("in time").expect("is done");
    assert_eq!(forced.generation, generation(2));
    assert!(wedged.run("commit").await.is_err(), "its session was ended");
    store.verify().await;
}

/// Who may fence runs a function of the owner's, and nothing else as the owner.
#[tokio::test(flavor = "multi_thread")]
async fn who_fences_cannot_stand_in_for_the_leases() {
    let database = TestDatabase::postgres().await;
    let store = database.store().await;
    store.take("job", "a").await;
    let superuser = Postgres::shared().await.superuser_url(&database.address);
    let mut superuser = Application(PgConnection::connect(&superuser).await.expect("it answers"));
    let role = database.address.rsplit('/').next().expect("has a name");
    let role = format!("fencing_{role}");
    let granted = format!(
        "create role {role} login; grant create on database {0} to {role}",
        database.address.rsplit('/').next().expect("has a name")
    );
    superuser.run(&granted).await.expect("it may");
    let grant = format!("select baton_grant_fence('{role}')");
    database.script(&grant).await.expect("the owner may");

    let address = database.address.replace("//baton@", &format!("//{role}@"));
    let mut application = Application(PgConnection::connect(&address).await.expect("it answers"));
    application
        .run(
            "create schema own;
            create table own.ran (as_whom text);
            grant all on schema own to public;
            grant all on own.ran to public;
            create function own.stand_in() returns bigint language plpgsql volatile as
                $$ begin insert into own.ran values (current_user); return 1; end $$;
            grant execute on function own.stand_in() to public;
            create temporary view leases as
                select 'job'::text as name, own.stand_in() as generation, 'x'::text as holder,
                    9000000000000000::bigint as expires_at, 0::bigint as grace_ms,
                    null::bigint as step_down_deadline, null::bigint as blocked_until;
            grant select, update on leases to public",
        )
        .await
        .expect("it may, in what is its own");
    application
        .run("select baton_fence('job', 1)")
        .await
        .expect("is current");
    let ran: Vec<String> = sqlx::query_scalar("select as_whom from own.ran")
        .fetch_all(&mut application.0)
        .await
        .expect("it answers");
    assert_eq!(ran, Vec::<String>::new());
}
