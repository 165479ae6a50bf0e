//! Every call, when it succeeds.

use serde_json::{Value, json};

use crate::{
    requests::Request,
    server::{HOLDER, Server, eventually},
};

#[tokio::test]
async fn a_lease_is_acquired_renewed_and_released() {
    let server = Server::start().await;
    let lease = server.acquired("a", "h").await;
    assert_eq!(lease["state"], "held");
    assert_eq!(
        (&lease["holder"], &lease["generation"]),
        (&json!("h"), &json!(1))
    );
    assert_eq!(lease["payload"], Value::Null, "there, and null");
    assert_eq!(lease["remaining_ms"], 600_000);
    assert_eq!(lease["expires_at"], lease["takeable_at"]);

    let body = json!({ "holder": "h", "generation": 1, "ttl_ms": 300_000, "status": { "at": 1 } });
    let lease = server.call("a", "renew", body).await.ok();
    assert_eq!(
        (&lease["generation"], &lease["ttl_ms"]),
        (&json!(1), &json!(300_000))
    );
    assert_eq!(lease["status"], json!({ "at": 1 }));
    assert!(
        lease.get("payload").is_none(),
        "only acquire and the lease itself carry it"
    );
    let kept = server
        .call("a", "renew", json!({ "holder": "h", "generation": 1 }))
        .await
        .ok();
    assert_eq!(
        (&kept["ttl_ms"], &kept["status"]),
        (&lease["ttl_ms"], &lease["status"])
    );
    let body = json!({ "holder": "h", "generation": 1, "status": null });
    assert_eq!(
        server.call("a", "renew", body).await.ok()["status"],
        Value::Null
    );

    let body = json!({ "holder": "h", "generation": 1, "reason": "done" });
    let lease = server.call("a", "release", body).await.ok();
    assert_eq!(
        (&lease["state"], &lease["generation"]),
        (&json!("free"), &json!(2))
    );
    for absent in [
        "holder",
        "expires_at",
        "remaining_ms",
        "ttl_ms",
        "granted_at",
    ] {
        assert_eq!(lease[absent], Value::Null, "{absent}");
    }
}

#[tokio::test]
async fn everything_that_an_acquire_can_say() {
    let server = Server::start().await;
    let body = json!({
        "holder": "höldér 🦊", "ttl_ms": 1_000, "grace_ms": 3_600_000, "claim_id": "c-1",
        "above": 41, "expected_generation": 0, "max_attempts": 3, "payload": [1],
        "principal": "ana", "status": "starting", "wait_ms": 60_000,
    });
    let lease = server.call("a", "acquire", body.clone()).await.ok();
    assert_eq!(lease["generation"], 42);
    assert_eq!(lease["holder"], "höldér 🦊");
    assert_eq!(
        (&lease["principal"], &lease["status"]),
        (&json!("ana"), &json!("starting"))
    );
    assert_eq!(lease["attempt"], 0);
    let again = server.call("a", "acquire", body).await.ok();
    for same in ["generation", "granted_at", "expires_at"] {
        assert_eq!(again[same], lease[same], "the same grant: {same}");
    }
    let time = |field: &str| -> i64 {
        let text = lease[field].as_str().unwrap_or_default();
        text.parse::<baton_client::Timestamp>()
            .expect("a time")
            .micros()
    };
    assert_eq!(time("takeable_at") - time("expires_at"), 3_600_000_000);
    assert_eq!(time("expires_at") - time("granted_at"), 1_000_000);
}

/// What a payload must come back as: what was sent, letter by letter.
async fn a_payload_comes_back_as_it_was_sent(server: Server) {
    for (i, payload) in [
        r#"{"b":1.50,  "a":[ ], "a":2}"#,
        r#""\u00e4\/\ud83e\udd8a""#,
        "1e2",
        "-0",
        "123456789012345678901234567890.10",
        "null",
        "  [1 ,\t2\n]",
        "\"🦊\"",
        &format!("\"{}\"", "a".repeat(65_534)),
        &format!("{}{}", "[".repeat(64), "]".repeat(64)),
    ]
    .into_iter()
    .enumerate()
    {
        let path = format!("/api/v1/leases/p{i}/acquire");
        let body = format!(r#"{{"holder":"h","ttl_ms":600000,"payload":{payload}}}"#);
        let acquired = server
            .send(&Request::post_text(path, body).token(HOLDER))
            .await;
        assert_eq!(acquired.status, 200, "{payload}");
        let shown = server.get(&format!("/api/v1/leases/p{i}"), HOLDER).await;
        let end = format!("\"payload\":{}}}", payload.trim());
        for answer in [acquired.text(), shown.text()] {
            assert!(answer.ends_with(&end), "{end} is not the end of {answer}");
        }
        let page = server.get("/api/v1/leases", HOLDER).await;
        assert!(!page.text().contains("payload"));
    }
}

#[tokio::test]
async fn a_payload_comes_back_as_it_was_sent_on_sqlite() {
    a_payload_comes_back_as_it_was_sent(Server::start().await).await;
}

#[tokio::test]
async fn a_payload_comes_back_as_it_was_sent_on_postgres() {
    a_payload_comes_back_as_it_was_sent(Server::on_postgres().await).await;
}

#[tokio::test]
async fn what_is_left_of_a_tenure_is_rounded_down() {
    let server = Server::start().await;
    server.acquired("a", "h").await;
    let micros = |value: &Value| {
        let text = value.as_str().expect("a time");
        text.parse::<baton_client::Timestamp>()
            .expect("a time")
            .micros()
    };
    for _ in 0..20 {
        let lease = server.get("/api/v1/leases/a", HOLDER).await.ok();
        let left = micros(&lease["expires_at"]) - micros(&lease["now"]);
        assert_eq!(lease["remaining_ms"], left / 1_000);
        let body = json!({ "holder": "other", "ttl_ms": 1_000 });
        let held = server.call("a", "acquire", body).await.problem(409, "held");
        let lease = &held["lease"];
        let left = micros(&lease["expires_at"]) - micros(&lease["now"]);
        assert_eq!(held["retry_after_ms"], (left + 999) / 1_000);
    }
}

#[tokio::test]
async fn many_renewals_are_answered_one_by_one_in_order() {
    let server = Server::start().await;
    for lease in ["a", "b", "c"] {
        server.acquired(lease, "h").await;
    }
    server
        .call("b", "release", json!({ "holder": "h", "generation": 1 }))
        .await
        .ok();
    let renewal = |lease: &str, holder: &str, generation: u64| json!({ "lease": lease, "holder": holder, "generation": generation, "ttl_ms": 120_000 });
    let body = json!({ "renewals": [
        renewal("c", "h", 1), renewal("b", "h", 1), renewal("never", "h", 1),
        renewal("a", "other", 1), renewal("d", "h", 7),
    ] });
    let renewed = server.post("/api/v1/renewals", HOLDER, body).await.ok();
    let results = renewed["results"].as_array().expect("it is a list");
    let leases: Vec<&str> = results
        .iter()
        .filter_map(|result| result["lease"].as_str())
        .collect();
    assert_eq!(leases, ["c", "b", "never", "a", "d"]);
    assert_eq!(
        (&results[0]["status"], &results[0]["body"]["ttl_ms"]),
        (&json!(200), &json!(120_000))
    );
    for (i, ended) in [
        (1, "released"),
        (2, "unknown"),
        (3, "unknown"),
        (4, "unknown"),
    ] {
        let result = &results[i];
        assert_eq!(
            (&result["status"], &result["body"]["status"]),
            (&json!(409), &json!(409))
        );
        assert_eq!(result["body"]["code"], "lost", "{result}");
        assert_eq!(result["body"]["ended"], ended, "{result}");
        assert!(result["body"]["request_id"].is_string());
    }
    assert!(renewed["now"].is_string());

    let twice =
        json!({ "renewals": [renewal("a", "h", 1), renewal("c", "h", 1), renewal("a", "h", 1)] });
    let problem = server
        .post("/api/v1/renewals", HOLDER, twice)
        .await
        .problem(422, "invalid");
    assert_eq!(problem["errors"][0]["field"], "renewals[2].lease");
    for count in [0, 1_001] {
        let many: Vec<Value> = (0..count)
            .map(|i| renewal(&format!("l{i}"), "h", 1))
            .collect();
        let answer = server
            .post("/api/v1/renewals", HOLDER, json!({ "renewals": many }))
            .await;
        let problem = answer.problem(422, "invalid");
        assert_eq!(problem["errors"][0]["field"], "renewals");
    }
    let many: Vec<Value> = (0..1_000)
        .map(|i| renewal(&format!("l{i}"), "h", 1))
        .collect();
    let answer = server
        .post("/api/v1/renewals", HOLDER, json!({ "renewals": many }))
        .await
        .ok();
    assert_eq!(answer["results"].as_array().map(Vec::len), Some(1_000));
}

#[tokio::test]
async fn check_says_whether_a_generation_is_current() {
    let server = Server::start().await;
    let current = async |generation: u64| {
        let path = format!("/api/v1/leases/a/check?generation={generation}");
        let checked = server.get(&path, HOLDER).await.ok();
        assert_eq!(
            (&checked["lease"], &checked["generation"]),
            (&json!("a"), &json!(generation))
        );
        assert!(checked["now"].is_string());
        checked["current"].as_bool().expect("it says")
    };
    assert!(!current(0).await, "unknown");
    let body = json!({ "holder": "h", "ttl_ms": 1_000 });
    server.call("a", "acquire", body).await.ok();
    assert!(current(1).await && !current(0).await && !current(2).await);
    eventually("it lapses", async || {
        server.get("/api/v1/leases/a", HOLDER).await.ok()["state"] == "lapsed"
    })
    .await;
    assert!(current(1).await, "a lapsed tenure is still current");
    server
        .call("a", "release", json!({ "holder": "h", "generation": 1 }))
        .await
        .ok();
    assert!(!current(1).await && !current(2).await, "nobody has it");
}

#[tokio::test]
async fn operators_and_admins_have_their_way() {
    let server = Server::start().await;
    let admin = server.token("root", "admin", &[]).await;
    let call = async |verb: &str, body: Value| {
        server
            .post(&format!("/api/v1/leases/a/{verb}"), &admin, body)
            .await
            .ok()
    };
    server.acquired("a", "h").await;
    let why = json!({ "reason": "too slow", "incident": "INC-1" });
    let lease = call("pause", why.clone()).await;
    assert_eq!(lease["paused"]["reason"], "too slow");
    assert_eq!(lease["paused"]["actor"], "token:root");
    assert_eq!(call("unpause", why.clone()).await["paused"], Value::Null);
    assert_eq!(
        call("protect", json!({ "reason": "r" })).await["protected"],
        true
    );
    assert_eq!(
        call("unprotect", json!({ "reason": "r" })).await["protected"],
        false
    );

    let mut body = json!({ "expected_generation": 1, "reason": "r", "deadline_ms": 60_000 });
    body["successor"] = json!("heir");
    body["reserve_ms"] = json!(60_000);
    let lease = call("step-down", body).await;
    assert_eq!(lease["step_down"]["successor"], "heir");
    assert_eq!(
        call("cancel-step-down", why).await["step_down"],
        Value::Null
    );

    let mut body = json!({ "expected_generation": 1, "reason": "r", "incident": "https://x/1" });
    body["bar"] = json!("holder");
    body["bar_ms"] = json!(60_000);
    body["successor"] = json!("heir");
    body["reserve_ms"] = json!(60_000);
    let lease = call("force-release", body).await;
    assert_eq!(
        (&lease["state"], &lease["generation"]),
        (&json!("free"), &json!(2))
    );
    assert_eq!(lease["barred"]["holder"], "h");
    assert_eq!(lease["reserved"]["holder"], "heir");
    let log = server
        .get("/api/v1/handovers?incident=https://x/1", HOLDER)
        .await
        .ok();
    assert_eq!(log["items"].as_array().map(Vec::len), Some(1));
    let seq = log["items"][0]["seq"].as_u64().expect("a number");
    let entry = server
        .get(&format!("/api/v1/handovers/{seq}"), HOLDER)
        .await
        .ok();
    assert_eq!(entry, log["items"][0]);
    assert_eq!(
        (&entry["event"], &entry["actor_address"]),
        (&json!("forced"), &json!("127.0.0.1"))
    );
}

#[tokio::test]
async fn lists_come_in_pages() {
    let server = Server::start().await;
    for lease in ["b", "a", "B", "c.1", "c.2"] {
        server.acquired(lease, &format!("on-{lease}")).await;
    }
    let names = async |query: &str| {
        let (mut names, mut cursor) = (Vec::new(), String::new());
        loop {
            let path = format!("/api/v1/leases?{query}{cursor}");
            let page = server.get(&path, HOLDER).await.ok();
            for lease in page["items"].as_array().expect("it is a list") {
                names.push(lease["lease"].as_str().expect("a name").to_owned());
            }
            match page["next"].as_str() {
                Some(next) => cursor = format!("&cursor={next}"),
                None => return names,
            }
        }
    };
    assert_eq!(
        names("limit=2").await,
        ["B", "a", "b", "c.1", "c.2"],
        "bytewise"
    );
    assert_eq!(names("limit=1&prefix=c.").await, ["c.1", "c.2"]);
    assert_eq!(
        names("search=on-b").await,
        ["b"],
        "holders, too; letters as they are"
    );
    assert_eq!(names("holder=on-c.2").await, ["c.2"]);
    assert!(names("state=free").await.is_empty());
    assert_eq!(
        names("sort=changed&limit=3")
            .await
            .first()
            .map(String::as_str),
        Some("c.2")
    );
    let page = server.get("/api/v1/leases?limit=2", HOLDER).await.ok();
    let cursor = page["next"].as_str().expect("there is more");
    assert!(
        cursor
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || b"-_.~".contains(&b)),
        "{cursor}"
    );
    // A cursor belongs to its list.
    for path in [
        format!("/api/v1/leases?sort=expires&cursor={cursor}"),
        format!("/api/v1/handovers?cursor={cursor}"),
    ] {
        let problem = server.get(&path, HOLDER).await.problem(422, "invalid");
        assert_eq!(problem["errors"][0]["field"], "cursor");
    }
    let log = server
        .get("/api/v1/handovers?order=asc&limit=2&after=1", HOLDER)
        .await
        .ok();
    assert_eq!(
        (&log["items"][0]["seq"], &log["items"][1]["seq"]),
        (&json!(2), &json!(3))
    );
    let log = server.get("/api/v1/handovers?limit=1", HOLDER).await.ok();
    assert_eq!(log["items"][0]["seq"], 5, "newest first");
}
