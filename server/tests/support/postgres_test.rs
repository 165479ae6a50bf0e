//! Whether the throw-away clusters do what tests rely on. A part of the library's
//! tests, so that it runs once and not in every test program.

use sqlx::{Connection as _, PgConnection};

use crate::support::postgres::Postgres;

async fn is_superuser(url: &str) -> Result<bool, sqlx::Error> {
    let mut connection = PgConnection::connect(url).await?;
    sqlx::query_scalar("select usesuper from pg_user where usename = user")
        .fetch_one(&mut connection)
        .await
}

#[tokio::test]
async fn a_cluster_gives_databases_and_leaves_nothing_behind() {
    let postgres = Postgres::start();
    let (one, other) = (postgres.database().await, postgres.database().await);
    assert_ne!(one, other);
    assert!(!is_superuser(&one).await.expect("it answers"));
    let superuser = postgres.superuser_url(&one);
    assert!(is_superuser(&superuser).await.expect("it answers"));

    postgres.go_away();
    assert!(is_superuser(&other).await.is_err(), "it is away");
    postgres.come_back();
    assert!(is_superuser(&other).await.is_ok(), "it is back");

    let folder = postgres.folder().to_owned();
    drop(postgres);
    assert!(!folder.exists(), "nothing is left");
}
