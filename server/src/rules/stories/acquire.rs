//! Taking a lease.

use super::*;

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
fn nothing_is_granted_while_a_checkpoint_is_ahead_of_the_log() {
    let mut story = Story::begins();
    story.ask(acquire("a")).expect("is free");
    story.behind = Some(7);
    story.ask(renew("a", 1)).expect("what is held may go on");
    let behind = Err(Refusal::HistoryBehind(7));
    assert_eq!(story.ask(acquire("b")), behind, "not even why else not");
    story.ask(release("a", 1)).expect("is held");
    assert_eq!(story.ask(acquire("b")), behind);
    story.behind = None;
    assert_eq!(story.ask(acquire("b")), Ok(()));
}
