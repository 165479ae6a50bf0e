//! The hash chain of the log: where an entry gets its place, and how anybody
//! can recheck it.

use std::collections::BTreeMap;

use baton_client::{
    Actor, Generation, Handover, HandoverEvent, HolderId, LeaseName, Timestamp, limits::NUMBER_MAX,
};
use serde::Serialize;
use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::rules::Draft;

/// What the first entry's `prev_hash` is.
pub const GENESIS: &str = "0000000000000000000000000000000000000000000000000000000000000000";

/// The end of the log, which the next entry follows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Head {
    /// The last entry's `seq`; 0 before the first.
    pub seq: u64,
    /// The last entry's time.
    pub at: Timestamp,
    /// The last entry's hash.
    pub hash: String,
}

/// An entry could not be written in its canonical form.
#[derive(Debug, thiserror::Error)]
#[error("a log entry has no canonical form")]
pub struct CanonicalError(#[from] serde_json::Error);

impl Head {
    /// Before the first entry.
    pub fn genesis() -> Self {
        Self {
            seq: 0,
            at: Timestamp::from_micros(0),
            hash: GENESIS.into(),
        }
    }

    /// With this as the last entry.
    pub fn of(entry: &Handover) -> Self {
        Self {
            seq: entry.seq,
            at: entry.at,
            hash: entry.hash.clone(),
        }
    }

    /// Gives `draft` the next place in the chain, and moves the head there.
    ///
    /// # Errors
    /// The entry has no canonical form; numbers that are not whole have none.
    pub fn seal(&mut self, draft: Draft) -> Result<Handover, CanonicalError> {
        let (held_from, held_until) = draft.held.unzip();
        let mut entry = Handover {
            seq: self.seq + 1,
            at: draft.at,
            lease: draft.lease,
            event: draft.event,
            generation: draft.generation,
            holder: draft.holder,
            previous_generation: draft.previous_generation,
            previous_holder: draft.previous_holder,
            held_from,
            held_until,
            reason: draft.reason,
            incident: draft.incident,
            actor: draft.asker.actor,
            actor_address: draft.asker.address,
            request_id: draft.asker.request_id,
            details: draft.details,
            prev_hash: self.hash.clone(),
            hash: String::new(),
        };
        entry.hash = hash(&entry)?;
        self.seq = entry.seq;
        self.at = entry.at;
        self.hash.clone_from(&entry.hash);
        Ok(entry)
    }
}

/// The hash that an entry must carry: SHA-256, in lower-case hex, over the RFC
/// 8785 form of all its fields but `hash`.
///
/// # Errors
/// The entry has no canonical form.
pub fn hash(entry: &Handover) -> Result<String, CanonicalError> {
    Ok(hex::encode(Sha256::digest(form(entry, None)?)))
}

/// The RFC 8785 form of a whole entry, its `hash` included.
///
/// # Errors
/// The entry has no canonical form.
pub fn whole_form(entry: &Handover) -> Result<Vec<u8>, CanonicalError> {
    form(entry, Some(&entry.hash))
}

/// An entry's fields in the order of their names. With nothing in it but text,
/// truth values and whole numbers that every reader of JSON keeps exactly, JSON
/// that is written in this order is the canonical form.
#[derive(Serialize)]
struct InOrder<'a> {
    actor: &'a Actor,
    actor_address: &'a Option<String>,
    at: Timestamp,
    details: BTreeMap<&'a String, &'a Value>,
    event: HandoverEvent,
    generation: Generation,
    #[serde(skip_serializing_if = "Option::is_none")]
    hash: Option<&'a str>,
    held_from: Option<Timestamp>,
    held_until: Option<Timestamp>,
    holder: &'a Option<HolderId>,
    incident: &'a Option<String>,
    lease: &'a Option<LeaseName>,
    prev_hash: &'a str,
    previous_generation: Generation,
    previous_holder: &'a Option<HolderId>,
    reason: &'a str,
    request_id: &'a Option<String>,
    seq: u64,
}

fn form(entry: &Handover, hash: Option<&str>) -> Result<Vec<u8>, CanonicalError> {
    let in_order = InOrder {
        actor: &entry.actor,
        actor_address: &entry.actor_address,
        at: entry.at,
        details: entry.details.iter().collect(),
        event: entry.event,
        generation: entry.generation,
        hash,
        held_from: entry.held_from,
        held_until: entry.held_until,
        holder: &entry.holder,
        incident: &entry.incident,
        lease: &entry.lease,
        prev_hash: &entry.prev_hash,
        previous_generation: entry.previous_generation,
        previous_holder: &entry.previous_holder,
        reason: &entry.reason,
        request_id: &entry.request_id,
        seq: entry.seq,
    };
    let plain = entry.seq <= NUMBER_MAX
        && entry
            .details
            .iter()
            .all(|(key, value)| key.is_ascii() && is_plain(value));
    if plain {
        Ok(serde_json::to_vec(&in_order)?)
    } else {
        // Nothing that Baton wrote.
        canonical(&in_order)
    }
}

fn is_plain(value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(_) | Value::String(_) => true,
        Value::Number(number) => number.as_u64().is_some_and(|number| number <= NUMBER_MAX),
        Value::Array(_) | Value::Object(_) => false,
    }
}

/// The RFC 8785 form of a value.
///
/// # Errors
/// It holds a number that has none.
pub fn canonical(value: &impl Serialize) -> Result<Vec<u8>, CanonicalError> {
    Ok(serde_json_canonicalizer::to_vec(value)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The worked examples of RFC 8785, sections 3.2.2 and 3.2.3.
    #[test]
    fn the_canonical_form_is_the_one_of_rfc_8785() {
        let value: serde_json::Value = serde_json::from_str(
            r#"{
              "numbers": [333333333.33333329, 1E30, 4.50, 2e-3, 0.000000000000000000000000001],
              "string": "\u20ac$\u000F\u000aA'\u0042\u0022\u005c\\\"\/",
              "literals": [null, true, false]
            }"#,
        )
        .expect("is JSON");
        assert_eq!(
            String::from_utf8(canonical(&value).expect("has a form")).expect("is UTF-8"),
            r#"{"literals":[null,true,false],"numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27],"string":"€$\u000f\nA'B\"\\\\\"/"}"#
        );
        let keys: serde_json::Value = serde_json::from_str(
            r#"{"\u20ac":"Euro Sign","\r":"Carriage Return","\ufb33":"Hebrew Letter Dalet With Dagesh","1":"One","\ud83d\ude00":"Emoji: Grinning Face","\u0080":"Control","\u00f6":"Latin Small Letter O With Diaeresis"}"#,
        )
        .expect("is JSON");
        let form = String::from_utf8(canonical(&keys).expect("has a form")).expect("is UTF-8");
        let order: Vec<usize> = [
            "Carriage Return",
            "One",
            "Control",
            "Latin Small",
            "Euro Sign",
            "Emoji",
            "Hebrew",
        ]
        .iter()
        .map(|value| form.find(value).expect("is there"))
        .collect();
        assert!(order.is_sorted(), "keys are ordered by UTF-16: {form}");
    }

    fn text() -> impl proptest::strategy::Strategy<Value = String> {
        // Whatever needs an escape, or looks as if it did.
        proptest::string::string_regex(
            r#"[a-c"\\\\/\x01-\x1f\x7f\u{80}-\u{ff}\u{2028}\u{fb33}😀]{0,12}"#,
        )
        .expect("is an expression")
    }

    fn detail() -> impl proptest::strategy::Strategy<Value = serde_json::Value> {
        use proptest::prelude::*;
        prop_oneof![
            Just(serde_json::Value::Null),
            any::<bool>().prop_map(Into::into),
            text().prop_map(Into::into),
            any::<u64>().prop_map(Into::into),
            any::<i64>().prop_map(Into::into),
            any::<f64>().prop_map(Into::into),
            proptest::collection::vec(text(), 0..3).prop_map(Into::into),
        ]
    }

    proptest::proptest! {
        /// Written in order, or through the crate that knows the RFC: the same.
        #[test]
        fn entries_are_written_in_their_canonical_form(
            texts in proptest::collection::vec(text(), 5),
            numbers in proptest::collection::vec(0..=NUMBER_MAX, 3),
            details in proptest::collection::btree_map(text(), detail(), 0..4),
        ) {
            let entry = Handover {
                seq: numbers[0],
                at: Timestamp::from_micros(1_795_918_447_000_001),
                lease: "deploy".parse().ok(),
                event: HandoverEvent::Granted,
                generation: Generation::try_from(numbers[1]).expect("is one"),
                holder: texts[0].parse().ok(),
                previous_generation: Generation::try_from(numbers[2]).expect("is one"),
                previous_holder: None,
                held_from: None,
                held_until: Some(Timestamp::from_micros(0)),
                reason: texts[1].clone(),
                incident: Some(texts[2].clone()),
                actor: Actor::Token(texts[3].clone()),
                actor_address: None,
                request_id: Some(texts[4].clone()),
                details: details.into_iter().collect(),
                prev_hash: GENESIS.into(),
                hash: "f".repeat(64),
            };
            let written = whole_form(&entry).expect("has a form");
            let mut value = serde_json::to_value(&entry).expect("is JSON");
            proptest::prop_assert_eq!(&written, &canonical(&value).expect("has a form"));
            value.as_object_mut().expect("is one").remove("hash");
            let expected = hex::encode(Sha256::digest(canonical(&value).expect("has a form")));
            proptest::prop_assert_eq!(hash(&entry).expect("has a form"), expected);
        }
    }

    #[test]
    fn whole_numbers_stay_exact_up_to_the_wire_s_bound() {
        let form = canonical(&baton_client::limits::NUMBER_MAX).expect("has a form");
        assert_eq!(form, b"9007199254740991");
    }
}
