//! A serving role that owns nothing does all this with what `baton_grant` gives.

use super::*;

#[tokio::test]
async fn a_server_needs_not_own_the_tables() {
    let postgres = Postgres::shared().await;
    let owner = Place::postgres().await;
    owner.database().await;
    let superuser = Place {
        address: postgres.superuser_url(&owner.address),
        _folder: None,
    };
    superuser.execute("create role serving login").await;
    owner.execute("select baton_grant('serving')").await;
    let place = Place {
        address: owner.address.replace("//baton@", "//serving@"),
        _folder: None,
    };

    let people = place.people().await;
    let first = people.ensure_first_people(None, None).await;
    assert!(first.expect("it may").is_some());
    user(&people, "ana", Role::Viewer).await;
    let session = signed_in(&people, "ana").await;
    assert!(is_session(&people, &session).await);
    people.sign_out(&session).await.expect("it may");
    people.disable("ana").await.expect("it may");
    let secret = token(&people, "CI").await;
    people.bearer(secret.reveal()).expect("it works");
    people.note_use().await;
    people.rotate_token("CI").await.expect("it may");
    people.revoke_token("CI").await.expect("it may");
    let used = people.list_tokens().await.expect("it may");
    assert!(used.iter().any(|token| token.last_used_at.is_some()));
}
