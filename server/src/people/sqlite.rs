//! People on SQLite: the SQL, and nothing else. The time is the wall clock's, as
//! sessions and tokens are counted in hours and days.

use std::time::SystemTime;

use async_trait::async_trait;
use sqlx::{
    Connection as _, Sqlite, SqliteConnection, SqlitePool, Transaction,
    sqlite::SqliteConnectOptions,
};
use tokio::sync::Mutex;

use crate::{
    access_log::{self, Draft},
    database::SqliteDatabase,
};

use super::{
    backend::{Backend, Change, SessionRow, SessionUser, TokenRow, UserRow, Version},
    secrets::Digest,
};

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

#[async_trait]
impl Backend for SqlitePeople {
    async fn version(&self) -> sqlx::Result<Version> {
        let mut watch = self.watch.lock().await;
        let mut connection = self.watch_connection(watch.take()).await?;
        let now = now();
        let version = sqlx::query_scalar("select version from auth_version")
            .fetch_one(&mut connection)
            .await?;
        *watch = Some(connection);
        Ok(Version { version, now })
    }

    async fn tokens(&self) -> sqlx::Result<Vec<TokenRow>> {
        let mut watch = self.watch.lock().await;
        let mut connection = self.watch_connection(watch.take()).await?;
        let tokens = sqlx::query_as(
            "select id, name, digest, role, prefixes, created_at, rotated_at,
                expires_at, revoked_at, last_used_at
            from tokens
            order by name",
        )
        .fetch_all(&mut connection)
        .await?;
        *watch = Some(connection);
        Ok(tokens)
    }

    async fn users(&self) -> sqlx::Result<Vec<UserRow>> {
        sqlx::query_as(
            "select id, name, password_hash, role, created_at, signed_in_at, disabled_at
            from users
            order by name",
        )
        .fetch_all(&self.readers)
        .await
    }

    async fn user(&self, name: &str) -> sqlx::Result<Option<UserRow>> {
        sqlx::query_as(
            "select id, name, password_hash, role, created_at, signed_in_at, disabled_at
            from users
            where name = $1",
        )
        .bind(name)
        .fetch_optional(&self.readers)
        .await
    }

    async fn session(&self, digest: &Digest) -> sqlx::Result<Option<SessionUser>> {
        sqlx::query_as(
            "select user_id, name, role, disabled_at, last_seen_at, expires_at,
                $2 as now
            from sessions
            join users on users.id = user_id
            where digest = $1",
        )
        .bind(digest.as_slice())
        .bind(now())
        .fetch_optional(&self.readers)
        .await
    }

    async fn touch_session(&self, digest: &Digest, now: i64) -> sqlx::Result<()> {
        sqlx::query(
            "update sessions
            set last_seen_at = $2
            where digest = $1
                and last_seen_at < $2",
        )
        .bind(digest.as_slice())
        .bind(now)
        .execute(&self.writer)
        .await?;
        Ok(())
    }

    async fn touch_tokens(&self, ids: &[String], now: i64) -> sqlx::Result<()> {
        sqlx::query(
            "update tokens
            set last_used_at = $2
            where id in (select value from json_each($1))
                and (last_used_at is null or last_used_at < $2)",
        )
        .bind(serde_json::json!(ids).to_string())
        .bind(now)
        .execute(&self.writer)
        .await?;
        Ok(())
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

    async fn count(&mut self) -> sqlx::Result<()> {
        sqlx::query("update auth_version set version = version + 1")
            .execute(&mut *self.transaction)
            .await?;
        Ok(())
    }

    async fn any_users(&mut self) -> sqlx::Result<bool> {
        sqlx::query_scalar("select exists (select 1 from users)")
            .fetch_one(&mut *self.transaction)
            .await
    }

    async fn active_admins(&mut self) -> sqlx::Result<i64> {
        sqlx::query_scalar(
            "select count(*)
            from users
            where role = 'admin'
                and disabled_at is null",
        )
        .fetch_one(&mut *self.transaction)
        .await
    }

    async fn user(&mut self, name: &str) -> sqlx::Result<Option<UserRow>> {
        sqlx::query_as(
            "select id, name, password_hash, role, created_at, signed_in_at, disabled_at
            from users
            where name = $1",
        )
        .bind(name)
        .fetch_optional(&mut *self.transaction)
        .await
    }

    async fn insert_user(&mut self, user: &UserRow) -> sqlx::Result<()> {
        sqlx::query(
            "insert into users
                (id, name, password_hash, role, created_at, signed_in_at, disabled_at)
            values ($1, $2, $3, $4, $5, $6, $7)",
        )
        .bind(&user.id)
        .bind(&user.name)
        .bind(&user.password_hash)
        .bind(&user.role)
        .bind(user.created_at)
        .bind(user.signed_in_at)
        .bind(user.disabled_at)
        .execute(&mut *self.transaction)
        .await?;
        Ok(())
    }

    async fn update_user(&mut self, user: &UserRow) -> sqlx::Result<()> {
        sqlx::query(
            "update users
            set password_hash = $2,
                role = $3,
                signed_in_at = $4,
                disabled_at = $5
            where id = $1",
        )
        .bind(&user.id)
        .bind(&user.password_hash)
        .bind(&user.role)
        .bind(user.signed_in_at)
        .bind(user.disabled_at)
        .execute(&mut *self.transaction)
        .await?;
        Ok(())
    }

    async fn token(&mut self, name: &str) -> sqlx::Result<Option<TokenRow>> {
        sqlx::query_as(
            "select id, name, digest, role, prefixes, created_at, rotated_at,
                expires_at, revoked_at, last_used_at
            from tokens
            where name = $1",
        )
        .bind(name)
        .fetch_optional(&mut *self.transaction)
        .await
    }

    async fn insert_token(&mut self, token: &TokenRow) -> sqlx::Result<()> {
        sqlx::query(
            "insert into tokens
                (id, name, digest, role, prefixes, created_at, expires_at)
            values ($1, $2, $3, $4, $5, $6, $7)",
        )
        .bind(&token.id)
        .bind(&token.name)
        .bind(&token.digest)
        .bind(&token.role)
        .bind(&token.prefixes)
        .bind(token.created_at)
        .bind(token.expires_at)
        .execute(&mut *self.transaction)
        .await?;
        Ok(())
    }

    async fn update_token(&mut self, token: &TokenRow) -> sqlx::Result<()> {
        sqlx::query(
            "update tokens
            set digest = $2,
                rotated_at = $3,
                revoked_at = $4
            where id = $1",
        )
        .bind(&token.id)
        .bind(&token.digest)
        .bind(token.rotated_at)
        .bind(token.revoked_at)
        .execute(&mut *self.transaction)
        .await?;
        Ok(())
    }

    async fn insert_session(&mut self, session: &SessionRow) -> sqlx::Result<()> {
        sqlx::query(
            "insert into sessions
                (digest, user_id, created_at, last_seen_at, expires_at)
            values ($1, $2, $3, $3, $4)",
        )
        .bind(session.digest.as_slice())
        .bind(&session.user_id)
        .bind(session.created_at)
        .bind(session.expires_at)
        .execute(&mut *self.transaction)
        .await?;
        Ok(())
    }

    async fn delete_session(&mut self, digest: &Digest) -> sqlx::Result<()> {
        sqlx::query("delete from sessions where digest = $1")
            .bind(digest.as_slice())
            .execute(&mut *self.transaction)
            .await?;
        Ok(())
    }

    async fn delete_sessions(&mut self, user: &str, but: Option<&Digest>) -> sqlx::Result<()> {
        sqlx::query(
            "delete from sessions
            where user_id = $1
                and ($2 is null or digest <> $2)",
        )
        .bind(user)
        .bind(but.map(Digest::as_slice))
        .execute(&mut *self.transaction)
        .await?;
        Ok(())
    }

    async fn delete_stale_sessions(&mut self, idle_since: i64) -> sqlx::Result<()> {
        sqlx::query(
            "delete from sessions
            where expires_at <= $1
                or last_seen_at <= $2",
        )
        .bind(self.now)
        .bind(idle_since)
        .execute(&mut *self.transaction)
        .await?;
        Ok(())
    }

    async fn write_down(&mut self, entries: &[Draft]) -> sqlx::Result<()> {
        access_log::sqlite::append(&mut self.transaction, entries).await
    }

    async fn commit(self: Box<Self>) -> sqlx::Result<()> {
        self.transaction.commit().await
    }
}
