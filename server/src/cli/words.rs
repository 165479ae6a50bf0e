//! Values of arguments that are words of the wire contract, or JSON.

use std::net::SocketAddr;

use baton_client::{HandoverEvent, RawJson, is_blank, limits::REASON_CHARS_MAX};
use clap::builder::{PossibleValuesParser, TypedValueParser};
use serde::de::DeserializeOwned;
use url::Url;

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

/// An argument that is an address to listen on.
pub fn listen_address(text: &str) -> Result<SocketAddr, String> {
    text.parse().map_err(|_| {
        "not IP:PORT, like 127.0.0.1:7400 (this machine alone) or 0.0.0.0:7400 (every network)"
            .into()
    })
}

/// An argument that is where browsers find the page.
pub fn page_address(text: &str) -> Result<Url, String> {
    text.parse()
        .map_err(|error| format!("{error}; it is https://HOST or http://HOST:PORT"))
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

    #[test]
    fn a_wrong_address_is_told_how_it_is_written() {
        assert!(listen_address("[::1]:0").is_ok());
        for text in ["localhost:7400", "7400", ":7400", "127.0.0.1", ""] {
            let error = listen_address(text).expect_err(text);
            assert!(error.contains("127.0.0.1:7400"), "{error}");
        }
        assert!(page_address("https://baton.example").is_ok());
        for text in ["baton.example", "", "/baton"] {
            let error = page_address(text).expect_err(text);
            assert!(error.contains("https://HOST"), "{error}");
        }
    }
}
