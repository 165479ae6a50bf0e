//! The OpenAPI document says what the server sends, and neither changes unseen.

use std::collections::BTreeSet;

use baton::http::routes::{ROUTES, Shape};
use baton_client::Code;
use serde_json::{Value, json};

use crate::{
    schema::Document,
    server::{HOLDER, Server},
};

/// Every path of an object's keys, as `step_down.at`.
fn keys(value: &Value, under: &str, all: &mut BTreeSet<String>) {
    if let Value::Object(object) = value {
        for (key, value) in object {
            let path = format!("{under}{key}");
            keys(value, &format!("{path}."), all);
            all.insert(path);
        }
    }
}

fn keys_of(value: &Value) -> String {
    let mut all = BTreeSet::new();
    keys(value, "", &mut all);
    all.into_iter().collect::<Vec<_>>().join(" ")
}

/// One lease in which nothing is absent that can be there at once.
async fn full_lease(server: &Server) -> (Value, Value) {
    let admin = server.token("root", "admin", &[]).await;
    let change = async |verb: &str, body: Value| {
        let path = format!("/api/v1/leases/full/{verb}");
        server.post(&path, &admin, body).await.ok()
    };
    let body =
        json!({ "holder": "h", "ttl_ms": 600_000, "payload": 1, "principal": "p", "status": 2 });
    server.call("full", "acquire", body).await.ok();
    let why = json!({ "reason": "r", "incident": "i" });
    let mut body = json!({ "expected_generation": 1, "reason": "r", "incident": "i" });
    body["deadline_ms"] = json!(60_000);
    body["successor"] = json!("heir");
    body["reserve_ms"] = json!(60_000);
    change("step-down", body).await;
    change("pause", why.clone()).await;
    change("protect", json!({ "reason": "r" })).await;
    let held = server.get("/api/v1/leases/full", HOLDER).await.ok();
    let mut body = json!({ "expected_generation": 1, "reason": "r", "incident": "i" });
    body["bar"] = json!("holder");
    body["bar_ms"] = json!(60_000);
    body["successor"] = json!("heir");
    body["reserve_ms"] = json!(60_000);
    let forced = change("force-release", body).await;
    (held, forced)
}

#[tokio::test]
async fn the_wire_does_not_change_unseen() {
    let server = Server::start().await;
    let (held, forced) = full_lease(&server).await;
    insta::assert_snapshot!("lease_held", keys_of(&held));
    insta::assert_snapshot!("lease_forced", keys_of(&forced));
    let entry = server
        .get("/api/v1/handovers?event=forced", HOLDER)
        .await
        .ok();
    insta::assert_snapshot!("entry", keys_of(&entry["items"][0]));
    let body = json!({ "holder": "h", "ttl_ms": 1_000, "expected_generation": 1 });
    let moved = server
        .call("full", "acquire", body)
        .await
        .problem(409, "generation_moved");
    insta::assert_snapshot!("problem_moved", keys_of(&moved));
    let lost = json!({ "holder": "h", "generation": 1 });
    let lost = server
        .call("full", "renew", lost)
        .await
        .problem(409, "lost");
    insta::assert_snapshot!("problem_lost", top(&lost));
    let held = server
        .call("full", "acquire", json!({ "holder": "h", "ttl_ms": 1_000 }))
        .await;
    insta::assert_snapshot!("problem_paused", top(&held.problem(409, "paused")));
    let invalid = server
        .call("full", "acquire", json!({}))
        .await
        .problem(422, "invalid");
    insta::assert_snapshot!("problem_invalid", top(&invalid));
    let mut codes: Vec<String> = Code::ALL
        .iter()
        .map(|c| format!("{} {c}", c.status()))
        .collect();
    codes.sort();
    insta::assert_snapshot!("codes", codes.join("\n"));
    let table: Vec<String> = ROUTES
        .iter()
        .map(|route| {
            format!(
                "{} {} {:?}",
                route.method.as_str(),
                route.path,
                route.access
            )
        })
        .collect();
    insta::assert_snapshot!("routes", table.join("\n"));
}

fn top(value: &Value) -> String {
    let object = value.as_object().expect("it is an object");
    object
        .keys()
        .cloned()
        .collect::<BTreeSet<_>>()
        .into_iter()
        .collect::<Vec<_>>()
        .join(" ")
}

#[tokio::test]
async fn what_is_sent_fits_the_document() {
    let server = Server::start().await;
    let document = Document::of(&server).await;
    let (held, forced) = full_lease(&server).await;
    server.acquired("plain", "h").await;
    let fits = |schema: &str, value: &Value| {
        let schema = document.schema(schema);
        assert!(
            document.allows(schema, value),
            "{schema}\ndoes not allow\n{value}"
        );
    };
    let same_keys = |schema: &str, value: &Value| {
        let mut fields = document.fields(document.schema(schema));
        let mut keys: Vec<String> = value
            .as_object()
            .expect("an object")
            .keys()
            .cloned()
            .collect();
        fields.sort();
        keys.sort();
        assert_eq!(fields, keys, "{schema}");
    };
    for lease in [&held, &forced] {
        fits("Lease", lease);
    }
    same_keys("Lease", &held);
    let page = server.get("/api/v1/leases", HOLDER).await.ok();
    fits("LeasePage", &page);
    same_keys("LeasePage", &page);
    let log = server.get("/api/v1/handovers", HOLDER).await.ok();
    fits("HandoverPage", &log);
    same_keys("HandoverPage", &log);
    same_keys("Handover", &log["items"][0]);
    let checked = server
        .get("/api/v1/leases/plain/check?generation=1", HOLDER)
        .await
        .ok();
    fits("Checked", &checked);
    same_keys("Checked", &checked);
    let renewal = |lease: &str| json!({ "lease": lease, "holder": "h", "generation": 1 });
    let body = json!({ "renewals": [renewal("plain"), renewal("full"), renewal("never")] });
    let renewed = server.post("/api/v1/renewals", HOLDER, body).await.ok();
    fits("Renewed", &renewed);
    same_keys("Renewed", &renewed);
    for result in renewed["results"].as_array().expect("a list") {
        fits(
            if result["status"] == 200 {
                "Lease"
            } else {
                "Problem"
            },
            &result["body"],
        );
    }
    for answer in [
        server.call("full", "acquire", json!({})).await,
        server
            .call(
                "plain",
                "acquire",
                json!({ "holder": "x", "ttl_ms": 1_000 }),
            )
            .await,
        server
            .call("full", "renew", json!({ "holder": "h", "generation": 1 }))
            .await,
        server.get("/api/v1/leases/never", HOLDER).await,
        server.get("/api/v1/leases", "baton_x").await,
    ] {
        fits("Problem", &answer.json());
    }
}

/// The fields that a wire type reads, by filling it and writing it again.
fn read_and_written<T: serde::Serialize + serde::de::DeserializeOwned>(
    value: Value,
) -> Vec<String> {
    let read: T = serde_json::from_value(value.clone()).unwrap_or_else(|e| panic!("{value}: {e}"));
    let written = serde_json::to_value(read).expect("it can be written");
    let mut keys: Vec<String> = written
        .as_object()
        .expect("an object")
        .keys()
        .cloned()
        .collect();
    keys.sort();
    keys
}

#[tokio::test]
async fn what_is_asked_for_is_what_the_wire_types_read() {
    use baton_client as wire;

    let server = Server::start().await;
    let document = Document::of(&server).await;
    // A value for each field of a schema: what the document allows first.
    let filled = |name: &str| {
        let schema = document.schema(name);
        let candidates = [
            json!("everyone"),
            json!("h"),
            json!(1),
            json!(1_000),
            json!(true),
            json!("held"),
            json!("granted"),
            json!("signed_in"),
            json!("name"),
            json!("desc"),
            json!("baton"),
            json!("jsonl"),
            json!("prefix"),
            json!("2026-11-29T02:14:07Z"),
            json!([{ "lease": "a", "holder": "h", "generation": 1 }]),
        ];
        let fields = document.fields(schema).into_iter().map(|field| {
            let allowed = |value: &&Value| document.allows(&schema["properties"][&field], value);
            let value = candidates
                .iter()
                .find(allowed)
                .unwrap_or_else(|| panic!("{field}"));
            (field, value.clone())
        });
        Value::Object(fields.collect())
    };
    let sorted = |name: &str| {
        let mut fields = document.fields(document.schema(name));
        fields.sort();
        fields
    };
    macro_rules! same {
        ($($schema:literal $wire:ty,)*) => {
            // A schema that is added has to be added here.
            let known = [$($schema),*];
            for route in ROUTES {
                if let Shape::Json(name) | Shape::Query(name) = route.takes {
                    assert!(known.contains(&name), "{name}");
                }
            }
            $(assert_eq!(read_and_written::<$wire>(filled($schema)), sorted($schema), $schema);)*
        };
    }
    same! {
        "Acquire" wire::Acquire,
        "Renew" wire::Renew,
        "Renewals" wire::Renewals,
        "Release" wire::Release,
        "ForceRelease" wire::ForceRelease,
        "StepDownRequest" wire::StepDownRequest,
        "Reason" wire::Reason,
        "Protect" wire::Protect,
        "Forget" wire::Forget,
        "AccessQuery" wire::AccessQuery,
        "AccessExportQuery" wire::AccessExportQuery,
        "CheckQuery" wire::CheckQuery,
        "LeaseQuery" wire::LeaseQuery,
        "EventsQuery" wire::EventsQuery,
        "HandoverQuery" wire::HandoverQuery,
        "ExportQuery" wire::ExportQuery,
        "AtQuery" wire::AtQuery,
        "ReportQuery" wire::ReportQuery,
        "TenureQuery" wire::TenureQuery,
    }
    let item = &document.schema("Renewals")["properties"]["renewals"]["items"];
    let mut fields = document.fields(item);
    fields.sort();
    let body =
        json!({ "lease": "a", "holder": "h", "generation": 1, "ttl_ms": 1_000, "status": 1 });
    assert_eq!(read_and_written::<wire::Renewal>(body), fields);
}

#[tokio::test]
async fn every_named_route_stands_in_the_document_with_its_access() {
    let server = Server::start().await;
    let Document(document) = Document::of(&server).await;
    for route in ROUTES {
        let method = route.method.as_str().to_ascii_lowercase();
        let operation = &document["paths"][route.path][&method];
        assert_eq!(
            operation["operationId"].as_str(),
            route.name,
            "{}",
            route.path
        );
        assert_eq!(route.is_api(), route.name.is_some(), "{}", route.path);
        if route.name.is_some() {
            let needs = operation.get("security").is_some();
            assert_eq!(needs, route.access.role().is_some(), "{}", route.path);
        }
    }
    assert_eq!(document["openapi"], "3.1.0");
    assert_eq!(
        document["servers"][0]["url"],
        format!("http://{}", server.host)
    );
}
