//! Keeping a lease, letting it go, and what the next tenure inherits.

use super::*;

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
        story.ask(Request::Renew(other.into(), same)),
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
