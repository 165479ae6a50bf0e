//! Text in which nothing can be seen.

/// Whether there is nothing in a text that anybody could see: only white space,
/// control characters, and characters that have no width or look like a blank.
pub fn is_blank(text: &str) -> bool {
    text.chars()
        .all(|c| c.is_whitespace() || c.is_control() || is_invisible(c))
}

/// Unicode's `Default_Ignorable_Code_Point`, and two that are seen no better: the
/// empty pattern of Braille, and the marks around annotations.
fn is_invisible(c: char) -> bool {
    matches!(
        c,
        '\u{ad}'
            | '\u{34f}'
            | '\u{61c}'
            | '\u{115f}'..='\u{1160}'
            | '\u{17b4}'..='\u{17b5}'
            | '\u{180b}'..='\u{180f}'
            | '\u{200b}'..='\u{200f}'
            | '\u{202a}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}'
            | '\u{2800}'
            | '\u{3164}'
            | '\u{fe00}'..='\u{fe0f}'
            | '\u{feff}'
            | '\u{ffa0}'
            | '\u{fff0}'..='\u{fffb}'
            | '\u{1bca0}'..='\u{1bca3}'
            | '\u{1d173}'..='\u{1d17a}'
            | '\u{e0000}'..='\u{e0fff}'
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_seen_is_blank() {
        for blank in [
            "",
            "  \t\r\n",
            "\u{a0}\u{2003}\u{3000}",
            "\u{200b}",
            "\u{200d}\u{2060}\u{feff} \u{ad}",
            "\u{3164}\u{115f}\u{ffa0}",
            "\u{2800}",
            "\u{202e}\u{2066}\u{e0041}\u{fe0f}",
            "\u{0}\u{7f}",
        ] {
            assert!(is_blank(blank), "{}", blank.escape_unicode());
        }
        // Invisible characters beside others are part of many scripts' words.
        for text in [
            "x",
            ".",
            "\u{200b}x",
            "👩\u{200d}🚒",
            "می\u{200c}شود",
            "é",
            "☃\u{fe0f}",
        ] {
            assert!(!is_blank(text), "{text}");
        }
    }
}
