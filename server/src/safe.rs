//! Names, holders and reasons are other people's text. On a terminal they must
//! not move the cursor, change colours or turn the reading order round.

use std::borrow::Cow;

/// Characters that a terminal obeys instead of showing, or that make text read
/// differently from what it is.
fn is_unsafe(c: char) -> bool {
    c.is_control()
        || matches!(
            c,
            '\u{61c}' | '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}'
                | '\u{2060}'..='\u{2069}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}'
                | '\u{e0000}'..='\u{e007f}'
        )
}

/// Text for one line of a terminal, with everything unsafe escaped.
pub fn safe(text: &str) -> Cow<'_, str> {
    if text.chars().any(is_unsafe) {
        Cow::Owned(escape(text, false))
    } else {
        Cow::Borrowed(text)
    }
}

/// As [`safe`], but line breaks stay.
pub fn safe_lines(text: &str) -> String {
    escape(text, true)
}

fn escape(text: &str, keep_lines: bool) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\n' if keep_lines => escaped.push('\n'),
            '\n' => escaped.push_str("\\n"),
            '\t' => escaped.push_str("\\t"),
            '\r' => escaped.push_str("\\r"),
            c if is_unsafe(c) => escaped.extend(c.escape_unicode()),
            c => escaped.push(c),
        }
    }
    escaped
}

/// JSON of the same value that a terminal shows as it is. Outside of strings JSON
/// has nothing unsafe but blanks, and in them everything may be escaped.
pub fn safe_json(json: &str) -> Cow<'_, str> {
    let is_unsafe = |c: char| !c.is_ascii_whitespace() && is_unsafe(c);
    if !json.chars().any(is_unsafe) {
        return Cow::Borrowed(json);
    }
    let mut escaped = String::with_capacity(json.len());
    for c in json.chars() {
        if is_unsafe(c) {
            let mut units = [0; 2];
            for unit in c.encode_utf16(&mut units) {
                escaped.push_str(&format!("\\u{unit:04x}"));
            }
        } else {
            escaped.push(c);
        }
    }
    Cow::Owned(escaped)
}

/// Text as one word of a shell's command line, for lines to paste.
pub fn shell_word(text: &str) -> String {
    let plain = |b: u8| b.is_ascii_alphanumeric() || b"._:@/+,=-".contains(&b);
    if !text.is_empty() && text.bytes().all(plain) {
        return text.to_owned();
    }
    if !text.chars().any(is_unsafe) {
        return format!("'{}'", text.replace('\'', r"'\''"));
    }
    // Bash, zsh and ksh read the escapes of this form.
    let mut word = String::from("$'");
    for c in text.chars() {
        match c {
            '\'' | '\\' => word.extend(['\\', c]),
            c if is_unsafe(c) => word.push_str(&format!("\\U{:08x}", c as u32)),
            c => word.push(c),
        }
    }
    word.push('\'');
    word
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_that_a_terminal_obeys_gets_through() {
        for (text, shown) in [
            ("plain – ünïcode 🦊", "plain – ünïcode 🦊"),
            ("\u{1b}[31mred", "\\u{1b}[31mred"),
            ("a\u{202e}b", "a\\u{202e}b"),
            ("a\u{2066}b\u{9b}c", "a\\u{2066}b\\u{9b}c"),
            ("two\nlines\r\t\0", "two\\nlines\\r\\t\\u{0}"),
        ] {
            assert_eq!(safe(text), shown);
        }
        assert_eq!(safe_lines("two\nlines\u{7}"), "two\nlines\\u{7}");
    }

    #[test]
    fn json_is_made_safe_and_stays_the_same_value() {
        for (json, shown) in [
            ("{\"a\": \"ünïcode 🦊\"}\n", "{\"a\": \"ünïcode 🦊\"}\n"),
            ("[\"\u{202e}a\u{9b}\u{7f}\"]", r#"["\u202ea\u009b\u007f"]"#),
            ("\"\u{e0041}\"", r#""\udb40\udc41""#),
        ] {
            assert_eq!(safe_json(json), shown);
            let value = |json| serde_json::from_str::<serde_json::Value>(json).expect("JSON");
            assert_eq!(value(json), value(shown));
        }
    }

    #[test]
    fn pasted_words_are_one_word() {
        for (text, word) in [
            ("ana@host/12-3f", "ana@host/12-3f"),
            ("it's; rm -rf", r"'it'\''s; rm -rf'"),
            ("", "''"),
            ("a\u{202e}'b", r"$'a\U0000202e\'b'"),
        ] {
            assert_eq!(shell_word(text), word);
        }
    }
}
