//! The OpenAPI 3.1 document, made from the table of routes.

use baton_client::Code;
use serde_json::{Map, Value, json};

use crate::people::Access;

use super::{
    routes::{ROUTES, Route, Shape},
    schemas,
};

/// The document, for a server that is reached at `address`.
pub fn document(address: &str) -> Value {
    let mut paths: Map<String, Value> = Map::new();
    for route in ROUTES {
        let Some(name) = route.name else { continue };
        let methods = paths
            .entry(route.path)
            .or_insert_with(|| json!({}))
            .as_object_mut();
        if let Some(methods) = methods {
            let method = route.method.as_str().to_ascii_lowercase();
            methods.insert(method, operation(route, name));
        }
    }
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Baton",
            "version": env!("CARGO_PKG_VERSION"),
            "description": "Named leases with at most one holder each, a fencing token that only grows, and an append-only history. HEAD works wherever GET does; other methods get 405 and the header Allow, OPTIONS too: pages of other sites have no access.",
            "license": { "name": "MIT OR Apache-2.0" },
        },
        "servers": [{ "url": address }],
        "paths": paths,
        "components": {
            "schemas": schemas::all(),
            "securitySchemes": {
                "token": { "type": "http", "scheme": "bearer", "description": "An API token: baton_…" },
            },
        },
    })
}

fn operation(route: &Route, name: &str) -> Value {
    let mut operation = json!({
        "operationId": name,
        "summary": route.summary,
        "description": needs(route.access),
        "responses": responses(route),
    });
    let parameters = parameters(route);
    if !parameters.is_empty() {
        operation["parameters"] = Value::Array(parameters);
    }
    if let Shape::Json(schema) = route.takes {
        operation["requestBody"] = json!({
            "required": true,
            "content": { "application/json": { "schema": reference(schema) } },
        });
    }
    if route.access != Access::Public {
        operation["security"] = json!([{ "token": [] }]);
    }
    operation
}

fn needs(access: Access) -> String {
    match access.role() {
        None => "Needs no token.".into(),
        Some(role) => format!("Needs the role {role}."),
    }
}

fn parameters(route: &Route) -> Vec<Value> {
    let mut parameters = Vec::new();
    if route.path.contains("{lease}") {
        parameters.push(json!({
            "name": "lease", "in": "path", "required": true, "schema": reference("LeaseName"),
        }));
    }
    if route.path.contains("{seq}") {
        parameters.push(json!({
            "name": "seq", "in": "path", "required": true, "schema": reference("Number"),
        }));
    }
    if let Shape::Query(schema) = route.takes {
        let schema = schemas::all()[schema].clone();
        let required = |name: &str| {
            let names = schema["required"].as_array();
            names.is_some_and(|names| names.iter().any(|required| required == name))
        };
        for (name, field) in schema["properties"].as_object().into_iter().flatten() {
            parameters.push(json!({
                "name": name, "in": "query", "required": required(name), "schema": field,
            }));
        }
    }
    if route.name == Some("events") {
        parameters.push(json!({
            "name": "Last-Event-ID", "in": "header", "required": false,
            "schema": reference("Number"),
        }));
    }
    parameters
}

fn responses(route: &Route) -> Value {
    let mut responses = Map::new();
    let (kinds, schema) = match route.gives {
        Shape::Json(schema) => (&["application/json"][..], reference(schema)),
        Shape::Text(kinds) => (kinds, json!({ "type": "string" })),
        Shape::Nothing | Shape::Query(_) | Shape::Form(_) => {
            (&["text/plain"][..], json!({ "type": "string" }))
        }
    };
    let content: Map<String, Value> = kinds
        .iter()
        .map(|kind| ((*kind).to_owned(), json!({ "schema": schema })))
        .collect();
    responses.insert(
        "200".into(),
        json!({ "description": "Done", "content": content }),
    );
    for code in codes(route) {
        let status = code.status().to_string();
        let response = responses.entry(status).or_insert_with(|| {
            json!({
                "description": "",
                "content": { "application/problem+json": { "schema": reference("Problem") } },
            })
        });
        let before = response["description"].as_str().unwrap_or_default();
        let separator = if before.is_empty() { "" } else { ", " };
        response["description"] = json!(format!("{before}{separator}{code}"));
    }
    Value::Object(responses)
}

/// Every code that a call can answer.
fn codes(route: &Route) -> Vec<Code> {
    let mut codes = vec![Code::Malformed, Code::MethodNotAllowed, Code::Internal];
    if route.access == Access::Public {
        return codes;
    }
    codes.extend([
        Code::Unauthenticated,
        Code::Forbidden,
        Code::Invalid,
        Code::StoreUnavailable,
    ]);
    if matches!(route.takes, Shape::Json(_)) {
        codes.extend([Code::TooLarge, Code::UnsupportedMediaType]);
    }
    codes.extend(route.refusals);
    codes
}

fn reference(schema: &str) -> Value {
    json!({ "$ref": format!("#/components/schemas/{schema}") })
}
