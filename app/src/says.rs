//! What a holder says of its work, as text. A status is any JSON: a text is
//! shown as it is, an object of plain values as a short list, the rest as JSON.

use serde_json::Value;

/// Longest text that is shown; the rest is cut off.
const CHARS_MAX: usize = 300;

/// The status as text; `None` if there is nothing in it to show.
pub fn says(status: &str) -> Option<String> {
    let text = match serde_json::from_str(status) {
        Ok(Value::Null) => return None,
        Ok(Value::String(text)) => text,
        Ok(Value::Object(fields)) if fields.values().all(is_plain) => {
            let fields = fields.iter();
            let texts: Vec<_> = fields
                .map(|(name, value)| format!("{name}: {}", plain(value)))
                .collect();
            texts.join(" · ")
        }
        _ => status.to_owned(),
    };
    let text = text.trim();
    (!text.is_empty()).then(|| match text.char_indices().nth(CHARS_MAX) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    })
}

fn is_plain(value: &Value) -> bool {
    !value.is_array() && !value.is_object()
}

fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_shown_as_they_are() {
        assert_eq!(
            says(r#""<b>3 of 12</b>""#).as_deref(),
            Some("<b>3 of 12</b>")
        );
    }

    #[test]
    fn plain_fields_become_a_list() {
        let status = r#"{"step":3,"of":12,"phase":"copy"}"#;
        assert_eq!(
            says(status).as_deref(),
            Some("of: 12 · phase: copy · step: 3")
        );
    }

    #[test]
    fn anything_else_is_shown_as_json() {
        assert_eq!(says("[1,[2]]").as_deref(), Some("[1,[2]]"));
        assert_eq!(says(r#"{"a":{}}"#).as_deref(), Some(r#"{"a":{}}"#));
        assert_eq!(says("12").as_deref(), Some("12"));
    }

    #[test]
    fn nothing_stays_nothing() {
        for status in ["null", r#""""#, r#""  ""#, "{}"] {
            assert_eq!(says(status), None, "{status}");
        }
    }

    #[test]
    fn a_long_text_is_cut_between_characters() {
        let said = says(&format!("\"{}\"", "🦊".repeat(400))).expect("a text");
        assert_eq!(said.chars().count(), CHARS_MAX + 1);
    }
}
