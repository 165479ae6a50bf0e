//! The first start.

use super::*;

on_both_databases!(
    the_first_start_lets_somebody_in,
    secrets_can_be_set,
    servers_that_start_at_once_make_one_admin,
);

async fn the_first_start_lets_somebody_in(place: Place) {
    let people = place.people().await;
    let first = people.ensure_first_people(None, None).await;
    let first = first.expect("it works").expect("it is the first");
    let (Some(password), Some(token)) = (first.admin_password, first.holder_token) else {
        panic!("both were made up");
    };
    let admin = people.sign_in("admin", password.reveal(), HOME).await;
    let admin = admin.expect("the admin may sign in").caller;
    assert_eq!(admin.role(), Some(Role::Admin));
    let holder = people.bearer(token.reveal()).expect("it works");
    assert_eq!(holder.role(), Some(Role::Holder));
    let again = people.ensure_first_people(None, None).await;
    assert!(again.expect("it works").is_none());
}

async fn secrets_can_be_set(place: Place) {
    let people = place.people().await;
    let token = "baton_0123456789abcdefghijkl";
    for (password, token) in [("short", token), (PASSWORD, "baton_short")] {
        let refused = people
            .ensure_first_people(Some(password.into()), Some(token.into()))
            .await;
        assert!(matches!(refused, Err(PeopleError::Invalid(_))));
    }
    let first = people
        .ensure_first_people(Some(PASSWORD.into()), Some(token.into()))
        .await;
    let first = first.expect("it works").expect("it is the first");
    assert!(first.admin_password.is_none() && first.holder_token.is_none());
    assert!(sign_in(&people, "admin").await.is_ok());
    assert!(people.bearer(token).is_ok());
}

async fn servers_that_start_at_once_make_one_admin(place: Place) {
    let (here, there) = (place.people().await, place.people().await);
    let (one, other) = tokio::join!(
        here.ensure_first_people(None, None),
        there.ensure_first_people(None, None)
    );
    let made = [one, other].map(|first| first.expect("it works").is_some());
    assert_ne!(made[0], made[1]);
    assert_eq!(here.list_users().await.expect("it answers").len(), 1);
    assert_eq!(here.list_tokens().await.expect("it answers").len(), 1);
}
