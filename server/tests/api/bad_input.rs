//! Bodies and paths that cannot be read at all: the documented error, and no
//! change. `bad_fields` has the fields, one by one.

use baton::http::routes::{ROUTES, Route, Shape};

use crate::{
    authorisation::sample,
    requests::Request,
    schema,
    server::{HOLDER, Server},
};

/// All routes that take a body.
fn with_bodies() -> impl Iterator<Item = (&'static Route, &'static str)> {
    ROUTES.iter().filter_map(|route| match route.takes {
        Shape::Json(schema) => Some((route, schema)),
        _ => None,
    })
}

#[tokio::test]
async fn bodies_that_are_no_json() {
    let server = Server::start().await;
    server.acquired("victim", "h").await;
    let admin = server.token("root", "admin", &[]).await;
    let before = server.everything().await;
    for (route, schema) in with_bodies() {
        let path = sample(route, "victim").path;
        let valid = schema::body(schema, "victim").to_string();
        let not_json: Vec<Vec<u8>> = vec![
            b"".to_vec(),
            b" ".to_vec(),
            b"\0".to_vec(),
            b"{".to_vec(),
            b"nul".to_vec(),
            b"{'holder':'h'}".to_vec(),
            valid.as_bytes()[..valid.len() - 1].to_vec(),
            format!("{valid}{valid}").into(),
            format!("{valid}\0").into(),
            format!("\u{feff}{valid}").into(),
            valid.replace('h', "\0").into(),
            valid
                .replace("\"h\"", "\"\t\"")
                .replace("\"r\"", "\"\n\"")
                .into(),
            valid
                .replace("\"h\"", "\"\\x\"")
                .replace("\"r\"", "\"\\x\"")
                .into(),
            [valid.as_bytes(), b"\xff"].concat(),
            valid
                .bytes()
                .map(|b| if b == b'h' || b == b'r' { 0xff } else { b })
                .collect(),
            [
                b"\xff\xfe".to_vec(),
                valid.encode_utf16().flat_map(u16::to_le_bytes).collect(),
            ]
            .concat(),
            "[".repeat(100_000).into(),
            "{\"a\":".repeat(40_000).into(),
        ];
        // Not every body has the letters that some of them replace.
        for body in not_json
            .into_iter()
            .filter(|body| *body != valid.as_bytes())
        {
            let request = Request::post_text(&path, body).token(&admin);
            let answer = server.send(&request).await;
            assert_eq!(answer.status, 400, "{request:?}: {}", answer.text());
            answer.problem(400, "malformed");
        }
        // The values alone, without their names.
        let values: Vec<_> = schema::body(schema, "victim")
            .as_object()
            .expect("a body is an object")
            .values()
            .cloned()
            .collect();
        let list = serde_json::json!(values).to_string();
        for body in ["null", "1", "\"text\"", "[]", "true", &list] {
            let request = Request::post_text(&path, body).token(&admin);
            server.send(&request).await.problem(422, "invalid");
        }
        // Deep, and JSON: of the wrong shape.
        let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
        let request = Request::post_text(&path, deep).token(&admin);
        server.send(&request).await.problem(422, "invalid");
    }
    assert_eq!(server.everything().await, before, "nothing was changed");
}

#[tokio::test]
async fn bodies_of_another_kind() {
    let server = Server::start().await;
    server.acquired("victim", "h").await;
    let admin = server.token("root", "admin", &[]).await;
    let before = server.everything().await;
    for (route, _) in with_bodies() {
        let request = sample(route, "victim").token(&admin);
        let bare = request.clone().without("Content-Type");
        server
            .send(&bare)
            .await
            .problem(415, "unsupported_media_type");
        for kind in [
            "",
            "text/plain",
            "text/json",
            "application/jsonx",
            "application/x-www-form-urlencoded",
            "multipart/form-data; boundary=x",
            "json",
            "application/problem+json",
            "\u{ff}",
        ] {
            let other = bare.clone().header("Content-Type", kind);
            server
                .send(&other)
                .await
                .problem(415, "unsupported_media_type");
        }
        let packed = request.clone().header("Content-Encoding", "gzip");
        server
            .send(&packed)
            .await
            .problem(415, "unsupported_media_type");
    }
    assert_eq!(server.everything().await, before, "nothing was changed");
    // The same, however it is written.
    for kind in [
        "Application/JSON",
        "application/json;charset=utf-8",
        "application/json ; x=y",
    ] {
        let request = Request::post("/api/v1/leases/a/acquire", &schema::body("Acquire", "a"))
            .without("Content-Type")
            .header("Content-Type", kind)
            .token(HOLDER);
        let status = server.send(&request).await.status;
        assert!([200, 409].contains(&status), "{kind}: {status}");
    }
}

#[tokio::test]
async fn bodies_that_are_too_long() {
    let server = Server::start().await;
    server.acquired("victim", "h").await;
    let admin = server.token("root", "admin", &[]).await;
    let before = server.everything().await;
    for (route, schema) in with_bodies() {
        let path = sample(route, "victim").path;
        let most = if schema == "Renewals" {
            1 << 20
        } else {
            256 << 10
        };
        let valid = schema::body(schema, "victim").to_string();
        for length in [most + 1, 3 << 20] {
            let blank = " ".repeat(length - valid.len());
            let request = Request::post_text(&path, format!("{blank}{valid}")).token(&admin);
            server.send(&request).await.problem(413, "too_large");
            // Without saying so before.
            let chunk = format!("{length:x}\r\n{blank}{valid}\r\n0\r\n\r\n");
            let request = Request::post_text(&path, chunk)
                .header("Transfer-Encoding", "chunked")
                .token(&admin);
            server.send(&request).await.problem(413, "too_large");
        }
        // What is refused before the body is looked at is refused all the same.
        let request = Request::post_text(&path, " ".repeat(3 << 20));
        server.send(&request).await.problem(401, "unauthenticated");
    }
    assert_eq!(server.everything().await, before, "nothing was changed");
    // As long as may be.
    let valid = schema::body("Acquire", "a").to_string();
    let body = format!("{}{valid}", " ".repeat((256 << 10) - valid.len()));
    let request = Request::post_text("/api/v1/leases/a/acquire", body).token(HOLDER);
    server.send(&request).await.ok();
}

#[tokio::test]
async fn names_in_paths() {
    let server = Server::start().await;
    server.acquired("victim", "h").await;
    let admin = server.token("root", "admin", &[]).await;
    let before = server.everything().await;
    let long = "a".repeat(201);
    let huge = "a".repeat(20_000);
    let wrong = [
        "..",
        ".",
        ".a",
        "-a",
        "a%2Fb",
        "%2F",
        "..%2F..",
        "%2e%2e",
        "a%20b",
        "a+b",
        "%00",
        "a%00b",
        "%C3%A4",
        "%F0%9F%A6%8A",
        "a%0Ab",
        "a;b",
        "a,b",
        "a=b",
        "a&b",
        "a!b",
        "a$b",
        "a'b",
        "a\"b",
        "a(b)",
        "a*b",
        "a~b",
        "a|b",
        "%25",
        "%2525",
        "_a",
        ":a",
        "@a",
        long.as_str(),
        huge.as_str(),
    ];
    for route in ROUTES {
        if !route.path.contains("{lease}") {
            continue;
        }
        for name in wrong {
            let request = sample(route, name).token(&admin);
            let answer = server.send(&request).await;
            assert_eq!(answer.status, 422, "{request:?}: {}", answer.text());
            let problem = answer.problem(422, "invalid");
            assert_eq!(problem["errors"][0]["field"], "lease");
        }
        for name in ["%FF", "a%ff", "%C3", "%ED%A0%80"] {
            let answer = server.send(&sample(route, name).token(&admin)).await;
            answer.problem(400, "malformed");
        }
        for name in ["", "a/b", "a//", "../../../etc/passwd"] {
            let answer = server.send(&sample(route, name).token(&admin)).await;
            assert!(
                [404, 405, 422].contains(&answer.status),
                "{name}: {}",
                answer.text()
            );
            assert_eq!(
                answer.header("content-type"),
                Some("application/problem+json")
            );
        }
    }
    for seq in [
        "x",
        "-1",
        "+1",
        "1.0",
        "1e3",
        "%00",
        "9007199254740992",
        "18446744073709551616",
        " ",
    ] {
        let path = format!("/api/v1/handovers/{}", seq.replace(' ', "%20"));
        let answer = server.get(&path, HOLDER).await;
        assert_eq!(
            answer.problem(422, "invalid")["errors"][0]["field"],
            "seq",
            "{seq}"
        );
    }
    for seq in ["0", "999", "9007199254740991"] {
        let answer = server
            .get(&format!("/api/v1/handovers/{seq}"), HOLDER)
            .await;
        answer.problem(404, "not_found");
    }
    assert_eq!(server.everything().await, before, "nothing was changed");
}

#[tokio::test]
async fn names_that_are_written_another_way_are_the_same() {
    let server = Server::start().await;
    server.acquired("fleet.manager:1@x-y_z", "h").await;
    for path in [
        "fleet.manager:1@x-y_z",
        "fleet%2Emanager%3A1%40x%2Dy%5Fz",
        "%66leet.manager:1@x-y_z",
    ] {
        let lease = server
            .get(&format!("/api/v1/leases/{path}"), HOLDER)
            .await
            .ok();
        assert_eq!(lease["lease"], "fleet.manager:1@x-y_z");
    }
    // Bytewise: another case is another lease.
    let other = server
        .get("/api/v1/leases/Fleet.manager:1@x-y_z", HOLDER)
        .await;
    other.problem(404, "unknown_lease");
}

#[tokio::test]
async fn a_body_that_stops_early_is_not_carried_out() {
    use tokio::io::AsyncWriteExt as _;

    let server = Server::start().await;
    server.acquired("victim", "h").await;
    let before = server.everything().await;
    for (route, schema) in with_bodies() {
        let body = schema::body(schema, "victim").to_string();
        let request = Request::post_text(sample(route, "victim").path, body.clone())
            .header("Content-Length", (body.len() + 1).to_string())
            .token(HOLDER);
        let mut stream = tokio::net::TcpStream::connect(&server.host)
            .await
            .expect("it listens");
        stream
            .write_all(&request.bytes(&server.host))
            .await
            .expect("it listens");
        drop(stream);
    }
    assert_eq!(server.everything().await, before, "nothing was changed");
}

#[tokio::test]
async fn fields_that_belong_together() {
    let server = Server::start().await;
    server.acquired("victim", "h").await;
    let operator = server.token("op", "operator", &[]).await;
    let before = server.everything().await;
    let with = |schema: &str, more: &[(&str, serde_json::Value)]| {
        let mut body = schema::body(schema, "victim");
        for (name, value) in more {
            body[name] = value.clone();
        }
        body
    };
    let (everyone, ms, heir) = ("everyone".into(), 60_000.into(), "heir".into());
    for (schema, verb, more, field) in [
        (
            "ForceRelease",
            "force-release",
            vec![("bar", everyone)],
            "bar_ms",
        ),
        ("ForceRelease", "force-release", vec![("bar_ms", ms)], "bar"),
        (
            "ForceRelease",
            "force-release",
            vec![("successor", heir)],
            "reserve_ms",
        ),
        (
            "ForceRelease",
            "force-release",
            vec![("reserve_ms", 60_000.into())],
            "successor",
        ),
        (
            "ForceRelease",
            "force-release",
            vec![
                ("bar", "everyone".into()),
                ("bar_ms", 60_000.into()),
                ("successor", "heir".into()),
                ("reserve_ms", 60_000.into()),
            ],
            "successor",
        ),
        (
            "StepDownRequest",
            "step-down",
            vec![("successor", "heir".into())],
            "reserve_ms",
        ),
        (
            "StepDownRequest",
            "step-down",
            vec![("reserve_ms", 60_000.into())],
            "successor",
        ),
    ] {
        let path = format!("/api/v1/leases/victim/{verb}");
        let answer = server.post(&path, &operator, with(schema, &more)).await;
        let problem = answer.problem(422, "invalid");
        assert_eq!(problem["errors"][0]["field"], field, "{more:?}");
    }
    // All that is wrong is told at once.
    let body = serde_json::json!({
        "holder": "h", "ttl_ms": 1, "grace_ms": 3_600_001, "wait_ms": 60_001, "claim_id": " ",
    });
    let problem = server
        .call("victim", "acquire", body)
        .await
        .problem(422, "invalid");
    let errors = problem["errors"].as_array().expect("it has errors");
    let fields: Vec<&str> = errors
        .iter()
        .filter_map(|error| error["field"].as_str())
        .collect();
    assert_eq!(fields, ["ttl_ms", "grace_ms", "wait_ms", "claim_id"]);
    assert_eq!(server.everything().await, before, "nothing was changed");
}
