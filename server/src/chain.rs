//! The hash chain of the log: where an entry gets its place, and how anybody
//! can recheck it.

use baton_client::{Handover, Timestamp};
use serde::Serialize;
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
    let mut value = serde_json::to_value(entry)?;
    if let Some(fields) = value.as_object_mut() {
        fields.remove("hash");
    }
    Ok(hex::encode(Sha256::digest(canonical(&value)?)))
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

    #[test]
    fn whole_numbers_stay_exact_up_to_the_wire_s_bound() {
        let form = canonical(&baton_client::limits::NUMBER_MAX).expect("has a form");
        assert_eq!(form, b"9007199254740991");
    }
}
