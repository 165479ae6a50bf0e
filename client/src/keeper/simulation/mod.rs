//! The machine against a simulated world: a network that delays, loses and
//! answers late, processes that stand still, a server whose clock goes its own
//! way. The question is always the same: **is there a moment at which `holds()`
//! is true and the server would grant the lease to another?**
//!
//! Forced releases are not in it: there the answer is yes, by intention.

mod network;
mod script;
mod server;
mod world;

use std::cell::Cell;

use proptest::{
    prelude::*,
    test_runner::{Config, TestCaseError, TestError, TestRunner},
};

use super::timing::Flaw;
use script::{Fate, Script, scripts};
use world::{Seen, World};

/// The holder's margin, in thousandths of its clock's rate.
const MARGIN: u64 = 1_500;

fn play(script: &Script) -> Seen {
    World::new(script).play()
}

/// The same runs every time. `PROPTEST_CASES=100000` makes them more.
fn runner(cases: u32) -> TestRunner {
    let default = Config::default();
    let config = Config {
        cases: cases.max(default.cases),
        failure_persistence: None,
        ..default
    };
    let rng = TestRunner::deterministic().new_rng();
    TestRunner::new_with_rng(config, rng)
}

/// Looks for a run in which two could hold, and makes it as small as may be.
///
/// # Errors
/// There is none: how many local tenures the runs had.
fn search(scripts: impl Strategy<Value = Script>) -> Result<Script, u64> {
    let starts = Cell::new(0);
    let outcome = runner(3_000).run(&scripts, |script| {
        let seen = play(&script);
        starts.set(starts.get() + seen.starts);
        match seen.violation {
            Some(_) => Err(TestCaseError::fail("two could hold")),
            None => Ok(()),
        }
    });
    match outcome {
        Ok(()) => Err(starts.get()),
        Err(TestError::Fail(_, script)) => Ok(script),
        Err(error) => panic!("the search broke off: {error}"),
    }
}

#[test]
fn within_the_margin_nobody_holds_what_another_could_get() {
    match search(scripts(500..=MARGIN, false, None)) {
        Ok(script) => panic!("{:?} in {script:#?}", play(&script).violation),
        Err(starts) => assert!(starts > 5_000, "only {starts} tenures in all of it"),
    }
}

#[test]
fn without_the_margin_the_search_finds_two() {
    let found = search(scripts(500..=MARGIN, false, Some(Flaw::NoMargin)));
    let script = found.expect("the search can fail");
    let quick = script.rates.iter().any(|&(_, permille)| permille > 1_000);
    assert!(quick, "only a quicker server needs the margin");
}

#[test]
fn counting_from_the_answer_the_search_finds_two() {
    let found = search(scripts(500..=MARGIN, false, Some(Flaw::FromAnswer)));
    assert!(found.is_ok(), "the search can fail");
}

#[test]
fn just_outside_the_margin_the_search_finds_two() {
    let found = search(scripts(500..=1_600, false, None));
    assert!(found.is_ok(), "the margin is not larger than stated");
}

#[test]
fn outside_the_margin_fencing_protects() {
    let believers = Cell::new(0);
    let outcome = runner(2_000).run(&scripts(500..=2_000, true, None), |script| {
        let seen = play(&script);
        believers.set(believers.get() + seen.refused_believers);
        prop_assert!(
            seen.writes.is_sorted(),
            "an old generation was written after a new one: {:?}",
            seen.writes
        );
        Ok(())
    });
    assert!(outcome.is_ok(), "{outcome:?}");
    assert!(believers.get() > 0, "some believed, and were refused");
}

#[test]
fn a_jump_of_the_servers_clock_makes_two_and_the_fence_refuses_the_first() {
    let mut script = Script::calm(2);
    // The first stands still meanwhile, and hears nothing: it cannot know.
    script.jumps = vec![(1_010, 3_000)];
    script.pauses = vec![(0, 1_005, 1_900)];
    let seen = play(&script);
    assert!(seen.violation.is_some(), "no clock of its own could tell");
    assert!(seen.refused_believers > 0, "what it wrote was refused");
    assert!(seen.writes.len() >= 2, "the second one's writes were taken");
}

#[test]
fn in_calm_weather_one_holds_for_ever() {
    let seen = play(&Script::calm(3));
    assert_eq!((seen.grants, seen.starts), (1, 1));
    assert_eq!(seen.violation, None);
}

#[test]
fn a_holder_that_stands_still_is_followed_by_another() {
    let mut script = Script::calm(2);
    script.pauses = vec![(0, 2_000, 8_000)];
    let seen = play(&script);
    assert_eq!((seen.grants, seen.violation), (2, None));
}

#[test]
fn a_short_cut_costs_the_local_tenure_and_not_the_lease() {
    let mut script = Script::calm(1);
    // Nothing gets through for a while, and nobody else wants it.
    let lost = Fate {
        there_ms: None,
        back_ms: None,
    };
    let through = script.fates[0];
    script.fates = vec![through; 40];
    script.fates[3..9].fill(lost);
    let seen = play(&script);
    assert_eq!(seen.grants, 1, "the same tenure was renewed");
    assert_eq!(seen.starts, 2, "after the work had stopped");
}
