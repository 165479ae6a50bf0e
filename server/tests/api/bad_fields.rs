//! Every field of every call, by a walk over the OpenAPI document, with whatever
//! it cannot be: always the documented error that names the field, never a change.

use baton::{
    http::routes::{ROUTES, Shape, Verb},
    people::Access,
};
use serde_json::Value;

use crate::{
    authorisation::sample,
    requests::{Request, Response},
    schema::{self, Document},
    server::{HOLDER, Server},
};

/// JSON that most fields cannot be.
fn hostile() -> Vec<String> {
    let mut all: Vec<String> = [
        "null",
        "true",
        "[]",
        "{}",
        "[[]]",
        r#"[["a","h",1,null,null]]"#,
        r#"{"a":1}"#,
        "0",
        "-1",
        "1",
        "1.5",
        "1e3",
        "-0",
        "1e400",
        "999",
        "86400001",
        "3600001",
        "60001",
        "4503599627370497",
        "9007199254740991",
        "9007199254740992",
        "9223372036854775807",
        "9223372036854775808",
        "18446744073709551615",
        "18446744073709551616",
        "-9223372036854775809",
        r#""""#,
        r#""   ""#,
        r#""\u200b\u2060\u3164""#,
        r#""text""#,
        r#""5""#,
        r#""a\u0000b""#,
        r#""\n""#,
        r#""\u0085""#,
        r#""\u00a0""#,
        r#""\ud800""#,
        r#""\udc00\ud800""#,
        r#""ä/ö""#,
        r#""../..""#,
        r#""EVERYONE""#,
    ]
    .map(ToOwned::to_owned)
    .to_vec();
    for length in [65, 201, 256, 501, 2001, 100_000] {
        all.push(format!("\"{}\"", "a".repeat(length)));
        all.push(format!("\"{}\"", "🦊".repeat(length.min(20_000))));
    }
    for (open, close) in [("[", "]"), (r#"{"a":"#, "}")] {
        let depth = if open == "[" { 100_000 } else { 40_000 };
        all.push(format!("{}1{}", open.repeat(depth), close.repeat(depth)));
    }
    all
}

/// What `payload` and `status` cannot be, although they can be any JSON.
fn hostile_json() -> Vec<String> {
    let nest = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
    vec![
        r#""a\u0000b""#.into(),
        r#"{"a\u0000b":1}"#.into(),
        r#"{"a":[{"b":"\u0000"}]}"#.into(),
        r#"{"a":"\u0000","a":1}"#.into(),
        r#"[{"\u0000":1,"\u0000":2}]"#.into(),
        r#""\ud800""#.into(),
        r#"{"\udfff":1}"#.into(),
        "1e400".into(),
        nest(65),
        nest(100_000),
        format!("{}1{}", r#"{"a":"#.repeat(40_000), "}".repeat(40_000)),
        format!("\"{}\"", "a".repeat(65_536)),
    ]
}

/// The answer says that this field is wrong.
#[track_caller]
fn names(answer: &Response, field: &str, sent: &Request) {
    assert_eq!(answer.status, 422, "{sent:?}: {}", answer.text());
    let problem = answer.problem(422, "invalid");
    let errors = problem["errors"].as_array().expect("it has errors");
    // Of a list, the item is named.
    let named = |error: &Value| {
        let named = error["field"].as_str().unwrap_or_default();
        named == field || named.starts_with(&format!("{field}["))
    };
    assert!(
        errors.iter().any(named),
        "{field} is not named for {sent:?}: {problem}"
    );
    let detail = problem["detail"].as_str().unwrap_or_default();
    assert!(detail.contains(field), "{detail}");
}

/// A body with one field replaced by this text of JSON, or without it.
fn with(body: &Value, field: &str, text: Option<&str>) -> String {
    let fields = body.as_object().expect("a body is an object");
    let others = fields.iter().filter(|(name, _)| *name != field);
    let mut parts: Vec<String> = others
        .map(|(name, value)| format!("\"{name}\":{value}"))
        .collect();
    parts.extend(text.map(|text| format!("\"{field}\":{text}")));
    format!("{{{}}}", parts.join(","))
}

/// Whether the document lets a field be this text of JSON.
fn allowed(document: &Document, schema: &Value, text: &str) -> bool {
    serde_json::from_str(text).is_ok_and(|value| document.allows(schema, &value))
}

/// The body with a field that is this text of JSON, or without the field.
type Replaced = dyn Fn(Option<&str>) -> String + Send + Sync;

/// The fields of a body's schema, and the body with one of them replaced.
struct Field {
    /// As the errors name it.
    name: String,
    schema: Value,
    required: bool,
    replaced: Box<Replaced>,
}

fn fields(document: &Document, name: &str) -> Vec<Field> {
    let whole = document.schema(name).clone();
    let base = schema::body(name, "victim");
    let mut fields = Vec::new();
    let required = |schema: &Value, field: &str| {
        let names = schema["required"]
            .as_array()
            .expect("it says what it needs");
        names.iter().any(|name| name == field)
    };
    for field in document.fields(&whole) {
        let (base, key) = (base.clone(), field.clone());
        fields.push(Field {
            schema: whole["properties"][&field].clone(),
            required: required(&whole, &field),
            name: field,
            replaced: Box::new(move |text| with(&base, &key, text)),
        });
    }
    // One level down, for the renewals.
    if name == "Renewals" {
        let item = &whole["properties"]["renewals"]["items"];
        for field in document.fields(item) {
            let (first, key) = (base["renewals"][0].clone(), field.clone());
            fields.push(Field {
                schema: item["properties"][&field].clone(),
                required: required(item, &field),
                name: format!("renewals[0].{field}"),
                replaced: Box::new(move |text| {
                    format!("{{\"renewals\":[{}]}}", with(&first, &key, text))
                }),
            });
        }
    }
    fields
}

async fn every_field_of_every_body(server: Server) {
    let document = Document::of(&server).await;
    server.acquired("victim", "h").await;
    let admin = server.token("root", "admin", &[]).await;
    let before = server.everything().await;
    let mut tried = 0;
    for route in ROUTES {
        let Shape::Json(name) = route.takes else {
            continue;
        };
        let token = match route.access {
            Access::Hold => HOLDER,
            _ => &admin,
        };
        let path = sample(route, "victim").path;
        for field in fields(&document, name) {
            let anything = field.schema.get("type").is_none()
                && field.schema.get("$ref").is_none()
                && field.schema.get("anyOf").is_none();
            let values = if anything { hostile_json() } else { hostile() };
            for text in values {
                if !anything && allowed(&document, &field.schema, &text) {
                    continue;
                }
                let request = Request::post_text(&path, (field.replaced)(Some(&text))).token(token);
                names(&server.send(&request).await, &field.name, &request);
                tried += 1;
            }
            let twice = (field.replaced)(Some("1")).replacen(
                &format!("\"{}\":1", last(&field.name)),
                &format!("\"{0}\":1,\"{0}\":1", last(&field.name)),
                1,
            );
            let twice = Request::post_text(&path, twice).token(token);
            server.send(&twice).await.problem(422, "invalid");
            if field.required {
                let without = Request::post_text(&path, (field.replaced)(None)).token(token);
                names(&server.send(&without).await, &field.name, &without);
            }
        }
        let unknown = with(&schema::body(name, "victim"), "colour", Some("1"));
        let unknown = Request::post_text(&path, unknown).token(token);
        names(&server.send(&unknown).await, "colour", &unknown);
    }
    assert!(tried > 1_000, "{tried}");
    assert_eq!(server.everything().await, before, "nothing was changed");
}

fn last(field: &str) -> &str {
    field.rsplit('.').next().unwrap_or(field)
}

#[tokio::test]
async fn every_field_of_every_body_on_sqlite() {
    every_field_of_every_body(Server::start().await).await;
}

#[tokio::test]
async fn every_field_of_every_body_on_postgres() {
    every_field_of_every_body(Server::on_postgres().await).await;
}

/// What stands in queries, percent-encoded. Not `+1`, which reads as 1.
fn hostile_words() -> Vec<String> {
    let mut all: Vec<String> = [
        "",
        " ",
        "a b",
        "0",
        "-1",
        "1.5",
        "1e3",
        "01x",
        "1001",
        "9007199254740992",
        "9223372036854775808",
        "18446744073709551616",
        "true",
        "TRUE",
        "null",
        "a\0b",
        "\0",
        "ä",
        "../..",
        "held",
        "HELD",
        "user:",
        "nobody:x",
        "2026-13-01T00:00:00Z",
        "yesterday",
        "🦊",
    ]
    .map(ToOwned::to_owned)
    .to_vec();
    for length in [201, 256, 501, 1_001, 20_000] {
        all.push("a".repeat(length));
    }
    all
}

/// A word of a query, as the field's schema would see it.
fn as_value(document: &Document, schema: &Value, word: &str) -> Value {
    match document.resolve(schema)["type"].as_str() {
        Some("integer") if word.bytes().all(|b| b.is_ascii_digit()) => word
            .parse()
            .map_or_else(|_| Value::from(word), |number: u64| Value::from(number)),
        Some("boolean") if word == "true" || word == "false" => Value::from(word == "true"),
        _ => Value::from(word),
    }
}

#[tokio::test]
async fn every_field_of_every_query() {
    let server = Server::start().await;
    let admin = server.token("root", "admin", &[]).await;
    let document = Document::of(&server).await;
    let mut tried = 0;
    for route in ROUTES {
        let Shape::Query(name) = route.takes else {
            continue;
        };
        assert_eq!(route.method, Verb::Get);
        let full = String::from_utf8(sample(route, "victim").path).expect("it is text");
        let path = full.split('?').next().unwrap_or_default();
        let whole = document.schema(name);
        // What else is required is there, for one that is missing is told at a time.
        let given = full.split_once('?').map_or("", |(_, query)| query);
        let others = |field: &str| -> Vec<(String, String)> {
            let pairs = form_urlencoded::parse(given.as_bytes()).into_owned();
            pairs.filter(|(key, _)| key != field).collect()
        };
        for field in document.fields(whole) {
            let schema = &whole["properties"][&field];
            for word in hostile_words() {
                // Cursors are opaque: only their length stands in the document.
                let opaque = field == "cursor" && word != "\0" && word.len() < 1_001;
                if document.allows(schema, &as_value(&document, schema, &word)) && !opaque {
                    continue;
                }
                let query = form_urlencoded::Serializer::new(String::new())
                    .extend_pairs(others(&field))
                    .append_pair(&field, &word)
                    .finish();
                let request = Request::get(format!("{path}?{query}")).token(&admin);
                let answer = server.send(&request).await;
                names(&answer, &field, &request);
                tried += 1;
            }
            let twice = format!("{path}?{field}=1&{field}=1");
            server.get(&twice, &admin).await.problem(422, "invalid");
            let no_text = format!("{path}?{field}=%FF");
            server.get(&no_text, &admin).await.problem(400, "malformed");
        }
        let request = Request::get(format!("{path}?colour=1")).token(&admin);
        names(&server.send(&request).await, "colour", &request);
        for required in whole["required"].as_array().into_iter().flatten() {
            let field = required.as_str().expect("a name");
            let query = form_urlencoded::Serializer::new(String::new())
                .extend_pairs(others(field))
                .finish();
            let request = Request::get(format!("{path}?{query}")).token(&admin);
            names(&server.send(&request).await, field, &request);
        }
    }
    assert!(tried > 200, "{tried}");
    // Routes without a query take none.
    server.acquired("victim", "h").await;
    for path in [
        "/api/v1/leases/victim?colour=1",
        "/api/v1/handovers/1?colour=1",
    ] {
        let request = Request::get(path).token(&admin);
        names(&server.send(&request).await, "colour", &request);
    }
}
