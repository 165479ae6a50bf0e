//! Who plays: the leases, their holders, and how likely each is to end well.

/// A lease and the holders that contend for it.
#[derive(Debug)]
pub struct Part {
    /// The lease.
    pub lease: &'static str,
    /// Its holders, by name.
    pub members: &'static [&'static str],
    /// How long a tenure lasts without renewal.
    pub ttl_ms: u64,
    /// How long past the expiry everyone must wait.
    pub grace_ms: u64,
    /// On whose behalf.
    pub principal: Option<&'static str>,
    /// What the work is, as JSON, for whoever takes it over.
    pub payload: Option<&'static str>,
    /// How often the work may fail before nobody tries again.
    pub max_attempts: Option<u64>,
    /// What the status says, before and after the count of steps.
    pub status: (&'static str, &'static str),
    /// How many steps the work makes between two renewals, at most.
    pub pace: u64,
    /// How a tenure ends, in percent: hanging until it lapses. The rest that is
    /// neither this nor a crash is released.
    pub hangs_percent: u32,
    /// In percent: leaving without a word.
    pub crashes_percent: u32,
}

const PLAIN: Part = Part {
    lease: "",
    members: &[],
    ttl_ms: 10_000,
    grace_ms: 0,
    principal: None,
    payload: None,
    max_attempts: None,
    status: ("", ""),
    pace: 10,
    hangs_percent: 15,
    crashes_percent: 10,
};

/// Everyone.
pub const CAST: &[Part] = &[
    Part {
        lease: "fleet.manager",
        members: &["fleet-1", "fleet-2"],
        status: ("sweep ", "/9000"),
        pace: 400,
        ..PLAIN
    },
    Part {
        lease: "channels.slack",
        members: &["gateway-a", "gateway-b"],
        ttl_ms: 6_000,
        grace_ms: 1_000,
        status: ("relayed ", " messages"),
        pace: 90,
        hangs_percent: 25,
        ..PLAIN
    },
    Part {
        lease: "channels.telegram",
        members: &["gateway-c"],
        ttl_ms: 6_000,
        status: ("relayed ", " messages"),
        pace: 40,
        ..PLAIN
    },
    Part {
        lease: "deploy.production",
        members: &["ci-runner-7", "ana-laptop"],
        ttl_ms: 15_000,
        grace_ms: 2_000,
        principal: Some("ana"),
        status: ("rolled out to ", " of 120 hosts"),
        pace: 6,
        hangs_percent: 5,
        crashes_percent: 5,
        ..PLAIN
    },
    Part {
        lease: "billing.close-month",
        members: &["worker-3", "worker-5"],
        ttl_ms: 8_000,
        principal: Some("billing"),
        payload: Some(r#"{"month":"2026-10","ledger":"emea"}"#),
        max_attempts: Some(3),
        status: ("invoice ", "/2200"),
        pace: 120,
        hangs_percent: 10,
        crashes_percent: 35,
        ..PLAIN
    },
    Part {
        lease: "reports.hourly",
        members: &["reporter-1"],
        ttl_ms: 12_000,
        payload: Some(r#"{"reports":["usage","costs"]}"#),
        status: ("page ", " of 48"),
        pace: 4,
        hangs_percent: 30,
        ..PLAIN
    },
    Part {
        lease: "search.reindex",
        members: &["indexer-1"],
        ttl_ms: 20_000,
        status: ("indexed ", " documents"),
        pace: 5_000,
        ..PLAIN
    },
    Part {
        lease: "cache.warm-up",
        members: &["edge-eu"],
        ttl_ms: 5_000,
        status: ("warmed ", " keys"),
        pace: 700,
        crashes_percent: 20,
        ..PLAIN
    },
];

#[cfg(test)]
mod tests {
    use baton_client::{
        LeaseName, RawJson,
        limits::{GRACE_MS_MAX, TTL_MS_MAX, TTL_MS_MIN},
    };

    use super::*;

    #[test]
    fn every_part_can_be_played() {
        let holders: usize = CAST.iter().map(|part| part.members.len()).sum();
        assert_eq!(holders, 12);
        for part in CAST {
            assert!(part.lease.parse::<LeaseName>().is_ok(), "{part:?}");
            assert!((TTL_MS_MIN..=TTL_MS_MAX).contains(&part.ttl_ms), "{part:?}");
            assert!(part.grace_ms <= GRACE_MS_MAX, "{part:?}");
            assert!(part.hangs_percent + part.crashes_percent < 100, "{part:?}");
            if let Some(payload) = part.payload {
                assert!(serde_json::from_str::<RawJson>(payload).is_ok(), "{part:?}");
            }
        }
    }
}
