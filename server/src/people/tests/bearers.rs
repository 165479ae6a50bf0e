//! The table of tokens in memory: current within a second, or not trusted.

use std::time::{Duration, Instant};

use super::*;
use crate::people::BearerError;

on_both_databases!(
    another_server_notices_within_a_second,
    an_unconfirmed_table_is_not_trusted,
    use_is_noted_and_counts_as_no_change,
);

async fn another_server_notices_within_a_second(place: Place) {
    let (here, there) = (place.people().await, place.people().await);
    let following = tokio::spawn(there.clone().follow());
    let within_a_second = async |secret: &Secret, expected| {
        let start = Instant::now();
        while there.bearer(secret.reveal()).map(drop) != expected {
            assert!(start.elapsed() < Duration::from_secs(1), "{expected:?}");
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    let secret = token(&here, "CI").await;
    within_a_second(&secret, Ok(())).await;
    let rotated = here.rotate_token("CI").await.expect("it can be rotated");
    within_a_second(&rotated, Ok(())).await;
    within_a_second(&secret, Err(BearerError::Unknown)).await;
    here.revoke_token("CI").await.expect("it can be revoked");
    within_a_second(&rotated, Err(BearerError::Unknown)).await;
    following.abort();
}

async fn an_unconfirmed_table_is_not_trusted(place: Place) {
    let people = People::new(&place.database().await);
    let unknown = "baton_0123456789012345678901";
    assert_eq!(people.bearer(unknown), Err(BearerError::Unavailable));
    let secret = token(&people, "CI").await;
    assert!(people.bearer(secret.reveal()).is_ok());
    assert_eq!(people.bearer(unknown), Err(BearerError::Unknown));
    // Nobody follows.
    tokio::time::sleep(Duration::from_millis(1_010)).await;
    for token in [secret.reveal(), unknown] {
        assert_eq!(people.bearer(token), Err(BearerError::Unavailable));
    }
    people.refresh().await.expect("it answers");
    assert!(people.bearer(secret.reveal()).is_ok());
}

async fn use_is_noted_and_counts_as_no_change(place: Place) {
    let people = place.people().await;
    let secret = token(&people, "CI").await;
    token(&people, "unused").await;
    people.bearer(secret.reveal()).expect("it works");
    // What was used is remembered over a change of the table.
    token(&people, "another").await;
    let before = *people.changes().borrow();
    people.note_use().await;
    people.refresh().await.expect("it answers");
    assert_eq!(*people.changes().borrow(), before);
    let used: Vec<_> = people
        .list_tokens()
        .await
        .expect("it answers")
        .into_iter()
        .map(|token| (token.name, token.last_used_at.is_some()))
        .collect();
    let expected = [("CI", true), ("another", false), ("unused", false)];
    assert_eq!(used, expected.map(|(name, used)| (name.to_owned(), used)));
}

#[tokio::test]
async fn a_database_that_goes_away_is_noticed_and_found_again() {
    let postgres = Postgres::start();
    let place = Place {
        address: postgres.database().await,
        _folder: None,
    };
    let people = place.people().await;
    let following = tokio::spawn(people.clone().follow());
    let secret = token(&people, "CI").await;
    postgres.go_away();
    tokio::time::sleep(Duration::from_millis(1_500)).await;
    assert_eq!(
        people.bearer(secret.reveal()),
        Err(BearerError::Unavailable)
    );
    postgres.come_back();
    tokio::time::sleep(Duration::from_millis(1_500)).await;
    assert!(people.bearer(secret.reveal()).is_ok());
    following.abort();
}
