//! Signing in and out, and what a browser's request must look like.

use std::time::{Duration, Instant};

use serde_json::json;
use sqlx::{Connection as _, PgConnection};

use crate::{
    requests::{Request, Response},
    server::{PASSWORD, Server, eventually},
};

const LOOK: &str = "/api/v1/leases";
const HTML: &str = "text/html,application/xhtml+xml";

fn sign_in(name: &str, password: &str) -> Request {
    Request::form("/sign-in", &[("name", name), ("password", password)])
}

/// The attributes of the cookie that an answer sets, its name and value first.
fn cookie(answer: &Response) -> Vec<String> {
    let cookie = answer.header("set-cookie").expect("there is a cookie");
    cookie.split("; ").map(ToOwned::to_owned).collect()
}

#[tokio::test]
async fn a_session_begins_and_ends() {
    let server = Server::start().await;
    let answer = server.send(&sign_in("admin", PASSWORD)).await;
    assert_eq!((answer.status, answer.header("location")), (303, Some("/")));
    let parts = cookie(&answer);
    let (name, value) = parts[0].split_once('=').expect("name and value");
    assert_eq!(name, "baton_session");
    assert!(value.len() >= 22, "128 random bits");
    assert_eq!(
        parts[1..],
        ["Path=/", "HttpOnly", "SameSite=Lax", "Max-Age=604800"]
    );

    let look = Request::get(LOOK).cookie(&parts[0]);
    server.send(&look).await.ok();
    let out = Request::form("/sign-out", &[]).cookie(&parts[0]);
    let answer = server.send(&out).await;
    assert_eq!(
        (answer.status, answer.header("location")),
        (303, Some("/sign-in"))
    );
    let cleared = cookie(&answer);
    assert_eq!(cleared[0], "baton_session=");
    assert!(cleared.contains(&"Max-Age=0".to_owned()));
    server.send(&look).await.problem(401, "unauthenticated");
}

#[tokio::test]
async fn a_wrong_password_says_no_more_than_that() {
    let server = Server::start().await;
    let mut said = Vec::new();
    for (name, password) in [
        ("admin", "wrong"),
        ("nobody", PASSWORD),
        ("a\0b", "x"),
        ("", ""),
    ] {
        // A program gets the problem, a person the form again.
        let answer = server.send(&sign_in(name, password)).await;
        let problem = answer.problem(401, "unauthenticated");
        assert!(answer.header("set-cookie").is_none());
        said.push(problem["detail"].clone());
        let answer = server
            .send(&sign_in(name, password).header("Accept", HTML))
            .await;
        assert_eq!(answer.status, 303);
        let location = answer.header("location").expect("it leads back");
        assert!(
            location.starts_with("/sign-in?error=credentials"),
            "{location}"
        );
    }
    said.dedup();
    assert_eq!(said.len(), 1, "the same for all: {said:?}");
}

#[tokio::test]
async fn ten_wrong_passwords_are_enough() {
    let server = Server::start().await;
    for _ in 0..10 {
        server
            .send(&sign_in("admin", "wrong"))
            .await
            .problem(401, "unauthenticated");
    }
    let answer = server.send(&sign_in("admin", PASSWORD)).await;
    answer.problem(429, "rate_limited");
    let wait = answer
        .header("retry-after")
        .and_then(|s| s.parse::<u64>().ok());
    assert!(wait.is_some_and(|s| (200..=300).contains(&s)), "{wait:?}");
    let answer = server
        .send(&sign_in("admin", PASSWORD).header("Accept", HTML))
        .await;
    let location = answer.header("location").expect("it leads back");
    assert!(
        location.starts_with("/sign-in?error=rate_limited"),
        "{location}"
    );
}

#[tokio::test]
async fn a_sign_in_leads_nowhere_else() {
    let server = Server::start().await;
    for next in [
        "https://evil.example/",
        "//evil.example",
        "/\\evil.example",
        "javascript:1",
    ] {
        let fields = [("name", "admin"), ("password", PASSWORD), ("next", next)];
        let answer = server.send(&Request::form("/sign-in", &fields)).await;
        assert_eq!(answer.header("location"), Some("/"), "{next}");
    }
    let fields = [
        ("name", "admin"),
        ("password", PASSWORD),
        ("next", "/?state=held"),
    ];
    let answer = server.send(&Request::form("/sign-in", &fields)).await;
    assert_eq!(answer.header("location"), Some("/?state=held"));
}

#[tokio::test]
async fn forms_that_are_none_are_refused() {
    let server = Server::start().await;
    let form = |body: &[u8]| {
        Request::new("POST", "/sign-in")
            .header("Content-Type", "application/x-www-form-urlencoded")
            .body(body)
    };
    for body in [
        &b""[..],
        b"name=admin",
        b"password=x",
        b"name=a&name=b&password=x",
    ] {
        server.send(&form(body)).await.problem(400, "malformed");
    }
    let long = [b"name=admin&password=".to_vec(), vec![b'x'; 1 << 20]].concat();
    server.send(&form(&long)).await.problem(413, "too_large");
    let no_text = server.send(&form(b"name=%FF&password=%00")).await;
    assert!([400, 401].contains(&no_text.status), "{}", no_text.text());
}

async fn disabling_ends_sessions_and_streams(server: Server) {
    server
        .user("ana", "operator", "a password of some length")
        .await;
    let cookie = server.sign_in("ana", "a password of some length").await;
    let look = Request::get(LOOK).cookie(&cookie);
    server.send(&look).await.ok();
    let mut stream = server
        .stream(Request::get("/api/v1/events").cookie(&cookie))
        .await;
    stream.until("snapshot").await;

    server.done(&["user", "disable", "ana"]).await;
    let disabled = Instant::now();
    server.send(&look).await.problem(401, "unauthenticated");
    stream.end().await;
    assert!(
        disabled.elapsed() < Duration::from_secs(3),
        "{:?}",
        disabled.elapsed()
    );
    let again = server
        .send(&sign_in("ana", "a password of some length"))
        .await;
    again.problem(401, "unauthenticated");
}

#[tokio::test]
async fn disabling_ends_sessions_and_streams_on_sqlite() {
    disabling_ends_sessions_and_streams(Server::start().await).await;
}

#[tokio::test]
async fn disabling_ends_sessions_and_streams_on_postgres() {
    disabling_ends_sessions_and_streams(Server::on_postgres().await).await;
}

#[tokio::test]
async fn a_role_that_was_taken_away_is_gone() {
    let server = Server::start().await;
    server
        .user("ana", "operator", "a password of some length")
        .await;
    let cookie = server.sign_in("ana", "a password of some length").await;
    let pause =
        || Request::post("/api/v1/leases/a/pause", &json!({ "reason": "r" })).cookie(&cookie);
    server.send(&pause()).await.ok();
    server.done(&["user", "role", "ana", "viewer"]).await;
    eventually("the role is gone", async || {
        server.send(&pause()).await.status == 403
    })
    .await;
    server.done(&["user", "sign-out", "ana"]).await;
    server
        .send(&Request::get(LOOK).cookie(&cookie))
        .await
        .problem(401, "unauthenticated");
}

#[tokio::test]
async fn the_own_pages_may_change_over_plain_http() {
    let server = Server::start().await;
    let cookie = server.sign_in("admin", PASSWORD).await;
    let pause = |host: &str| {
        Request::post("/api/v1/leases/a/pause", &json!({ "reason": "r" }))
            .cookie(&cookie)
            .header("Host", host)
    };
    let lan = "192.168.1.20:7400";
    for request in [
        // A browser on http://192.168.1.20:7400 sends no Sec-Fetch-Site.
        pause(lan).header("Origin", format!("http://{lan}")),
        pause("localhost:7400").header("Sec-Fetch-Site", "same-origin"),
        pause("localhost:7400").header("Sec-Fetch-Site", "none"),
        pause(lan),
    ] {
        server.send(&request).await.ok();
    }
    for request in [
        pause(lan).header("Origin", "http://192.168.1.20:7401"),
        pause(lan).header("Origin", "http://192.168.1.21:7400"),
        pause(lan).header("Origin", b"\xff"),
        pause(lan)
            .header("Sec-Fetch-Site", "cross-site")
            .header("Origin", format!("http://{lan}")),
        pause(lan).header("Sec-Fetch-Site", "nonsense"),
    ] {
        server.send(&request).await.problem(403, "forbidden");
    }
}

#[tokio::test]
async fn behind_a_tls_proxy_the_public_address_counts() {
    let server = Server::with(&["--public-url", "https://baton.example"]).await;
    assert!(
        server
            .printed()
            .starts_with("Baton is at https://baton.example\n")
    );
    let answer = server.send(&sign_in("admin", PASSWORD)).await;
    let parts = cookie(&answer);
    assert!(parts[0].starts_with("__Host-baton_session="), "{parts:?}");
    assert!(parts.contains(&"Secure".to_owned()), "{parts:?}");
    assert!(parts.contains(&"Path=/".to_owned()), "{parts:?}");
    assert!(answer.header("strict-transport-security").is_some());

    let pause = |host: &str, origin: &str| {
        Request::post("/api/v1/leases/a/pause", &json!({ "reason": "r" }))
            .cookie(&parts[0])
            .header("Host", host)
            .header("Origin", origin)
    };
    // Whether the proxy keeps the name or not.
    for host in ["baton.example", "127.0.0.1:7400", "backend"] {
        server
            .send(&pause(host, "https://baton.example"))
            .await
            .ok();
        let foreign = server.send(&pause(host, "https://evil.example")).await;
        foreign.problem(403, "forbidden");
    }
    // The cookie of plain http is worth nothing here.
    let plain = parts[0].replace("__Host-", "");
    let look = server.send(&Request::get(LOOK).cookie(&plain)).await;
    look.problem(401, "unauthenticated");
}

/// Moves the last use of all sessions so far into the past.
async fn age(database: &mut PgConnection, hours: i64) {
    sqlx::query("update sessions set last_seen_at = last_seen_at - $1")
        .bind(hours * 3_600_000_000)
        .execute(database)
        .await
        .expect("can be moved");
}

#[tokio::test]
async fn an_open_page_does_not_keep_its_session_from_ending() {
    let server = Server::on_postgres().await;
    let cookie = server.sign_in("admin", PASSWORD).await;
    let mut database = PgConnection::connect(&server.database)
        .await
        .expect("it answers");
    let data = Request::get("/api/v1/leases").cookie(&cookie);
    age(&mut database, 5).await;
    server.send(&data).await.ok();
    age(&mut database, 5).await;
    assert_eq!(
        server.send(&data).await.status,
        401,
        "ten hours without use"
    );

    let cookie = server.sign_in("admin", PASSWORD).await;
    let data = Request::get("/api/v1/leases").cookie(&cookie);
    let page = Request::get("/").cookie(&cookie).header("Accept", HTML);
    for _ in 0..2 {
        age(&mut database, 5).await;
        assert_eq!(server.send(&page).await.status, 200);
    }
    server.send(&data).await.ok();
}
