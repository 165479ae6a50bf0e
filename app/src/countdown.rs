//! How much longer, and since when, in numbers to read and a bar to feel.

use baton_client::{Lease, LeaseState, Timestamp};

/// Stands where there is no number.
pub const NONE: &str = "—";

/// How a countdown is to be taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tone {
    /// There is nothing to count.
    Idle,
    /// Renewed in time.
    Calm,
    /// A renewal is late: a holder renews every third of the ttl, so that three
    /// tenths of it left mean that more than one did not come.
    Soon,
    /// The expiry passed.
    Lapsed,
}

impl Tone {
    /// The class in the style sheet.
    pub fn class(self) -> &'static str {
        match self {
            Self::Idle => "idle",
            Self::Calm => "calm",
            Self::Soon => "soon",
            Self::Lapsed => "lapsed",
        }
    }
}

/// What is left of a tenure.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Left {
    /// To read: `6.2 s`, `1 m 20 s`, `−6.0 s`, `—`.
    pub text: String,
    /// To feel: of a thousand, how much of the ttl is left.
    pub permille: u64,
    /// How to take it.
    pub tone: Tone,
}

/// What is left of the lease's tenure at the database time `now`. Whether it
/// lapsed is the server's to say: until then a countdown stops at zero, for a
/// renewal may be under way.
pub fn left(lease: &Lease, now: Timestamp) -> Left {
    let (Some(expires_at), Some(ttl_ms)) = (lease.expires_at, lease.ttl_ms) else {
        return Left {
            text: NONE.into(),
            permille: 0,
            tone: Tone::Idle,
        };
    };
    if lease.state == LeaseState::Lapsed {
        return Left {
            text: format!("−{}", fine(expires_at.ms_until(now))),
            permille: 1_000,
            tone: Tone::Lapsed,
        };
    }
    // The time shown may be a tick older than the renewal.
    let left_ms = now.ms_until(expires_at).min(ttl_ms);
    let permille = (left_ms * 1_000 / ttl_ms.max(1)).min(1_000);
    Left {
        text: fine(left_ms),
        permille,
        tone: if permille < 300 {
            Tone::Soon
        } else {
            Tone::Calm
        },
    }
}

/// Since when the holder has it, at the database time `now`.
pub fn held_for(lease: &Lease, now: Timestamp) -> String {
    match lease.granted_at {
        Some(granted_at) if lease.holder.is_some() => coarse(granted_at.ms_until(now)),
        _ => NONE.into(),
    }
}

/// A duration with tenths of seconds while they matter, rounded down.
pub fn fine(ms: u64) -> String {
    if ms < 60_000 {
        format!("{}.{} s", ms / 1_000, ms % 1_000 / 100)
    } else {
        coarse(ms)
    }
}

/// A duration in its two largest units, rounded down.
pub fn coarse(ms: u64) -> String {
    let s = ms / 1_000;
    let (m, h, d) = (s / 60, s / 3_600, s / 86_400);
    if m == 0 {
        format!("{s} s")
    } else if h == 0 {
        format!("{m} m {:02} s", s % 60)
    } else if d == 0 {
        format!("{h} h {:02} m", m % 60)
    } else {
        format!("{d} d {} h", h % 24)
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// A lease of ten seconds, granted 31 seconds ago and just renewed.
    pub(crate) fn held(name: &str) -> Lease {
        let now = Timestamp::from_micros(1_795_918_447_000_000);
        serde_json::from_value(serde_json::json!({
            "lease": name, "state": "held", "holder": "replica-b / 7f9d", "generation": 41,
            "granted_at": Timestamp::from_micros(now.micros() - 31_000_000), "renewed_at": now,
            "expires_at": now.plus_ms(10_000), "takeable_at": now.plus_ms(10_000),
            "remaining_ms": 10_000, "ttl_ms": 10_000, "grace_ms": 0, "attempt": 0,
            "principal": null, "status": null, "protected": false, "step_down": null,
            "paused": null, "barred": null, "reserved": null, "blocked": null,
            "flapping": 0, "now": now,
        }))
        .expect("a lease")
    }

    #[test]
    fn durations_are_read_at_a_glance() {
        for (ms, text) in [
            (0, "0.0 s"),
            (6_299, "6.2 s"),
            (59_999, "59.9 s"),
            (80_000, "1 m 20 s"),
            (124_000, "2 m 04 s"),
            (7_500_000, "2 h 05 m"),
            (187_200_000, "2 d 4 h"),
        ] {
            assert_eq!(fine(ms), text);
        }
        assert_eq!(coarse(31_999), "31 s");
    }

    #[test]
    fn it_counts_down_and_stops_at_zero_until_the_server_says_lapsed() {
        let mut lease = held("a");
        let at = |ms| lease.now.plus_ms(ms);
        assert_eq!(left(&lease, at(3_800)).text, "6.2 s");
        assert_eq!(left(&lease, at(3_800)).permille, 620);
        assert_eq!(left(&lease, at(3_800)).tone, Tone::Calm);
        assert_eq!(left(&lease, at(8_600)).tone, Tone::Soon);
        assert_eq!(left(&lease, at(16_000)).text, "0.0 s");

        let later = at(16_000);
        lease.state = LeaseState::Lapsed;
        assert_eq!(left(&lease, later).text, "−6.0 s");
        assert_eq!(left(&lease, later).tone, Tone::Lapsed);
    }

    #[test]
    fn a_free_lease_counts_nothing() {
        let mut lease = held("a");
        lease.state = LeaseState::Free;
        lease.holder = None;
        lease.granted_at = None;
        lease.expires_at = None;
        assert_eq!(left(&lease, lease.now).text, NONE);
        assert_eq!(held_for(&lease, lease.now), NONE);
    }

    #[test]
    fn a_tenure_is_as_old_as_its_grant() {
        let lease = held("a");
        assert_eq!(held_for(&lease, lease.now), "31 s");
    }
}
