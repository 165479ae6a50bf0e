//! What no well-meaning client sends.

use std::time::Duration;

use serde_json::Value;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
};

use crate::{
    requests::{Request, Response},
    schema,
    server::{HOLDER, Server},
};

#[tokio::test]
async fn the_id_of_a_request_is_the_servers_own() {
    let server = Server::start().await;
    let mut ids = Vec::new();
    for claimed in ["mine", "mine", "\u{1f98a}", &"x".repeat(5_000)] {
        let lease = format!("l{}", ids.len());
        let path = format!("/api/v1/leases/{lease}/acquire");
        let request = Request::post(path, &schema::body("Acquire", "a"))
            .header("X-Request-Id", claimed)
            .token(HOLDER);
        let answer = server.send(&request).await;
        answer.ok();
        let id = answer
            .header("x-request-id")
            .expect("it has one")
            .to_owned();
        assert!(id.len() < 40 && !id.contains("mine"), "{id}");
        ids.push(id);
    }
    let log = server.get("/api/v1/handovers?order=asc", HOLDER).await.ok();
    let logged: Vec<&str> = log["items"]
        .as_array()
        .expect("it is a list")
        .iter()
        .filter_map(|entry| entry["request_id"].as_str())
        .collect();
    assert_eq!(logged, ids, "what the log has is what the answer had");
    ids.dedup();
    assert_eq!(ids.len(), 4, "each its own");
}

/// The address that the log has for an acquire with these headers.
async fn address(server: &Server, lease: &str, headers: &[Header<'_>]) -> Value {
    let path = format!("/api/v1/leases/{lease}/acquire");
    let mut request = Request::post(path, &schema::body("Acquire", lease)).token(HOLDER);
    for (name, value) in headers {
        request = request.header(name, value);
    }
    server.send(&request).await.ok();
    let log = server
        .get(&format!("/api/v1/handovers?lease={lease}"), HOLDER)
        .await
        .ok();
    log["items"][0]["actor_address"].clone()
}

/// A header's name and value.
type Header<'a> = (&'a str, &'a [u8]);

const SAID: &str = "X-Forwarded-For";

#[tokio::test]
async fn an_address_is_believed_of_nobody() {
    let server = Server::start().await;
    for (i, name) in [SAID, "X-Real-IP", "Forwarded", "True-Client-IP"]
        .into_iter()
        .enumerate()
    {
        let value: &[u8] = if name == "Forwarded" {
            b"for=203.0.113.1"
        } else {
            b"203.0.113.1"
        };
        let seen = address(&server, &format!("l{i}"), &[(name, value)]).await;
        assert_eq!(seen, "127.0.0.1", "{name}");
    }
}

#[tokio::test]
async fn an_address_is_believed_of_a_trusted_proxy_and_of_nobody_before_it() {
    let server = Server::with(&["--trusted-proxy", "127.0.0.1,10.0.0.1"]).await;
    let cases: [(&[Header], &str); 12] = [
        (&[], "127.0.0.1"),
        (&[(SAID, b"203.0.113.9")], "203.0.113.9"),
        // The proxy adds at the end; before it stands what the client made up.
        (&[(SAID, b"198.51.100.1, 203.0.113.9")], "203.0.113.9"),
        (
            &[(SAID, b"198.51.100.1"), (SAID, b"203.0.113.9")],
            "203.0.113.9",
        ),
        // Through two trusted proxies.
        (
            &[(SAID, b"198.51.100.1, 203.0.113.9, 10.0.0.1")],
            "203.0.113.9",
        ),
        (&[(SAID, b"10.0.0.1")], "10.0.0.1"),
        // With a port, and the other family.
        (&[(SAID, b"203.0.113.9:4711")], "203.0.113.9"),
        (&[(SAID, b"[2001:db8::1]:4711")], "2001:db8::1"),
        (&[(SAID, b"2001:db8::1")], "2001:db8::1"),
        (&[(SAID, b"::ffff:203.0.113.9")], "203.0.113.9"),
        // What cannot be read hides what the client wrote before it.
        (&[(SAID, b"198.51.100.1, unknown")], "127.0.0.1"),
        (&[(SAID, b"198.51.100.1, unknown, 10.0.0.1")], "10.0.0.1"),
    ];
    for (i, (headers, expected)) in cases.iter().enumerate() {
        let seen = address(&server, &format!("l{i}"), headers).await;
        assert_eq!(seen, *expected, "case {i}");
    }
    let seen = address(&server, "no-text", &[(SAID, b"198.51.100.1, \xff")]).await;
    assert_eq!(seen, "127.0.0.1");
}

/// Sends these bytes and reads until the server hangs up.
async fn raw(server: &Server, bytes: &[u8]) -> String {
    let mut stream = TcpStream::connect(&server.host).await.expect("it listens");
    // The server may hang up before all is sent.
    drop(stream.write_all(bytes).await);
    let mut answer = Vec::new();
    let read = tokio::time::timeout(Duration::from_secs(20), stream.read_to_end(&mut answer));
    drop(read.await.expect("it hangs up"));
    String::from_utf8_lossy(&answer).into_owned()
}

#[tokio::test]
async fn what_is_no_http_is_refused_and_harms_nobody() {
    let server = Server::start().await;
    let long = format!(
        "GET / HTTP/1.1\r\nHost: x\r\nX: {}\r\n\r\n",
        "a".repeat(300_000)
    );
    let many = format!("GET / HTTP/1.1\r\n{}\r\n", "X: y\r\n".repeat(2_000));
    let path = format!("GET /{} HTTP/1.1\r\nHost: x\r\n\r\n", "a".repeat(300_000));
    for (bytes, statuses) in [
        (&b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03"[..], &["400"][..]),
        (b"GET\r\n\r\n", &["400"]),
        (b"GET / HTTP/9.9\r\n\r\n", &["400", "505"]),
        (b"GET /\xff\xfe HTTP/1.1\r\nHost: x\r\n\r\n", &["400"]),
        (b"GET / HTTP/1.1\r\nHost: x\r\nX\x00: y\r\n\r\n", &["400"]),
        (b"POST /sign-in HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n", &["400"]),
        (b"POST /sign-in HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n", &["400"]),
        (b"POST /sign-in HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\nxyz\r\n", &["400"]),
        (long.as_bytes(), &["431"]),
        (many.as_bytes(), &["431", "400"]),
        (path.as_bytes(), &["414", "431"]),
    ] {
        let answer = raw(&server, bytes).await;
        let status = answer.split(' ').nth(1).unwrap_or_default();
        let start = String::from_utf8_lossy(&bytes[..bytes.len().min(60)]);
        assert!(statuses.contains(&status), "{start:?}: {answer}");
    }
    server.acquired("a", "h").await;
}

#[tokio::test]
async fn heads_are_answered_without_a_body() {
    let server = Server::start().await;
    server.acquired("a", "h").await;
    for (path, status) in [
        ("/api/v1/leases/a", 200),
        ("/api/v1/leases/never", 404),
        ("/api/v1/events", 200),
        ("/metrics", 200),
        ("/sign-in", 200),
    ] {
        let answer = server.send(&Request::new("HEAD", path).token(HOLDER)).await;
        assert_eq!((answer.status, answer.body.len()), (status, 0), "{path}");
    }
}

#[tokio::test]
async fn who_waits_for_100_continue_is_answered() {
    let server = Server::start().await;
    let body = schema::body("Acquire", "a").to_string();
    let head = |token: &str| {
        let length = body.len();
        format!(
            "POST /api/v1/leases/a/acquire HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\
             Authorization: Bearer {token}\r\nContent-Type: application/json\r\n\
             Content-Length: {length}\r\nExpect: 100-continue\r\n\r\n"
        )
    };
    let mut stream = TcpStream::connect(&server.host).await.expect("it listens");
    stream
        .write_all(head(HOLDER).as_bytes())
        .await
        .expect("it listens");
    let mut asked = [0; 25];
    stream.read_exact(&mut asked).await.expect("it answers");
    assert_eq!(&asked, b"HTTP/1.1 100 Continue\r\n\r\n");
    stream.write_all(body.as_bytes()).await.expect("it listens");
    let mut answer = String::new();
    stream
        .read_to_string(&mut answer)
        .await
        .expect("it answers");
    assert!(answer.starts_with("HTTP/1.1 200 OK"), "{answer}");
    // Who may not is told so before anything is sent.
    let answer = raw(&server, head("baton_wrong").as_bytes()).await;
    assert!(answer.starts_with("HTTP/1.1 401 "), "{answer}");
}

#[tokio::test]
async fn names_of_methods_do_not_fill_the_metrics() {
    let server = Server::start().await;
    server.acquired("secret-name", "secret-holder").await;
    server
        .call("secret-name", "renew", schema::body("Renew", "a"))
        .await;
    for i in 0..20 {
        server
            .send(&Request::new(&format!("BREW{i}"), "/api/v1/leases"))
            .await;
        server.send(&Request::get(format!("/nowhere/{i}"))).await;
        server
            .get(&format!("/api/v1/leases/secret-name-{i}"), HOLDER)
            .await;
    }
    let metrics = server.send(&Request::get("/metrics")).await;
    assert_eq!(metrics.status, 200);
    let text = metrics.text();
    for word in ["BREW", "nowhere", "secret-"] {
        assert!(!text.contains(word), "{word} is in\n{text}");
    }
    assert!(text.contains("method=\"other\""), "{text}");
    for name in [
        "http_requests_total",
        "http_request_seconds_count",
        "renewals_total",
        "handovers_total{event=\"granted\"}",
        "leases{state=\"held\"}",
        "batch_requests_count",
        "write_seconds_count",
        "queue_requests",
        "waiting_acquires",
        "stale_presentations_total",
        "event_streams",
    ] {
        assert!(
            text.contains(&format!("\nbaton_{name}")),
            "{name} is not in\n{text}"
        );
    }
}

fn carries(answer: &Response, name: &str, value: &str) {
    let header = answer.header(name);
    assert!(
        header.is_some_and(|header| header.contains(value)),
        "{name}: {header:?}"
    );
}

#[tokio::test]
async fn every_answer_keeps_browsers_to_their_side() {
    let server = Server::start().await;
    for path in [
        "/api/v1/leases",
        "/api/v1/openapi.json",
        "/metrics",
        "/nowhere",
        "/",
        "/sign-in",
    ] {
        for accept in ["*/*", "text/html"] {
            let answer = server
                .send(&Request::get(path).header("Accept", accept))
                .await;
            carries(&answer, "x-content-type-options", "nosniff");
            carries(&answer, "x-frame-options", "DENY");
            carries(&answer, "content-security-policy", "default-src 'none'");
            carries(&answer, "content-security-policy", "frame-ancestors 'none'");
            carries(&answer, "referrer-policy", "same-origin");
            carries(&answer, "cache-control", "no-store");
            assert!(answer.header("access-control-allow-origin").is_none());
            let policy = answer.header("content-security-policy").unwrap_or_default();
            assert!(
                !policy.contains("unsafe-inline") && !policy.contains("'unsafe-eval'"),
                "{policy}"
            );
        }
    }
    // The host that a client names leads nowhere.
    let answer = server
        .send(&Request::get("/").header("Host", "evil.example"))
        .await;
    assert!(
        answer
            .header("location")
            .is_none_or(|to| to.starts_with('/') && !to.starts_with("//"))
    );
    assert!(!answer.text().contains("evil.example"));
}

#[tokio::test]
async fn pages_say_no_more_to_strangers_than_the_calls_do() {
    let server = Server::start().await;
    server.acquired("secret-name", "secret-holder").await;
    for path in [
        "/",
        "/?search=secret",
        "/totals",
        "/leases/secret-name",
        "/handovers",
        "/handovers/1",
        "/handovers/x",
        "/handovers?lease=x/y",
        "/leases/%20",
    ] {
        for accept in ["text/html", "application/json", "*/*"] {
            let answer = server
                .send(&Request::get(path).header("Accept", accept))
                .await;
            assert!([303, 401].contains(&answer.status), "{path} {accept}");
            assert!(!answer.text().contains("secret-"), "{}", answer.text());
        }
    }
}

#[tokio::test]
async fn a_public_address_with_a_path_is_refused() {
    let server = Server::start().await;
    for address in [
        "https://x.example/baton",
        "ftp://x.example",
        "https://x.example/?a=b",
    ] {
        let said = server
            .baton(
                &[
                    "serve",
                    "--listen",
                    "127.0.0.1:0",
                    "--database",
                    "sqlite://other.db",
                    "--public-url",
                    address,
                ],
                "",
            )
            .await;
        assert!(
            said.is_err_and(|error| error.contains("is not the address of a page")),
            "{address}"
        );
    }
}

#[tokio::test]
async fn a_refused_body_does_not_cost_the_connection() {
    let server = Server::start().await;
    let mut stream = TcpStream::connect(&server.host).await.expect("it listens");
    let keep = |request: Request| request.header("Connection", "keep-alive");
    let long = Request::post_text("/api/v1/leases/a/acquire", vec![b' '; 1 << 20]);
    let then = Request::post("/api/v1/leases/a/acquire", &schema::body("Acquire", "a"));
    for bytes in [
        keep(long.clone()).bytes(&server.host),
        keep(long.token(HOLDER)).bytes(&server.host),
        then.token(HOLDER).bytes(&server.host),
    ] {
        stream.write_all(&bytes).await.expect("it reads on");
    }
    let mut answers = String::new();
    let read = stream.read_to_string(&mut answers).await;
    read.expect("it answers all");
    let statuses: Vec<&str> = answers
        .split("HTTP/1.1 ")
        .skip(1)
        .map(|answer| &answer[..3])
        .collect();
    assert_eq!(statuses, ["401", "413", "200"], "{answers}");
}
