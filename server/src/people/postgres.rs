//! People on PostgreSQL: the SQL, and nothing else. The time is the database's.

use async_trait::async_trait;
use sqlx::{
    Connection as _, PgConnection, PgPool, Postgres, Transaction, postgres::PgConnectOptions,
};
use tokio::sync::Mutex;

use crate::access_log::{self, Draft};

use super::{
    backend::{Backend, Change, SessionRow, SessionUser, TokenRow, UserRow, Version},
    secrets::Digest,
};

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

#[async_trait]
impl Backend for PostgresPeople {
    async fn version(&self) -> sqlx::Result<Version> {
        let mut watch = self.watch.lock().await;
        let mut connection = self.watch_connection(watch.take()).await?;
        let version = sqlx::query_as(
            "select version,
                (extract(epoch from clock_timestamp()) * 1000000)::bigint as now
            from auth_version",
        )
        .fetch_one(&mut connection)
        .await?;
        *watch = Some(connection);
        Ok(version)
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
        .fetch_all(&self.pool)
        .await
    }

    async fn user(&self, name: &str) -> sqlx::Result<Option<UserRow>> {
        sqlx::query_as(
            "select id, name, password_hash, role, created_at, signed_in_at, disabled_at
            from users
            where name = $1",
        )
        .bind(name)
        .fetch_optional(&self.pool)
        .await
    }

    async fn session(&self, digest: &Digest) -> sqlx::Result<Option<SessionUser>> {
        sqlx::query_as(
            "select user_id, name, role, disabled_at, last_seen_at, expires_at,
                (extract(epoch from clock_timestamp()) * 1000000)::bigint as now
            from sessions
            join users on users.id = user_id
            where digest = $1",
        )
        .bind(digest.as_slice())
        .fetch_optional(&self.pool)
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
        .execute(&self.pool)
        .await?;
        Ok(())
    }

    async fn touch_tokens(&self, ids: &[String], now: i64) -> sqlx::Result<()> {
        sqlx::query(
            "update tokens
            set last_used_at = $2
            where id = any($1)
                and (last_used_at is null or last_used_at < $2)",
        )
        .bind(ids)
        .bind(now)
        .execute(&self.pool)
        .await?;
        Ok(())
    }

    async fn change(&self) -> sqlx::Result<Box<dyn Change>> {
        let mut transaction = self.pool.begin().await?;
        sqlx::query("select version from auth_version for update")
            .execute(&mut *transaction)
            .await?;
        let now =
            sqlx::query_scalar("select (extract(epoch from clock_timestamp()) * 1000000)::bigint")
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

    async fn count(&mut self) -> sqlx::Result<()> {
        sqlx::query("update auth_version set version = version + 1")
            .execute(&mut *self.transaction)
            .await?;
        Ok(())
    }

    async fn any_users(&mut self) -> sqlx::Result<bool> {
        sqlx::query_scalar("select exists (select from users)")
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
                and ($2::bytea is null or digest <> $2)",
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
        access_log::postgres::append(&mut self.transaction, entries).await
    }

    async fn commit(self: Box<Self>) -> sqlx::Result<()> {
        self.transaction.commit().await
    }
}
