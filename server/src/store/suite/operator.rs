//! What operators do, and what comes of it on disk.

use baton_client::{Code, HandoverEvent, LeaseState};

use super::{ask::*, *};
use crate::rules::Bar;

on_both_databases![
    force_release_needs_the_generation_that_was_seen,
    a_bar_and_a_reservation_hold_until_their_time,
    a_step_down_is_forced_at_its_deadline_though_nobody_asks,
    a_step_down_s_reservation_starts_with_a_release,
    pause_protection_and_their_lifting_are_kept,
];

async fn force_release_needs_the_generation_that_was_seen(database: TestDatabase) {
    let store = database.store().await;
    let unknown = store.ask("deploy", force(0, None, None)).await;
    assert_eq!(code(&unknown), Code::UnknownLease);

    // Whoever saw an older generation is told what moved it.
    store.take("deploy", "a").await;
    store.ask("deploy", release("a", 1)).await.expect("is held");
    store.take("deploy", "b").await;
    let answer = store.ask("deploy", force(1, None, None)).await;
    assert_eq!(code(&answer), Code::GenerationMoved);
    let Err(StoreError::Refused(refused)) = answer else {
        unreachable!("it was refused");
    };
    let moved = refused.handover.expect("something moved it");
    assert_eq!(
        (moved.event, moved.generation.get()),
        (HandoverEvent::Released, 2)
    );
    assert_eq!(refused.lease.expect("is there").generation.get(), 3);

    // With the right one it is taken away, in the operator's words.
    let freed = store
        .ask("deploy", force(3, None, None))
        .await
        .expect("is held");
    assert_eq!((freed.state, freed.generation.get()), (LeaseState::Free, 4));
    let log = store.log_of("deploy").await;
    let forced = log.last().expect("is logged");
    assert_eq!(forced.reason, why().reason);
    assert_eq!(
        (forced.incident.clone(), &forced.actor),
        (why().incident, &ana().actor)
    );
    assert_eq!(forced.previous_holder, Some(holder("b")));
    store.verify().await;
}

async fn a_bar_and_a_reservation_hold_until_their_time(database: TestDatabase) {
    let store = database.store().await;
    for (lease, bar, successor, refused) in [
        ("barred", Some(Bar::Everyone(400)), None, Code::Barred),
        ("reserved", None, Some(("c", 400)), Code::Reserved),
    ] {
        store.take(lease, "a").await;
        let freed = store
            .ask(lease, force(1, bar, successor))
            .await
            .expect("is held");
        let until = freed.takeable_at.expect("time will help");
        let answer = store.ask(lease, acquire(taking("b"))).await;
        assert_eq!(code(&answer), refused);
        // It holds until its time, and not longer.
        let taken = eventually("the end of it", || async {
            store.ask(lease, acquire(taking("b"))).await.ok()
        })
        .await;
        assert!(taken.granted_at >= Some(until));
    }
    store.verify().await;
}

async fn a_step_down_is_forced_at_its_deadline_though_nobody_asks(database: TestDatabase) {
    let store = database.store().await;
    store.take("deploy", "a").await;
    let asked = store
        .ask("deploy", step_down(1, 500, Some(("b", 60_000))))
        .await;
    let deadline = asked
        .expect("is held")
        .step_down
        .expect("is asked")
        .deadline;

    // Renewals go on, but never past the deadline.
    let renewed = store.ask("deploy", renew("a", 1)).await.expect("is held");
    assert!(
        renewed
            .expires_at
            .is_some_and(|expires_at| expires_at <= deadline)
    );

    // The server forces, and the reservation starts.
    let forced = eventually("the deadline", || async {
        let log = store.log_of("deploy").await;
        log.into_iter()
            .find(|entry| entry.event == HandoverEvent::Forced)
    })
    .await;
    assert!(forced.at >= deadline);
    assert_eq!(forced.actor, baton_client::Actor::Baton);
    let early = store.ask("deploy", acquire(taking("c"))).await;
    assert_eq!(code(&early), Code::Reserved);
    store.take("deploy", "b").await;
    let events = store.events_of("deploy").await;
    assert_eq!(
        events,
        ["granted", "step_down", "lapsed", "forced", "granted"]
    );
    store.verify().await;
}

async fn a_step_down_s_reservation_starts_with_a_release(database: TestDatabase) {
    let store = database.store().await;
    store.take("deploy", "a").await;
    let asked = store
        .ask("deploy", step_down(1, 60_000, Some(("b", 60_000))))
        .await;
    asked.expect("is held");
    let freed = store.ask("deploy", release("a", 1)).await.expect("is held");
    assert_eq!(freed.reserved.expect("is reserved").holder, holder("b"));
    assert!(freed.step_down.is_none());
    let early = store.ask("deploy", acquire(taking("c"))).await;
    assert_eq!(code(&early), Code::Reserved);
    assert!(store.take("deploy", "b").await.reserved.is_none());
    store.verify().await;
}

async fn pause_protection_and_their_lifting_are_kept(database: TestDatabase) {
    let (store, other) = database.two_stores().await;
    // A lease that never was can be paused, and is there then.
    let pause = Request::Pause(ana(), why());
    let paused = store.ask("deploy", pause).await.expect("can be paused");
    assert_eq!(paused.paused.expect("is paused").reason, why().reason);
    let answer = other.ask("deploy", acquire(taking("a"))).await;
    assert_eq!(code(&answer), Code::Paused);
    let unpause = Request::Unpause(ana(), why());
    other.ask("deploy", unpause).await.expect("is there");
    assert_eq!(store.take("deploy", "a").await.generation.get(), 1);

    let protect = Request::Protect(ana(), why());
    store.ask("deploy", protect).await.expect("is there");
    assert!(other.row("deploy").await.protected);
    let unprotect = Request::Unprotect(ana(), why());
    store.ask("deploy", unprotect).await.expect("is there");
    assert!(!other.row("deploy").await.protected);
    store.verify().await;
}
