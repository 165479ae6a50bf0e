//! The OpenAPI document, read as a client would: what a body may hold, and a body
//! that holds the least.

use serde_json::{Value, json};

use crate::{requests::Request, server::Server};

/// A body that this schema's route would carry out, with the lease held by `h`
/// in generation 1.
pub fn body(schema: &str, lease: &str) -> Value {
    match schema {
        "Acquire" => json!({ "holder": "h", "ttl_ms": 600_000 }),
        "Renew" | "Release" => json!({ "holder": "h", "generation": 1 }),
        "Renewals" => {
            json!({ "renewals": [{ "lease": lease, "holder": "h", "generation": 1 }] })
        }
        "ForceRelease" => json!({ "expected_generation": 1, "reason": "r" }),
        "StepDownRequest" => {
            json!({ "expected_generation": 1, "reason": "r", "deadline_ms": 60_000 })
        }
        "Reason" | "Protect" => json!({ "reason": "r" }),
        // Nothing is idle for so long.
        "Forget" => json!({ "idle_ms": 3_600_000 }),
        _ => panic!("what is a {schema}?"),
    }
}

/// A form that its page would carry out, with the lease held in generation 1.
pub fn form(name: &str) -> Vec<(&'static str, &'static str)> {
    let password = ("password", "not the password");
    match name {
        "Act" => vec![
            ("expected_generation", "1"),
            ("reason", "r"),
            ("deadline_ms", "60000"),
            ("then", "anyone"),
        ],
        "Many" => vec![("do", "pause"), ("reason", "r"), ("lease", "1 own-many")],
        // A wrong one, for there is no second session to go on with.
        "Password" => vec![
            password,
            ("new_password", "12345678"),
            ("again", "12345678"),
        ],
        "Display" => vec![("theme", "dark"), ("times", "local"), ("keys", "off")],
        "New" => vec![("name", "made"), ("role", "viewer")],
        "EditUsers" => vec![("name", "nobody"), ("do", "disable")],
        "EditTokens" => vec![("name", "nothing"), ("do", "revoke")],
        _ => panic!("what is a form {name}?"),
    }
}

/// The document of a server.
pub struct Document(pub Value);

impl Document {
    pub async fn of(server: &Server) -> Self {
        let answer = server.send(&Request::get("/api/v1/openapi.json")).await;
        Self(answer.ok())
    }

    /// A schema by its name.
    pub fn schema(&self, name: &str) -> &Value {
        let schema = &self.0["components"]["schemas"][name];
        assert!(schema.is_object(), "there is no schema {name}");
        schema
    }

    /// A schema itself, where it is only referred to.
    pub fn resolve<'a>(&'a self, schema: &'a Value) -> &'a Value {
        match schema["$ref"].as_str() {
            Some(path) => {
                let name = path.strip_prefix("#/components/schemas/");
                self.schema(name.expect("it is in this document"))
            }
            None => schema,
        }
    }

    /// The names of a schema's fields, in order.
    pub fn fields(&self, schema: &Value) -> Vec<String> {
        let properties = self.resolve(schema)["properties"].as_object();
        let properties = properties.expect("it is an object");
        properties.keys().cloned().collect()
    }

    /// Whether the schema lets a field be this. Knows the words that Baton's
    /// schemas use, and fails at others.
    pub fn allows(&self, schema: &Value, value: &Value) -> bool {
        let schema = self.resolve(schema);
        let words = schema.as_object().expect("a schema is an object");
        words.iter().all(|(word, what)| match word.as_str() {
            "description" | "default" => true,
            "format" => value.as_str().is_none_or(|text| {
                assert_eq!(what, "date-time");
                text.parse::<baton_client::Timestamp>().is_ok()
            }),
            "type" => match what.as_str().expect("a type is a word") {
                "integer" => value.is_u64() || value.is_i64(),
                "string" => value.is_string(),
                "boolean" => value.is_boolean(),
                "array" => value.is_array(),
                "object" => value.is_object(),
                "null" => value.is_null(),
                other => panic!("what is a {other}?"),
            },
            "enum" => what.as_array().expect("a list").contains(value),
            "const" => what == value,
            "minimum" => {
                value.as_u64().is_none_or(|n| Some(n) >= what.as_u64()) && !is_negative(value)
            }
            "maximum" => value.as_u64().is_none_or(|n| Some(n) <= what.as_u64()),
            "minLength" => length(value).is_none_or(|n| Some(n) >= what.as_u64()),
            "maxLength" => length(value).is_none_or(|n| Some(n) <= what.as_u64()),
            "pattern" => value.as_str().is_none_or(|text| fits(what, text)),
            "anyOf" => {
                let any = what.as_array().expect("a list");
                any.iter().any(|schema| self.allows(schema, value))
            }
            "minItems" => value
                .as_array()
                .is_none_or(|list| Some(list.len() as u64) >= what.as_u64()),
            "maxItems" => value
                .as_array()
                .is_none_or(|list| Some(list.len() as u64) <= what.as_u64()),
            "items" => value
                .as_array()
                .is_none_or(|list| list.iter().all(|item| self.allows(what, item))),
            "required" => value.as_object().is_none_or(|object| {
                let mut names = what.as_array().expect("a list").iter();
                names.all(|name| object.contains_key(name.as_str().expect("a name")))
            }),
            "additionalProperties" => value.as_object().is_none_or(|object| {
                object
                    .keys()
                    .all(|key| !schema["properties"][key].is_null())
            }),
            "properties" => value.as_object().is_none_or(|object| {
                let fields = what.as_object().expect("an object");
                fields
                    .iter()
                    .all(|(name, field)| object.get(name).is_none_or(|v| self.allows(field, v)))
            }),
            "allOf" => {
                let all = what.as_array().expect("a list");
                all.iter().all(|schema| self.allows(schema, value))
            }
            "not" => !self.allows(what, value),
            other => panic!("what does {other} mean?"),
        })
    }
}

fn is_negative(value: &Value) -> bool {
    value.as_i64().is_some_and(|number| number < 0)
}

fn length(value: &Value) -> Option<u64> {
    value.as_str().map(|text| text.chars().count() as u64)
}

/// Whether a text fits a pattern of Baton's, each known by its letters: there is
/// no regular expression here, and a pattern that changes has to change here too.
fn fits(pattern: &Value, text: &str) -> bool {
    let name = |text: &str| {
        text.bytes()
            .all(|b| b.is_ascii_alphanumeric() || b"._:@-".contains(&b))
    };
    match pattern.as_str().expect("a pattern is a text") {
        r"^[^\u0000]*$" => !text.contains('\0'),
        r"^[^\u0000]*[^\s\u0000][^\u0000]*$" => !text.contains('\0') && !text.trim().is_empty(),
        r"^[^\u0000-\u001f\u007f-\u009f]*[^\s\u0000-\u001f\u007f-\u009f][^\u0000-\u001f\u007f-\u009f]*$" => {
            !text.chars().any(char::is_control) && !text.trim().is_empty()
        }
        "^[A-Za-z0-9][A-Za-z0-9._:@-]*$" => {
            name(text)
                && text
                    .bytes()
                    .next()
                    .is_some_and(|b| b.is_ascii_alphanumeric())
        }
        "^[A-Za-z0-9._:@-]*$" => name(text),
        r"^(baton|(user|token):[^\u0000]*)$" => {
            let named = |kind| {
                text.strip_prefix(kind)
                    .is_some_and(|name: &str| !name.contains('\0'))
            };
            text == "baton" || named("user:") || named("token:")
        }
        "^[0-9a-f]{64}$" => {
            text.len() == 64 && text.bytes().all(|b| b"0123456789abcdef".contains(&b))
        }
        other => panic!("what fits {other}?"),
    }
}
