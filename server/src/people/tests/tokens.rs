//! Tokens: made, rotated, revoked, and their names never given twice.

use std::time::Duration;

use super::*;
use crate::people::{BearerError, Kind};

on_both_databases!(
    a_token_is_made_once,
    a_rotated_token_stays_the_same_one,
    a_revoked_token_is_gone_for_good,
    a_token_expires,
    what_cannot_be_a_token_is_refused,
    only_digests_are_stored,
);

async fn a_token_is_made_once(place: Place) {
    let people = place.people().await;
    let made = people.create_token(NewToken {
        prefixes: vec!["deploy.".into(), "ci:".into()],
        ..holder("CI")
    });
    let (shown, secret) = made.await.expect("the token can be made");
    let caller = people.bearer(secret.reveal()).expect("it works at once");
    assert_eq!(caller.role(), Some(Role::Holder));
    let Kind::Token { name, prefixes, .. } = caller.kind() else {
        panic!("{caller:?} is no token");
    };
    assert_eq!((name, prefixes), (&shown.name, &shown.prefixes));
    assert_eq!(people.list_tokens().await.expect("it answers"), [shown]);
    let again = people.create_token(holder("CI")).await;
    assert!(matches!(again, Err(PeopleError::Taken(_))), "{again:?}");
}

async fn a_rotated_token_stays_the_same_one(place: Place) {
    let people = place.people().await;
    let old = token(&people, "CI").await;
    let before = people.bearer(old.reveal()).expect("it works");
    let new = people.rotate_token("CI").await.expect("it can be rotated");
    assert_eq!(people.bearer(old.reveal()), Err(BearerError::Unknown));
    let after = people.bearer(new.reveal()).expect("it works at once");
    assert_eq!(before, after);
    let listed = people.list_tokens().await.expect("it answers");
    assert!(listed[0].rotated_at.is_some());
}

async fn a_revoked_token_is_gone_for_good(place: Place) {
    let people = place.people().await;
    let secret = token(&people, "CI").await;
    let other = token(&people, "other").await;
    let revoked = people.revoke_token("CI").await.expect("it can be revoked");
    assert!(revoked.revoked_at.is_some());
    assert_eq!(people.bearer(secret.reveal()), Err(BearerError::Unknown));
    assert!(people.bearer(other.reveal()).is_ok());

    let again = people.revoke_token("CI").await.expect("once more is fine");
    assert_eq!(again, revoked, "the first time counts");
    let rotated = people.rotate_token("CI").await;
    assert!(matches!(rotated, Err(PeopleError::Revoked(_))));
    let reused = people.create_token(holder("CI")).await;
    assert!(matches!(reused, Err(PeopleError::Taken(_))));
    let nobody = people.revoke_token("nobody").await;
    assert!(matches!(nobody, Err(PeopleError::UnknownToken(_))));
}

async fn a_token_expires(place: Place) {
    let people = place.people().await;
    let life = Duration::from_millis(400);
    let made = people.create_token(NewToken {
        expires_in: Some(life),
        ..holder("CI")
    });
    let (shown, secret) = made.await.expect("the token can be made");
    let expires_at = shown.expires_at.expect("it expires");
    assert_eq!(shown.created_at.plus_ms(400), expires_at);
    assert!(people.bearer(secret.reveal()).is_ok());
    tokio::time::sleep(life).await;
    // Without a word from the database in between.
    assert_eq!(people.bearer(secret.reveal()), Err(BearerError::Unknown));
}

async fn what_cannot_be_a_token_is_refused(place: Place) {
    let people = place.people().await;
    let prefix = |prefix: &str| NewToken {
        prefixes: vec![prefix.into()],
        ..holder("CI")
    };
    let life = |life| NewToken {
        expires_in: Some(life),
        ..holder("CI")
    };
    for new in [
        holder(""),
        holder("a:b"),
        prefix(""),
        prefix("a/b"),
        prefix(&"a".repeat(201)),
        life(Duration::ZERO),
        life(Duration::MAX),
    ] {
        let made = people.create_token(new.clone()).await;
        assert!(
            matches!(made, Err(PeopleError::Invalid(_) | PeopleError::Prefix(_))),
            "{new:?}"
        );
    }
    // A prefix may start with what a name may not start with.
    assert!(people.create_token(prefix(".-")).await.is_ok());
}

async fn only_digests_are_stored(place: Place) {
    let people = place.people().await;
    user(&people, "ana", Role::Admin).await;
    let secrets = [token(&people, "CI").await, signed_in(&people, "ana").await];
    let stored = format!(
        "{:?} {:?}",
        people.backend().tokens().await.expect("it answers"),
        people.backend().users().await.expect("it answers")
    );
    assert!(!stored.contains(PASSWORD));
    for secret in secrets {
        assert!(!stored.contains(secret.reveal()));
    }
}
