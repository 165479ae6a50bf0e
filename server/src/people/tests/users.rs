//! Users: made, changed, and never all locked out.

use super::*;

on_both_databases!(
    users_are_made_and_listed,
    passwords_are_made_up_and_end_sessions,
    the_last_admin_stays,
    two_admins_cannot_disable_each_other_at_once,
    changes_of_nobody_are_refused,
);

async fn users_are_made_and_listed(place: Place) {
    let people = place.people().await;
    for name in ["zoe", "Ana", "ben"] {
        user(&people, name, Role::Operator).await;
    }
    let again = people.create_user("ben", Role::Viewer, PASSWORD).await;
    assert!(matches!(again, Err(PeopleError::Taken(_))), "{again:?}");
    for name in ["", " ana", "a:b", "a\nb", "a\0b", &"x".repeat(65)] {
        let made = people.create_user(name, Role::Viewer, PASSWORD).await;
        assert!(matches!(made, Err(PeopleError::Invalid(_))), "{name:?}");
    }
    let made = people.create_user("cleo", Role::Viewer, "short").await;
    assert!(matches!(made, Err(PeopleError::Invalid(_))), "{made:?}");

    let users = people.list_users().await.expect("the database answers");
    let names: Vec<&str> = users.iter().map(|user| user.name.as_str()).collect();
    // By their bytes, whatever the database thinks of capitals.
    assert_eq!(names, ["Ana", "ben", "zoe"]);
    assert!(users.iter().all(|user| user.role == Role::Operator));
}

async fn passwords_are_made_up_and_end_sessions(place: Place) {
    let people = place.people().await;
    let (ana, first) = people.make_user("ana", Role::Operator).await.expect("made");
    assert_eq!((ana.name.as_str(), ana.role), ("ana", Role::Operator));
    let from = [192, 0, 2, 1].into();
    let signed_in = people.sign_in("ana", first.reveal(), from).await;
    let session = signed_in.expect("it is her password").secret;

    let second = people.make_password("ana").await.expect("made");
    assert!(first != second);
    let lasts = people
        .session(&session)
        .await
        .expect("the database answers");
    assert_eq!(lasts, None, "its sessions have ended");
    assert!(people.sign_in("ana", first.reveal(), from).await.is_err());
    assert!(people.sign_in("ana", second.reveal(), from).await.is_ok());

    let again = people.make_user("ana", Role::Viewer).await;
    assert!(matches!(again, Err(PeopleError::Taken(_))), "{again:?}");
    let nobody = people.make_password("nobody").await;
    assert!(
        matches!(nobody, Err(PeopleError::UnknownUser(_))),
        "{nobody:?}"
    );
}

async fn the_last_admin_stays(place: Place) {
    let people = place.people().await;
    user(&people, "ana", Role::Admin).await;
    user(&people, "ben", Role::Viewer).await;
    let last = people.disable("ana").await;
    assert!(matches!(last, Err(PeopleError::LastAdmin(_))), "{last:?}");
    let last = people.set_role("ana", Role::Operator).await;
    assert!(matches!(last, Err(PeopleError::LastAdmin(_))), "{last:?}");
    assert!(sign_in(&people, "ana").await.is_ok(), "nothing was changed");

    people.set_role("ben", Role::Admin).await.expect("it may");
    people.disable("ana").await.expect("there is another admin");
    // A disabled admin does not count.
    let last = people.set_role("ben", Role::Viewer).await;
    assert!(matches!(last, Err(PeopleError::LastAdmin(_))), "{last:?}");
    people.enable("ana").await.expect("anybody can be enabled");
    people.set_role("ben", Role::Viewer).await.expect("it may");
}

async fn two_admins_cannot_disable_each_other_at_once(place: Place) {
    let (here, there) = (place.people().await, place.people().await);
    user(&here, "ana", Role::Admin).await;
    user(&here, "ben", Role::Admin).await;
    for _ in 0..10 {
        let (ana, ben) = tokio::join!(here.disable("ana"), there.disable("ben"));
        assert!(ana.is_ok() != ben.is_ok(), "{ana:?} {ben:?}");
        for name in ["ana", "ben"] {
            here.enable(name).await.expect("anybody can be enabled");
        }
    }
}

async fn changes_of_nobody_are_refused(place: Place) {
    let people = place.people().await;
    for name in ["nobody", "a\0b", "'; drop table users; --"] {
        let outcomes = [
            people.set_password(name, PASSWORD).await.err(),
            people.set_role(name, Role::Admin).await.err(),
            people.disable(name).await.err(),
            people.enable(name).await.err(),
            people.sign_out_everywhere(name).await.err(),
        ];
        for outcome in outcomes {
            assert!(
                matches!(outcome, Some(PeopleError::UnknownUser(_))),
                "{outcome:?}"
            );
        }
    }
}

/// Whether the commit was done is not to be told from its failure.
#[tokio::test]
async fn a_commit_that_fails_may_have_been_done() {
    let place = Place::postgres().await;
    let people = place.people().await;
    place
        .execute(
            "create function fail() returns trigger language plpgsql
                as $$ begin raise exception 'not now'; end $$",
        )
        .await;
    place
        .execute(
            "create constraint trigger fail after insert on users
                deferrable initially deferred for each row execute function fail()",
        )
        .await;
    let made = people.make_user("ana", Role::Viewer).await;
    assert!(matches!(made, Err(PeopleError::Unconfirmed(_))), "{made:?}");
}
