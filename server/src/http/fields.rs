//! The checks of single fields. All that are wrong are told at once.

use baton_client::{
    FieldError, LeaseName, RawJson, is_blank,
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
        if value.is_some_and(is_blank) {
            self.wrong(field, "must not be blank");
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
        let Scanned { depth, has_nul } = scan(text);
        if depth > JSON_DEPTH_MAX {
            self.wrong(field, format!("nests at most {JSON_DEPTH_MAX} deep"));
        } else if has_nul {
            self.wrong(field, "has no character U+0000");
        } else if let Err(error) = serde_json::from_str::<Value>(text) {
            // Half of a surrogate pair, or a number beyond all numbers.
            self.wrong(field, format!("cannot be read back: {error}"));
        }
    }
}

/// What a text of JSON may hide.
struct Scanned {
    depth: usize,
    has_nul: bool,
}

/// Looks at every letter and not at the values read from them, of which a key
/// that comes twice has only the last.
fn scan(text: &str) -> Scanned {
    let bytes = text.as_bytes();
    let (mut depth, mut depth_max, mut has_nul, mut in_string) = (0_usize, 0, false, false);
    let mut at = 0;
    while at < bytes.len() {
        match bytes[at] {
            b'"' => in_string = !in_string,
            b'\\' => {
                has_nul |= bytes[at..].starts_with(br"\u0000");
                at += 1;
            }
            b'[' | b'{' if !in_string => {
                depth += 1;
                depth_max = depth_max.max(depth);
            }
            b']' | b'}' if !in_string => depth = depth.saturating_sub(1),
            _ => {}
        }
        at += 1;
    }
    Scanned {
        depth: depth_max,
        has_nul,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_is_looked_through_letter_by_letter() {
        for (text, depth, has_nul) in [
            ("1", 0, false),
            (r#"{"a":[[],"[[["]}"#, 3, false),
            (r#""\u0000""#, 0, true),
            (r#"{"a\u0000":1}"#, 1, true),
            // The second one hides the first from who reads values.
            (r#"{"a":"\u0000","a":1}"#, 1, true),
            // A backslash, and then letters.
            (r#""\\u0000""#, 0, false),
            (r#""\\\u0000""#, 0, true),
            (r#""\"[\"""#, 0, false),
        ] {
            let scanned = scan(text);
            assert_eq!((scanned.depth, scanned.has_nul), (depth, has_nul), "{text}");
        }
    }
}
