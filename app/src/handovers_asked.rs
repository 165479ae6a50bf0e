//! What the address of the history says, both ways, and which entries are meant.

use baton_client::{Actor, FieldError, HandoverEvent, HandoverQuery, LeaseName, Timestamp};

use crate::{address::query_of, entry::Entry, lease_asked::read_moment};

/// The fields of the filter, with what they are called on the page.
pub const FIELDS: [(&str, &str); 8] = [
    ("lease", "Lease"),
    ("prefix", "Leases that begin with"),
    ("holder", "Holder, before or after"),
    ("event", "Event"),
    ("actor", "By"),
    ("incident", "Incident"),
    ("from", "From (UTC)"),
    ("to", "Before (UTC)"),
];

/// What is asked of the history: each field as it was said, empty if it was not.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HandoversAsked {
    fields: [String; FIELDS.len()],
    /// Where the page begins, if not at the newest.
    pub cursor: Option<String>,
}

impl HandoversAsked {
    /// Reads the address, asking `get` for each field.
    pub fn read(get: impl Fn(&str) -> Option<String>) -> Self {
        Self {
            fields: FIELDS.map(|(field, _)| get(field).unwrap_or_default().trim().to_owned()),
            cursor: get("cursor").filter(|cursor| !cursor.is_empty()),
        }
    }

    /// What was said of a field.
    pub fn field(&self, name: &str) -> &str {
        let said = FIELDS.iter().zip(&self.fields);
        let mut found = said.filter(|((field, _), _)| *field == name);
        found.next().map_or("", |(_, said)| said)
    }

    /// The same without the fields that are wrong.
    pub fn without(&self, errors: &[FieldError]) -> Self {
        let mut asked = self.clone();
        let is_wrong = |field: &str| errors.iter().any(|error| error.field == field);
        for ((field, _), said) in FIELDS.iter().zip(&mut asked.fields) {
            if is_wrong(field) {
                said.clear();
            }
        }
        asked.cursor = asked.cursor.filter(|_| !is_wrong("cursor"));
        asked
    }

    /// As much of it as can be understood, the question to the server, and what is
    /// wrong with the rest.
    pub fn understood(&self) -> (Self, HandoverQuery, Vec<FieldError>) {
        let errors = self.query().err().unwrap_or_default();
        let asked = self.without(&errors);
        // Without what is wrong, nothing is.
        let query = asked.query().unwrap_or_default();
        (asked, query, errors)
    }

    /// Whether some entries are left out.
    pub fn filters(&self) -> bool {
        self.fields.iter().any(|said| !said.is_empty())
    }

    /// What is asked, in words: each field and what was said of it.
    pub fn words(&self) -> Vec<(&'static str, String)> {
        let all = FIELDS.iter().zip(&self.fields);
        let said = all.filter(|(_, said)| !said.is_empty());
        said.map(|((_, words), said)| (*words, said.clone()))
            .collect()
    }

    fn said(&self) -> impl Iterator<Item = (&str, &str)> {
        let all = FIELDS.iter().zip(&self.fields);
        let said = all.filter(|(_, said)| !said.is_empty());
        said.map(|((field, _), said)| (*field, said.as_str()))
    }

    /// The address that says this, from the newest entry or from `cursor`.
    pub fn href(&self, cursor: Option<&str>) -> String {
        let cursor = cursor.map(|cursor| ("cursor", cursor));
        format!("/handovers{}", query_of(self.said().chain(cursor)))
    }

    /// Where all entries that are meant can be had in this format.
    pub fn export_href(&self, format: &str) -> String {
        let from = self.at("from");
        let to = self.at("to");
        // A time stands there as the API takes it.
        let said = self.said().map(|(field, said)| match field {
            "from" => (field, from.as_deref().unwrap_or(said)),
            "to" => (field, to.as_deref().unwrap_or(said)),
            _ => (field, said),
        });
        let fields = std::iter::once(("format", format)).chain(said);
        format!("/api/v1/handovers/export{}", query_of(fields))
    }

    /// All that happened to this lease, from one moment to another.
    pub fn of_lease(lease: &LeaseName, from: Option<Timestamp>, to: Option<Timestamp>) -> Self {
        let at = |at: Option<Timestamp>| at.map(|at| at.to_string());
        Self::read(|field| match field {
            "lease" => Some(lease.to_string()),
            "from" => at(from),
            "to" => at(to),
            _ => None,
        })
    }

    fn at(&self, field: &str) -> Option<String> {
        read_moment(self.field(field)).map(|at| at.to_string())
    }

    /// The question to the server.
    ///
    /// # Errors
    /// Fields that cannot be what they should be.
    pub fn query(&self) -> Result<HandoverQuery, Vec<FieldError>> {
        let mut errors = Vec::new();
        let text = |name: &str| Some(self.field(name).to_owned()).filter(|said| !said.is_empty());
        let mut wrong = |field: &str, message: String| {
            errors.push(FieldError {
                field: field.to_owned(),
                message,
            });
        };
        let lease = text("lease").and_then(|said| {
            let name = LeaseName::try_from(said);
            name.map_err(|error| wrong("lease", error.to_string())).ok()
        });
        let event = text("event").and_then(|said| {
            let event = said.parse::<HandoverEvent>();
            event.map_err(|error| wrong("event", error)).ok()
        });
        let actor = text("actor").and_then(|said| {
            let actor = said.parse::<Actor>();
            let hint = "is `user:NAME`, `token:NAME` or `baton`";
            actor.map_err(|_| wrong("actor", hint.to_owned())).ok()
        });
        let mut at = |name: &str| {
            text(name).and_then(|said| {
                let at = read_moment(&said);
                if at.is_none() {
                    wrong(
                        name,
                        format!("`{said}` is not a time such as 2026-11-29T02:14"),
                    );
                }
                at
            })
        };
        let (from, to): (Option<Timestamp>, Option<Timestamp>) = (at("from"), at("to"));
        let query = HandoverQuery {
            lease,
            prefix: text("prefix"),
            holder: text("holder"),
            event,
            actor,
            incident: text("incident"),
            from,
            to,
            cursor: self.cursor.clone(),
            ..HandoverQuery::default()
        };
        if errors.is_empty() {
            Ok(query)
        } else {
            Err(errors)
        }
    }
}

/// Whether an entry is one of those that are meant, as the server decides it.
pub fn is_meant(query: &HandoverQuery, entry: &Entry) -> bool {
    let lease = entry.lease.as_ref().map(LeaseName::as_str);
    let is_side = |holder: &String| {
        let sides = [&entry.holder, &entry.previous_holder];
        sides
            .into_iter()
            .flatten()
            .any(|side| side.as_str() == holder)
    };
    query
        .lease
        .as_ref()
        .is_none_or(|name| lease == Some(name.as_str()))
        && query
            .prefix
            .as_ref()
            .is_none_or(|prefix| lease.is_some_and(|lease| lease.starts_with(prefix.as_str())))
        && query.holder.as_ref().is_none_or(is_side)
        && query.event.is_none_or(|event| event == entry.event)
        && query
            .actor
            .as_ref()
            .is_none_or(|actor| *actor == entry.actor)
        && query
            .incident
            .as_ref()
            .is_none_or(|incident| entry.incident.as_ref() == Some(incident))
        && query.from.is_none_or(|from| entry.at >= from)
        && query.to.is_none_or(|to| entry.at < to)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tenures::tests::entry;

    fn asked(fields: &[(&str, &str)]) -> HandoversAsked {
        HandoversAsked::read(|field| {
            let found = fields.iter().find(|(name, _)| *name == field)?;
            Some(found.1.to_owned())
        })
    }

    #[test]
    fn the_address_says_the_filter_and_the_export_takes_the_same() {
        let asked = asked(&[
            ("lease", "a"),
            ("from", "2026-11-29T02:14"),
            ("actor", " user:ana "),
            ("cursor", "x"),
        ]);
        assert_eq!(
            asked.href(None),
            "/handovers?lease=a&actor=user%3Aana&from=2026-11-29T02%3A14"
        );
        assert!(asked.href(Some("y")).ends_with("&cursor=y"));
        assert_eq!(
            asked.export_href("csv"),
            "/api/v1/handovers/export?format=csv&lease=a&actor=user%3Aana&from=2026-11-29T02%3A14%3A00.000000Z"
        );
        assert!(asked.filters());
        assert_eq!(HandoversAsked::default().href(None), "/handovers");
    }

    #[test]
    fn one_lease_is_a_filter_like_any_other() {
        let lease: LeaseName = "a".parse().expect("a name");
        let at = |text: &str| text.parse::<Timestamp>().ok();
        assert_eq!(
            HandoversAsked::of_lease(&lease, None, None).href(None),
            "/handovers?lease=a"
        );
        let part = HandoversAsked::of_lease(&lease, at("2026-11-29T02:14:07.5Z"), None);
        assert_eq!(
            part.export_href("md"),
            "/api/v1/handovers/export?format=md&lease=a&from=2026-11-29T02%3A14%3A07.500000Z"
        );
        let words = [
            ("Lease", "a".to_owned()),
            ("From (UTC)", "2026-11-29T02:14:07.500000Z".to_owned()),
        ];
        assert_eq!(part.words(), words);
    }

    #[test]
    fn every_wrong_field_is_named() {
        let asked = asked(&[
            ("lease", "a b"),
            ("event", "x"),
            ("actor", "ana"),
            ("from", "yesterday"),
            ("to", "x"),
        ]);
        let errors = asked.query().expect_err("it is wrong");
        let fields: Vec<_> = errors.iter().map(|error| error.field.as_str()).collect();
        assert_eq!(fields, ["lease", "event", "actor", "from", "to"]);
        // And the rest is understood.
        let some = self::asked(&[("from", "yesterday"), ("holder", "h"), ("cursor", "c")]);
        let (understood, query, errors) = some.understood();
        assert_eq!((errors.len(), errors[0].field.as_str()), (1, "from"));
        assert_eq!(understood.href(None), "/handovers?holder=h");
        assert_eq!((query.holder.as_deref(), query.from), (Some("h"), None));
        assert_eq!(query.cursor.as_deref(), Some("c"));
        assert_eq!(asked.understood().1, HandoverQuery::default());
    }

    #[test]
    fn new_entries_are_judged_as_the_server_would() {
        let entry = entry(5, "forced", 3, None, Some("replica-a"), None);
        for (fields, meant) in [
            (&[][..], true),
            (&[("lease", "a")], true),
            (&[("lease", "b")], false),
            (&[("prefix", "a")], true),
            (&[("prefix", "ab")], false),
            (&[("holder", "replica-a")], true),
            (&[("holder", "replica")], false),
            (&[("event", "forced")], true),
            (&[("event", "granted")], false),
            (&[("actor", "token:fleet")], true),
            (&[("actor", "user:fleet")], false),
            (&[("incident", "INC-1")], false),
            (&[("from", "2026-11-29T02:14:12Z")], true),
            (&[("from", "2026-11-29T02:14:13Z")], false),
            (&[("to", "2026-11-29T02:14:12Z")], false),
        ] {
            let query = asked(fields).query().expect("a query");
            assert_eq!(is_meant(&query, &entry), meant, "{fields:?}");
        }
    }
}
