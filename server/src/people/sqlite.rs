//! People on SQLite: how statements are run. The time is the wall clock's, as
//! sessions and tokens are counted in hours and days.

use std::time::SystemTime;

use async_trait::async_trait;
use sqlx::{
    AssertSqlSafe, Connection as _, Sqlite, SqliteConnection, SqlitePool, Transaction,
    sqlite::SqliteConnectOptions,
};
use tokio::sync::Mutex;

use crate::{
    access_log::{self, Draft},
    database::SqliteDatabase,
    store::{Arg, Statement, bind_all},
};

use super::backend::{Backend, Change, SessionUser, TokenRow, UserRow, Version};

#[derive(Debug)]
pub(super) struct SqlitePeople {
    writer: SqlitePool,
    readers: SqlitePool,
    options: SqliteConnectOptions,
    /// For the counter and the tokens. A call that fails, or is given up in the
    /// middle, takes the connection with it.
    watch: Mutex<Option<SqliteConnection>>,
}

struct SqliteChange {
    transaction: Transaction<'static, Sqlite>,
    now: i64,
}

impl SqlitePeople {
    pub(super) fn new(database: &SqliteDatabase) -> Self {
        Self {
            writer: database.writer.clone(),
            readers: database.readers.clone(),
            options: (*database.readers.connect_options()).clone(),
            watch: Mutex::new(None),
        }
    }

    async fn watch_connection(
        &self,
        kept: Option<SqliteConnection>,
    ) -> sqlx::Result<SqliteConnection> {
        match kept {
            Some(connection) => Ok(connection),
            None => SqliteConnection::connect_with(&self.options).await,
        }
    }
}

/// The wall clock, in microseconds.
fn now() -> i64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    since.map_or(0, |since| since.as_micros() as i64)
}

/// A statement as a query, of rows or of nothing.
macro_rules! query {
    ($kind:ident, $statement:expr) => {{
        let Statement { sql, args } = $statement;
        bind_all!(sqlx::$kind(AssertSqlSafe(sql)), args)
    }};
}

#[async_trait]
impl Backend for SqlitePeople {
    fn now(&self, statement: &mut Statement) {
        statement.bind(Arg::Int(Some(now())));
    }

    async fn select_version(&self, select: Statement) -> sqlx::Result<Version> {
        let mut watch = self.watch.lock().await;
        let mut connection = self.watch_connection(watch.take()).await?;
        let version = query!(query_as, select).fetch_one(&mut connection).await?;
        *watch = Some(connection);
        Ok(version)
    }

    async fn select_tokens(&self, select: Statement) -> sqlx::Result<Vec<TokenRow>> {
        let mut watch = self.watch.lock().await;
        let mut connection = self.watch_connection(watch.take()).await?;
        let tokens = query!(query_as, select).fetch_all(&mut connection).await?;
        *watch = Some(connection);
        Ok(tokens)
    }

    async fn select_users(&self, select: Statement) -> sqlx::Result<Vec<UserRow>> {
        query!(query_as, select).fetch_all(&self.readers).await
    }

    async fn select_session(&self, select: Statement) -> sqlx::Result<Option<SessionUser>> {
        query!(query_as, select).fetch_optional(&self.readers).await
    }

    async fn note(&self, statement: Statement) -> sqlx::Result<()> {
        // Of every length: kept prepared, they would fill the session.
        let note = query!(query, statement).persistent(false);
        let done = note.execute(&self.writer).await;
        done.map(drop)
    }

    async fn change(&self) -> sqlx::Result<Box<dyn Change>> {
        // Takes the file's write lock at once: a transaction that reads first
        // and writes later fails as busy, whatever the time-out.
        let transaction = self.writer.begin_with("begin immediate").await?;
        let now = now();
        Ok(Box::new(SqliteChange { transaction, now }))
    }
}

#[async_trait]
impl Change for SqliteChange {
    fn now(&self) -> i64 {
        self.now
    }

    async fn select_users(&mut self, select: Statement) -> sqlx::Result<Vec<UserRow>> {
        let rows = query!(query_as, select).fetch_all(&mut *self.transaction);
        rows.await
    }

    async fn select_tokens(&mut self, select: Statement) -> sqlx::Result<Vec<TokenRow>> {
        let rows = query!(query_as, select).fetch_all(&mut *self.transaction);
        rows.await
    }

    async fn select_count(&mut self, select: Statement) -> sqlx::Result<i64> {
        let count = query!(query_scalar, select).fetch_one(&mut *self.transaction);
        count.await
    }

    async fn run(&mut self, statement: Statement) -> sqlx::Result<()> {
        let done = query!(query, statement).execute(&mut *self.transaction);
        done.await.map(drop)
    }

    async fn write_down(&mut self, entries: &[Draft]) -> sqlx::Result<()> {
        access_log::sqlite::append(&mut self.transaction, entries).await
    }

    async fn commit(self: Box<Self>) -> sqlx::Result<()> {
        self.transaction.commit().await
    }
}
