//! The stalled-holder story of the README, in one PostgreSQL: A holds, stops, B
//! takes over and writes, A wakes and writes what it still believes. With the
//! fence its write matches nothing; without it, B's update is lost.

#![allow(clippy::expect_used)]

#[path = "support/served.rs"]
mod served;
#[path = "support/mod.rs"]
mod support;

use std::time::Duration;

use baton_client::{Acquire, Client, Generation, HolderId, LeaseName};
use served::Served;
use sqlx::{Connection as _, PgConnection};
use support::postgres::Postgres;

/// How long A's lease lasts: it does not renew.
const TTL_MS: u64 = 1_000;

struct Story {
    _served: Served,
    database: String,
    lease: LeaseName,
    first: Generation,
    second: Generation,
}

fn holder(name: &str) -> HolderId {
    name.parse().expect("is a holder")
}

async fn take(client: &Client, lease: &LeaseName, name: &str, wait: Duration) -> Generation {
    let mut acquire = Acquire::new(holder(name), TTL_MS);
    acquire.wait_ms = wait.as_millis() as u64;
    let granted = client.acquire(lease, &acquire).await;
    granted.expect("is granted").generation
}

/// A has stopped, and B has the lease. The ledger says 0.
async fn after_the_takeover() -> Story {
    let database = Postgres::shared().await.database().await;
    let served = Served::on(Some(database.clone())).await;
    let lease: LeaseName = "ledger".parse().expect("is a name");
    let client = served.client();
    let first = take(&client, &lease, "a", Duration::ZERO).await;
    let second = take(&client, &lease, "b", Duration::from_secs(20)).await;
    assert_eq!(second.get(), first.get() + 1);
    let mut session = PgConnection::connect(&database).await.expect("it answers");
    sqlx::raw_sql("create table ledger (total int); insert into ledger values (0)")
        .execute(&mut session)
        .await
        .expect("is made");
    Story {
        _served: served,
        database,
        lease,
        first,
        second,
    }
}

impl Story {
    async fn session(&self) -> PgConnection {
        PgConnection::connect(&self.database)
            .await
            .expect("it answers")
    }

    async fn total(&self) -> i32 {
        let mut session = self.session().await;
        sqlx::query_scalar("select total from ledger")
            .fetch_one(&mut session)
            .await
            .expect("is there")
    }
}

/// Writes a total that was worked out earlier, as holder of `generation` if it
/// is given: all of it in one transaction.
async fn write(
    session: &mut PgConnection,
    lease: &LeaseName,
    generation: Option<Generation>,
    total: i32,
) -> sqlx::Result<()> {
    let mut transaction = session.begin().await?;
    if let Some(generation) = generation {
        sqlx::query("select baton_fence($1, $2)")
            .bind(lease.as_str())
            .bind(generation.get() as i64)
            .execute(&mut *transaction)
            .await?;
    }
    sqlx::query("update ledger set total = $1")
        .bind(total)
        .execute(&mut *transaction)
        .await?;
    transaction.commit().await
}

#[tokio::test(flavor = "multi_thread")]
async fn with_the_fence_a_stale_write_is_refused() {
    let story = after_the_takeover().await;
    // A looked before it stalled, and would make it 1. B makes it 10.
    let (mut a, mut b) = (story.session().await, story.session().await);
    write(&mut b, &story.lease, Some(story.second), 10)
        .await
        .expect("B is the holder");
    let refused = write(&mut a, &story.lease, Some(story.first), 1).await;
    let refused = refused.expect_err("A is not");
    let code = refused.as_database_error().and_then(|error| error.code());
    assert_eq!(code.as_deref(), Some("BT409"), "{refused}");
    assert_eq!(story.total().await, 10, "B's update stands");
}

#[tokio::test(flavor = "multi_thread")]
async fn without_the_fence_an_update_is_lost() {
    let story = after_the_takeover().await;
    let (mut a, mut b) = (story.session().await, story.session().await);
    write(&mut b, &story.lease, None, 10)
        .await
        .expect("anybody may");
    write(&mut a, &story.lease, None, 1)
        .await
        .expect("anybody may");
    assert_eq!(
        story.total().await,
        1,
        "A undid what B did: that is what fencing is for"
    );
}
