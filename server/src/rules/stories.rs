//! The table of the design's rules, row by row, each as a short story.

use baton_client::{Actor, Generation, HandoverEvent, HolderId, RawJson, Timestamp};

use super::*;

/// One lease, its entries and the database's clock.
struct Story {
    row: Option<LeaseRow>,
    log: Vec<Draft>,
    now: Timestamp,
    /// Log time, which never goes back.
    at: Timestamp,
    floor: u64,
}

impl Story {
    fn begins() -> Self {
        let now = Timestamp::from_micros(1_800_000_000_000_000);
        Self {
            row: None,
            log: Vec::new(),
            now,
            at: now,
            floor: 0,
        }
    }

    fn pass_ms(&mut self, ms: u64) {
        self.now = self.now.plus_ms(ms);
    }

    fn ask(&mut self, request: Request) -> Result<(), Refusal> {
        self.ask_again(request, None)
    }

    fn ask_again(&mut self, request: Request, past_claim: Option<u64>) -> Result<(), Refusal> {
        self.at = self.at.max(self.now);
        let moment = Moment {
            now: self.now,
            at: self.at,
        };
        let known = Known {
            floor: generation(self.floor),
            past_claim: past_claim.map(generation),
        };
        let name = "deploy".parse().expect("is a name");
        apply(&mut self.row, &name, &request, moment, known, &mut self.log)
    }

    fn row(&self) -> &LeaseRow {
        self.row.as_ref().expect("there is a lease")
    }

    fn generation(&self) -> u64 {
        self.row().generation.get()
    }

    fn events(&self) -> Vec<&'static str> {
        self.log.iter().map(|draft| draft.event.as_str()).collect()
    }
}

fn generation(number: u64) -> Generation {
    Generation::try_from(number).expect("is a generation")
}

fn raw(text: &str) -> RawJson {
    serde_json::value::RawValue::from_string(text.into()).expect("is JSON")
}

fn holder(name: &str) -> HolderId {
    name.parse().expect("is a holder")
}

fn by(actor: Actor) -> Asker {
    Asker {
        actor,
        address: None,
        request_id: None,
    }
}

fn ci() -> Asker {
    by(Actor::Token("ci".into()))
}

fn ana() -> Asker {
    by(Actor::User("ana".into()))
}

fn why() -> Why {
    Why {
        reason: "the deploy is stuck".into(),
        incident: None,
    }
}

/// An acquire for ten seconds.
fn taking(name: &str) -> Acquire {
    Acquire {
        holder: holder(name),
        ttl_ms: 10_000,
        grace_ms: 0,
        claim_id: None,
        above: None,
        expected_generation: None,
        max_attempts: None,
        payload: None,
        principal: None,
        status: None,
    }
}

fn acquire(name: &str) -> Request {
    Request::Acquire(ci(), taking(name))
}

fn renew(name: &str, number: u64) -> Request {
    let renew = Renew {
        holder: holder(name),
        generation: generation(number),
        ttl_ms: None,
        status: None,
    };
    Request::Renew(ci(), renew)
}

fn release(name: &str, number: u64) -> Request {
    let release = Release {
        holder: holder(name),
        generation: generation(number),
        reason: None,
    };
    Request::Release(ci(), release)
}

fn force(number: u64, bar: Option<Bar>, successor: Option<(&str, u64)>) -> Request {
    let force = ForceRelease {
        expected_generation: generation(number),
        why: why(),
        bar,
        reservation: successor.map(|(name, ms)| Reservation {
            holder: holder(name),
            ms,
        }),
    };
    Request::ForceRelease(ana(), force)
}

fn step_down(number: u64, deadline_ms: u64, successor: Option<(&str, u64)>) -> Request {
    let ask = StepDown {
        expected_generation: generation(number),
        why: why(),
        deadline_ms,
        reservation: successor.map(|(name, ms)| Reservation {
            holder: holder(name),
            ms,
        }),
    };
    Request::StepDown(ana(), ask)
}

fn lost(number: u64) -> Result<(), Refusal> {
    Err(Refusal::Lost(generation(number)))
}

#[test]
fn acquire_takes_a_free_lease_and_nobody_takes_it_again_while_it_is_held() {
    let mut story = Story::begins();
    assert_eq!(story.ask(acquire("a")), Ok(()));
    assert_eq!(story.generation(), 1);
    story.pass_ms(9_999);
    for name in ["b", "a"] {
        let until = Some(story.now.plus_ms(1));
        assert_eq!(story.ask(acquire(name)), Err(Refusal::Held(until)));
    }
    story.pass_ms(1);
    assert_eq!(story.ask(acquire("b")), Ok(()));
    assert_eq!(story.generation(), 2);
    assert_eq!(story.events(), ["granted", "lapsed", "granted"]);
}

#[test]
fn acquire_waits_out_the_grace_whoever_asks() {
    let mut story = Story::begins();
    let gracious = Acquire {
        grace_ms: 500,
        ..taking("a")
    };
    story
        .ask(Request::Acquire(ci(), gracious))
        .expect("is free");
    story.pass_ms(10_499);
    assert!(matches!(
        story.ask(acquire("a")),
        Err(Refusal::Held(Some(_)))
    ));
    story.pass_ms(1);
    assert_eq!(story.ask(acquire("a")), Ok(()));
}

#[test]
fn acquire_is_compare_and_set_with_an_expected_generation() {
    let mut story = Story::begins();
    let seen = |number| {
        let acquire = Acquire {
            expected_generation: Some(generation(number)),
            ..taking("a")
        };
        Request::Acquire(ci(), acquire)
    };
    let moved = |number| Err(Refusal::GenerationMoved(generation(number)));
    assert_eq!(story.ask(seen(1)), moved(1));
    assert_eq!(story.ask(seen(0)), Ok(()), "0 is for no such lease yet");
    assert_eq!(story.ask(seen(0)), moved(0), "that comes before `held`");
    story.ask(release("a", 1)).expect("is held");
    assert_eq!(story.ask(seen(1)), moved(1));
    assert_eq!(story.ask(seen(2)), Ok(()));
}

#[test]
fn acquire_starts_above_the_floor_and_above_what_is_asked() {
    let mut story = Story::begins();
    story.floor = 7;
    story
        .ask(Request::Pause(ana(), why()))
        .expect("anything can be paused");
    story
        .ask(Request::Unpause(ana(), why()))
        .expect("is paused");
    story.ask(acquire("a")).expect("is free");
    assert_eq!(story.generation(), 8, "a lease that was only paused is new");
    story.ask(release("a", 8)).expect("is held");
    let above = Acquire {
        above: Some(generation(100)),
        ..taking("a")
    };
    story.ask(Request::Acquire(ci(), above)).expect("is free");
    assert_eq!(story.generation(), 101);
}

#[test]
fn acquire_checks_in_the_order_of_the_design() {
    let mut story = Story::begins();
    story.ask(acquire("a")).expect("is free");
    story
        .ask(force(1, Some(Bar::Holder(60_000)), Some(("c", 60_000))))
        .expect("is held");
    assert!(
        matches!(story.ask(acquire("a")), Err(Refusal::Barred(_))),
        "before `reserved`"
    );
    assert!(matches!(story.ask(acquire("b")), Err(Refusal::Reserved(_))));
    story.ask(acquire("c")).expect("it is reserved for it");
    assert!(
        matches!(story.ask(acquire("a")), Err(Refusal::Barred(_))),
        "before `held`"
    );
    assert!(matches!(story.ask(acquire("b")), Err(Refusal::Held(_))));
    story
        .ask(Request::Pause(ana(), why()))
        .expect("can be paused");
    assert_eq!(
        story.ask(acquire("a")),
        Err(Refusal::Paused),
        "before `barred`"
    );
    let moved = Acquire {
        expected_generation: Some(generation(1)),
        ..taking("a")
    };
    let refused = story.ask(Request::Acquire(ci(), moved));
    assert!(
        matches!(refused, Err(Refusal::GenerationMoved(_))),
        "before `paused`"
    );
}

#[test]
fn a_claim_can_be_repeated_while_its_tenure_lasts() {
    let mut story = Story::begins();
    let claim = |name| {
        let acquire = Acquire {
            claim_id: Some("c-1".into()),
            ..taking(name)
        };
        Request::Acquire(ci(), acquire)
    };
    story.ask(claim("a")).expect("is free");
    let expires_at = story.row().tenure.as_ref().map(|tenure| tenure.expires_at);
    story.pass_ms(4_000);
    assert_eq!(story.ask_again(claim("a"), Some(1)), Ok(()));
    let tenure = story.row().tenure.as_ref();
    assert_eq!(
        tenure.map(|tenure| tenure.expires_at),
        expires_at,
        "the same grant"
    );
    assert_eq!(story.events(), ["granted"]);
    assert!(
        matches!(story.ask(claim("b")), Err(Refusal::Held(_))),
        "another's is another"
    );
    story.ask(release("a", 1)).expect("is held");
    assert_eq!(
        story.ask_again(claim("a"), Some(1)),
        lost(1),
        "the tenure is over"
    );
}

#[test]
fn renew_moves_the_expiry_and_nothing_else() {
    let mut story = Story::begins();
    let with_status = Acquire {
        status: Some(raw("1")),
        ..taking("a")
    };
    story
        .ask(Request::Acquire(ci(), with_status))
        .expect("is free");
    story.pass_ms(6_000);
    assert_eq!(story.ask(renew("a", 1)), Ok(()));
    let tenure = story.row().tenure.clone().expect("is held");
    assert_eq!(tenure.expires_at, story.now.plus_ms(10_000));
    assert_eq!(tenure.status.expect("it stays").get(), "1");
    assert_eq!((story.generation(), story.events()), (1, vec!["granted"]));
    assert_eq!(story.ask(renew("b", 1)), lost(1));
    assert_eq!(story.ask(renew("a", 2)), lost(2));
    let Request::Renew(_, same) = renew("a", 1) else {
        unreachable!()
    };
    let other = by(Actor::Token("other".into()));
    assert_eq!(
        story.ask(Request::Renew(other, same)),
        Err(Refusal::OtherToken)
    );
}

#[test]
fn renew_recovers_a_lapsed_tenure_until_somebody_takes_the_lease() {
    let mut story = Story::begins();
    story.ask(acquire("a")).expect("is free");
    story.pass_ms(60_000);
    assert_eq!(story.ask(renew("a", 1)), Ok(()));
    assert_eq!(story.events(), ["granted", "lapsed", "recovered"]);
    story.pass_ms(60_000);
    story.ask(acquire("b")).expect("has lapsed");
    assert_eq!(story.ask(renew("a", 1)), lost(1));
    assert_eq!(
        story.ask(renew("a", 2)),
        lost(2),
        "it is another's generation"
    );
}

#[test]
fn release_frees_the_lease_and_makes_the_own_generation_stale() {
    let mut story = Story::begins();
    let with_work = Acquire {
        payload: Some(raw("{\"step\":3}")),
        principal: Some("ana".into()),
        ..taking("a")
    };
    story
        .ask(Request::Acquire(ci(), with_work))
        .expect("is free");
    story.pass_ms(1_000);
    assert_eq!(story.ask(release("a", 1)), Ok(()));
    assert_eq!(story.generation(), 2);
    assert!(story.row().payload.is_none() && story.row().principal.is_none());
    let released = story.log.last().expect("is logged");
    let (from, until) = released.held.expect("a tenure ended");
    assert_eq!(from.ms_until(until), 1_000);
    assert_eq!(story.ask(renew("a", 1)), lost(1));
    assert_eq!(story.ask(release("a", 1)), lost(1));
}

#[test]
fn force_release_deposes_and_bars_for_a_time() {
    let mut story = Story::begins();
    assert_eq!(story.ask(force(0, None, None)), Err(Refusal::UnknownLease));
    story.ask(acquire("a")).expect("is free");
    let moved = Err(Refusal::GenerationMoved(generation(4)));
    assert_eq!(
        story.ask(force(4, None, None)),
        moved,
        "the operator saw something else"
    );
    story
        .ask(force(1, Some(Bar::Everyone(5_000)), None))
        .expect("is held");
    assert_eq!(story.generation(), 2);
    assert_eq!(story.ask(renew("a", 1)), lost(1));
    let until = Some(story.now.plus_ms(5_000));
    assert_eq!(story.ask(acquire("b")), Err(Refusal::Barred(until)));
    story.pass_ms(5_000);
    assert_eq!(story.ask(acquire("b")), Ok(()));
}

#[test]
fn force_release_of_a_free_lease_only_replaces_bar_reservation_and_attempt() {
    let mut story = Story::begins();
    story.ask(acquire("a")).expect("is free");
    story.pass_ms(10_000);
    story.ask(acquire("b")).expect("has lapsed");
    story
        .ask(force(2, None, Some(("c", 60_000))))
        .expect("is held");
    assert_eq!((story.generation(), story.row().attempt), (3, 1));
    story.ask(force(3, None, None)).expect("can be forced");
    assert_eq!((story.generation(), story.row().attempt), (3, 0));
    assert_eq!(
        story.ask(acquire("d")),
        Ok(()),
        "the reservation was cleared"
    );
    story.ask(release("d", 4)).expect("is held");
    let nobody = force(5, Some(Bar::Holder(1_000)), None);
    assert_eq!(
        story.ask(nobody),
        Err(Refusal::NotHeld),
        "there is nobody to bar"
    );
}

#[test]
fn attempts_grow_after_lapses_stay_after_force_and_end_with_a_release() {
    let mut story = Story::begins();
    let work = Acquire {
        payload: Some(raw("7")),
        ..taking("a")
    };
    story.ask(Request::Acquire(ci(), work)).expect("is free");
    story.pass_ms(10_000);
    story.ask(acquire("b")).expect("has lapsed");
    assert_eq!(story.row().attempt, 1);
    story.ask(force(2, None, None)).expect("is held");
    story.ask(acquire("c")).expect("is free");
    assert_eq!(story.row().attempt, 1);
    assert_eq!(story.row().payload.as_ref().expect("inherited").get(), "7");
    story.pass_ms(10_000);
    let careful = Acquire {
        max_attempts: Some(1),
        ..taking("d")
    };
    let refused = story.ask(Request::Acquire(ci(), careful));
    assert!(matches!(
        refused,
        Err(Refusal::AttemptsExhausted { attempt: 1, .. })
    ));
    story
        .ask(release("c", 4))
        .expect("a lapsed tenure can be released");
    story.ask(acquire("e")).expect("is free");
    assert_eq!(story.row().attempt, 0);
    assert!(story.row().payload.is_none());
    let reasons: Vec<&str> = story
        .log
        .iter()
        .filter(|draft| draft.event == HandoverEvent::Granted)
        .map(|draft| draft.reason.as_str())
        .collect();
    let expected = [
        "first",
        "after lapse",
        "after forced release",
        "after release",
    ];
    assert_eq!(reasons, expected);
}

#[test]
fn step_down_bounds_renewals_and_forces_at_its_deadline() {
    let mut story = Story::begins();
    story.ask(acquire("a")).expect("is free");
    story
        .ask(step_down(1, 12_000, Some(("b", 5_000))))
        .expect("is held");
    let deadline = story.now.plus_ms(12_000);
    story.pass_ms(9_000);
    story.ask(renew("a", 1)).expect("is held");
    let tenure = story.row().tenure.as_ref().expect("is held");
    assert_eq!(tenure.expires_at, deadline);
    story.pass_ms(3_000);
    assert_eq!(story.ask(renew("a", 1)), lost(1));
    assert_eq!(story.events(), ["granted", "step_down", "lapsed", "forced"]);
    assert!(matches!(story.ask(acquire("c")), Err(Refusal::Reserved(_))));
    assert_eq!(story.ask(acquire("b")), Ok(()));
    assert!(story.row().reserved.is_none(), "a grant uses it up");
}

#[test]
fn step_down_keeps_the_lease_for_the_successor_however_the_tenure_ends() {
    for end in [
        release("a", 1),
        force(1, None, None),
        force(1, Some(Bar::Holder(60_000)), None),
    ] {
        let mut story = Story::begins();
        story.ask(acquire("a")).expect("is free");
        story
            .ask(step_down(1, 60_000, Some(("b", 5_000))))
            .expect("is held");
        story.ask(end).expect("is held");
        assert!(matches!(story.ask(acquire("c")), Err(Refusal::Reserved(_))));
        assert_eq!(story.ask(acquire("b")), Ok(()));
    }
    let mut story = Story::begins();
    story.ask(acquire("a")).expect("is free");
    story
        .ask(step_down(1, 60_000, Some(("b", 5_000))))
        .expect("is held");
    story.pass_ms(10_000);
    assert!(matches!(story.ask(acquire("c")), Err(Refusal::Reserved(_))));
    assert_eq!(story.ask(acquire("b")), Ok(()), "it lapsed");
}

#[test]
fn step_down_needs_a_holder_and_can_be_cancelled() {
    let mut story = Story::begins();
    story.ask(acquire("a")).expect("is free");
    story.ask(step_down(1, 5_000, None)).expect("is held");
    story
        .ask(Request::CancelStepDown(ana(), why()))
        .expect("is asked");
    story.pass_ms(6_000);
    assert_eq!(story.ask(renew("a", 1)), Ok(()));
    story.ask(release("a", 1)).expect("is held");
    assert_eq!(story.ask(step_down(2, 5_000, None)), Err(Refusal::NotHeld));
    story
        .ask(Request::CancelStepDown(ana(), why()))
        .expect("there is nothing to do");
    assert_eq!(
        story.events(),
        ["granted", "step_down", "step_down_cancelled", "released"]
    );
}

/// A bar that an operator set lasts its time, though the server forces a later
/// tenure meanwhile.
#[test]
fn a_deadline_lifts_no_bar() {
    let mut story = Story::begins();
    story.ask(acquire("a")).expect("is free");
    story
        .ask(force(1, Some(Bar::Holder(60_000)), None))
        .expect("is held");
    story.ask(acquire("b")).expect("is free");
    story.ask(step_down(3, 5_000, None)).expect("is held");
    story.pass_ms(5_000);
    assert!(matches!(story.ask(acquire("a")), Err(Refusal::Barred(_))));
    assert_eq!(story.ask(acquire("c")), Ok(()));
}

/// Durations count on the clock that decides, also while log time stands still.
#[test]
fn a_bar_lasts_as_long_as_was_asked_after_the_clock_stepped_back() {
    let mut story = Story::begins();
    story.ask(acquire("a")).expect("is free");
    story.now = Timestamp::from_micros(story.now.micros() - 3_600_000_000);
    story
        .ask(force(1, Some(Bar::Everyone(5_000)), None))
        .expect("is held");
    story.pass_ms(5_000);
    assert_eq!(story.ask(acquire("b")), Ok(()));
}

#[test]
fn pause_keeps_everybody_from_acquiring_and_nobody_from_going_on() {
    let mut story = Story::begins();
    story.ask(acquire("a")).expect("is free");
    story
        .ask(Request::Pause(ana(), why()))
        .expect("can be paused");
    story.pass_ms(5_000);
    assert_eq!(story.ask(renew("a", 1)), Ok(()));
    story.ask(release("a", 1)).expect("is held");
    assert_eq!(story.ask(acquire("b")), Err(Refusal::Paused));
    story
        .ask(Request::Unpause(ana(), why()))
        .expect("is paused");
    assert_eq!(story.ask(acquire("b")), Ok(()));
    let events = ["granted", "paused", "released", "unpaused", "granted"];
    assert_eq!(story.events(), events);
}

#[test]
fn protection_is_noted_once() {
    let mut story = Story::begins();
    let protect = || Request::Protect(ana(), why());
    assert_eq!(story.ask(protect()), Err(Refusal::UnknownLease));
    story.ask(acquire("a")).expect("is free");
    story.ask(protect()).expect("is there");
    story.ask(protect()).expect("is there");
    story
        .ask(Request::Unprotect(ana(), why()))
        .expect("is there");
    assert_eq!(story.events(), ["granted", "protected", "unprotected"]);
}
