//! The clock of a SQLite server.

use baton_client::Timestamp;

use super::{ask::*, *};
use crate::store::{clock::Clock, sqlite::SqliteBackend};

fn later(at: Timestamp, ms: u64) -> Timestamp {
    at.plus_ms(ms)
}

#[test]
fn the_clock_starts_at_the_wall_but_never_before_what_was_written() {
    let wall = Clock::start(Timestamp::from_micros(0)).now();
    assert!(
        wall.micros() > 1_700_000_000_000_000,
        "that is the wall's time"
    );
    // A wall clock that went back must not give out the same times again.
    let newest = later(wall, 3_600_000);
    let clock = Clock::start(newest);
    let (first, second) = (clock.now(), clock.now());
    assert!(first >= newest && second >= first);
    assert!(newest.ms_until(first) < 60_000, "and goes on from there");
}

/// Gives the file times that lie an hour ahead of the wall, as if the wall had
/// gone back while no server ran.
async fn write_an_hour_ahead(database: &TestDatabase, column: &str, table: &str) {
    let sql = format!("update {table} set {column} = {column} + 3600000000");
    database.run(&sql).await.expect("the owner may");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_restart_after_the_wall_went_back_rewinds_nothing() {
    for (column, table) in [("at", "log_head"), ("renewed_at", "leases")] {
        let database = TestDatabase::sqlite();
        let taken = database
            .short_lived(|database| async move {
                let store = Store::start(&database).await.expect("it starts");
                store.take("deploy", "a").await
            })
            .await;
        write_an_hour_ahead(&database, column, table).await;
        let store = database.store().await;
        let now = store.now().await.expect("it answers");
        assert!(now >= later(taken.now, 3_600_000), "{table}.{column}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_expiry_that_lies_ahead_does_not_move_the_clock() {
    let database = TestDatabase::sqlite();
    let taken = database
        .short_lived(|database| async move {
            let store = Store::start(&database).await.expect("it starts");
            let day = acquire(taking_for("a", 86_400_000));
            store.ask("deploy", day).await.expect("is free")
        })
        .await;
    let store = database.store().await;
    let now = store.now().await.expect("it answers");
    assert!(taken.now.ms_until(now) < 3_600_000);
    assert!(
        store.ask("deploy", renew("a", 1)).await.is_ok(),
        "the restart cost nothing"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn an_empty_file_has_a_clock() {
    let Database::Sqlite(sqlite) = TestDatabase::sqlite().open().await else {
        unreachable!("it is SQLite");
    };
    assert!(SqliteBackend::start(sqlite).await.is_ok());
}
