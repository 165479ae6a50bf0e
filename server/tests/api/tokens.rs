//! How a token ends, and what its prefixes limit.

use std::time::{Duration, Instant};

use baton::http::routes::ROUTES;
use serde_json::json;

use crate::{
    authorisation::sample,
    requests::Request,
    server::{HOLDER, Server, eventually},
};

const LOOK: &str = "/api/v1/leases?limit=1";

/// After a second, a token that ended works nowhere any more.
async fn ends_within_a_second(server: &Server, token: &str) {
    let ended = Instant::now();
    loop {
        let asked = ended.elapsed();
        let answer = server.get(LOOK, token).await;
        if answer.status == 401 {
            answer.problem(401, "unauthenticated");
            return;
        }
        assert!(asked < Duration::from_secs(1), "it works after {asked:?}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

async fn a_revoked_token_stops_within_a_second(server: Server) {
    let token = server.token("ci", "holder", &[]).await;
    let path = "/api/v1/leases/victim/acquire";
    let body = json!({ "holder": "h", "ttl_ms": 600_000 });
    server.post(path, &token, body).await.ok();
    let before = server.everything().await;

    server.done(&["token", "revoke", "ci"]).await;
    ends_within_a_second(&server, &token).await;
    for route in ROUTES {
        if route.access.role().is_some() {
            let answer = server.send(&sample(route, "victim").token(&token)).await;
            answer.problem(401, "unauthenticated");
        }
    }
    assert_eq!(server.everything().await, before);
}

#[tokio::test]
async fn a_revoked_token_stops_within_a_second_on_sqlite() {
    a_revoked_token_stops_within_a_second(Server::start().await).await;
}

#[tokio::test]
async fn a_revoked_token_stops_within_a_second_on_postgres() {
    a_revoked_token_stops_within_a_second(Server::on_postgres().await).await;
}

#[tokio::test]
async fn a_token_that_is_revoked_in_line_is_granted_nothing() {
    let server = Server::start().await;
    let token = server.token("ci", "holder", &[]).await;
    server.acquired("victim", "h").await;
    let body = json!({ "holder": "x", "ttl_ms": 600_000, "wait_ms": 60_000 });
    let waiting = tokio::spawn({
        let request = Request::post("/api/v1/leases/victim/acquire", &body).token(&token);
        let host = server.host.clone();
        async move { request.send(&host).await }
    });
    let in_line = async |waiters: u32| {
        let metrics = server.send(&Request::get("/metrics")).await.text();
        metrics.contains(&format!("\nbaton_waiting_acquires {waiters}\n"))
    };
    eventually("it waits in line", async || in_line(1).await).await;
    server.done(&["token", "revoke", "ci"]).await;
    let answer = waiting.await.expect("the task lives");
    answer.problem(401, "unauthenticated");
    let body = json!({ "holder": "h", "generation": 1 });
    let free = server.call("victim", "release", body).await.ok();
    assert_eq!(free["state"], "free", "{free}");
    eventually("it left the line", async || in_line(0).await).await;
}

#[tokio::test]
async fn an_expired_token_stops() {
    let server = Server::start().await;
    let token = server.token("ci", "viewer", &["--expires-in", "5s"]).await;
    eventually("the token expires", async || {
        server.get(LOOK, &token).await.status == 401
    })
    .await;
    server
        .get(LOOK, &token)
        .await
        .problem(401, "unauthenticated");
}

#[tokio::test]
async fn a_rotated_token_keeps_its_tenures() {
    let server = Server::start().await;
    let old = server.token("ci", "holder", &[]).await;
    let body = json!({ "holder": "h", "ttl_ms": 600_000 });
    server
        .post("/api/v1/leases/victim/acquire", &old, body)
        .await
        .ok();

    let new = server.done(&["token", "rotate", "ci"]).await;
    ends_within_a_second(&server, &old).await;
    server.known(&new).await;
    let tenure = json!({ "holder": "h", "generation": 1 });
    let renewed = server
        .post("/api/v1/leases/victim/renew", &new, tenure.clone())
        .await;
    assert_eq!(renewed.ok()["generation"], 1);
    let other = server.call("victim", "release", tenure.clone()).await;
    other.problem(403, "forbidden");
    server
        .post("/api/v1/leases/victim/release", &new, tenure)
        .await
        .ok();
}

#[tokio::test]
async fn prefixes_limit_every_change_and_nothing_else() {
    let server = Server::start().await;
    server.acquired("other.victim", "h").await;
    let limits = ["--prefix", "deploy.", "--prefix", "ci:"];
    let token = server.token("limited", "admin", &limits).await;
    let before = server.everything().await;
    for route in ROUTES {
        if !route.path.contains("{lease}") {
            continue;
        }
        for lease in ["other.victim", "deploy", "Deploy.x", "x.deploy.y", "ci"] {
            let answer = server.send(&sample(route, lease).token(&token)).await;
            if route.access.changes() {
                answer.problem(403, "forbidden");
            } else {
                assert_ne!(answer.status, 403, "{} {lease}", route.path);
            }
        }
    }
    assert_eq!(server.everything().await, before);
    for route in ROUTES {
        if route.path.contains("{lease}") {
            for lease in ["deploy.web", "ci:1"] {
                let answer = server.send(&sample(route, lease).token(&token)).await;
                assert_ne!(answer.status, 403, "{} {lease}", route.path);
            }
        }
    }
}

#[tokio::test]
async fn of_many_renewals_only_those_within_the_prefixes_are_done() {
    let server = Server::start().await;
    let token = server
        .token("limited", "holder", &["--prefix", "deploy."])
        .await;
    let body = json!({ "holder": "h", "ttl_ms": 600_000 });
    server
        .post("/api/v1/leases/deploy.web/acquire", &token, body)
        .await
        .ok();
    server.acquired("other", "h").await;
    let renewal = |lease: &str| json!({ "lease": lease, "holder": "h", "generation": 1 });
    let body =
        json!({ "renewals": [renewal("other"), renewal("deploy.web"), renewal("deploy.no")] });
    let renewed = server.post("/api/v1/renewals", &token, body).await.ok();
    let results: Vec<(&str, u64)> = renewed["results"]
        .as_array()
        .expect("it is a list")
        .iter()
        .map(|result| {
            let lease = result["lease"].as_str().unwrap_or_default();
            (lease, result["status"].as_u64().unwrap_or_default())
        })
        .collect();
    assert_eq!(
        results,
        [("other", 403), ("deploy.web", 200), ("deploy.no", 409)]
    );
    // All outside is an answer, too.
    let body = json!({ "renewals": [renewal("other")] });
    let renewed = server.post("/api/v1/renewals", &token, body).await.ok();
    assert_eq!(renewed["results"][0]["body"]["code"], "forbidden");
    assert!(renewed["now"].is_string());
}

#[tokio::test]
async fn a_stream_ends_with_its_token() {
    let server = Server::start().await;
    let token = server.token("ci", "viewer", &[]).await;
    let mut stream = server
        .stream(Request::get("/api/v1/events").token(&token))
        .await;
    stream.until("snapshot").await;
    server.done(&["token", "revoke", "ci"]).await;
    let revoked = Instant::now();
    stream.end().await;
    assert!(
        revoked.elapsed() < Duration::from_secs(4),
        "{:?}",
        revoked.elapsed()
    );
    server.get(LOOK, HOLDER).await.ok();
}
