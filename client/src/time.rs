//! A moment on the database's clock.

use std::{fmt, str::FromStr};

use chrono::{DateTime, Datelike};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};

/// A moment, in whole microseconds since 1970-01-01T00:00:00Z. Written as RFC
/// 3339 in UTC with exactly six fractional digits and `Z`, which also sorts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Timestamp(i64);

/// A text that is not a moment.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not an RFC 3339 time such as 2026-11-29T02:14:07.000000Z")]
pub struct TimestampError(String);

impl Timestamp {
    /// From microseconds since the epoch.
    pub const fn from_micros(micros: i64) -> Self {
        Self(micros)
    }

    /// Microseconds since the epoch.
    pub const fn micros(self) -> i64 {
        self.0
    }

    /// This many milliseconds later.
    pub const fn plus_ms(self, ms: u64) -> Self {
        Self(self.0.saturating_add((ms as i64).saturating_mul(1_000)))
    }

    /// Whole milliseconds from `self` until `later`, rounded down; 0 when
    /// `later` is not later.
    pub const fn ms_until(self, later: Self) -> u64 {
        let micros = later.0 - self.0;
        if micros <= 0 {
            0
        } else {
            micros as u64 / 1_000
        }
    }

    /// As [`Self::ms_until`], rounded up.
    pub const fn ms_until_ceil(self, later: Self) -> u64 {
        let micros = later.0 - self.0;
        if micros <= 0 {
            0
        } else {
            (micros as u64).div_ceil(1_000)
        }
    }

    /// The 27 characters of the wire form.
    fn format(self) -> [u8; 27] {
        const DAY: i64 = 86_400_000_000;
        let mut text = *b"0000-00-00T00:00:00.000000Z";
        let (year, month, day) = date(self.0.div_euclid(DAY));
        let of_day = self.0.rem_euclid(DAY);
        let (seconds, micros) = ((of_day / 1_000_000) as u32, (of_day % 1_000_000) as u32);
        let mut put = |from: usize, digits: usize, mut value: u32| {
            for i in (from..from + digits).rev() {
                text[i] = b'0' + (value % 10) as u8;
                value /= 10;
            }
        };
        put(0, 4, year.clamp(0, 9999) as u32);
        put(5, 2, month as u32);
        put(8, 2, day as u32);
        put(11, 2, seconds / 3_600);
        put(14, 2, seconds / 60 % 60);
        put(17, 2, seconds % 60);
        put(20, 6, micros);
        text
    }
}

/// Year, month and day of so many days after 1970-01-01. Counted in years that
/// begin with March, so that the leap day is a year's last.
fn date(days: i64) -> (i64, i64, i64) {
    const ERA: i64 = 146_097; // days of 400 years
    let days = days + 719_468; // after 0000-03-01
    let of_era = days.rem_euclid(ERA);
    let year_of_era = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month + 2) / 5 + 1;
    let year = days.div_euclid(ERA) * 400 + year_of_era;
    if month < 10 {
        (year, month + 3, day)
    } else {
        (year + 1, month - 9, day)
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(std::str::from_utf8(&self.format()).map_err(|_| fmt::Error)?)
    }
}

impl FromStr for Timestamp {
    type Err = TimestampError;

    /// Any RFC 3339 time; what is finer than a microsecond is cut off.
    fn from_str(text: &str) -> Result<Self, TimestampError> {
        DateTime::parse_from_rfc3339(text)
            .ok()
            .filter(|at| (0..=9999).contains(&at.year()))
            .map(|at| Self(at.timestamp_micros()))
            .ok_or_else(|| TimestampError(text.to_owned()))
    }
}

impl Serialize for Timestamp {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        // All of them are ASCII.
        let text = self.format();
        serializer.serialize_str(std::str::from_utf8(&text).unwrap_or_default())
    }
}

impl<'de> Deserialize<'de> for Timestamp {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = std::borrow::Cow::<str>::deserialize(deserializer)?;
        text.parse().map_err(D::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_wire_form_has_six_digits_and_comes_back() {
        for (micros, text) in [
            (0, "1970-01-01T00:00:00.000000Z"),
            (1_795_918_447_000_001, "2026-11-29T02:14:07.000001Z"),
            (951_827_696_789_012, "2000-02-29T12:34:56.789012Z"),
        ] {
            assert_eq!(Timestamp::from_micros(micros).to_string(), text);
            assert_eq!(text.parse(), Ok(Timestamp::from_micros(micros)));
        }
    }

    #[test]
    fn every_day_is_the_calendar_s() {
        const DAY: i64 = 86_400_000_000;
        // From the year 0 to the year 9999.
        for day in -719_528..2_932_897 {
            let at = Timestamp::from_micros(day * DAY + day.rem_euclid(DAY));
            let calendar = DateTime::from_timestamp_micros(at.0).expect("it has this day");
            if day % 97 == 0 {
                let expected = calendar.format("%Y-%m-%dT%H:%M:%S%.6fZ").to_string();
                assert_eq!(at.to_string(), expected);
            }
            assert_eq!(date(day), {
                let (month, day) = (calendar.month(), calendar.day());
                (i64::from(calendar.year()), i64::from(month), i64::from(day))
            });
        }
    }

    #[test]
    fn other_offsets_are_read_as_the_same_moment() {
        assert_eq!(
            "2026-11-29T03:14:07+01:00".parse::<Timestamp>(),
            "2026-11-29T02:14:07Z".parse()
        );
        assert!("yesterday".parse::<Timestamp>().is_err());
    }

    #[test]
    fn durations_round_as_the_contract_says() {
        let (a, b) = (Timestamp::from_micros(0), Timestamp::from_micros(1_500));
        assert_eq!((a.ms_until(b), a.ms_until_ceil(b)), (1, 2));
        assert_eq!((b.ms_until(a), b.ms_until_ceil(a)), (0, 0));
    }
}
