//! Every code that a rule or a path can give, with all that its answer says.
//! `away` has those of a database that does not answer.

use serde_json::{Value, json};

use crate::{
    requests::Request,
    server::{HOLDER, Server, eventually},
};

/// The lease as it is stands in the answer.
fn lease_of(problem: &Value) -> &Value {
    assert!(problem["lease"]["now"].is_string(), "{problem}");
    assert!(problem["lease"].get("payload").is_none(), "{problem}");
    &problem["lease"]
}

fn takes(holder: &str) -> Value {
    json!({ "holder": holder, "ttl_ms": 600_000 })
}

fn tenure(holder: &str, generation: u64) -> Value {
    json!({ "holder": holder, "generation": generation })
}

#[tokio::test]
async fn what_acquire_is_refused_with() {
    let server = Server::start().await;
    let operator = server.token("op", "operator", &[]).await;
    let operate = async |lease: &str, verb: &str, body: Value| {
        server
            .post(&format!("/api/v1/leases/{lease}/{verb}"), &operator, body)
            .await
            .ok()
    };
    server.acquired("held", "h").await;
    let problem = server
        .call("held", "acquire", takes("h"))
        .await
        .problem(409, "held");
    assert_eq!(lease_of(&problem)["holder"], "h");
    assert!(
        problem["retry_after_ms"]
            .as_u64()
            .is_some_and(|ms| ms > 500_000),
        "{problem}"
    );

    operate("paused", "pause", json!({ "reason": "r" })).await;
    let problem = server
        .call("paused", "acquire", takes("h"))
        .await
        .problem(409, "paused");
    assert_eq!(lease_of(&problem)["state"], "free");
    assert!(
        problem.get("retry_after_ms").is_none(),
        "time does not help"
    );

    server.acquired("barred", "h").await;
    let mut body = json!({ "expected_generation": 1, "reason": "r" });
    body["bar"] = json!("everyone");
    body["bar_ms"] = json!(60_000);
    operate("barred", "force-release", body).await;
    let problem = server
        .call("barred", "acquire", takes("other"))
        .await
        .problem(409, "barred");
    assert!(
        problem["retry_after_ms"]
            .as_u64()
            .is_some_and(|ms| (1..=60_000).contains(&ms))
    );
    assert_eq!(lease_of(&problem)["barred"]["holder"], Value::Null);

    server.acquired("reserved", "h").await;
    let mut body = json!({ "expected_generation": 1, "reason": "r" });
    body["successor"] = json!("heir");
    body["reserve_ms"] = json!(60_000);
    operate("reserved", "force-release", body).await;
    let problem = server
        .call("reserved", "acquire", takes("other"))
        .await
        .problem(409, "reserved");
    assert!(
        problem["retry_after_ms"]
            .as_u64()
            .is_some_and(|ms| (1..=60_000).contains(&ms))
    );
    assert_eq!(lease_of(&problem)["reserved"]["holder"], "heir");
    server.call("reserved", "acquire", takes("heir")).await.ok();

    let mut body = takes("other");
    body["expected_generation"] = json!(7);
    let problem = server
        .call("held", "acquire", body.clone())
        .await
        .problem(409, "generation_moved");
    assert_eq!(lease_of(&problem)["generation"], 1);
    let unknown = server
        .call("nothing", "acquire", body)
        .await
        .problem(409, "generation_moved");
    assert!(unknown.get("lease").is_none(), "{unknown}");
}

#[tokio::test]
async fn attempts_run_out() {
    let server = Server::start().await;
    let body = |holder: &str| json!({ "holder": holder, "ttl_ms": 1_000, "max_attempts": 1 });
    server.call("a", "acquire", body("h0")).await.ok();
    let mut waits = body("h1");
    waits["wait_ms"] = json!(30_000);
    let second = server.call("a", "acquire", waits).await.ok();
    assert_eq!(
        (&second["attempt"], &second["generation"]),
        (&json!(1), &json!(2))
    );
    let mut waits = body("h2");
    waits["wait_ms"] = json!(30_000);
    let problem = server
        .call("a", "acquire", waits)
        .await
        .problem(409, "attempts_exhausted");
    assert_eq!(lease_of(&problem)["attempt"], 1);
    assert_eq!(lease_of(&problem)["state"], "lapsed");
    assert!(
        problem.get("retry_after_ms").is_none(),
        "time does not help"
    );
}

#[tokio::test]
async fn a_generation_that_moved_comes_with_what_moved_it() {
    let server = Server::start().await;
    let operator = server.token("op", "operator", &[]).await;
    server.acquired("a", "h").await;
    server.call("a", "release", tenure("h", 1)).await.ok();
    server.acquired("a", "other").await;
    for (verb, more) in [
        ("force-release", json!({})),
        ("step-down", json!({ "deadline_ms": 60_000 })),
    ] {
        let mut body = json!({ "expected_generation": 1, "reason": "r" });
        for (name, value) in more.as_object().expect("an object") {
            body[name] = value.clone();
        }
        let path = format!("/api/v1/leases/a/{verb}");
        let problem = server
            .post(&path, &operator, body)
            .await
            .problem(409, "generation_moved");
        assert_eq!(lease_of(&problem)["holder"], "other");
        let moved = &problem["handover"];
        assert_eq!(
            (&moved["event"], &moved["seq"]),
            (&json!("released"), &json!(2)),
            "{moved}"
        );
        assert_eq!(
            (&moved["previous_generation"], &moved["generation"]),
            (&json!(1), &json!(2))
        );
    }
    let path = "/api/v1/leases/a/step-down";
    server.call("a", "release", tenure("other", 3)).await.ok();
    let body = json!({ "expected_generation": 4, "reason": "r", "deadline_ms": 60_000 });
    server
        .post(path, &operator, body)
        .await
        .problem(409, "not_held");
}

#[tokio::test]
async fn a_tenure_that_is_over_is_lost_and_says_how_it_ended() {
    let server = Server::start().await;
    let operator = server.token("op", "operator", &[]).await;
    server.acquired("released", "h").await;
    server
        .call("released", "release", tenure("h", 1))
        .await
        .ok();

    server.acquired("forced", "h").await;
    let body = json!({ "expected_generation": 1, "reason": "r" });
    server
        .post("/api/v1/leases/forced/force-release", &operator, body)
        .await
        .ok();

    let body = json!({ "holder": "h", "ttl_ms": 1_000 });
    server.call("taken", "acquire", body).await.ok();
    let mut waits = takes("next");
    waits["wait_ms"] = json!(30_000);
    server.call("taken", "acquire", waits).await.ok();

    server.acquired("guessed", "other").await;
    for (lease, ended) in [
        ("released", "released"),
        ("forced", "forced"),
        ("taken", "taken"),
        ("guessed", "unknown"),
        ("never", "unknown"),
    ] {
        for verb in ["renew", "release"] {
            let generation = if lease == "guessed" { 9 } else { 1 };
            let answer = server.call(lease, verb, tenure("h", generation)).await;
            let problem = answer.problem(409, "lost");
            assert_eq!(problem["ended"], ended, "{lease}");
            assert_eq!(
                problem.get("lease").is_some(),
                lease != "never",
                "{problem}"
            );
        }
    }
    // What it says is so: nothing is over that never was, or that another one has.
    for (holder, generation, so) in [
        ("other", 9, "was not granted here"),
        ("h", 1, "is held by other"),
    ] {
        let answer = server.call("guessed", "renew", tenure(holder, generation));
        let problem = answer.await.problem(409, "lost");
        let detail = problem["detail"].as_str().expect("it says why");
        assert!(detail.contains(so), "{detail}");
    }
    // A claim whose tenure is over is lost, too.
    let mut claim = takes("h");
    claim["claim_id"] = json!("c");
    server.call("claimed", "acquire", claim.clone()).await.ok();
    server.call("claimed", "release", tenure("h", 1)).await.ok();
    let problem = server
        .call("claimed", "acquire", claim)
        .await
        .problem(409, "lost");
    assert_eq!(problem["ended"], "released");
}

#[tokio::test]
async fn what_is_not_there() {
    let server = Server::start().await;
    let admin = server.token("root", "admin", &[]).await;
    for verb in ["unpause", "cancel-step-down", "protect", "unprotect"] {
        let path = format!("/api/v1/leases/never/{verb}");
        let answer = server.post(&path, &admin, json!({ "reason": "r" })).await;
        answer.problem(404, "unknown_lease");
    }
    let body = json!({ "expected_generation": 0, "reason": "r" });
    let answer = server
        .post("/api/v1/leases/never/force-release", &admin, body)
        .await;
    answer.problem(404, "unknown_lease");
    server
        .get("/api/v1/leases/never", HOLDER)
        .await
        .problem(404, "unknown_lease");
    server
        .get("/api/v1/handovers/1", HOLDER)
        .await
        .problem(404, "not_found");
    for path in [
        "/api/v1",
        "/api/v1/",
        "/api/v2/leases",
        "/api/v1/leases/a/b/c",
        "/nowhere",
        "/API/v1/leases",
    ] {
        server.get(path, HOLDER).await.problem(404, "not_found");
    }
    // A person gets a page.
    let page = server
        .send(&Request::get("/nowhere").header("Accept", "text/html"))
        .await;
    assert_eq!(page.status, 404);
    assert!(
        page.header("content-type")
            .is_some_and(|kind| kind.starts_with("text/html"))
    );
    // Under the API, also a browser gets a problem.
    let answer = server
        .send(&Request::get("/api/v1/nowhere").header("Accept", "text/html"))
        .await;
    answer.problem(404, "not_found");
}

#[tokio::test]
async fn a_wait_that_ends_says_why() {
    let server = Server::start().await;
    server.acquired("a", "h").await;
    let mut body = takes("other");
    body["wait_ms"] = json!(300);
    let started = std::time::Instant::now();
    server
        .call("a", "acquire", body.clone())
        .await
        .problem(409, "held");
    assert!(started.elapsed().as_millis() >= 300);
    // What waiting does not change is said at once.
    body["wait_ms"] = json!(60_000);
    body["expected_generation"] = json!(9);
    server
        .call("a", "acquire", body)
        .await
        .problem(409, "generation_moved");
}

#[tokio::test]
async fn a_step_downs_deadline_is_kept() {
    let server = Server::start().await;
    let operator = server.token("op", "operator", &[]).await;
    server.acquired("a", "h").await;
    let body = json!({ "expected_generation": 1, "reason": "r", "deadline_ms": 1_000 });
    let lease = server
        .post("/api/v1/leases/a/step-down", &operator, body)
        .await
        .ok();
    let deadline = lease["step_down"]["deadline"].clone();
    let renewed = server.call("a", "renew", tenure("h", 1)).await.ok();
    assert_eq!(
        renewed["expires_at"], deadline,
        "renewals do not go past it"
    );
    eventually("the server forces", async || {
        server.get("/api/v1/leases/a", HOLDER).await.ok()["state"] == "free"
    })
    .await;
    let problem = server
        .call("a", "renew", tenure("h", 1))
        .await
        .problem(409, "lost");
    assert_eq!(problem["ended"], "forced");
}
