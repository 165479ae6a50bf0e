//! Which tabs may hold a stream. A browser opens six connections to a server,
//! over HTTP/1.1, for all tabs together; seven streams would leave none to load
//! a page with. So the tabs that are shown tell each other that they are there,
//! the first few hold a stream, and the others ask every now and then.

/// Tabs that may hold a stream at the same time.
const STREAMS_MAX: usize = 4;
/// A tab that said nothing for this long is gone.
const GONE_MS: f64 = 5_000.0;
/// How often a tab says that it is there.
const SAY_MS: f64 = 1_500.0;

/// A tab that was heard.
#[derive(Debug, Clone, Copy)]
struct Peer {
    id: u64,
    heard_ms: f64,
}

/// The other tabs, as far as this one heard of them. Tabs are ordered by id;
/// ids begin with the time at which the tab was opened.
#[derive(Debug)]
pub struct Peers {
    id: u64,
    said_ms: Option<f64>,
    others: Vec<Peer>,
}

/// What one tab tells the others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Word {
    /// I am here and want a stream.
    Here(u64),
    /// I need none any more.
    Bye(u64),
}

impl Word {
    /// As it is sent.
    pub fn write(self) -> String {
        match self {
            Self::Here(id) => format!("here {id}"),
            Self::Bye(id) => format!("bye {id}"),
        }
    }

    /// As it was sent; `None` if another version sent it.
    pub fn read(text: &str) -> Option<Self> {
        let (word, id) = text.split_once(' ')?;
        let id = id.parse().ok()?;
        match word {
            "here" => Some(Self::Here(id)),
            "bye" => Some(Self::Bye(id)),
            _ => None,
        }
    }
}

impl Peers {
    /// Alone, as far as is known. `date_ms` and `chance` (0 to 1) make the id.
    pub fn new(date_ms: f64, chance: f64) -> Self {
        Self {
            id: (date_ms.max(0.0) as u64).wrapping_mul(1_000) + (chance * 1_000.0) as u64,
            said_ms: None,
            others: Vec::new(),
        }
    }

    /// Another tab said something. What to answer, if anything: a tab that was
    /// not known does not know this one either.
    pub fn hear(&mut self, word: Word, at_ms: f64) -> Option<Word> {
        match word {
            Word::Bye(id) => {
                self.others.retain(|peer| peer.id != id);
                None
            }
            Word::Here(id) => {
                if let Some(peer) = self.others.iter_mut().find(|peer| peer.id == id) {
                    peer.heard_ms = at_ms;
                    return None;
                }
                self.others.push(Peer {
                    id,
                    heard_ms: at_ms,
                });
                self.said_ms.is_some().then_some(Word::Here(self.id))
            }
        }
    }

    /// What to tell the others by now, if anything. `wants`: whether this tab
    /// wants a stream.
    pub fn say(&mut self, wants: bool, at_ms: f64) -> Option<Word> {
        self.others.retain(|peer| at_ms - peer.heard_ms < GONE_MS);
        match (wants, self.said_ms) {
            (false, None) => None,
            (false, Some(_)) => {
                self.said_ms = None;
                Some(Word::Bye(self.id))
            }
            (true, Some(said_ms)) if at_ms - said_ms < SAY_MS => None,
            (true, _) => {
                self.said_ms = Some(at_ms);
                Some(Word::Here(self.id))
            }
        }
    }

    /// Whether this tab is among those that may hold a stream.
    pub fn may_stream(&self) -> bool {
        let before = self.others.iter().filter(|peer| peer.id < self.id);
        before.count() < STREAMS_MAX
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tabs(count: u32) -> Vec<Peers> {
        let mut tabs: Vec<_> = (0..count).map(|n| Peers::new(f64::from(n), 0.5)).collect();
        // Each is opened, and says so; the others answer.
        for at in 0..tabs.len() {
            let here = tabs[at].say(true, 0.0).expect("it says that it is here");
            for other in 0..at {
                if let Some(answer) = tabs[other].hear(here, 0.0) {
                    tabs[at].hear(answer, 0.0);
                }
            }
        }
        tabs
    }

    #[test]
    fn the_first_tabs_stream_and_the_others_ask() {
        let streaming: Vec<_> = tabs(7).iter().map(Peers::may_stream).collect();
        assert_eq!(streaming, [true, true, true, true, false, false, false]);
    }

    #[test]
    fn a_tab_that_leaves_makes_room() {
        let mut tabs = tabs(5);
        let bye = tabs[0].say(false, 100.0).expect("it says goodbye");
        assert_eq!(tabs[4].hear(bye, 100.0), None);
        assert!(tabs[4].may_stream());
    }

    #[test]
    fn a_tab_that_was_killed_makes_room_after_a_while() {
        let mut tabs = tabs(5);
        for ms in [1_500.0, 3_000.0, 4_500.0, 6_000.0] {
            let words: Vec<_> = tabs[1..4].iter_mut().map(|tab| tab.say(true, ms)).collect();
            tabs[4].say(true, ms);
            for word in words.into_iter().flatten() {
                tabs[4].hear(word, ms);
            }
        }
        assert!(tabs[4].may_stream());
    }

    #[test]
    fn words_come_back_as_they_were_sent() {
        for word in [Word::Here(7), Word::Bye(7)] {
            assert_eq!(Word::read(&word.write()), Some(word));
        }
        for odd in ["", "here", "here x", "hello 7"] {
            assert_eq!(Word::read(odd), None);
        }
    }
}
