//! Durations as people write them: `500ms`, `10s`, `5m`, `2h`, `30d`, `1h30m`.

use std::str::FromStr;

/// A duration in whole milliseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Millis(pub u64);

const UNITS: [(&str, u64); 5] = [
    ("ms", 1),
    ("s", 1_000),
    ("m", 60_000),
    ("h", 3_600_000),
    ("d", 86_400_000),
];

impl FromStr for Millis {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text == "0" {
            return Ok(Self(0));
        }
        parse(text).map(Self).ok_or_else(|| {
            format!("`{text}` is not a duration: write it like 500ms, 10s, 5m, 2h, 30d or 1h30m")
        })
    }
}

fn parse(text: &str) -> Option<u64> {
    let mut rest = text;
    let mut total: u64 = 0;
    let mut unit_before = u64::MAX;
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit())?;
        let number: u64 = rest[..digits].parse().ok()?;
        rest = &rest[digits..];
        let letters = rest
            .find(|c: char| !c.is_ascii_alphabetic())
            .unwrap_or(rest.len());
        let (_, unit) = UNITS.iter().find(|(name, _)| *name == &rest[..letters])?;
        // Each unit once, the larger before the smaller.
        if *unit >= unit_before {
            return None;
        }
        unit_before = *unit;
        total = total.checked_add(number.checked_mul(*unit)?)?;
        rest = &rest[letters..];
    }
    (unit_before != u64::MAX).then_some(total)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_read_as_people_write_them() {
        for (text, ms) in [
            ("0", 0),
            ("0s", 0),
            ("500ms", 500),
            ("10s", 10_000),
            ("5m", 300_000),
            ("2h", 7_200_000),
            ("30d", 2_592_000_000),
            ("1h30m", 5_400_000),
            ("1m500ms", 60_500),
        ] {
            assert_eq!(text.parse(), Ok(Millis(ms)), "{text}");
        }
    }

    #[test]
    fn what_is_no_duration_is_refused_with_an_example() {
        for text in [
            "",
            "10",
            "s",
            "-1s",
            "1.5s",
            "10 s",
            "10S",
            "1s1m",
            "1s1s",
            "5x",
            "1µs",
            "１s",
            "99999999999999999999s",
            "213503982335d",
        ] {
            let refused = text.parse::<Millis>().expect_err(text);
            assert!(refused.contains("1h30m"), "{refused}");
        }
    }
}
