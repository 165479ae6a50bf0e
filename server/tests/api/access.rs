//! The access log: what leaves an entry in it, and who may read it.

use serde_json::{Value, json};

use crate::{
    requests::Request,
    server::{HOLDER, PASSWORD, Server, eventually},
};

/// All entries, oldest first, as an admin reads them.
async fn entries(server: &Server, admin: &str) -> Vec<Value> {
    let page = server
        .get("/api/v1/access?order=asc&limit=1000", admin)
        .await;
    page.ok()["items"].as_array().expect("it is a list").clone()
}

/// Those of one event.
fn of<'a>(entries: &'a [Value], event: &str) -> Vec<&'a Value> {
    entries
        .iter()
        .filter(|entry| entry["event"] == event)
        .collect()
}

#[tokio::test]
async fn sign_ins_and_changes_of_users_and_tokens_are_written_down() {
    let server = Server::start().await;
    let admin = server.token("root", "admin", &[]).await;
    server.user("ana", "operator", PASSWORD).await;
    let cookie = server.sign_in("ana", PASSWORD).await;
    let out = Request::form("/sign-out", &[]).header("Cookie", &cookie);
    assert_eq!(server.send(&out).await.status, 303);
    server.done(&["user", "role", "ana", "viewer"]).await;
    server.done(&["token", "revoke", "holder"]).await;

    let all = entries(&server, &admin).await;
    let made = of(&all, "user_created");
    let names: Vec<&Value> = made.iter().map(|entry| &entry["subject"]).collect();
    assert_eq!(names, ["admin", "ana"], "the first start too");
    assert_eq!(made[1]["actor"], "baton", "on the server's machine");
    assert_eq!(made[1]["details"], json!({ "role": "operator" }));
    let tokens = of(&all, "token_created");
    assert_eq!(tokens[1]["subject"], "root");
    let signed_in = of(&all, "signed_in");
    assert_eq!(signed_in[0]["actor"], "user:ana");
    assert_eq!(signed_in[0]["actor_address"], "127.0.0.1");
    assert!(signed_in[0]["request_id"].is_string());
    let signed_out = of(&all, "signed_out");
    assert_eq!(signed_out[0]["actor"], "user:ana");
    let role = of(&all, "user_role");
    assert_eq!(
        role[0]["details"],
        json!({ "from": "operator", "role": "viewer" })
    );
    assert_eq!(of(&all, "token_revoked")[0]["subject"], "holder");
    // No secret in any of it.
    let text = json!(all).to_string();
    for secret in [PASSWORD, HOLDER, &admin] {
        assert!(!text.contains(secret));
    }
}

#[tokio::test]
async fn failed_sign_ins_are_counted_and_not_lost_at_the_end() {
    let mut server = Server::start().await;
    let admin = server.token("root", "admin", &[]).await;
    for (name, password) in [
        ("admin", "wrong-1"),
        ("admin", "wrong-2"),
        ("a-password", "x"),
    ] {
        let form = Request::form("/sign-in", &[("name", name), ("password", password)]);
        assert_eq!(server.send(&form).await.status, 401);
    }
    let all = entries(&server, &admin).await;
    assert!(of(&all, "sign_in_failed").is_empty(), "not one by one");
    // What is counted and not written yet is written when the server stops.
    server.stop().await;
    server.start_again().await;
    server.known(&admin).await;
    let all = entries(&server, &admin).await;
    let failed = of(&all, "sign_in_failed");
    assert_eq!(failed.len(), 1, "one for the address and the minute");
    assert_eq!(
        failed[0]["details"],
        json!({ "accounts": "admin", "count": 3 })
    );
    assert_eq!(failed[0]["actor_address"], "127.0.0.1");
    assert_eq!(failed[0]["actor"], Value::Null);
}

#[tokio::test]
async fn refused_actions_and_exports_are_written_down_with_who_and_whence() {
    let server = Server::start().await;
    let admin = server.token("root", "admin", &[]).await;
    let operator = server.token("op", "operator", &[]).await;
    let viewer = server.token("look", "viewer", &[]).await;
    server.acquired("deploy", "h").await;
    // Seen too late, not allowed, and carried out: only the last leaves nothing.
    let force = |generation: u64| json!({ "expected_generation": generation, "reason": "r" });
    let path = "/api/v1/leases/deploy/force-release";
    server
        .post(path, &operator, force(7))
        .await
        .problem(409, "generation_moved");
    server
        .post(path, HOLDER, force(1))
        .await
        .problem(403, "forbidden");
    server.post(path, &operator, force(1)).await.ok();
    // A holder's refusals are no operator's.
    server
        .call("deploy", "renew", json!({ "holder": "h", "generation": 1 }))
        .await
        .problem(409, "lost");
    let stranger = Request::post(path, &force(1));
    server.send(&stranger).await.problem(401, "unauthenticated");

    // A viewer may export handovers, and not the access log.
    let export = server
        .get("/api/v1/handovers/export?lease=deploy", &viewer)
        .await;
    assert_eq!(export.status, 200);
    for path in ["/api/v1/access", "/api/v1/access/export"] {
        server.get(path, &viewer).await.problem(403, "forbidden");
        server.get(path, &operator).await.problem(403, "forbidden");
    }
    let export = server.get("/api/v1/access/export", &admin).await;
    assert_eq!(export.status, 200);

    let all = entries(&server, &admin).await;
    let refused: Vec<(&Value, &Value, &Value)> = of(&all, "refused")
        .into_iter()
        .map(|entry| {
            assert_eq!(entry["actor_address"], "127.0.0.1");
            (
                &entry["actor"],
                &entry["subject"],
                &entry["details"]["code"],
            )
        })
        .collect();
    let tuple = |actor: &str, subject: Value, code: &str| (json!(actor), subject, json!(code));
    let expected = [
        tuple("token:op", json!("deploy"), "generation_moved"),
        tuple("token:holder", json!("deploy"), "forbidden"),
        tuple("token:look", Value::Null, "forbidden"),
        tuple("token:op", Value::Null, "forbidden"),
        tuple("token:look", Value::Null, "forbidden"),
        tuple("token:op", Value::Null, "forbidden"),
    ];
    let expected: Vec<_> = expected.iter().map(|(a, b, c)| (a, b, c)).collect();
    assert_eq!(refused, expected);
    let exported = of(&all, "exported");
    assert_eq!(exported[0]["actor"], "token:look");
    assert_eq!(exported[0]["details"]["log"], "handovers");
    assert_eq!(exported[0]["details"]["filter"], r#"{"lease":"deploy"}"#);
    assert_eq!(exported[1]["actor"], "token:root");
    assert_eq!(exported[1]["details"]["log"], "access");

    // The export is the list, with its chain, and says that it is whole.
    let text = export.text();
    let mut lines: Vec<Value> = text
        .lines()
        .map(|line| serde_json::from_str(line).expect("is JSON"))
        .collect();
    let trailer = lines.pop().expect("there is a trailer");
    assert_eq!(lines, all[..lines.len()]);
    let last = lines.last().expect("there are entries");
    assert_eq!(last, exported[1], "it has itself in it");
    assert_eq!(trailer["trailer"]["count"], lines.len());
    assert_eq!(trailer["trailer"]["last_hash"], last["hash"]);
    let mut before = json!("0".repeat(64));
    for (i, line) in lines.iter().enumerate() {
        assert_eq!(line["seq"], i + 1);
        assert_eq!(line["prev_hash"], before);
        before = line["hash"].clone();
    }
}

#[tokio::test]
async fn who_is_refused_again_and_again_does_not_fill_the_log() {
    let server = Server::start().await;
    let admin = server.token("root", "admin", &[]).await;
    for i in 0..60 {
        let path = format!("/api/v1/leases/job-{i}/pause");
        let refused = server.post(&path, HOLDER, json!({ "reason": "r" })).await;
        refused.problem(403, "forbidden");
    }
    let all = entries(&server, &admin).await;
    assert_eq!(of(&all, "refused").len(), 20, "the others are counted");
}

#[tokio::test]
async fn the_command_line_shows_it_to_admins() {
    let server = Server::start().await;
    let refused = server.baton(&["access"], "").await;
    let refused = refused.expect_err("the holder's token may not");
    assert!(refused.starts_with("Some(4)"), "{refused}");
    let token = server.token("root", "admin", &[]).await;
    std::fs::write(server.folder().join("token"), token).expect("a file can be written");
    let asked = [
        "access",
        "--token-file",
        "token",
        "--event",
        "refused",
        "--json",
    ];
    let mut shown = String::new();
    eventually("the refusal is written", async || {
        shown = server.done(&asked).await;
        !shown.is_empty()
    })
    .await;
    let entry: Value = serde_json::from_str(&shown).expect("one entry on one line");
    assert_eq!(entry["actor"], "token:holder");
    let table = server.done(&["access", "--token-file", "token"]).await;
    assert!(
        table.contains("user_created") && table.contains("code=forbidden"),
        "{table}"
    );
}
