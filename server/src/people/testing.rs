//! A database of either kind, for the tests of people and of the access log.

use super::People;
use crate::{database::Database, support::postgres::Postgres};

/// A new database, and what keeps it.
pub struct Place {
    pub(super) address: String,
    pub(super) _folder: Option<tempfile::TempDir>,
}

impl Place {
    /// On a new SQLite file.
    pub fn sqlite() -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder can be made");
        let file = folder.path().join("baton.db");
        Self {
            address: format!("sqlite://{}", file.display()),
            _folder: Some(folder),
        }
    }

    /// On a new PostgreSQL database.
    pub async fn postgres() -> Self {
        Self {
            address: Postgres::shared().await.database().await,
            _folder: None,
        }
    }

    /// A server's people; each call is another server.
    pub async fn people(&self) -> People {
        let people = People::new(&self.database().await);
        people.refresh().await.expect("the database answers");
        people
    }

    /// Opens it.
    pub async fn database(&self) -> Database {
        Database::open(&self.address)
            .await
            .expect("the database opens")
    }

    /// Runs SQL behind the back of everybody.
    pub async fn execute(&self, sql: &'static str) {
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
                    super::$test(crate::people::testing::Place::sqlite()).await;
                }
            )+
        }
        mod on_postgres {
            $(
                #[tokio::test]
                async fn $test() {
                    super::$test(crate::people::testing::Place::postgres().await).await;
                }
            )+
        }
    };
}
pub(crate) use on_both_databases;
