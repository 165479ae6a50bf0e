//! What the README tells a newcomer to do, in its order, on both databases.

use std::time::Instant;

use serde_json::{Value, json};

use crate::{
    requests::Request,
    server::{HOLDER, Server, eventually},
};

const LEASE: &str = "/api/v1/leases/fleet";

async fn from_the_first_acquire_to_the_history(server: Server) {
    let operator = server.token("ana", "operator", &[]).await;
    let call = async |verb: &str, body: Value| server.call("fleet", verb, body).await;
    let takes = |holder: &str| json!({ "holder": holder, "ttl_ms": 600_000 });

    let first = call("acquire", takes("web-1")).await.ok();
    assert_eq!(
        (&first["generation"], &first["holder"]),
        (&json!(1), &json!("web-1"))
    );
    let renewed = call("renew", json!({ "holder": "web-1", "generation": 1 }))
        .await
        .ok();
    assert_eq!(renewed["generation"], 1);
    for holder in ["web-2", "web-1"] {
        let held = call("acquire", takes(holder)).await.problem(409, "held");
        assert_eq!(held["lease"]["holder"], "web-1", "also under the same name");
    }

    // In line, until it is let go.
    let mut waits = takes("web-2");
    waits["wait_ms"] = json!(60_000);
    let waiting = tokio::spawn({
        let request = Request::post(format!("{LEASE}/acquire"), &waits).token(HOLDER);
        let host = server.host.clone();
        async move { (request.send(&host).await.ok(), Instant::now()) }
    });
    eventually("it waits in line", async || {
        let metrics = server.send(&Request::get("/metrics")).await.text();
        metrics.contains("\nbaton_waiting_acquires 1\n")
    })
    .await;
    let body = json!({ "holder": "web-1", "generation": 1, "reason": "deploying" });
    call("release", body).await.ok();
    let released = Instant::now();
    let (second, granted) = waiting.await.expect("it is answered");
    assert_eq!(
        (&second["generation"], &second["holder"]),
        (&json!(3), &json!("web-2"))
    );
    let took = granted.saturating_duration_since(released);
    assert!(
        took.as_millis() < 250,
        "milliseconds, on a busy machine too: {took:?}"
    );

    // A takeover after a lapse.
    let body = json!({ "holder": "web-2", "generation": 3, "ttl_ms": 1_000 });
    call("renew", body).await.ok();
    let mut waits = takes("web-3");
    waits["wait_ms"] = json!(60_000);
    let third = call("acquire", waits).await.ok();
    assert_eq!(
        (&third["generation"], &third["attempt"]),
        (&json!(4), &json!(1))
    );
    let lost = call("renew", json!({ "holder": "web-2", "generation": 3 })).await;
    assert_eq!(lost.problem(409, "lost")["ended"], "taken");

    let force = async |generation: u64| {
        let body =
            json!({ "expected_generation": generation, "reason": "stuck", "incident": "INC-7" });
        server
            .post(&format!("{LEASE}/force-release"), &operator, body)
            .await
    };
    let moved = force(3).await.problem(409, "generation_moved");
    assert_eq!(moved["handover"]["event"], "granted");
    assert_eq!(force(4).await.ok()["generation"], 5);
    let lost = call("renew", json!({ "holder": "web-3", "generation": 4 })).await;
    assert_eq!(lost.problem(409, "lost")["ended"], "forced");

    the_history_shows_each_in_order(&server).await;
}

async fn the_history_shows_each_in_order(server: &Server) {
    let printed = server
        .done(&["history", "--lease", "fleet", "--json"])
        .await;
    let mut entries: Vec<Value> = printed
        .lines()
        .map(|line| serde_json::from_str(line).expect("a line is an entry"))
        .collect();
    entries.sort_by_key(|entry| entry["seq"].as_u64());
    let told: Vec<String> = entries
        .iter()
        .map(|entry| {
            let holder = entry["holder"].as_str().unwrap_or("nobody");
            let text = |name: &str| entry[name].as_str().unwrap_or_default().to_owned();
            format!(
                "{} {} {holder} by {}: {}",
                entry["generation"],
                text("event"),
                text("actor"),
                text("reason"),
            )
        })
        .collect();
    let first_holder = told[0]
        .split(" by ")
        .nth(1)
        .and_then(|by| by.split(": ").next());
    let by = first_holder.expect("it has an actor").to_owned();
    assert!(by.starts_with("token:"), "{by}");
    let lapse = entries[3]["reason"].as_str().unwrap_or_default();
    assert!(!lapse.is_empty());
    assert_eq!(
        told,
        [
            format!("1 granted web-1 by {by}: first"),
            format!("2 released nobody by {by}: deploying"),
            format!("3 granted web-2 by {by}: after release"),
            format!("3 lapsed web-2 by baton: {lapse}"),
            format!("4 granted web-3 by {by}: after lapse"),
            "5 forced nobody by token:ana: stuck".to_owned(),
        ]
    );
    assert_eq!(entries[5]["incident"], "INC-7");
}

#[tokio::test]
async fn from_the_first_acquire_to_the_history_on_sqlite() {
    from_the_first_acquire_to_the_history(Server::start().await).await;
}

#[tokio::test]
async fn from_the_first_acquire_to_the_history_on_postgres() {
    from_the_first_acquire_to_the_history(Server::on_postgres().await).await;
}
