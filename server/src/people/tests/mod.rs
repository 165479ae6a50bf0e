//! People, on both databases: each test is written once, for any [`People`].

mod bearers;
mod first;
mod grants;
mod sessions;
mod tokens;
mod users;

use std::net::{IpAddr, Ipv4Addr};

use super::{NewToken, People, PeopleError, Secret, SignIn, SignInError};
use crate::support::postgres::Postgres;
use baton_client::Role;

/// Where everybody signs in from, unless it matters.
const HOME: IpAddr = IpAddr::V4(Ipv4Addr::new(192, 0, 2, 1));
/// A password that can be one.
const PASSWORD: &str = "correct horse";

use super::testing::{Place, on_both_databases};

async fn user(people: &People, name: &str, role: Role) {
    people
        .create_user(name, role, PASSWORD)
        .await
        .expect("the user can be made");
}

async fn sign_in(people: &People, name: &str) -> Result<SignIn, SignInError> {
    people.sign_in(name, PASSWORD, HOME).await
}

async fn signed_in(people: &People, name: &str) -> Secret {
    sign_in(people, name)
        .await
        .expect("they may sign in")
        .secret
}

async fn is_session(people: &People, secret: &Secret) -> bool {
    let session = people.session(secret).await;
    session.expect("the database answers").is_some()
}

fn holder(name: &str) -> NewToken {
    NewToken {
        name: name.into(),
        role: Role::Holder,
        prefixes: Vec::new(),
        expires_in: None,
    }
}

async fn token(people: &People, name: &str) -> Secret {
    let made = people.create_token(holder(name)).await;
    made.expect("the token can be made").1
}
