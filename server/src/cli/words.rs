//! Values of arguments that are words of the wire contract, or JSON.

use baton_client::{HandoverEvent, RawJson, is_blank, limits::REASON_CHARS_MAX};
use clap::builder::{PossibleValuesParser, TypedValueParser};
use serde::de::DeserializeOwned;

/// An argument that is one of a wire enum's words.
pub fn one_of<T>(words: impl IntoIterator<Item = &'static str>) -> impl TypedValueParser<Value = T>
where
    T: DeserializeOwned + Clone + Send + Sync + 'static,
{
    PossibleValuesParser::new(words)
        .try_map(|word| serde_json::from_value::<T>(serde_json::Value::String(word)))
}

/// An argument that is an event of the history.
pub fn event() -> impl TypedValueParser<Value = HandoverEvent> {
    one_of(HandoverEvent::ALL.map(HandoverEvent::as_str))
}

/// An argument that is JSON, kept as it was typed.
pub fn json(text: &str) -> Result<RawJson, String> {
    serde_json::from_str(text)
        .map_err(|error| format!("not JSON: {error} (a text needs quotes inside: '\"like this\"')"))
}

/// An argument that is JSON, or else a text.
pub fn json_or_word(text: &str) -> Result<RawJson, String> {
    serde_json::from_str(text)
        .or_else(|_| serde_json::value::to_raw_value(text))
        .map_err(|error| error.to_string())
}

/// An argument that is a reason, for the history.
pub fn reason(text: &str) -> Result<String, String> {
    if is_blank(text) {
        return Err("it must not be blank".into());
    }
    let chars = text.chars().count();
    if chars > REASON_CHARS_MAX {
        return Err(format!(
            "at most {REASON_CHARS_MAX} characters, not {chars}"
        ));
    }
    Ok(text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_status_is_json_or_a_word() {
        let read = |text| json_or_word(text).map(|json| json.get().to_owned());
        assert_eq!(read(r#"{"done": 3}"#), Ok(r#"{"done": 3}"#.into()));
        assert_eq!(read("sweep 3/9"), Ok(r#""sweep 3/9""#.into()));
        assert_eq!(read("12"), Ok("12".into()));
        assert!(json("sweep").is_err());
    }
}
