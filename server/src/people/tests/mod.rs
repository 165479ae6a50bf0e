//! People, on both databases: each test is written once, for any [`People`].

mod bearers;
mod first;
mod grants;
mod sessions;
mod tokens;
mod users;

use std::net::{IpAddr, Ipv4Addr};

use super::{NewToken, People, PeopleError, Secret, SignIn, SignInError};
use crate::{database::Database, support::postgres::Postgres};
use baton_client::Role;

/// Where everybody signs in from, unless it matters.
const HOME: IpAddr = IpAddr::V4(Ipv4Addr::new(192, 0, 2, 1));
/// A password that can be one.
const PASSWORD: &str = "correct horse";

/// A new database, and what keeps it.
struct Place {
    address: String,
    _folder: Option<tempfile::TempDir>,
}

impl Place {
    fn sqlite() -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder can be made");
        let file = folder.path().join("baton.db");
        Self {
            address: format!("sqlite://{}", file.display()),
            _folder: Some(folder),
        }
    }

    async fn postgres() -> Self {
        Self {
            address: Postgres::shared().await.database().await,
            _folder: None,
        }
    }

    /// A server's people; each call is another server.
    async fn people(&self) -> People {
        let people = People::new(&self.database().await);
        people.refresh().await.expect("the database answers");
        people
    }

    async fn database(&self) -> Database {
        Database::open(&self.address)
            .await
            .expect("the database opens")
    }

    /// Runs SQL behind the back of everybody.
    async fn execute(&self, sql: &'static str) {
        match self.database().await {
            Database::Sqlite(sqlite) => sqlx::query(sql).execute(&sqlite.writer).await.map(drop),
            Database::Postgres(pool) => sqlx::query(sql).execute(&pool).await.map(drop),
        }
        .expect("the SQL runs");
    }
}

/// The same test on both databases.
macro_rules! on_both_databases {
    ($($test:ident),+ $(,)?) => {
        mod on_sqlite {
            $(
                #[tokio::test]
                async fn $test() {
                    super::$test(crate::people::tests::Place::sqlite()).await;
                }
            )+
        }
        mod on_postgres {
            $(
                #[tokio::test]
                async fn $test() {
                    super::$test(crate::people::tests::Place::postgres().await).await;
                }
            )+
        }
    };
}
use on_both_databases;

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
