//! Sessions: who may sign in, and when it ends.

use super::*;

on_both_databases!(
    a_session_is_the_users,
    nobody_is_told_what_was_wrong,
    attempts_are_limited,
    a_session_ends_at_sign_out,
    a_session_ends_when_an_admin_says_so,
    a_new_password_ends_other_sessions,
    an_unused_session_ends,
    an_old_session_ends,
    a_use_keeps_a_session,
);

async fn a_session_is_the_users(place: Place) {
    let people = place.people().await;
    user(&people, "ana", Role::Operator).await;
    let session = sign_in(&people, "ana").await.expect("they may sign in");
    let found = people.session(&session.secret).await.expect("it answers");
    assert_eq!(found, Some(session.caller));
    // On every server, and always with the role of the moment.
    let elsewhere = place.people().await;
    people.set_role("ana", Role::Admin).await.expect("it may");
    let found = elsewhere
        .session(&session.secret)
        .await
        .expect("it answers");
    assert_eq!(found.and_then(|caller| caller.role()), Some(Role::Admin));
    assert!(!is_session(&people, &Secret::session()).await);
}

async fn nobody_is_told_what_was_wrong(place: Place) {
    let people = place.people().await;
    user(&people, "admin", Role::Admin).await;
    user(&people, "ana", Role::Operator).await;
    user(&people, "gone", Role::Operator).await;
    people.disable("gone").await.expect("they can be disabled");
    for (name, password) in [
        ("ana", "wrong horse"),
        ("ana", ""),
        ("nobody", PASSWORD),
        ("gone", PASSWORD),
        ("", PASSWORD),
        ("a\0na", PASSWORD),
    ] {
        let refused = people.sign_in(name, password, HOME).await;
        assert!(
            matches!(refused, Err(SignInError::Credentials)),
            "{name:?} {refused:?}"
        );
    }
}

async fn attempts_are_limited(place: Place) {
    let people = place.people().await;
    user(&people, "ana", Role::Operator).await;
    for i in 0..10 {
        let from = IpAddr::from([198, 51, 100, i]);
        let refused = people.sign_in("ana", "wrong horse", from).await;
        assert!(matches!(refused, Err(SignInError::Credentials)));
    }
    let refused = sign_in(&people, "ana").await;
    let Err(SignInError::RateLimited { retry_after_s }) = refused else {
        panic!("{refused:?}");
    };
    assert!((1..=300).contains(&retry_after_s));
    user(&people, "ben", Role::Operator).await;
    assert!(sign_in(&people, "ben").await.is_ok(), "others may");
}

async fn a_session_ends_at_sign_out(place: Place) {
    let people = place.people().await;
    user(&people, "ana", Role::Operator).await;
    let (desk, phone) = (
        signed_in(&people, "ana").await,
        signed_in(&people, "ana").await,
    );
    people.sign_out(&desk).await.expect("it answers");
    assert!(!is_session(&people, &desk).await);
    assert!(is_session(&people, &phone).await);
}

async fn a_session_ends_when_an_admin_says_so(place: Place) {
    let people = place.people().await;
    for (name, role) in [
        ("admin", Role::Admin),
        ("ana", Role::Viewer),
        ("ben", Role::Viewer),
    ] {
        user(&people, name, role).await;
    }
    let (ana, ben) = (
        signed_in(&people, "ana").await,
        signed_in(&people, "ben").await,
    );
    let mut changes = people.changes();
    changes.mark_unchanged();
    let ended = people.sign_out_everywhere("ana").await;
    ended.expect("it answers");
    assert!(changes.has_changed().expect("people live"));
    assert!(!is_session(&people, &ana).await);
    people.disable("ben").await.expect("they can be disabled");
    assert!(!is_session(&people, &ben).await);
    people.enable("ben").await.expect("they can be enabled");
    assert!(!is_session(&people, &ben).await, "it stays ended");
}

async fn a_new_password_ends_other_sessions(place: Place) {
    let people = place.people().await;
    user(&people, "ana", Role::Viewer).await;
    let (desk, phone) = (
        signed_in(&people, "ana").await,
        signed_in(&people, "ana").await,
    );
    let right = people.check_password("ana", PASSWORD, HOME).await;
    right.expect("it is the password");
    people
        .set_own_password("ana", "another horse", &desk)
        .await
        .expect("it can be changed");
    assert!(is_session(&people, &desk).await);
    assert!(!is_session(&people, &phone).await);
    assert!(sign_in(&people, "ana").await.is_err(), "the old one");
    people
        .set_password("ana", PASSWORD)
        .await
        .expect("it can be changed");
    assert!(!is_session(&people, &desk).await);
    assert!(sign_in(&people, "ana").await.is_ok());
}

async fn an_unused_session_ends(place: Place) {
    let people = place.people().await;
    user(&people, "ana", Role::Viewer).await;
    let session = signed_in(&people, "ana").await;
    let almost = "update sessions set last_seen_at = last_seen_at - 28790000000";
    place.execute(almost).await;
    assert!(is_session(&people, &session).await, "just under 8 h");
    place
        .execute("update sessions set last_seen_at = last_seen_at - 28800000000")
        .await;
    assert!(!is_session(&people, &session).await);
    // It is swept away by whoever signs in next.
    signed_in(&people, "ana").await;
    let swept = people.backend().session(&session.digest()).await;
    assert!(swept.expect("it answers").is_none());
}

async fn an_old_session_ends(place: Place) {
    let people = place.people().await;
    user(&people, "ana", Role::Viewer).await;
    let session = signed_in(&people, "ana").await;
    place
        .execute("update sessions set expires_at = expires_at - 604790000000")
        .await;
    assert!(is_session(&people, &session).await, "just under 7 d");
    place
        .execute("update sessions set expires_at = expires_at - 10000000")
        .await;
    assert!(!is_session(&people, &session).await);
}

async fn a_use_keeps_a_session(place: Place) {
    let people = place.people().await;
    user(&people, "ana", Role::Viewer).await;
    let session = signed_in(&people, "ana").await;
    let seen = async || {
        let row = people.backend().session(&session.digest()).await;
        row.expect("it answers").expect("it is there").last_seen_at
    };
    let first = seen().await;
    assert!(is_session(&people, &session).await);
    assert_eq!(seen().await, first, "not noted more than once a minute");
    place
        .execute("update sessions set last_seen_at = last_seen_at - 60000000")
        .await;
    assert!(is_session(&people, &session).await);
    assert!(seen().await >= first, "noted");
}
