//! Single keys on pages that are live, for whoever has no hand free for a mouse:
//! which there are, and what each does.

/// What a key does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Does {
    /// Lists the keys.
    List,
    /// Puts the cursor into the search field.
    Search,
    /// Goes to the next row.
    Next,
    /// Goes to the row before.
    Before,
}

/// The keys: as the browser names them, what each does, and whether it is an
/// arrow, which elsewhere scrolls the page.
const KEYS: [(&str, Does, bool); 6] = [
    ("?", Does::List, false),
    ("/", Does::Search, false),
    ("j", Does::Next, false),
    ("ArrowDown", Does::Next, true),
    ("k", Does::Before, false),
    ("ArrowUp", Does::Before, true),
];

/// The keys as people are told: what stands on each, and what it does. The last
/// two are the browser's own.
pub const TOLD: [(&[&str], &str); 6] = [
    (&["?"], "This list"),
    (&["/"], "To the search field"),
    (&["j", "↓"], "To the next row of the list"),
    (&["k", "↑"], "To the row before"),
    (&["Enter"], "Open the row"),
    (&["Esc"], "Close this list"),
];

/// What the key does, if anything. `arrows`: they move through rows, for one is
/// gone to already, or the list is what the page is about.
pub fn does(key: &str, arrows: bool) -> Option<Does> {
    let found = KEYS.iter().find(|known| known.0 == key);
    found
        .filter(|known| arrows || !known.2)
        .map(|known| known.1)
}

/// Which of `rows` rows to go to from the one `at`, if from any.
pub fn step(does: Does, at: Option<u32>, rows: u32) -> Option<u32> {
    let to = match (does, at) {
        (Does::Next, None) => 0,
        (Does::Next, Some(at)) => at + 1,
        (Does::Before, at) => at?.checked_sub(1)?,
        (Does::List | Does::Search, _) => return None,
    };
    (to < rows).then_some(to)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_do_what_is_told_and_nothing_else() {
        for (key, arrows, what) in [
            ("?", false, Some(Does::List)),
            ("/", true, Some(Does::Search)),
            ("j", false, Some(Does::Next)),
            ("k", false, Some(Does::Before)),
            ("ArrowDown", true, Some(Does::Next)),
            ("ArrowDown", false, None),
            ("ArrowUp", false, None),
            ("J", true, None),
            ("Enter", true, None),
            ("Unidentified", true, None),
        ] {
            assert_eq!(does(key, arrows), what, "{key}");
        }
    }

    #[test]
    fn steps_stay_in_the_list() {
        for (what, at, rows, to) in [
            (Does::Next, None, 2, Some(0)),
            (Does::Next, None, 0, None),
            (Does::Next, Some(0), 2, Some(1)),
            (Does::Next, Some(1), 2, None),
            (Does::Before, None, 2, None),
            (Does::Before, Some(1), 2, Some(0)),
            (Does::Before, Some(0), 2, None),
        ] {
            assert_eq!(step(what, at, rows), to, "{what:?} {at:?} of {rows}");
        }
    }
}
