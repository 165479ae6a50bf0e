//! Two programs on one database, and how a server stops.

use std::time::Duration;

use serde_json::json;

use crate::{
    requests::Request,
    server::{HOLDER, PASSWORD, Server, eventually},
};

#[tokio::test]
async fn a_second_server_on_the_same_file_refuses_to_start() {
    let server = Server::start().await;
    let (code, said) = server.second().await;
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains("another server already serves"), "{said}");
    assert!(said.contains("baton.db"), "it says which: {said}");
    server.acquired("a", "h").await;
}

#[tokio::test]
async fn a_file_with_two_names_is_not_served() {
    let server = Server::start().await;
    let file = server.database.trim_start_matches("sqlite://").to_owned();
    std::fs::hard_link(&file, format!("{file}.other")).expect("can be linked");
    let (code, said) = server.second().await;
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains("several names"), "{said}");
}

#[tokio::test]
async fn a_killed_server_keeps_nobody_from_starting() {
    let mut server = Server::start().await;
    server.acquired("a", "h").await;
    server.signal("KILL").await;
    server.start_again().await;
    let lease = server.get("/api/v1/leases/a", HOLDER).await.ok();
    assert_eq!(
        (&lease["holder"], &lease["generation"]),
        (&json!("h"), &json!(1))
    );
}

#[tokio::test]
async fn two_servers_on_one_postgres_are_one_store() {
    let one = Server::on_postgres().await;
    let other = Server::on(one.database.clone()).await;
    one.acquired("a", "h").await;
    let held = other
        .call("a", "acquire", json!({ "holder": "x", "ttl_ms": 1_000 }))
        .await;
    held.problem(409, "held");
    let renewed = other
        .call("a", "renew", json!({ "holder": "h", "generation": 1 }))
        .await;
    assert_eq!(renewed.ok()["holder"], "h");
    let mut stream = one
        .stream(Request::get("/api/v1/events").token(HOLDER))
        .await;
    stream.until("snapshot").await;
    other
        .call("a", "release", json!({ "holder": "h", "generation": 1 }))
        .await
        .ok();
    assert_eq!(stream.until("handover").await.data["event"], "released");
    // A session of one is a session of the other.
    let cookie = one.sign_in("admin", PASSWORD).await;
    let look = Request::get("/api/v1/leases").cookie(&cookie);
    other.send(&look).await.ok();
    one.send(&Request::form("/sign-out", &[]).cookie(&cookie))
        .await;
    other.send(&look).await.problem(401, "unauthenticated");
}

#[tokio::test]
async fn users_and_tokens_are_managed_beside_a_running_server() {
    let server = Server::start().await;
    server
        .user("ana", "viewer", "a password of some length")
        .await;
    server.sign_in("ana", "a password of some length").await;
    let changed = server
        .baton(
            &["user", "passwd", "ana", "--password-stdin"],
            "another password",
        )
        .await;
    changed.expect("a password can be set");
    let old = [("name", "ana"), ("password", "a password of some length")];
    server
        .send(&Request::form("/sign-in", &old))
        .await
        .problem(401, "unauthenticated");
    server.sign_in("ana", "another password").await;
    let users = server.done(&["user", "list", "--json"]).await;
    assert!(
        users.contains("\"ana\"") && !users.contains("argon2"),
        "{users}"
    );
    let token = server.token("ci", "holder", &["--prefix", "a."]).await;
    let tokens = server.done(&["token", "list", "--json"]).await;
    assert!(
        tokens.contains("\"ci\"") && !tokens.contains(&token[10..]),
        "{tokens}"
    );
    let taken = server
        .baton(&["token", "create", "--name", "ci", "--role", "viewer"], "")
        .await;
    assert!(taken.is_err_and(|error| error.contains("taken")));
}

#[tokio::test]
async fn a_server_that_stops_answers_what_is_under_way() {
    let mut server = Server::start().await;
    server.acquired("a", "h").await;
    let mut stream = server
        .stream(Request::get("/api/v1/events").token(HOLDER))
        .await;
    stream.until("snapshot").await;
    let body = json!({ "holder": "x", "ttl_ms": 1_000, "wait_ms": 60_000 });
    let waiting = Request::post("/api/v1/leases/a/acquire", &body).token(HOLDER);
    let host = server.host.clone();
    let waiting = tokio::spawn(async move { waiting.send(&host).await });
    eventually("it waits in line", async || {
        let metrics = server.send(&Request::get("/metrics")).await.text();
        metrics.contains("\nbaton_waiting_acquires 1\n")
    })
    .await;

    let took = server.stop().await;
    assert!(took < Duration::from_secs(5), "{took:?}");
    waiting.await.expect("it is answered").problem(409, "held");
    stream.end().await;
    // All of it is in the one file.
    let beside = std::fs::metadata(server.folder().join("baton.db-wal"));
    assert_eq!(beside.map_or(0, |beside| beside.len()), 0);
    assert!(
        !server.log().contains("still under way"),
        "{}",
        server.log()
    );
}

#[tokio::test]
async fn a_client_that_sends_nothing_does_not_keep_a_server_from_stopping() {
    use tokio::io::AsyncWriteExt as _;

    let mut server = Server::start().await;
    let mut silent = tokio::net::TcpStream::connect(&server.host)
        .await
        .expect("it listens");
    let mut half = tokio::net::TcpStream::connect(&server.host)
        .await
        .expect("it listens");
    let head = b"POST /api/v1/leases/a/acquire HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n";
    half.write_all(head).await.expect("it listens");
    silent.write_all(b"").await.expect("it listens");
    server.get("/api/v1/leases", HOLDER).await.ok();
    let took = server.stop().await;
    assert!(took < Duration::from_secs(5), "{took:?}");
}

/// Leases are granted, renewed and swept, and the server stops when it is asked to.
async fn serves_and_stops(server: &mut Server) {
    let first = server.acquired("deploy", "a").await;
    for _ in 0..100 {
        let renewal = json!({ "holder": "a", "generation": first["generation"] });
        server.call("deploy", "renew", renewal).await.ok();
    }
    let brief = json!({ "holder": "b", "ttl_ms": 1_000, "grace_ms": 0 });
    server.call("brief", "acquire", brief).await.ok();
    eventually("the lapse is logged", async || {
        let history = server.get("/api/v1/handovers?event=lapsed", HOLDER).await;
        !history.ok()["items"].as_array().expect("a list").is_empty()
    })
    .await;
    let took = server.stop().await;
    assert!(took < Duration::from_secs(5), "it took {took:?}");
}

#[tokio::test]
async fn a_server_whose_log_is_closed_serves_and_stops() {
    let mut server = Server::start().await;
    let (reader, writer) = std::io::pipe().expect("a pipe can be made");
    server.log_to(writer).await;
    drop(reader);
    serves_and_stops(&mut server).await;
}

#[tokio::test]
async fn a_server_whose_log_nobody_reads_serves_and_stops() {
    let mut server = Server::start().await;
    let (_reader, writer) = std::io::pipe().expect("a pipe can be made");
    server.log_to(writer).await;
    // Each request leaves a line or more, and a pipe takes 64 KiB.
    for _ in 0..1_000 {
        server.get("/api/v1/leases/deploy", HOLDER).await;
    }
    serves_and_stops(&mut server).await;
}
