//! The checks of single fields. All that are wrong are told at once.

use baton_client::{
    FieldError, LeaseName, RawJson,
    limits::{JSON_DEPTH_MAX, NUMBER_MAX},
};
use serde_json::Value;

use super::answer::Oops;

/// Collects what is wrong with the fields of a request.
#[derive(Default)]
pub struct Fields {
    /// Where the fields stand, as `renewals[3].`; empty at the top.
    prefix: String,
    errors: Vec<FieldError>,
}

impl Fields {
    /// From here on, fields stand under this.
    pub fn under(&mut self, prefix: String) {
        self.prefix = prefix;
    }

    /// Notes what is wrong with a field.
    pub fn wrong(&mut self, field: &str, message: impl Into<String>) {
        self.errors.push(FieldError {
            field: format!("{}{field}", self.prefix),
            message: message.into(),
        });
    }

    /// Nothing is wrong, or all that is.
    pub fn finish(self) -> Result<(), Oops> {
        if self.errors.is_empty() {
            Ok(())
        } else {
            Err(Oops::invalid(self.errors))
        }
    }

    /// A whole number within bounds.
    pub fn number(&mut self, field: &str, value: Option<u64>, min: u64, max: u64) {
        if let Some(value) = value
            && !(min..=max).contains(&value)
        {
            self.wrong(field, format!("is {min} to {max}, not {value}"));
        }
    }

    /// Any number that the wire carries exactly.
    pub fn any_number(&mut self, field: &str, value: Option<u64>) {
        self.number(field, value, 0, NUMBER_MAX);
    }

    /// Text of at most so many characters, without U+0000.
    pub fn text(&mut self, field: &str, value: Option<&str>, chars_max: usize) {
        let Some(value) = value else { return };
        let length = value.chars().count();
        if length > chars_max {
            self.wrong(
                field,
                format!("has at most {chars_max} characters, not {length}"),
            );
        }
        if value.contains('\0') {
            self.wrong(field, "has no character U+0000");
        }
    }

    /// Text that says something.
    pub fn words(&mut self, field: &str, value: Option<&str>, chars_max: usize) {
        self.text(field, value, chars_max);
        if value.is_some_and(|value| value.trim().is_empty()) {
            self.wrong(field, "is not blank");
        }
    }

    /// What a lease name may start with.
    pub fn prefix(&mut self, value: Option<&str>) {
        let Some(value) = value else { return };
        self.text(
            "prefix",
            Some(value),
            baton_client::limits::LEASE_NAME_CHARS_MAX,
        );
        if !LeaseName::allows(value) {
            self.wrong("prefix", "is made of A–Z a–z 0–9 . _ : @ - only");
        }
    }

    /// JSON of at most so many bytes, not too deep, without U+0000.
    pub fn json(&mut self, field: &str, value: Option<&RawJson>, bytes_max: usize) {
        let Some(value) = value else { return };
        let text = value.get();
        if text.len() > bytes_max {
            self.wrong(
                field,
                format!("has at most {bytes_max} bytes, not {}", text.len()),
            );
            return;
        }
        match serde_json::from_str::<Value>(text) {
            Ok(value) => self.json_value(field, &value),
            Err(error) => self.wrong(field, format!("cannot be read back: {error}")),
        }
    }

    fn json_value(&mut self, field: &str, value: &Value) {
        let mut open = vec![(value, 1)];
        while let Some((value, depth)) = open.pop() {
            if depth > JSON_DEPTH_MAX {
                return self.wrong(field, format!("nests at most {JSON_DEPTH_MAX} deep"));
            }
            let has_nul = match value {
                Value::String(text) => text.contains('\0'),
                Value::Object(map) => map.keys().any(|key| key.contains('\0')),
                _ => false,
            };
            if has_nul {
                return self.wrong(field, "has no character U+0000");
            }
            match value {
                Value::Array(items) => open.extend(items.iter().map(|item| (item, depth + 1))),
                Value::Object(map) => open.extend(map.values().map(|item| (item, depth + 1))),
                _ => {}
            }
        }
    }
}
