//! Reports are checked before they are sent: a bad one would fail the call
//! that renews every lease of the process.

use serde::Serialize;

use crate::{
    RawJson,
    limits::{JSON_DEPTH_MAX, STATUS_BYTES_MAX},
};

/// A report that the server would refuse.
#[derive(Debug, thiserror::Error)]
pub enum StatusError {
    /// It does not become JSON.
    #[error("a status is JSON")]
    Json(#[from] serde_json::Error),
    /// It is too long.
    #[error("a status has at most {STATUS_BYTES_MAX} bytes of JSON, this one has {0}")]
    Long(usize),
    /// It is nested too deeply.
    #[error("a status is nested at most {JSON_DEPTH_MAX} deep")]
    Deep,
    /// It has a character in it that no text on the wire has.
    #[error("a status has no U+0000 in it")]
    Nul,
}

pub(super) fn check(report: &impl Serialize) -> Result<RawJson, StatusError> {
    let raw = serde_json::value::to_raw_value(report)?;
    let text = raw.get();
    if text.len() > STATUS_BYTES_MAX {
        return Err(StatusError::Long(text.len()));
    }
    // Read, not searched: `\\u0000` is six harmless characters.
    let value: serde_json::Value = serde_json::from_str(text)?;
    fits(&value, 0).map(|()| raw)
}

fn fits(value: &serde_json::Value, depth: usize) -> Result<(), StatusError> {
    use serde_json::Value;
    let plain = |text: &str| match text.contains('\0') {
        true => Err(StatusError::Nul),
        false => Ok(()),
    };
    if depth >= JSON_DEPTH_MAX && (value.is_array() || value.is_object()) {
        return Err(StatusError::Deep);
    }
    match value {
        Value::String(text) => plain(text),
        Value::Array(items) => items.iter().try_for_each(|item| fits(item, depth + 1)),
        Value::Object(fields) => fields.iter().try_for_each(|(name, field)| {
            plain(name)?;
            fits(field, depth + 1)
        }),
        Value::Null | Value::Bool(_) | Value::Number(_) => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_server_would_refuse_is_refused_here() {
        assert!(check(&"sweep 1823/9000").is_ok());
        assert!(check(&"a\\u0000b").is_ok());
        assert!(matches!(check(&"a\0b"), Err(StatusError::Nul)));
        assert!(matches!(
            check(&"x".repeat(1_023)),
            Err(StatusError::Long(1_025))
        ));
        let deep: serde_json::Value =
            serde_json::from_str(&format!("{}{}", "[".repeat(65), "]".repeat(65))).expect("JSON");
        assert!(matches!(check(&deep), Err(StatusError::Deep)));
    }
}
