//! A database that does not answer, or keeps a row to itself.

use std::time::{Duration, Instant};

use serde_json::json;
use sqlx::{Connection as _, PgConnection};

use crate::{
    requests::Request,
    schema,
    server::{HOLDER, Server, eventually},
    support::postgres::Postgres,
};

#[tokio::test]
async fn a_database_that_goes_away_and_comes_back() {
    let postgres = Postgres::start();
    let server = Server::on(postgres.database().await).await;
    server.acquired("a", "h").await;
    let cookie = server.sign_in("admin", crate::server::PASSWORD).await;
    postgres.go_away();

    eventually("calls say that the store is away", async || {
        let answer = server.call("a", "renew", schema::body("Renew", "a")).await;
        answer.status == 503
    })
    .await;
    let calls = [
        Request::post("/api/v1/leases/a/acquire", &schema::body("Acquire", "a")).token(HOLDER),
        Request::post("/api/v1/leases/a/renew", &schema::body("Renew", "a")).token(HOLDER),
        Request::post("/api/v1/leases/a/release", &schema::body("Release", "a")).token(HOLDER),
        Request::get("/api/v1/leases").token(HOLDER),
        Request::get("/api/v1/leases/a").token(HOLDER),
        Request::get("/api/v1/handovers").token(HOLDER),
        Request::get("/api/v1/events").token(HOLDER),
        Request::get("/api/v1/leases").cookie(&cookie),
        Request::get("/readyz"),
    ];
    for call in calls {
        let answer = server.send(&call).await;
        let problem = answer.problem(503, "store_unavailable");
        let outcome = problem["outcome"].as_str().unwrap_or_default();
        assert!(["not_done", "unknown"].contains(&outcome), "{problem}");
        let wait = answer
            .header("retry-after")
            .and_then(|s| s.parse::<u64>().ok());
        assert!(wait.is_some_and(|s| s >= 1), "{call:?} {wait:?}");
    }
    // What needs no database goes on, whoever asks.
    for path in ["/healthz", "/metrics", "/api/v1/openapi.json"] {
        for request in [
            Request::get(path),
            Request::get(path).cookie(&cookie),
            Request::get(path).token(HOLDER),
        ] {
            assert_eq!(server.send(&request).await.status, 200, "{path}");
        }
    }

    postgres.come_back();
    eventually("it is back", async || {
        server
            .call("a", "renew", schema::body("Renew", "a"))
            .await
            .status
            == 200
    })
    .await;
    server
        .send(&Request::get("/api/v1/leases").cookie(&cookie))
        .await
        .ok();
}

#[tokio::test]
async fn a_row_that_somebody_keeps_locked_blocks_its_lease_only() {
    let server = Server::on_postgres().await;
    server.acquired("a", "h").await;
    server.acquired("b", "h").await;
    let mut somebody = PgConnection::connect(&server.database)
        .await
        .expect("it answers");
    let mut transaction = somebody.begin().await.expect("it answers");
    sqlx::query("select * from leases for update")
        .execute(&mut *transaction)
        .await
        .expect("it answers");
    // A new lease is nobody's row.
    server.acquired("c", "h").await;
    let started = Instant::now();
    let blocked = server.call("a", "renew", schema::body("Renew", "a")).await;
    let problem = blocked.problem(409, "blocked");
    assert_eq!(problem["lease"]["lease"], "a");
    assert!(problem["retry_after_ms"].is_u64());
    assert!(
        started.elapsed() < Duration::from_secs(15),
        "{:?}",
        started.elapsed()
    );
    transaction.rollback().await.expect("it answers");
    let renewed = server
        .call("a", "renew", schema::body("Renew", "a"))
        .await
        .ok();
    assert_eq!(renewed["generation"], json!(1), "it was not done");
}
