//! What happens in a run, apart from what the machine decides: drawn at
//! random, and printed whole when a run shows something.

use proptest::prelude::*;

use crate::keeper::timing::Flaw;

/// What becomes of one request and its answer.
#[derive(Debug, Clone, Copy)]
pub(super) struct Fate {
    /// How long it takes to the server; `None` if it never gets there.
    pub(super) there_ms: Option<u64>,
    /// How long its answer takes; `None` if that gets lost.
    pub(super) back_ms: Option<u64>,
}

#[derive(Debug, Clone)]
pub(super) struct Script {
    pub(super) ttl_ms: u64,
    pub(super) grace_ms: u64,
    pub(super) wait_ms: u64,
    pub(super) processes: usize,
    /// For how long the server's clock runs how fast; the last goes on.
    pub(super) rates: Vec<(u64, u64)>,
    /// When the server's clock jumps, and by how much.
    pub(super) jumps: Vec<(u64, i64)>,
    pub(super) fates: Vec<Fate>,
    /// Which process stands still, from when, for how long.
    pub(super) pauses: Vec<(usize, u64, u64)>,
    /// Which process stops wanting the lease, from when, for how long.
    pub(super) doubts: Vec<(usize, u64, u64)>,
    pub(super) jitters: Vec<u16>,
    /// How long the work of each tenure goes on by itself.
    pub(super) works_ms: Vec<Option<u64>>,
    /// Whether a tenure that ends is released, rather than its guard dropped.
    pub(super) let_gos: Vec<bool>,
    /// How long work takes to stop.
    pub(super) stop_ms: u64,
    pub(super) flaw: Option<Flaw>,
}

impl Script {
    /// A server that runs true, and a network that delivers at once.
    pub(super) fn calm(processes: usize) -> Self {
        Self {
            ttl_ms: 3_000,
            grace_ms: 0,
            wait_ms: 0,
            processes,
            rates: vec![(0, 1_000)],
            jumps: Vec::new(),
            fates: vec![Fate {
                there_ms: Some(1),
                back_ms: Some(1),
            }],
            pauses: Vec::new(),
            doubts: Vec::new(),
            jitters: vec![0],
            works_ms: vec![None],
            let_gos: vec![false],
            stop_ms: 0,
            flaw: None,
        }
    }

    pub(super) fn work_ms(&self, start: u64) -> Option<u64> {
        self.works_ms[start as usize % self.works_ms.len()]
    }

    /// Until when this process stands still, if it does now.
    pub(super) fn paused_until(&self, process: usize, now_us: u64) -> Option<u64> {
        let ends = self.pauses.iter().filter_map(|&(paused, at_ms, for_ms)| {
            let (from_us, to_us) = (at_ms * 1_000, (at_ms + for_ms) * 1_000);
            (paused == process && from_us <= now_us && now_us < to_us).then_some(to_us)
        });
        ends.max()
    }
}

fn fates() -> impl Strategy<Value = Vec<Fate>> {
    // Mostly quick, sometimes longer than any call may take.
    let delay = || prop_oneof![4 => 0u64..20, 2 => 20u64..600, 1 => 600u64..4_000];
    let way = move || prop_oneof![5 => delay().prop_map(Some), 1 => Just(None)];
    let fate = (way(), way()).prop_map(|(there_ms, back_ms)| Fate { there_ms, back_ms });
    prop::collection::vec(fate, 1..40)
}

/// Runs in which the server's clock goes at any of these rates (in thousandths
/// of the holders'), and jumps if `jumps`.
pub(super) fn scripts(
    rates: std::ops::RangeInclusive<u64>,
    jumps: bool,
    flaw: Option<Flaw>,
) -> impl Strategy<Value = Script> {
    let ttl = prop_oneof![Just(1_000u64), Just(3_000), 1_000u64..6_000];
    let grace = prop_oneof![3 => Just(0u64), 1 => 1u64..2_000];
    let wait = prop_oneof![Just(0u64), 500u64..5_000];
    // Both ends are where something would show.
    let ends = (*rates.start(), *rates.end());
    let rate = prop_oneof![Just(ends.0), Just(ends.1), rates];
    let rates = prop::collection::vec((1u64..9_000, rate), 1..5);
    let jump = (0u64..20_000, -10_000i64..10_000);
    let jumps = prop::collection::vec(jump, if jumps { 1..4 } else { 0..1 });
    let pause = || prop::collection::vec((0usize..3, 0u64..20_000, 1u64..9_000), 0..4);
    let work = prop_oneof![2 => Just(None), 1 => (1u64..8_000).prop_map(Some)];
    let works = prop::collection::vec(work, 1..5);
    (
        (ttl, grace, wait, 1usize..4, rates, jumps, fates()),
        (pause(), pause()),
        prop::collection::vec(any::<u16>(), 1..8),
        works,
        (prop::collection::vec(any::<bool>(), 1..4), 0u64..3_000),
    )
        .prop_map(
            move |(basis, (pauses, doubts), jitters, works_ms, (let_gos, stop_ms))| {
                let (ttl_ms, grace_ms, wait_ms, processes, rates, jumps, fates) = basis;
                Script {
                    ttl_ms,
                    grace_ms,
                    wait_ms,
                    processes,
                    rates,
                    jumps,
                    fates,
                    pauses,
                    doubts,
                    jitters,
                    works_ms,
                    let_gos,
                    stop_ms,
                    flaw,
                }
            },
        )
}
