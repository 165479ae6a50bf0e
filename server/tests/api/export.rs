//! The history as a file, over a socket: its head, its formats, and that a cut can
//! be told from the end.

use baton_client::TrailerLine;
use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
};

use crate::{
    requests::Request,
    server::{HOLDER, PASSWORD, Server},
};

const EXPORT: &str = "/api/v1/handovers/export";

#[tokio::test]
async fn the_history_comes_as_json_lines_and_as_csv() {
    let server = Server::start().await;
    server.acquired("deploy", "h").await;
    let release = json!({ "holder": "h", "generation": 1, "reason": "=1+1, \"ok\"" });
    server.call("deploy", "release", release).await.ok();

    let answer = server.get(EXPORT, HOLDER).await;
    assert_eq!(answer.status, 200, "{}", answer.text());
    assert_eq!(answer.header("content-type"), Some("application/jsonl"));
    assert_eq!(answer.header("baton-head-seq"), Some("2"));
    let file = "attachment; filename=\"baton-handovers-2.jsonl\"";
    assert_eq!(answer.header("content-disposition"), Some(file));
    let text = answer.text();
    let lines: Vec<&str> = text.lines().collect();
    let page = server.get("/api/v1/handovers?order=asc", HOLDER).await.ok();
    for (line, entry) in lines.iter().zip(page["items"].as_array().expect("a list")) {
        let line: Value = serde_json::from_str(line).expect("is JSON");
        assert_eq!(line, *entry);
    }
    let trailer: TrailerLine = serde_json::from_str(lines[2]).expect("a trailer");
    assert_eq!(trailer.trailer.count, 2);

    let answer = server
        .get(&format!("{EXPORT}?format=csv&event=released"), HOLDER)
        .await;
    let kind = "text/csv; charset=utf-8; header=present";
    assert_eq!(answer.header("content-type"), Some(kind));
    let text = answer.text();
    assert_eq!(text.lines().count(), 2, "{text}");
    assert!(text.contains("\"'=1+1, \"\"ok\"\"\""), "{text}");

    // A person's session exports too, as the page's link does.
    server.user("ana", "viewer", PASSWORD).await;
    let cookie = server.sign_in("ana", PASSWORD).await;
    let answer = server.send(&Request::get(EXPORT).cookie(&cookie)).await;
    assert_eq!(answer.status, 200, "{}", answer.text());
    for bad in [
        "format=xls",
        "limit=1",
        "order=asc",
        "after=-1",
        "prefix=%20",
    ] {
        let refused = server.get(&format!("{EXPORT}?{bad}"), HOLDER).await;
        refused.problem(422, "invalid");
    }
}

/// Reads what comes, slowly at first, and says whether the last chunk was there.
async fn read_to_the_end(mut stream: TcpStream) -> (Vec<u8>, bool) {
    let mut bytes = Vec::new();
    // A connection that breaks is an end as well.
    drop(stream.read_to_end(&mut bytes).await);
    let whole = bytes.ends_with(b"\r\n0\r\n\r\n");
    (bytes, whole)
}

#[tokio::test]
async fn what_is_cut_does_not_look_whole() {
    let server = Server::start().await;
    // Much more than fits into the sockets between.
    let reason = "x".repeat(2_000);
    for round in 0..30 {
        let mut calls = tokio::task::JoinSet::new();
        for lane in 0..60 {
            let (host, reason) = (server.host.clone(), reason.clone());
            calls.spawn(async move {
                let lease = format!("/api/v1/leases/l-{lane}");
                let holder = json!({ "holder": "h", "ttl_ms": 600_000 });
                let acquire = Request::post(format!("{lease}/acquire"), &holder).token(HOLDER);
                let generation = acquire.send(&host).await.ok()["generation"].clone();
                let body = json!({ "holder": "h", "generation": generation, "reason": reason });
                let release = Request::post(format!("{lease}/release"), &body).token(HOLDER);
                release.send(&host).await.ok();
            });
        }
        while let Some(done) = calls.join_next().await {
            done.unwrap_or_else(|error| panic!("round {round}: {error}"));
        }
    }
    let ask = async |token: &str| {
        let mut stream = TcpStream::connect(&server.host).await.expect("it listens");
        let request = Request::get(EXPORT).token(token).bytes(&server.host);
        stream.write_all(&request).await.expect("it reads");
        let mut first = [0; 64];
        stream.read_exact(&mut first).await.expect("it answers");
        assert!(first.starts_with(b"HTTP/1.1 200"));
        stream
    };
    let (_, whole) = read_to_the_end(ask(HOLDER).await).await;
    assert!(whole, "an export that nothing disturbs is whole");

    // Somebody's token is revoked while they read.
    let token = server.token("auditor", "viewer", &[]).await;
    let reading = ask(&token).await;
    server.done(&["token", "revoke", "auditor"]).await;
    let refused = Request::get("/api/v1/leases?limit=1").token(&token);
    crate::server::eventually("the token ends", async || {
        server.send(&refused).await.status == 401
    })
    .await;
    crate::server::eventually("the export is cut", async || {
        server.log().contains("who asked may not read any more")
    })
    .await;
    let (_, whole) = read_to_the_end(reading).await;
    assert!(!whole, "the export ends with the token");

    // The server is killed.
    let reading = ask(HOLDER).await;
    server.signal("KILL").await;
    let (bytes, whole) = read_to_the_end(reading).await;
    assert!(!whole, "{} bytes and no end", bytes.len());
}
