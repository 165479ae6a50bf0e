//! How a moment is written, wherever a page shows one: as its reader chose, and
//! always with the zone.

use baton_client::Timestamp;

use crate::{countdown::coarse, display::Times};

/// What a place on a page needs of a moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// Date and time.
    Full,
    /// The time of a moment of today, else date and time.
    Short,
    /// As short, and never how long ago: that stands beside it, or it is now.
    Clock,
    /// How long ago, whatever was chosen: that is what matters there.
    Age,
    /// As the log has it, and beside that what was chosen, if that is another.
    Exact,
}

impl Form {
    const ALL: [(Self, &'static str); 5] = [
        (Self::Full, "full"),
        (Self::Short, "short"),
        (Self::Clock, "clock"),
        (Self::Age, "age"),
        (Self::Exact, "exact"),
    ];

    /// The word for it in the document.
    pub fn as_str(self) -> &'static str {
        let mut all = Self::ALL.iter();
        all.find(|form| form.0 == self).map_or("", |form| form.1)
    }

    /// The form of this word, or of its first letter.
    pub fn read(word: &str) -> Option<Self> {
        let letter = word.get(..1)?;
        let mut all = Self::ALL.iter();
        all.find(|form| form.1.starts_with(letter))
            .map(|form| form.0)
    }
}

/// The moment as its reader chose. `now` is the database's; without it nothing is
/// so long ago. `ahead_min` is how many minutes the local time is ahead of UTC at
/// that moment; without it local is UTC.
pub fn written(
    at: Timestamp,
    form: Form,
    times: Times,
    now: Option<Timestamp>,
    ahead_min: Option<i64>,
) -> String {
    let by_age = match form {
        Form::Age => true,
        Form::Full | Form::Short => times == Times::Ago,
        Form::Clock | Form::Exact => false,
    };
    if let Some(now) = now.filter(|_| by_age) {
        return ago(at, now);
    }
    if form == Form::Exact {
        let other = match times {
            Times::Utc => false,
            Times::Local => ahead_min.is_some(),
            Times::Ago => now.is_some(),
        };
        let also = other.then(|| written(at, Form::Full, times, now, ahead_min));
        return also.map_or_else(|| at.to_string(), |also| format!("{at} ({also})"));
    }
    let ahead_min = ahead_min.filter(|_| times == Times::Local).unwrap_or(0);
    let here = |at: Timestamp| {
        let us = at.micros().saturating_add(ahead_min * 60_000_000);
        Timestamp::from_micros(us).to_string()
    };
    let (text, zone) = (here(at), zone(ahead_min));
    let (date, time) = (&text[..10], &text[11..19]);
    let today = form != Form::Full && now.is_some_and(|now| here(now)[..10] == *date);
    if today {
        format!("{time} {zone}")
    } else {
        format!("{date} {time} {zone}")
    }
}

/// Date and time in UTC, for what is no element of a page.
pub fn utc(at: Timestamp) -> String {
    written(at, Form::Full, Times::Utc, None, None)
}

/// `31 s ago`, `in 8 s`. What is less than a second ahead is now: clocks that are
/// shown to the second are behind by that much.
fn ago(at: Timestamp, now: Timestamp) -> String {
    match now.ms_until(at) {
        0..1_000 => format!("{} ago", coarse(at.ms_until(now))),
        ahead_ms => format!("in {}", coarse(ahead_ms)),
    }
}

/// `UTC`, `UTC+1`, `UTC−3:30`.
fn zone(ahead_min: i64) -> String {
    let sign = if ahead_min < 0 { '−' } else { '+' };
    let (hours, minutes) = (ahead_min.abs() / 60, ahead_min.abs() % 60);
    match (hours, minutes) {
        (0, 0) => "UTC".to_owned(),
        (hours, 0) => format!("UTC{sign}{hours}"),
        (hours, minutes) => format!("UTC{sign}{hours}:{minutes:02}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> Timestamp {
        text.parse().expect("a moment")
    }

    fn night() -> Timestamp {
        at("2026-11-29T23:14:07.120000Z")
    }

    #[test]
    fn each_choice_says_its_zone() {
        let now = Some(night().plus_ms(200_000));
        for (times, ahead_min, full, short) in [
            (Times::Utc, None, "2026-11-29 23:14:07 UTC", "23:14:07 UTC"),
            // What a page without a script does.
            (
                Times::Local,
                None,
                "2026-11-29 23:14:07 UTC",
                "23:14:07 UTC",
            ),
            (
                Times::Local,
                Some(60),
                "2026-11-30 00:14:07 UTC+1",
                "00:14:07 UTC+1",
            ),
            (
                Times::Local,
                Some(-210),
                "2026-11-29 19:44:07 UTC−3:30",
                "19:44:07 UTC−3:30",
            ),
            // Whoever chose UTC gets it wherever the browser is.
            (
                Times::Utc,
                Some(60),
                "2026-11-29 23:14:07 UTC",
                "23:14:07 UTC",
            ),
            (Times::Ago, Some(60), "3 m 20 s ago", "3 m 20 s ago"),
        ] {
            let write = |form| written(night(), form, times, now, ahead_min);
            assert_eq!(write(Form::Full), full);
            assert_eq!(write(Form::Short), short);
            assert_eq!(write(Form::Age), "3 m 20 s ago");
        }
    }

    #[test]
    fn other_days_are_named_in_the_zone_that_is_shown() {
        let write = |now: &str, ahead_min| {
            let now = Some(at(now));
            written(night(), Form::Short, Times::Local, now, Some(ahead_min))
        };
        assert_eq!(write("2026-11-30T00:00:00Z", 0), "2026-11-29 23:14:07 UTC");
        assert_eq!(write("2026-11-30T00:00:00Z", 60), "00:14:07 UTC+1");
    }

    #[test]
    fn the_clock_is_never_so_long_ago_and_what_is_ahead_is_in_so_long() {
        let now = Some(night());
        let write = |at, form| written(at, form, Times::Ago, now, None);
        assert_eq!(write(night(), Form::Clock), "23:14:07 UTC");
        assert_eq!(write(night().plus_ms(8_000), Form::Short), "in 8 s");
        assert_eq!(write(night().plus_ms(999), Form::Short), "0 s ago");
        let unknown = written(night(), Form::Age, Times::Ago, None, None);
        assert_eq!(unknown, "2026-11-29 23:14:07 UTC");
    }

    #[test]
    fn the_exact_time_stays_beside_what_was_chosen() {
        let exact = "2026-11-29T23:14:07.120000Z";
        let write = |times, now, ahead_min| written(night(), Form::Exact, times, now, ahead_min);
        assert_eq!(write(Times::Utc, Some(night()), None), exact);
        assert_eq!(write(Times::Local, Some(night()), None), exact);
        assert_eq!(
            write(Times::Local, Some(night()), Some(60)),
            format!("{exact} (2026-11-30 00:14:07 UTC+1)")
        );
        assert_eq!(
            write(Times::Ago, Some(night()), None),
            format!("{exact} (0 s ago)")
        );
    }

    #[test]
    fn every_form_has_its_word() {
        for (form, word) in Form::ALL {
            assert_eq!(Form::read(word), Some(form));
            assert_eq!(Form::read(&word[..1]), Some(form));
        }
    }
}
