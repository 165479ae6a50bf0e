//! People on PostgreSQL: how statements are run. The time is the database's.

use async_trait::async_trait;
use sqlx::{
    AssertSqlSafe, Connection as _, PgConnection, PgPool, Postgres, Transaction,
    postgres::PgConnectOptions,
};
use tokio::sync::Mutex;

use crate::{
    access_log::{self, Draft},
    database,
    store::{Statement, bind_all},
};

use super::backend::{Backend, Change, SessionUser, TokenRow, UserRow, Version};

const NOW: &str = "(extract(epoch from clock_timestamp()) * 1000000)::bigint";

#[derive(Debug)]
pub(super) struct PostgresPeople {
    pool: PgPool,
    options: PgConnectOptions,
    /// For the counter and the tokens. A call that fails, or is given up in the
    /// middle, takes the connection with it.
    watch: Mutex<Option<PgConnection>>,
}

struct PostgresChange {
    transaction: Transaction<'static, Postgres>,
    now: i64,
}

impl PostgresPeople {
    pub(super) fn new(pool: &PgPool) -> Self {
        Self {
            pool: pool.clone(),
            options: (*pool.connect_options()).clone(),
            watch: Mutex::new(None),
        }
    }

    async fn watch_connection(&self, kept: Option<PgConnection>) -> sqlx::Result<PgConnection> {
        match kept {
            Some(connection) => Ok(connection),
            None => PgConnection::connect_with(&self.options).await,
        }
    }
}

/// A statement as a query, of rows or of nothing.
macro_rules! query {
    ($kind:ident, $statement:expr) => {{
        let statement: Statement = $statement;
        let sql = AssertSqlSafe(statement.numbered());
        bind_all!(sqlx::$kind(sql), statement.args)
    }};
}

#[async_trait]
impl Backend for PostgresPeople {
    fn now(&self, statement: &mut Statement) {
        statement.push(NOW);
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
        query!(query_as, select).fetch_all(&self.pool).await
    }

    async fn select_session(&self, select: Statement) -> sqlx::Result<Option<SessionUser>> {
        query!(query_as, select).fetch_optional(&self.pool).await
    }

    async fn note(&self, statement: Statement) -> sqlx::Result<()> {
        // Of every length: kept prepared, they would fill the session.
        let note = query!(query, statement).persistent(false);
        let done = note.execute(&self.pool).await;
        done.map(drop)
    }

    async fn change(&self) -> sqlx::Result<Box<dyn Change>> {
        let mut transaction = database::begin(&self.pool, "begin").await?;
        sqlx::query("select version from auth_version for update")
            .execute(&mut *transaction)
            .await?;
        let mut select = Statement::new("select ");
        self.now(&mut select);
        let now = query!(query_scalar, select)
            .fetch_one(&mut *transaction)
            .await?;
        Ok(Box::new(PostgresChange { transaction, now }))
    }
}

#[async_trait]
impl Change for PostgresChange {
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
        access_log::postgres::append(&mut self.transaction, entries).await
    }

    async fn commit(self: Box<Self>) -> sqlx::Result<()> {
        self.transaction.commit().await
    }
}
