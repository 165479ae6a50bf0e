//! Sentences that are more than text: a moment in one stays an element of its
//! own, with the exact time, and what somebody else wrote stays one piece,
//! whatever direction its letters run. Both stand in them as marks.

use std::fmt;

use baton_client::{Actor, Timestamp};

use crate::{
    display::Times,
    moment::{Form, written},
};

/// Stands before a moment. Of what was written elsewhere only text within
/// [`ISOLATE`]s may have it, where it means nothing.
const MOMENT: char = '\u{2}';
/// Stands before and behind what somebody else wrote, which never has it.
const ISOLATE: char = '\u{3}';
/// The wire form's length.
const AT_LEN: usize = 27;

/// A moment in a sentence: to be formatted into it.
#[derive(Debug, Clone, Copy)]
pub struct Marked(Form, Timestamp);

impl fmt::Display for Marked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{MOMENT}{}{}", &self.0.as_str()[..1], self.1)
    }
}

/// As [`Form::Full`], in a sentence.
pub fn full(at: Timestamp) -> Marked {
    Marked(Form::Full, at)
}

/// As [`Form::Short`], in a sentence.
pub fn short(at: Timestamp) -> Marked {
    Marked(Form::Short, at)
}

/// As [`Form::Clock`], in a sentence.
pub fn clock(at: Timestamp) -> Marked {
    Marked(Form::Clock, at)
}

/// As [`Form::Age`], in a sentence.
pub fn age(at: Timestamp) -> Marked {
    Marked(Form::Age, at)
}

/// A name or words that somebody else wrote, in a sentence. A character in them
/// that turns the direction of writing turns none of the sentence's own words.
pub fn isolated(text: &(impl AsRef<str> + ?Sized)) -> String {
    let text = text.as_ref().replace(ISOLATE, "");
    format!("{ISOLATE}{text}{ISOLATE}")
}

/// Who asked, in a sentence.
pub fn by(actor: &Actor) -> String {
    match actor {
        Actor::User(name) => isolated(name),
        Actor::Token(name) => format!("token {}", isolated(name)),
        Actor::Baton => "Baton".to_owned(),
    }
}

/// A part of a sentence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Piece {
    /// The sentence's own words.
    Text(String),
    /// A moment.
    At(Timestamp, Form),
    /// What somebody else wrote.
    Isolated(String),
}

/// A sentence in parts.
pub fn pieces(sentence: &str) -> Vec<Piece> {
    let mut pieces = Vec::new();
    for (i, part) in sentence.split(ISOLATE).enumerate() {
        if i % 2 == 1 {
            pieces.push(Piece::Isolated(part.to_owned()));
        } else {
            own_words(part, &mut pieces);
        }
    }
    pieces
}

/// What stands between names: text and moments.
fn own_words(part: &str, pieces: &mut Vec<Piece>) {
    let mut parts = part.split(MOMENT);
    let mut text = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        if let Some((at, form)) = marked(part) {
            pieces.push(Piece::Text(std::mem::take(&mut text)));
            pieces.push(Piece::At(at, form));
            text.push_str(&part[1 + AT_LEN..]);
        } else {
            text.push_str(part);
        }
    }
    pieces.push(Piece::Text(text));
}

/// The moment that stands at the beginning, after its mark.
fn marked(part: &str) -> Option<(Timestamp, Form)> {
    let form = Form::read(part)?;
    let at = part.get(1..1 + AT_LEN)?.parse().ok()?;
    Some((at, form))
}

/// A sentence as plain text, in UTC.
pub fn plain(sentence: &str, now: Option<Timestamp>) -> String {
    let pieces = pieces(sentence).into_iter().map(|piece| match piece {
        Piece::Text(text) => text,
        Piece::Isolated(text) => plain_isolated(text),
        Piece::At(at, form) => written(at, form, Times::Utc, now, None),
    });
    pieces.collect()
}

/// As text alone isolates: between two characters for that, and without those that
/// would end it or turn what comes after.
fn plain_isolated(text: String) -> String {
    if text.is_ascii() {
        return text;
    }
    let turns = |c| matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    format!("\u{2068}{}\u{2069}", text.replace(turns, ""))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn night() -> Timestamp {
        "2026-11-29T23:14:07.120000Z".parse().expect("a moment")
    }

    fn text(text: &str) -> Piece {
        Piece::Text(text.to_owned())
    }

    #[test]
    fn a_sentence_comes_apart_at_its_moments() {
        let sentence = format!("from {} (in 8 s) to {}", clock(night()), full(night()));
        assert_eq!(
            pieces(&sentence),
            [
                text("from "),
                Piece::At(night(), Form::Clock),
                text(" (in 8 s) to "),
                Piece::At(night(), Form::Full),
                text(""),
            ]
        );
        assert_eq!(
            plain(&sentence, Some(night())),
            "from 23:14:07 UTC (in 8 s) to 2026-11-29 23:14:07 UTC"
        );
    }

    #[test]
    fn what_only_looks_like_a_moment_is_text() {
        for odd in ["\u{2}", "\u{2}c", "\u{2}cx", "\u{2}🦊", "a\u{2}c2026-11-29"] {
            assert_eq!(pieces(odd), [text(&odd.replace(MOMENT, ""))]);
        }
    }

    #[test]
    fn what_somebody_else_wrote_stays_one_piece() {
        for odd in [
            "replica-a",
            "\u{202e}a",
            "",
            // A moment in it is none.
            &clock(night()).to_string(),
        ] {
            let sentence = format!("{} goes on.", isolated(odd));
            assert_eq!(
                pieces(&sentence),
                [text(""), Piece::Isolated(odd.into()), text(" goes on.")]
            );
        }
        let shown = |name| plain(&format!("{} goes on.", isolated(name)), None);
        assert_eq!(shown("replica-a"), "replica-a goes on.");
        assert_eq!(shown("a\u{2069}\u{202e}é"), "\u{2068}aé\u{2069} goes on.");
        // Nor can it end before its end.
        assert_eq!(
            pieces(&isolated("a\u{3} b")),
            [text(""), Piece::Isolated("a b".into()), text("")]
        );
    }
}
