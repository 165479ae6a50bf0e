//! What the address of a lease's page says, both ways: which lease, which part
//! of its time, and which act is followed.

use baton_client::{LeaseName, Timestamp};

use crate::{address::query_of, moment::utc};

/// Which part of a lease's time is shown.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Window {
    /// As far back as its newest entries go, up to now.
    #[default]
    Newest,
    /// So many milliseconds up to now.
    Last(u64),
    /// From one moment to another; up to now without an end.
    Between(Timestamp, Option<Timestamp>),
}

impl Window {
    /// From when to when, as far as it is bounded, at `now`.
    pub fn bounds(self, now: Timestamp) -> (Option<Timestamp>, Option<Timestamp>) {
        match self {
            Self::Newest => (None, None),
            Self::Last(ms) => {
                let from = now.micros().saturating_sub(ms as i64 * 1_000);
                (Some(Timestamp::from_micros(from)), None)
            }
            Self::Between(from, to) => (Some(from), to),
        }
    }

    /// What it is, in words.
    pub fn words(self) -> String {
        match self {
            Self::Newest => "the newest entries".to_owned(),
            Self::Last(ms) => {
                let span = SPANS.iter().find(|span| span.0 == ms);
                format!("the last {}", span.map_or("", |span| span.2))
            }
            Self::Between(from, to) => {
                let to = to.map_or_else(|| "now".to_owned(), utc);
                format!("from {} to {to}", utc(from))
            }
        }
    }
}

/// The spans that one press leads to, with their words in the address and on
/// the page.
pub const SPANS: [(u64, &str, &str); 4] = [
    (300_000, "5m", "5 min"),
    (3_600_000, "1h", "1 h"),
    (86_400_000, "1d", "1 day"),
    (604_800_000, "7d", "7 days"),
];

/// As many entries of a lease are read and shown at a time, the newest ones.
pub const ENTRIES_MAX: usize = 400;

/// The shortest window that a press leads to, in milliseconds.
const SHORTEST_MS: u64 = 1_000;

/// What is asked of a lease's page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeaseAsked {
    /// Which lease.
    pub lease: LeaseName,
    /// Which part of its time.
    pub window: Window,
    /// The entry of the act that is followed.
    pub after: Option<u64>,
}

impl LeaseAsked {
    /// Reads the address, asking `get` for each field of the query. What cannot
    /// be read is taken as not said.
    pub fn read(lease: LeaseName, get: impl Fn(&str) -> Option<String>) -> Self {
        let Understood { window, after, .. } = Understood::of(get);
        Self {
            lease,
            window,
            after,
        }
    }

    /// What the address says and [`Self::read`] takes as not said: each field, and
    /// what is wrong with it.
    pub fn misread(get: impl Fn(&str) -> Option<String>) -> Vec<(&'static str, String)> {
        Understood::of(get).wrong
    }

    /// The address that says this.
    pub fn href(&self) -> String {
        let mut fields: Vec<(&str, String)> = Vec::new();
        match self.window {
            Window::Newest => {}
            Window::Last(ms) => {
                let span = SPANS.iter().find(|span| span.0 == ms);
                fields.push(("last", span.map_or("", |span| span.1).to_owned()));
            }
            Window::Between(from, to) => {
                fields.push(("from", from.to_string()));
                fields.extend(to.map(|to| ("to", to.to_string())));
            }
        }
        fields.extend(self.after.map(|seq| ("after", seq.to_string())));
        let fields = fields.iter().map(|(field, value)| (*field, value.as_str()));
        format!("/leases/{}{}", self.lease, query_of(fields))
    }

    /// The same with another window.
    pub fn through(&self, window: Window) -> Self {
        Self {
            window,
            ..self.clone()
        }
    }
}

/// What an address says, and what is wrong with the rest of it.
struct Understood {
    window: Window,
    after: Option<u64>,
    wrong: Vec<(&'static str, String)>,
}

impl Understood {
    fn of(get: impl Fn(&str) -> Option<String>) -> Self {
        let said = |field| get(field).filter(|said| !said.is_empty());
        let mut wrong = Vec::new();
        let last = said("last").and_then(|last| {
            let span = SPANS.iter().find(|span| span.1 == last);
            if span.is_none() {
                let spans = SPANS.map(|span| span.1).join(", ");
                wrong.push(("last", format!("`{last}` is none of {spans}")));
            }
            span
        });
        let mut moment = |field| {
            let time = said(field)?;
            let at = read_moment(&time);
            if at.is_none() {
                let why = format!("`{time}` is not a time such as 2026-11-29T02:14");
                wrong.push((field, why));
            }
            at
        };
        let (from, to) = (moment("from"), moment("to"));
        match (from, to) {
            (Some(from), Some(to)) if from >= to => {
                wrong.push(("to", format!("{to} is not after {from}")));
            }
            (None, Some(_)) => wrong.push(("to", "needs a `from` that it ends".to_owned())),
            _ => {}
        }
        let window = match (last, from, to) {
            (Some(span), _, _) => Window::Last(span.0),
            (None, Some(from), to) if to.is_none_or(|to| from < to) => Window::Between(from, to),
            _ => Window::Newest,
        };
        let after = said("after").and_then(|after| {
            let seq = after.parse().ok();
            if seq.is_none() {
                wrong.push(("after", format!("`{after}` is not the number of an entry")));
            }
            seq
        });
        Self {
            window,
            after,
            wrong,
        }
    }
}

/// Where a lease has its page. Its name stands for itself in an address.
pub fn lease_href(lease: &LeaseName) -> String {
    format!("/leases/{lease}")
}

/// Windows near one from `from` to `to`: earlier, later, closer and wider.
pub fn near(from: Timestamp, to: Timestamp) -> [(&'static str, Window); 4] {
    let ms = from.ms_until(to).max(SHORTEST_MS);
    let shift = |at: Timestamp, by_ms: i64| {
        let us = at.micros().saturating_add(by_ms.saturating_mul(1_000));
        Timestamp::from_micros(us.max(0))
    };
    let half = (ms / 2) as i64;
    let quarter = (ms / 4).max(1) as i64;
    let between = |from, to| Window::Between(from, Some(to));
    let closer = if ms > SHORTEST_MS {
        between(shift(from, quarter), shift(to, -quarter))
    } else {
        between(from, to)
    };
    [
        ("Earlier", between(shift(from, -half), shift(to, -half))),
        ("Later", between(shift(from, half), shift(to, half))),
        ("Closer", closer),
        ("Wider", between(shift(from, -half), shift(to, half))),
    ]
}

/// A moment as it stands in an address: RFC 3339, or as a form's field for date
/// and time sends it, which then is UTC.
pub fn read_moment(text: &str) -> Option<Timestamp> {
    let text = text.trim();
    text.parse()
        .or_else(|_| format!("{text}Z").parse())
        .or_else(|_| format!("{text}:00Z").parse())
        .ok()
}

/// A moment as a form's field for date and time takes it, to the second.
pub fn field_moment(at: Timestamp) -> String {
    at.to_string()[..19].to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(fields: &[(&str, &str)]) -> LeaseAsked {
        LeaseAsked::read("fleet.manager".parse().expect("a name"), |field| {
            let found = fields.iter().find(|(name, _)| *name == field)?;
            Some(found.1.to_owned())
        })
    }

    #[test]
    fn the_address_says_the_window_and_comes_back() {
        for (fields, href) in [
            (&[][..], "/leases/fleet.manager"),
            (&[("last", "1h")], "/leases/fleet.manager?last=1h"),
            (
                &[
                    ("from", "2026-11-29T02:14"),
                    ("to", "2026-11-29T02:15:30"),
                    ("after", "7"),
                ],
                "/leases/fleet.manager?from=2026-11-29T02%3A14%3A00.000000Z&to=2026-11-29T02%3A15%3A30.000000Z&after=7",
            ),
        ] {
            let read = asked(fields);
            assert_eq!(read.href(), href);
        }
    }

    #[test]
    fn what_cannot_be_read_is_not_said_and_named() {
        let misread = |fields: &[(&str, &str)]| {
            let wrong = LeaseAsked::misread(|field| {
                let found = fields.iter().find(|(name, _)| *name == field)?;
                Some(found.1.to_owned())
            });
            wrong.iter().map(|(field, _)| *field).collect::<Vec<_>>()
        };
        let moments = ("2026-11-29T02:00", "2026-11-29T03:00");
        for (fields, wrong) in [
            (&[("last", "2y")][..], &["last"][..]),
            (&[("from", "yesterday")], &["from"]),
            (&[("from", "b"), ("to", "a")], &["from", "to"]),
            (&[("from", moments.1), ("to", moments.0)], &["to"]),
            (&[("to", moments.0)], &["to"]),
            (&[("after", "-1")], &["after"]),
        ] {
            assert_eq!(asked(fields), asked(&[]), "{fields:?}");
            assert_eq!(misread(fields), wrong, "{fields:?}");
        }
        for fields in [
            &[][..],
            &[("last", "1h"), ("after", "7")],
            &[("from", moments.0), ("to", moments.1)],
            &[("from", moments.0), ("to", "")],
        ] {
            assert!(misread(fields).is_empty(), "{fields:?}");
        }
    }

    #[test]
    fn windows_move_by_half_and_close_in_by_half() {
        let at = |ms: i64| Timestamp::from_micros(ms * 1_000);
        let [earlier, later, closer, wider] = near(at(100_000), at(104_000)).map(|near| near.1);
        assert_eq!(earlier, Window::Between(at(98_000), Some(at(102_000))));
        assert_eq!(later, Window::Between(at(102_000), Some(at(106_000))));
        assert_eq!(closer, Window::Between(at(101_000), Some(at(103_000))));
        assert_eq!(wider, Window::Between(at(98_000), Some(at(106_000))));
        assert_eq!(
            near(at(0), at(500))[2].1,
            Window::Between(at(0), Some(at(500)))
        );
    }
}
