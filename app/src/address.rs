//! What the address of the leases page says, both ways. Everything that the
//! page can be set to stands in its address, so that it can be sent to someone.

use baton_client::{LeaseQuery, LeaseSort, LeaseState};
use serde::{Deserialize, Serialize};

/// Leases on a page. What needs attention comes first, and a phone on a bad line
/// shows fifty rows twice as soon as a hundred.
pub const ROWS: u64 = 50;

/// Which leases to show.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Show {
    /// All of them.
    #[default]
    All,
    /// Those in one state.
    In(LeaseState),
    /// Those that ask for a look.
    Attention,
}

impl Show {
    /// Every choice, with its word in the address and its words on the page.
    pub const CHOICES: [(Self, &'static str, &'static str); 5] = [
        (Self::All, "", "Any state"),
        (Self::Attention, "attention", "Needs attention"),
        (Self::In(LeaseState::Held), "held", "Held"),
        (Self::In(LeaseState::Lapsed), "lapsed", "Lapsed"),
        (Self::In(LeaseState::Free), "free", "Free"),
    ];

    /// The word in the address.
    pub fn as_str(self) -> &'static str {
        Self::CHOICES
            .iter()
            .find(|choice| choice.0 == self)
            .map_or("", |choice| choice.1)
    }
}

/// Every order, with its word in the address and its words on the page. The
/// first is the page's own.
pub const SORTS: [(LeaseSort, &str, &str); 4] = [
    (LeaseSort::Attention, "attention", "Needs attention first"),
    (LeaseSort::Name, "name", "By name"),
    (LeaseSort::Expires, "expires", "Expires next"),
    (LeaseSort::Changed, "changed", "Changed hands last"),
];

/// What is asked of the leases page.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Asked {
    /// Part of a lease's or holder's name.
    pub search: String,
    /// Which of them.
    pub show: Show,
    /// In which order.
    pub sort: LeaseSort,
    /// Where the page begins, if not at the beginning.
    pub cursor: Option<String>,
}

impl Default for Asked {
    fn default() -> Self {
        Self {
            search: String::new(),
            show: Show::All,
            sort: SORTS[0].0,
            cursor: None,
        }
    }
}

impl Asked {
    /// Reads the address, asking `get` for each of its fields. What the page
    /// does not know it takes as not said.
    pub fn read(get: impl Fn(&str) -> Option<String>) -> Self {
        let said = |field| get(field).filter(|text| !text.is_empty());
        let show = said("state").unwrap_or_default();
        let sort = said("sort").unwrap_or_default();
        Self {
            search: said("search").unwrap_or_default().trim().to_owned(),
            show: Show::CHOICES
                .iter()
                .find(|choice| choice.1 == show)
                .map_or(Show::All, |choice| choice.0),
            sort: SORTS
                .iter()
                .find(|choice| choice.1 == sort)
                .map_or(SORTS[0].0, |choice| choice.0),
            cursor: said("cursor"),
        }
    }

    /// What the address says and [`Self::read`] takes as not said: each field, and
    /// what is wrong with it.
    pub fn misread(get: impl Fn(&str) -> Option<String>) -> Vec<(&'static str, String)> {
        let states = Show::CHOICES.map(|choice| choice.1);
        let sorts = SORTS.map(|choice| choice.1);
        let mut wrong = Vec::new();
        for (field, known) in [("state", &states[..]), ("sort", &sorts)] {
            if let Some(said) = get(field)
                && !said.is_empty()
                && !known.contains(&said.as_str())
            {
                let known: Vec<&str> = known.iter().copied().filter(|w| !w.is_empty()).collect();
                wrong.push((field, format!("`{said}` is none of {}", known.join(", "))));
            }
        }
        wrong
    }

    /// The address that says this.
    pub fn href(&self) -> String {
        let mut href = "/".to_owned();
        let mut say = |field: &str, value: &str| {
            href.push(if href.len() == 1 { '?' } else { '&' });
            href.push_str(field);
            href.push('=');
            encode(value, &mut href);
        };
        if !self.search.is_empty() {
            say("search", &self.search);
        }
        if self.show != Show::All {
            say("state", self.show.as_str());
        }
        if self.sort != SORTS[0].0 {
            say("sort", sort_word(self.sort));
        }
        if let Some(cursor) = &self.cursor {
            say("cursor", cursor);
        }
        href
    }

    /// The same with other leases, from the beginning.
    pub fn showing(&self, show: Show) -> Self {
        Self {
            show,
            cursor: None,
            ..self.clone()
        }
    }

    /// The same from another place.
    pub fn from(&self, cursor: Option<String>) -> Self {
        Self {
            cursor,
            ..self.clone()
        }
    }

    /// Whether some leases are left out.
    pub fn filters(&self) -> bool {
        !self.search.is_empty() || self.show != Show::All
    }

    /// The question to the server.
    pub fn query(&self) -> LeaseQuery {
        LeaseQuery {
            search: Some(self.search.clone()).filter(|search| !search.is_empty()),
            prefix: None,
            state: match self.show {
                Show::In(state) => Some(state),
                Show::All | Show::Attention => None,
            },
            holder: None,
            attention: (self.show == Show::Attention).then_some(true),
            sort: Some(self.sort),
            limit: Some(ROWS),
            cursor: self.cursor.clone(),
        }
    }

    /// The address of the events that keep this page current, after `seq`.
    pub fn events(&self, seq: u64) -> String {
        let query = self.query();
        let mut href = format!(
            "/api/v1/events?after={seq}&handovers=page&limit={ROWS}&sort={}",
            sort_word(self.sort)
        );
        let mut say = |field: &str, value: Option<&str>| {
            if let Some(value) = value {
                href.push('&');
                href.push_str(field);
                href.push('=');
                encode(value, &mut href);
            }
        };
        say("search", query.search.as_deref());
        say("state", query.state.map(LeaseState::as_str));
        say("attention", query.attention.map(|_| "true"));
        say("cursor", query.cursor.as_deref());
        href
    }
}

/// The word for an order in the address.
pub fn sort_word(sort: LeaseSort) -> &'static str {
    SORTS
        .iter()
        .find(|choice| choice.0 == sort)
        .map_or("name", |choice| choice.1)
}

/// Where to sign in, and come back to `next` afterwards.
pub fn sign_in_href(next: &str) -> String {
    let mut href = "/sign-in".to_owned();
    if next != "/" {
        href.push_str("?next=");
        encode(next, &mut href);
    }
    href
}

/// Where it is chosen how pages are shown.
pub const DISPLAY: &str = "/display";

/// Where to choose how pages are shown, and come back to `next` afterwards.
pub fn display_href(next: &str) -> String {
    format!("{DISPLAY}{}", query_of([("next", next)]))
}

/// `next`, if it is a place on this server, else `/`. A browser reads `\` as
/// `/`, and `//host` as another server.
pub fn safe_next(next: &str) -> &str {
    let second = next.as_bytes().get(1);
    let odd = |c: char| c == '\\' || c.is_control();
    if next.starts_with('/') && second != Some(&b'/') && !next.contains(odd) {
        next
    } else {
        "/"
    }
}

/// `?a=x&b=y` of these fields, or nothing without any.
pub fn query_of<'a>(fields: impl IntoIterator<Item = (&'a str, &'a str)>) -> String {
    let mut query = String::new();
    for (field, value) in fields {
        query.push(if query.is_empty() { '?' } else { '&' });
        query.push_str(field);
        query.push('=');
        encode(value, &mut query);
    }
    query
}

/// Appends `value` so that it stands for itself in a query.
fn encode(value: &str, href: &mut String) {
    for byte in value.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            href.push(byte as char);
        } else {
            href.push('%');
            for digit in [byte >> 4, byte & 15] {
                href.push(b"0123456789ABCDEF"[usize::from(digit)] as char);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(fields: &[(&str, &str)]) -> Asked {
        Asked::read(|field| {
            let found = fields.iter().find(|(name, _)| *name == field)?;
            Some(found.1.to_owned())
        })
    }

    #[test]
    fn the_plain_page_has_the_plain_address() {
        assert_eq!(asked(&[]), Asked::default());
        assert_eq!(Asked::default().href(), "/");
    }

    #[test]
    fn empty_fields_of_the_form_say_nothing() {
        assert_eq!(asked(&[("search", ""), ("state", "")]), Asked::default());
        assert_eq!(asked(&[("state", "odd"), ("sort", "x")]), Asked::default());
    }

    #[test]
    fn what_is_asked_stands_in_both_addresses() {
        let asked = asked(&[
            ("search", "a&b=ü/ "),
            ("state", "lapsed"),
            ("sort", "expires"),
            ("cursor", "x_1"),
        ]);
        assert_eq!(
            asked.href(),
            "/?search=a%26b%3D%C3%BC%2F&state=lapsed&sort=expires&cursor=x_1"
        );
        assert_eq!(
            asked.events(7),
            "/api/v1/events?after=7&handovers=page&limit=50&sort=expires&search=a%26b%3D%C3%BC%2F&state=lapsed&cursor=x_1"
        );
        assert_eq!(asked.query().state, Some(LeaseState::Lapsed));
    }

    #[test]
    fn attention_is_a_choice_of_the_page_and_a_field_of_the_api() {
        let asked = asked(&[("state", "attention")]);
        assert_eq!(asked.query().attention, Some(true));
        assert_eq!(asked.query().state, None);
        assert!(asked.events(0).ends_with("&attention=true"));
        assert!(asked.filters());
    }

    #[test]
    fn another_filter_starts_at_the_beginning() {
        let asked = asked(&[("search", "x"), ("cursor", "c")]);
        assert_eq!(
            asked.showing(Show::Attention).href(),
            "/?search=x&state=attention"
        );
        assert_eq!(asked.from(None).href(), "/?search=x");
    }

    #[test]
    fn signing_in_leads_back_here_and_nowhere_else() {
        assert_eq!(sign_in_href("/"), "/sign-in");
        assert_eq!(
            sign_in_href("/?state=held"),
            "/sign-in?next=%2F%3Fstate%3Dheld"
        );
        assert_eq!(safe_next("/?state=held"), "/?state=held");
        for bad in [
            "",
            "https://x",
            "//x",
            "/\\x",
            "/a\\b",
            "x",
            "/\t/x",
            "javascript:1",
        ] {
            assert_eq!(safe_next(bad), "/", "{bad:?}");
        }
    }
}
