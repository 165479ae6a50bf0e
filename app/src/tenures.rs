//! Who had a lease from when to when, worked out from its entries.

use baton_client::{Generation, HandoverEvent, HolderId, Timestamp};

use crate::entry::Entry;

/// How a tenure ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// It has not.
    Open,
    /// It lapsed, and nobody took the lease yet.
    Lapsed,
    /// It lapsed, and somebody took the lease.
    Taken,
    /// Its holder let go.
    Released,
    /// An operator, or a step-down's deadline, took it away.
    Forced,
    /// Every generation was raised.
    Raised,
    /// No entry that is known says how.
    Unknown,
}

impl End {
    /// In words.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Open => "goes on",
            Self::Lapsed => "lapsed",
            Self::Taken => "lapsed, then taken over",
            Self::Released => "released",
            Self::Forced => "forced",
            Self::Raised => "ended as every generation was raised",
            Self::Unknown => "ended",
        }
    }
}

/// A tenure, as far as the entries tell.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tenure {
    /// Whose it is.
    pub holder: HolderId,
    /// Under which generation.
    pub generation: Generation,
    /// When it began; `None` if that is before all entries that are known.
    pub from: Option<Timestamp>,
    /// Up to when it was held; `None` while it goes on.
    pub until: Option<Timestamp>,
    /// How it ended.
    pub end: End,
    /// When it lapsed, each time. All but the last were recovered from.
    pub lapses: Vec<Timestamp>,
    /// The entry that says most of it.
    pub seq: u64,
}

/// The tenures that `entries` (oldest first) speak of, oldest first: those of the
/// lease, and those that raised every generation. `before` is the entry before
/// them, if there is one; `free` says that nobody has the lease after them.
pub fn tenures(before: Option<&Entry>, entries: &[Entry], free: bool) -> Vec<Tenure> {
    let mut tenures = Vec::new();
    let mut current: Option<Tenure> = None;
    if let Some(first) = before
        && let Some(holder) = &first.holder
    {
        current = Some(begun_before(first, holder));
        if first.event == HandoverEvent::Granted {
            current = current.map(|tenure| Tenure {
                from: Some(first.at),
                ..tenure
            });
        }
    } else if let Some(first) = entries.first()
        && let Some(holder) = &first.previous_holder
        && first.event != HandoverEvent::Granted
    {
        current = Some(begun_before(first, holder));
    }
    for entry in entries {
        if let Some(tenure) = &mut current {
            // What ends a tenure knows when it began.
            tenure.from = tenure.from.or(entry.held_from);
        }
        match entry.event {
            HandoverEvent::Granted => {
                if let Some(mut taken) = current.take() {
                    let lapsed_at = taken.lapses.last().copied();
                    taken.until = Some(lapsed_at.unwrap_or(entry.at));
                    taken.end = End::Taken;
                    tenures.push(taken);
                }
                current = entry.holder.as_ref().map(|holder| Tenure {
                    from: Some(entry.at),
                    generation: entry.generation,
                    ..begun_before(entry, holder)
                });
            }
            HandoverEvent::Lapsed => {
                if let Some(tenure) = &mut current {
                    let at = entry.held_until.unwrap_or(entry.at);
                    tenure.lapses.push(at);
                    (tenure.until, tenure.end) = (Some(at), End::Lapsed);
                }
            }
            HandoverEvent::Recovered => {
                if let Some(tenure) = &mut current {
                    (tenure.until, tenure.end) = (None, End::Open);
                }
            }
            HandoverEvent::Released | HandoverEvent::Forced => {
                if let Some(mut tenure) = current.take() {
                    tenure.until = Some(entry.held_until.unwrap_or(entry.at));
                    tenure.end = match entry.event {
                        HandoverEvent::Forced => End::Forced,
                        _ => End::Released,
                    };
                    tenures.push(tenure);
                }
            }
            HandoverEvent::FloorRaised => {
                if let Some(mut tenure) = current.take() {
                    // One that stood lapsed was over then.
                    tenure.until = tenure.until.or(Some(entry.at));
                    tenure.end = End::Raised;
                    tenures.push(tenure);
                }
            }
            _ => {}
        }
    }
    if let Some(mut tenure) = current {
        if free && tenure.end == End::Open {
            tenure.until = Some(
                entries
                    .last()
                    .or(before)
                    .map_or_else(Timestamp::default, |last| last.at),
            );
            tenure.end = End::Unknown;
        }
        tenures.push(tenure);
    }
    tenures
}

fn begun_before(entry: &Entry, holder: &HolderId) -> Tenure {
    Tenure {
        holder: holder.clone(),
        generation: match entry.event {
            // These raise the generation as they end the tenure before.
            HandoverEvent::Released | HandoverEvent::Forced => {
                Generation::try_from(entry.generation.get().saturating_sub(1)).unwrap_or_default()
            }
            _ => entry.generation,
        },
        from: entry.held_from,
        until: None,
        end: End::Open,
        lapses: Vec::new(),
        seq: entry.seq,
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// Seconds after an arbitrary moment.
    pub(crate) fn at(s: i64) -> Timestamp {
        Timestamp::from_micros(1_795_918_447_000_000 + s * 1_000_000)
    }

    /// An entry at `s` seconds: event, generation, holder after, holder before,
    /// the tenure's beginning and end.
    pub(crate) fn entry(
        s: i64,
        event: &str,
        generation: u64,
        holder: Option<&str>,
        previous: Option<&str>,
        held: Option<(i64, i64)>,
    ) -> Entry {
        serde_json::from_value(serde_json::json!({
            "seq": s + 1_000, "at": at(s), "lease": "a", "event": event, "generation": generation,
            "holder": holder, "previous_holder": previous,
            "held_from": held.map(|held| at(held.0)), "held_until": held.map(|held| at(held.1)),
            "reason": "x", "incident": null, "actor": "token:fleet",
        }))
        .expect("an entry")
    }

    fn story(tenures: &[Tenure]) -> Vec<String> {
        let s = |at: Timestamp| (at.micros() - super::tests::at(0).micros()) / 1_000_000;
        tenures
            .iter()
            .map(|tenure| {
                format!(
                    "{} {} {:?}-{:?} {:?} {:?}",
                    tenure.holder,
                    tenure.generation,
                    tenure.from.map(s),
                    tenure.until.map(s),
                    tenure.end,
                    tenure.lapses.iter().copied().map(s).collect::<Vec<_>>()
                )
            })
            .collect()
    }

    #[test]
    fn a_lease_changes_hands_in_every_way() {
        let entries = [
            entry(0, "granted", 1, Some("a"), None, None),
            entry(10, "released", 2, None, Some("a"), Some((0, 10))),
            entry(12, "granted", 3, Some("b"), None, None),
            entry(20, "lapsed", 3, Some("b"), Some("b"), Some((12, 19))),
            entry(21, "recovered", 3, Some("b"), Some("b"), None),
            entry(30, "lapsed", 3, Some("b"), Some("b"), Some((12, 30))),
            entry(31, "granted", 4, Some("c"), Some("b"), None),
            entry(35, "paused", 4, Some("c"), Some("c"), None),
            entry(40, "forced", 5, None, Some("c"), Some((31, 40))),
            entry(41, "granted", 6, Some("d"), None, None),
        ];
        assert_eq!(
            story(&tenures(None, &entries, false)),
            [
                "a 1 Some(0)-Some(10) Released []",
                "b 3 Some(12)-Some(30) Taken [19, 30]",
                "c 4 Some(31)-Some(40) Forced []",
                "d 6 Some(41)-None Open []",
            ]
        );
    }

    #[test]
    fn what_began_before_the_window_is_known_from_what_stands_around_it() {
        let before = entry(-5, "granted", 3, Some("b"), None, None);
        let first = [entry(20, "lapsed", 3, Some("b"), Some("b"), Some((-5, 20)))];
        assert_eq!(
            story(&tenures(Some(&before), &first, false)),
            ["b 3 Some(-5)-Some(20) Lapsed [20]"]
        );
        assert_eq!(
            story(&tenures(None, &first, false)),
            ["b 3 Some(-5)-Some(20) Lapsed [20]"]
        );
        assert_eq!(
            story(&tenures(Some(&before), &[], false)),
            ["b 3 Some(-5)-None Open []"]
        );
        let released = [entry(20, "released", 4, None, Some("b"), Some((-5, 20)))];
        assert_eq!(
            story(&tenures(None, &released, true)),
            ["b 3 Some(-5)-Some(20) Released []"]
        );
    }

    #[test]
    fn a_raised_floor_ends_what_was_open() {
        let raised = |s| Entry {
            lease: None,
            ..entry(s, "floor_raised", 1 << 32, None, None, None)
        };
        let entries = [
            entry(0, "granted", 1, Some("a"), None, None),
            raised(10),
            entry(20, "granted", 7, Some("b"), None, None),
            entry(30, "lapsed", 7, Some("b"), Some("b"), Some((20, 29))),
            raised(40),
        ];
        assert_eq!(
            story(&tenures(None, &entries, true)),
            [
                "a 1 Some(0)-Some(10) Raised []",
                "b 7 Some(20)-Some(29) Raised [29]",
            ]
        );
        // What it ended before the window is not in it.
        assert_eq!(
            story(&tenures(Some(&raised(10)), &entries[2..3], false)),
            ["b 7 Some(20)-None Open []"]
        );
        assert!(tenures(Some(&raised(10)), &[], true).is_empty());
    }

    #[test]
    fn what_no_known_entry_ends_is_over_when_nobody_has_it() {
        let entries = [entry(0, "granted", 1, Some("a"), None, None)];
        assert_eq!(
            story(&tenures(None, &entries, true)),
            ["a 1 Some(0)-Some(0) Unknown []"]
        );
    }
}
