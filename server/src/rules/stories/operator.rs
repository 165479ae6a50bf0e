//! What operators and admins do.

use super::*;

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
