//! A tenure from its grant to its end, and what is left of it.

use baton_client::{Actor, Code, Ended, LeaseState};

use super::{ask::*, *};
use crate::rules::Acquire;

on_both_databases![
    a_lease_is_taken_renewed_and_let_go,
    a_lost_tenure_learns_how_it_ended,
    a_claim_is_repeated_while_its_tenure_lasts,
    a_claim_outlives_the_server,
    many_claims_at_once_are_each_known,
    work_is_inherited_until_it_is_released,
    a_status_stays_until_it_is_replaced_or_cleared,
    many_renewals_are_answered_each_for_itself,
    a_tenure_belongs_to_its_token,
];

async fn a_lease_is_taken_renewed_and_let_go(database: TestDatabase) {
    let store = database.store().await;
    let mut work = taking("a");
    work.payload = Some(raw(r#"{ "step" : 1.50, "ä": [null] }"#));
    let taken = store.ask("deploy", acquire(work)).await.expect("is free");
    assert_eq!(taken.state, LeaseState::Held);
    assert_eq!(
        (taken.generation.get(), taken.remaining_ms),
        (1, Some(60_000))
    );

    // A payload comes back letter by letter.
    let read = store.lease(&name("deploy")).await.expect("it answers");
    let payload = read.and_then(|lease| lease.payload).flatten();
    assert_eq!(
        payload.expect("is there").get(),
        r#"{ "step" : 1.50, "ä": [null] }"#
    );

    // A renewal moves the expiry, and nothing in the log.
    let renewed = store
        .ask("deploy", renew_with("a", 1, Some(90_000), None))
        .await;
    let renewed = renewed.expect("is held");
    assert_eq!(renewed.remaining_ms, Some(90_000));
    assert!(renewed.expires_at > taken.expires_at && renewed.granted_at == taken.granted_at);
    assert_eq!(store.events_of("deploy").await, ["granted"]);

    // The same name does not get in beside itself.
    let again = store.ask("deploy", acquire(taking("a"))).await;
    assert_eq!(code(&again), Code::Held);

    // After the release nothing of the tenure is left, and its generation is stale.
    let freed = store.ask("deploy", release("a", 1)).await.expect("is held");
    assert_eq!((freed.state, freed.generation.get()), (LeaseState::Free, 2));
    assert!(freed.payload.flatten().is_none() && freed.holder.is_none());
    let (current, _) = store.check_generation("deploy", 1).await;
    assert!(!current);
    assert_eq!(store.take("deploy", "b").await.generation.get(), 3);
    store.verify().await;
}

impl Store {
    async fn check_generation(&self, lease: &str, number: u64) -> (bool, baton_client::Timestamp) {
        let checked = Store::check(self, &name(lease), generation(number)).await;
        checked.expect("the database answers")
    }
}

fn ended(answer: Result<Lease, StoreError>) -> Option<Ended> {
    match answer {
        Err(StoreError::Refused(refused)) => {
            assert_eq!(refused.refusal.code(), Code::Lost);
            refused.ended
        }
        other => panic!("not lost: {other:?}"),
    }
}

async fn a_lost_tenure_learns_how_it_ended(database: TestDatabase) {
    let store = database.store().await;
    // Taken after a lapse.
    let brief = acquire(taking_for("a", 1));
    store.ask("deploy", brief).await.expect("is free");
    eventually("the lapse", || async {
        store.ask("deploy", acquire(taking("b"))).await.ok()
    })
    .await;
    let answer = store.ask("deploy", renew("a", 1)).await;
    assert_eq!(ended(answer), Some(Ended::Taken));

    // Released by itself.
    store.ask("deploy", release("b", 2)).await.expect("is held");
    for late in [release("b", 2), renew("b", 2)] {
        let answer = store.ask("deploy", late).await;
        assert_eq!(ended(answer), Some(Ended::Released));
    }

    // Forced.
    store.take("deploy", "c").await;
    store
        .ask("deploy", force(4, None, None))
        .await
        .expect("is held");
    let answer = store.ask("deploy", renew("c", 4)).await;
    assert_eq!(ended(answer), Some(Ended::Forced));

    // What never was, or is not over, did not end.
    store.take("deploy", "d").await;
    for (lease, never) in [
        ("deploy", renew("x", 900)),
        ("deploy", renew("x", 6)),
        ("deploy", renew("a", 3)),
        ("never", renew("a", 1)),
    ] {
        let answer = store.ask(lease, never).await;
        assert_eq!(ended(answer), Some(Ended::Unknown));
    }
}

async fn many_claims_at_once_are_each_known(database: TestDatabase) {
    let store = database.store().await;
    let leases: Vec<String> = (0..40).map(|i| format!("job-{i}")).collect();
    let claim = |i: usize| acquire(claiming("a", &format!("c-{i}")));
    let all = |claim: &dyn Fn(usize) -> Request| {
        let asked = leases.iter().enumerate();
        asked.map(|(i, lease)| (name(lease), claim(i))).collect()
    };
    for granted in store.submit_all(all(&claim)).await {
        granted.expect("is free");
    }
    for released in store.submit_all(all(&|_| release("a", 1))).await {
        released.expect("is held");
    }
    for repeated in store.submit_all(all(&claim)).await {
        assert_eq!(code(&repeated), Code::Lost);
    }
    // Another lease's claim is nobody's here.
    for other in store.submit_all(all(&|i| claim(i + 1))).await {
        other.expect("is free");
    }
    store.verify().await;
}

async fn a_claim_is_repeated_while_its_tenure_lasts(database: TestDatabase) {
    let (store, other) = database.two_stores().await;
    let claim = || acquire(claiming("a", "c-1"));
    let first = store.ask("deploy", claim()).await.expect("is free");
    // The same grant comes back, on every server, and nothing is logged.
    let again = other.ask("deploy", claim()).await.expect("the same grant");
    assert_eq!(again.generation, first.generation);
    assert_eq!(
        (again.granted_at, again.expires_at),
        (first.granted_at, first.expires_at)
    );
    assert_eq!(store.events_of("deploy").await, ["granted"]);

    // Of sixteen at once on a free lease, all get the one grant.
    let many = (0..16).map(|_| (name("other"), claim())).collect();
    for answer in store.submit_all(many).await {
        assert_eq!(answer.expect("the same grant").row.generation.get(), 1);
    }
    assert_eq!(store.events_of("other").await, ["granted"]);

    // Another holder's claim of that id is another claim.
    let others = store.ask("deploy", acquire(claiming("b", "c-1"))).await;
    assert_eq!(code(&others), Code::Held);

    // After the tenure it is refused, however late and whoever has it then.
    store.ask("deploy", release("a", 1)).await.expect("is held");
    let late = store.ask("deploy", claim()).await;
    assert_eq!(ended(late), Some(Ended::Released));
    store.take("deploy", "b").await;
    let late = other.ask("deploy", claim()).await;
    assert_eq!(ended(late), Some(Ended::Released));
    store.verify().await;
}

async fn a_claim_outlives_the_server(database: TestDatabase) {
    let claim = || acquire(claiming("a", "c-1"));
    let first = database
        .short_lived(move |database| async move {
            let store = Store::start(&database).await.expect("it starts");
            store.take("other", "a").await;
            store.ask("deploy", claim()).await.expect("is free")
        })
        .await;
    // A new server knows the tenure and the claim.
    let again = database
        .short_lived(move |database| async move {
            let store = Store::start(&database).await.expect("it starts");
            let again = store.ask("deploy", claim()).await;
            store.ask("deploy", release("a", 1)).await.expect("is held");
            again.expect("the same grant")
        })
        .await;
    assert_eq!(
        (again.generation, again.expires_at),
        (first.generation, first.expires_at)
    );
    // And that it is over.
    let store = database.store().await;
    let late = store.ask("deploy", claim()).await;
    assert_eq!(ended(late), Some(Ended::Released));
    store.verify().await;
}

async fn work_is_inherited_until_it_is_released(database: TestDatabase) {
    let store = database.store().await;
    let work = Acquire {
        payload: Some(raw("[1]")),
        principal: Some("ana".into()),
        ..taking_for("a", 1)
    };
    store.ask("job", acquire(work)).await.expect("is free");
    // A takeover after a lapse inherits, and counts an attempt.
    let second = eventually("the lapse", || async {
        store.ask("job", acquire(taking("b"))).await.ok()
    })
    .await;
    assert_eq!(
        (second.attempt, second.principal.as_deref()),
        (1, Some("ana"))
    );
    assert_eq!(second.payload.flatten().expect("inherited").get(), "[1]");

    // A grant after a forced release inherits too, and may bring its own.
    store
        .ask("job", force(2, None, None))
        .await
        .expect("is held");
    let mut own = taking("c");
    own.payload = Some(raw("[2]"));
    let third = store.ask("job", acquire(own)).await.expect("is free");
    assert_eq!(
        (third.attempt, third.principal.as_deref()),
        (1, Some("ana"))
    );
    assert_eq!(third.payload.flatten().expect("its own").get(), "[2]");

    // After a release all of it is gone.
    store.ask("job", release("c", 4)).await.expect("is held");
    let fourth = store.take("job", "d").await;
    assert_eq!((fourth.attempt, fourth.principal), (0, None));
    assert!(fourth.payload.flatten().is_none());
    store.verify().await;
}

async fn a_status_stays_until_it_is_replaced_or_cleared(database: TestDatabase) {
    let store = database.store().await;
    store.take("deploy", "a").await;
    let status = async |status| {
        let renewed = store.ask("deploy", renew_with("a", 1, None, status)).await;
        let status = renewed.expect("is held").status;
        status.map(|status| status.get().to_owned())
    };
    let (one, absent, null) = (Some(Some(raw("\"1 / 3\""))), None, Some(None));
    assert_eq!(status(one).await.as_deref(), Some("\"1 / 3\""));
    assert_eq!(status(absent).await.as_deref(), Some("\"1 / 3\""));
    assert_eq!(status(null).await, None);
    let row = store.row("deploy").await;
    assert!(
        row.tenure.expect("is held").status.is_none(),
        "also on disk"
    );
}

async fn many_renewals_are_answered_each_for_itself(database: TestDatabase) {
    let store = database.store().await;
    let leases: Vec<String> = (0..700).map(|i| format!("lease-{i:03}")).collect();
    let all = |request: fn(usize) -> Request| {
        let named = leases.iter().enumerate();
        named.map(|(i, lease)| (name(lease), request(i))).collect()
    };
    let taken = store.submit_all(all(|_| acquire(taking("a")))).await;
    assert!(taken.iter().all(Result::is_ok));

    // Every seventh is stale, and none of the others minds.
    let renewals = all(|i| renew("a", if i % 7 == 0 { 5 } else { 1 }));
    let renewed = store.submit_all(renewals).await;
    for (i, answer) in renewed.into_iter().enumerate() {
        if i % 7 == 0 {
            assert_eq!(code(&answer), Code::Lost);
        } else {
            assert_eq!(answer.expect("is held").row.name.as_str(), leases[i]);
        }
    }
    store.verify().await;
}

async fn a_tenure_belongs_to_its_token(database: TestDatabase) {
    let store = database.store().await;
    store.take("deploy", "a").await;
    let other = || by(Actor::Token("other".into()));
    let (Request::Renew(_, renew), Request::Release(_, release)) = (renew("a", 1), release("a", 1))
    else {
        unreachable!("that is what they are");
    };
    for foreign in [
        Request::Renew(other().into(), renew),
        Request::Release(other(), release),
    ] {
        let answer = store.ask("deploy", foreign).await;
        assert_eq!(code(&answer), Code::Forbidden);
    }
}
