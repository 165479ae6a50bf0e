//! The schemas of the OpenAPI document. Bounds are the wire contract's own
//! constants; a test holds the fields against the wire types.

use baton_client::{
    AccessEvent, Code, ExportFormat, HandoverEvent,
    limits::{
        ABOVE_MAX, ADDRESS_CHARS_MAX, CLAIM_ID_CHARS_MAX, FORGET_IDLE_MS_MIN, GRACE_MS_MAX,
        HOLDER_CHARS_MAX, INCIDENT_CHARS_MAX, LEASE_NAME_CHARS_MAX, NUMBER_MAX, OPERATOR_MS_MAX,
        OPERATOR_MS_MIN, PAGE_DEFAULT, PAGE_MAX, PRINCIPAL_CHARS_MAX, REASON_CHARS_MAX,
        RENEWALS_MAX, SEARCH_CHARS_MAX, TTL_MS_MAX, TTL_MS_MIN, WAIT_MS_MAX,
    },
};
use serde_json::{Value, json};

/// Text without U+0000.
const NO_NUL: &str = r"^[^\u0000]*$";
/// Text without U+0000 that is not blank.
const WORDS: &str = r"^[^\u0000]*[^\s\u0000][^\u0000]*$";

/// All schemas, by name.
pub fn all() -> Value {
    let mut all = requests();
    for part in [answers(), words()] {
        if let (Value::Object(all), Value::Object(part)) = (&mut all, part) {
            all.extend(part);
        }
    }
    all
}

fn object(required: &[&str], properties: Value) -> Value {
    json!({
        "type": "object",
        "additionalProperties": false,
        "required": required,
        "properties": properties,
    })
}

/// An object that always has all of its fields.
fn whole(properties: Value) -> Value {
    let names: Vec<&str> = properties
        .as_object()
        .into_iter()
        .flatten()
        .map(|(name, _)| name.as_str())
        .collect();
    object(&names, properties.clone())
}

fn number(min: u64, max: u64) -> Value {
    json!({ "type": "integer", "minimum": min, "maximum": max })
}

fn any_number() -> Value {
    number(0, NUMBER_MAX)
}

fn text(chars_max: usize) -> Value {
    json!({ "type": "string", "maxLength": chars_max, "pattern": NO_NUL })
}

fn said(chars_max: usize) -> Value {
    json!({ "type": "string", "minLength": 1, "maxLength": chars_max, "pattern": WORDS })
}

fn one_of(schema: &str) -> Value {
    json!({ "$ref": format!("#/components/schemas/{schema}") })
}

fn or_null(schema: Value) -> Value {
    json!({ "anyOf": [schema, { "type": "null" }] })
}

/// Two fields that are there together, or absent together.
fn together(one: &str, other: &str) -> Value {
    let absent = json!({ "type": "null" });
    let present = json!({ "not": absent });
    json!({ "anyOf": [
        { "properties": { one: absent, other: absent } },
        { "required": [one, other], "properties": { one: present, other: present } },
    ] })
}

fn described(mut schema: Value, description: &str) -> Value {
    schema["description"] = json!(description);
    schema
}

fn time() -> Value {
    json!({ "type": "string", "format": "date-time" })
}

fn flag() -> Value {
    json!({ "type": "boolean" })
}

/// JSON of any shape.
fn anything(description: &str) -> Value {
    json!({ "description": description })
}

/// Names and words.
fn words() -> Value {
    let events: Vec<&str> = HandoverEvent::ALL
        .iter()
        .map(|event| event.as_str())
        .collect();
    let access_events: Vec<&str> = AccessEvent::ALL
        .iter()
        .map(|event| event.as_str())
        .collect();
    let codes: Vec<&str> = Code::ALL.iter().map(|code| code.as_str()).collect();
    json!({
        "LeaseName": {
            "type": "string", "minLength": 1, "maxLength": LEASE_NAME_CHARS_MAX,
            "pattern": "^[A-Za-z0-9][A-Za-z0-9._:@-]*$",
        },
        "Holder": {
            "type": "string", "minLength": 1, "maxLength": HOLDER_CHARS_MAX,
            // Printable, and not only blanks.
            "pattern": r"^[^\u0000-\u001f\u007f-\u009f]*[^\s\u0000-\u001f\u007f-\u009f][^\u0000-\u001f\u007f-\u009f]*$",
        },
        "Generation": described(any_number(), "The fencing token: only ever grows, and never on a renewal"),
        "Number": any_number(),
        "Time": described(time(), "RFC 3339, UTC, six fractional digits, on the database's clock"),
        "State": { "type": "string", "enum": ["free", "held", "lapsed"] },
        "HandoverEvent": { "type": "string", "enum": events },
        "AccessEvent": { "type": "string", "enum": access_events },
        "Code": { "type": "string", "enum": codes },
        "Actor": {
            "type": "string", "maxLength": HOLDER_CHARS_MAX,
            "pattern": r"^(baton|(user|token):[^\u0000]*)$",
        },
        "OpenApi": { "type": "object" },
    })
}

fn requests() -> Value {
    let ttl = || number(TTL_MS_MIN, TTL_MS_MAX);
    let operator = || number(OPERATOR_MS_MIN, OPERATOR_MS_MAX);
    let reason = || said(REASON_CHARS_MAX);
    let incident = || or_null(said(INCIDENT_CHARS_MAX));
    let renew = |more: Value| {
        let mut properties = json!({
            "holder": one_of("Holder"),
            "generation": one_of("Generation"),
            "ttl_ms": or_null(described(ttl(), "The last one, if absent")),
            "status": anything("What to show of the holder's work, at most 1 KiB; null clears it, absent keeps it"),
        });
        if let (Some(properties), Some(more)) = (properties.as_object_mut(), more.as_object()) {
            properties.extend(more.clone());
        }
        properties
    };
    let mut force = object(
        &["expected_generation", "reason"],
        json!({
            "expected_generation": one_of("Generation"),
            "reason": reason(),
            "incident": incident(),
            "bar": or_null(json!({ "type": "string", "enum": ["everyone", "holder"] })),
            "bar_ms": or_null(operator()),
            "successor": or_null(one_of("Holder")),
            "reserve_ms": or_null(operator()),
        }),
    );
    force["allOf"] = json!([
        together("bar", "bar_ms"),
        together("successor", "reserve_ms")
    ]);
    force["not"] = json!({
        "required": ["bar", "successor"],
        "properties": { "bar": { "const": "everyone" }, "successor": { "type": "string" } },
    });
    let mut step_down = object(
        &["expected_generation", "reason", "deadline_ms"],
        json!({
            "expected_generation": one_of("Generation"),
            "reason": reason(),
            "incident": incident(),
            "deadline_ms": operator(),
            "successor": or_null(one_of("Holder")),
            "reserve_ms": or_null(operator()),
        }),
    );
    step_down["allOf"] = json!([together("successor", "reserve_ms")]);
    json!({
        "Acquire": object(&["holder", "ttl_ms"], json!({
            "holder": one_of("Holder"),
            "ttl_ms": ttl(),
            "grace_ms": number(0, GRACE_MS_MAX),
            "claim_id": or_null(described(said(CLAIM_ID_CHARS_MAX), "Makes the call safe to repeat")),
            "above": or_null(described(number(0, ABOVE_MAX), "The new generation is above this")),
            "expected_generation": or_null(one_of("Generation")),
            "max_attempts": or_null(any_number()),
            "payload": anything("What the work is, for whoever takes it over: at most 64 KiB"),
            "principal": or_null(said(PRINCIPAL_CHARS_MAX)),
            "status": anything("What to show of the holder's work: at most 1 KiB"),
            "wait_ms": described(number(0, WAIT_MS_MAX), "How long to wait in line"),
        })),
        "Renew": object(&["holder", "generation"], renew(json!({}))),
        "Renewals": object(&["renewals"], json!({
            "renewals": {
                "type": "array", "minItems": 1, "maxItems": RENEWALS_MAX,
                "items": object(&["lease", "holder", "generation"], renew(json!({ "lease": one_of("LeaseName") }))),
                "description": "Each lease once",
            },
        })),
        "Release": object(&["holder", "generation"], json!({
            "holder": one_of("Holder"),
            "generation": one_of("Generation"),
            "reason": or_null(reason()),
        })),
        "ForceRelease": force,
        "StepDownRequest": step_down,
        "Reason": object(&["reason"], json!({ "reason": reason(), "incident": incident() })),
        "Protect": object(&["reason"], json!({ "reason": reason() })),
        "AccessQuery": object(&[], {
            let mut query = access_filter();
            query["order"] = json!({ "type": "string", "enum": ["desc", "asc"], "default": "desc" });
            query["limit"] = limit();
            query["cursor"] = cursor();
            query
        }),
        "AccessExportQuery": object(&[], access_filter()),
        "Forget": object(&["idle_ms"], json!({
            "idle_ms": described(number(FORGET_IDLE_MS_MIN, NUMBER_MAX), "Leases that nobody touched for so long"),
            "reason": or_null(reason()),
        })),
        "CheckQuery": object(&["generation"], json!({ "generation": one_of("Generation") })),
        "AtQuery": object(&["time"], json!({ "time": described(time(), "Not in the future") })),
        "ReportQuery": object(&["from", "to"], json!({
            "from": time(),
            "to": described(time(), "After `from`"),
        })),
        "TenureQuery": object(&["holder"], json!({
            "holder": one_of("Holder"),
            "from": described(time(), "Tenures that were not over then"),
            "to": described(time(), "Tenures that began before then"),
            "limit": limit(),
            "cursor": cursor(),
        })),
        "ExportQuery": object(&[], {
            let mut query = handover_filter();
            query["format"] = json!({ "type": "string", "enum": ExportFormat::ALL, "default": "jsonl" });
            query
        }),
        "LeaseQuery": object(&[], lease_query()),
        "EventsQuery": object(&[], {
            let mut query = lease_query();
            query["after"] = any_number();
            query["handovers"] = described(
                json!({ "type": "string", "enum": ["all", "prefix", "page"], "default": "all" }),
                "Which entries of the log are sent: every one; those of leases with the `prefix` \
                 and of none; or of each lease on the page the last, when it changed or came onto \
                 the page (these have no event id, and are in no order)",
            );
            query
        }),
        "HandoverQuery": object(&[], {
            let mut query = handover_filter();
            query["order"] = json!({ "type": "string", "enum": ["desc", "asc"], "default": "desc" });
            query["limit"] = limit();
            query["cursor"] = cursor();
            query
        }),
    })
}

fn handover_filter() -> Value {
    json!({
        "lease": one_of("LeaseName"),
        "prefix": prefix(),
        "holder": text(HOLDER_CHARS_MAX),
        "event": one_of("HandoverEvent"),
        "actor": one_of("Actor"),
        "incident": text(INCIDENT_CHARS_MAX),
        "from": time(),
        "to": time(),
        "after": any_number(),
    })
}

fn lease_query() -> Value {
    json!({
        "search": described(text(SEARCH_CHARS_MAX), "Part of the lease's or the holder's name"),
        "prefix": prefix(),
        "state": one_of("State"),
        "holder": text(HOLDER_CHARS_MAX),
        "attention": described(flag(), "Only what asks for a look"),
        "sort": { "type": "string", "enum": ["name", "attention", "expires", "changed"], "default": "name" },
        "limit": limit(),
        "cursor": cursor(),
    })
}

fn access_filter() -> Value {
    json!({
        "event": one_of("AccessEvent"),
        "actor": one_of("Actor"),
        "address": described(text(ADDRESS_CHARS_MAX), "From where it was asked"),
        "subject": described(text(LEASE_NAME_CHARS_MAX), "The user, token or lease that it is about"),
        "from": time(),
        "to": time(),
        "after": any_number(),
    })
}

fn prefix() -> Value {
    json!({ "type": "string", "maxLength": LEASE_NAME_CHARS_MAX, "pattern": "^[A-Za-z0-9._:@-]*$" })
}

fn limit() -> Value {
    let mut limit = number(1, PAGE_MAX);
    limit["default"] = json!(PAGE_DEFAULT);
    limit
}

fn cursor() -> Value {
    json!({ "type": "string", "maxLength": 1000, "description": "`next` of the page before" })
}

fn answers() -> Value {
    let holder = || or_null(one_of("Holder"));
    let at = || or_null(time());
    let count = || or_null(any_number());
    let words = || json!({ "type": "string" });
    let words_or_null = || or_null(words());
    let mut lease = whole(json!({
        "lease": one_of("LeaseName"),
        "state": one_of("State"),
        "holder": holder(),
        "generation": one_of("Generation"),
        "granted_at": at(),
        "renewed_at": at(),
        "expires_at": at(),
        "takeable_at": described(at(), "When someone else could acquire, as far as time decides"),
        "remaining_ms": count(),
        "ttl_ms": count(),
        "grace_ms": count(),
        "attempt": any_number(),
        "principal": words_or_null(),
        "status": anything("What the holder reports"),
        "protected": flag(),
        "step_down": or_null(whole(json!({
            "at": time(), "deadline": time(), "actor": one_of("Actor"), "reason": words(),
            "incident": words_or_null(), "successor": holder(),
        }))),
        "paused": or_null(whole(json!({
            "at": time(), "actor": one_of("Actor"), "reason": words(), "incident": words_or_null(),
        }))),
        "barred": or_null(whole(json!({
            "holder": holder(), "until": time(), "actor": one_of("Actor"), "reason": words(),
        }))),
        "reserved": or_null(whole(json!({
            "holder": one_of("Holder"), "until": time(), "actor": one_of("Actor"), "reason": words(),
        }))),
        "blocked": words_or_null(),
        "flapping": described(any_number(), "Changes of hands in the last five minutes; 100 means as many or more"),
        "now": time(),
    }));
    // Only acquire and the single lease carry it, and never for strangers.
    lease["properties"]["payload"] = anything("What the work is, as the holder sent it");
    let page = |items: &str| {
        whole(json!({
            "items": { "type": "array", "items": one_of(items) },
            "next": words_or_null(),
            "now": time(),
        }))
    };
    json!({
        "Lease": lease,
        "LeasePage": page("Lease"),
        "HandoverPage": page("Handover"),
        "Handover": whole(json!({
            "seq": any_number(), "at": time(), "lease": or_null(one_of("LeaseName")),
            "event": one_of("HandoverEvent"), "generation": one_of("Generation"), "holder": holder(),
            "previous_generation": one_of("Generation"), "previous_holder": holder(),
            "held_from": at(), "held_until": at(), "reason": words(), "incident": words_or_null(),
            "actor": one_of("Actor"), "actor_address": words_or_null(), "request_id": words_or_null(),
            "details": { "type": "object" },
            "prev_hash": hash(), "hash": hash(),
        })),
        "Tenure": whole(json!({
            "lease": one_of("LeaseName"), "holder": one_of("Holder"),
            "generation": one_of("Generation"), "from": time(),
            "until": described(at(), "Null while it may go on"),
            "ended": or_null(one_of("HandoverEvent")),
            "lapsed_ms": described(any_number(), "Lapsed before its holder renewed again"),
        })),
        "TenurePage": page("Tenure"),
        "Verification": whole(json!({
            "holds": described(flag(), "Nothing is wrong, as far as it was verified"),
            "verified_seq": any_number(), "verified_at": at(), "head_seq": any_number(),
            "findings": { "type": "array", "items": whole(json!({
                "seq": count(), "what": words(), "cause": words(),
            })) },
            "now": time(),
        })),
        "LeaseAt": whole(json!({
            "lease": one_of("LeaseName"), "time": time(), "state": one_of("State"),
            "generation": one_of("Generation"), "tenure": or_null(one_of("Tenure")),
            "seq": described(count(), "The last entry about it until then"), "now": time(),
        })),
        "Report": whole(json!({
            "lease": one_of("LeaseName"),
            "from": described(time(), "Not before the history first spoke of it"),
            "to": described(time(), "Not after `now`"),
            "held_ms": any_number(), "unheld_ms": any_number(),
            "availability_ppm": number(0, 1_000_000),
            "events": described(json!({ "type": "object" }), "How many entries of each kind"),
            "forced_by": { "type": "array", "items": whole(json!({
                "actor": one_of("Actor"), "count": any_number(),
            })) },
            "tenures": any_number(), "longest_tenure": or_null(one_of("Tenure")),
            "gaps": any_number(),
            "longest_gap": or_null(whole(json!({
                "from": time(), "until": at(), "ms": any_number(),
            }))),
            "mean_gap_ms": described(count(), "Until a new holder came, on average"),
            "now": time(),
        })),
        "Checked": whole(json!({
            "lease": one_of("LeaseName"), "generation": one_of("Generation"),
            "current": flag(), "now": time(),
        })),
        "AccessPage": page("AccessEntry"),
        "AccessEntry": whole(json!({
            "seq": any_number(), "at": time(), "event": one_of("AccessEvent"),
            "actor": or_null(one_of("Actor")), "actor_address": words_or_null(),
            "request_id": words_or_null(), "subject": words_or_null(),
            "details": { "type": "object" }, "prev_hash": hash(), "hash": hash(),
        })),
        "Forgot": whole(json!({
            "forgotten": any_number(),
            "floor": described(one_of("Generation"), "What new leases' generations start above"),
            "more": described(flag(), "There may be more: ask again"),
        })),
        "Renewed": whole(json!({
            "results": { "type": "array", "items": whole(json!({
                "lease": one_of("LeaseName"),
                "status": { "type": "integer" },
                "body": { "anyOf": [one_of("Lease"), one_of("Problem")] },
            })) },
            "now": time(),
        })),
        "Problem": object(
            &["type", "title", "status", "code", "detail", "request_id"],
            json!({
                "type": words(), "title": words(), "status": { "type": "integer" },
                "code": one_of("Code"), "detail": words(), "request_id": words_or_null(),
                "lease": one_of("Lease"),
                "retry_after_ms": described(any_number(), "When time will help"),
                "handover": described(one_of("Handover"), "The entry that moved the generation"),
                "ended": { "type": "string", "enum": ["taken", "released", "forced", "unknown"] },
                "errors": { "type": "array", "items": whole(json!({ "field": words(), "message": words() })) },
                "outcome": { "type": "string", "enum": ["not_done", "unknown"] },
            }),
        ),
    })
}

fn hash() -> Value {
    json!({ "type": "string", "pattern": "^[0-9a-f]{64}$" })
}
