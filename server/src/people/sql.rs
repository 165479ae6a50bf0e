//! What is asked of the database about people, in SQL that both databases
//! understand, letter by letter.

use super::{
    backend::{Backend, Change, SessionRow, SessionUser, TokenRow, UserRow, Version},
    secrets::Digest,
};
use crate::store::{Arg, Statement};

const USERS: &str = "select id, name, password_hash, role, created_at, signed_in_at, disabled_at
    from users";
const TOKENS: &str = "select id, name, digest, role, prefixes, created_at, rotated_at, expires_at,
        revoked_at, last_used_at
    from tokens";

/// Tokens whose use is noted by one statement: far below what a database binds.
const NOTED_MAX: usize = 1_000;

impl dyn Backend + '_ {
    /// The counter of changes, and the time that people are judged by.
    pub async fn version(&self) -> sqlx::Result<Version> {
        let mut select = Statement::new("select version, ");
        self.now(&mut select);
        select.push(" as now from auth_version");
        self.select_version(select).await
    }

    /// All users, by name.
    pub async fn users(&self) -> sqlx::Result<Vec<UserRow>> {
        self.select_users(by_name(USERS)).await
    }

    /// The user of this name.
    pub async fn user(&self, name: &str) -> sqlx::Result<Option<UserRow>> {
        Ok(self.select_users(named(USERS, name)).await?.pop())
    }

    /// All tokens, by name.
    pub async fn tokens(&self) -> sqlx::Result<Vec<TokenRow>> {
        self.select_tokens(by_name(TOKENS)).await
    }

    /// The session of this digest, with its user.
    pub async fn session(&self, digest: &Digest) -> sqlx::Result<Option<SessionUser>> {
        let mut select =
            Statement::new("select user_id, name, role, disabled_at, last_seen_at, expires_at, ");
        self.now(&mut select);
        select.push(
            " as now
            from sessions
            join users on users.id = user_id
            where digest = ",
        );
        select.bind(bytes(digest));
        self.select_session(select).await
    }

    /// Notes that a session was used at `now`, unless it was noted later.
    pub async fn touch_session(&self, digest: &Digest, now: i64) -> sqlx::Result<()> {
        self.note(Statement::with(
            "update sessions
            set last_seen_at = ?
            where digest = ?
                and last_seen_at < ?",
            [int(now), bytes(digest), int(now)],
        ))
        .await
    }

    /// Notes that tokens were used at `now`, unless it was noted later.
    pub async fn touch_tokens(&self, ids: &[String], now: i64) -> sqlx::Result<()> {
        for ids in ids.chunks(NOTED_MAX) {
            let mut update = Statement::with(
                "update tokens
                set last_used_at = ?
                where (last_used_at is null or last_used_at < ?)
                    and id in ",
                [int(now), int(now)],
            );
            update.rows([ids.iter().map(Arg::text).collect()]);
            self.note(update).await?;
        }
        Ok(())
    }
}

impl dyn Change + '_ {
    /// Counts this change, so that every server reads anew.
    pub async fn count(&mut self) -> sqlx::Result<()> {
        self.run(Statement::new(
            "update auth_version set version = version + 1",
        ))
        .await
    }

    /// Whether there is a user.
    pub async fn any_users(&mut self) -> sqlx::Result<bool> {
        let users = self.select_count(Statement::new("select count(*) from users"));
        Ok(users.await? > 0)
    }

    /// How many users could still administer.
    pub async fn active_admins(&mut self) -> sqlx::Result<i64> {
        self.select_count(Statement::new(
            "select count(*)
            from users
            where role = 'admin'
                and disabled_at is null",
        ))
        .await
    }

    /// The user of this name.
    pub async fn user(&mut self, name: &str) -> sqlx::Result<Option<UserRow>> {
        Ok(self.select_users(named(USERS, name)).await?.pop())
    }

    /// Adds a user.
    pub async fn insert_user(&mut self, user: &UserRow) -> sqlx::Result<()> {
        self.run(Statement::with(
            "insert into users
                (id, name, password_hash, role, created_at, signed_in_at, disabled_at)
            values (?, ?, ?, ?, ?, ?, ?)",
            [
                Arg::text(&user.id),
                Arg::text(&user.name),
                Arg::text(&user.password_hash),
                Arg::text(&user.role),
                int(user.created_at),
                Arg::Int(user.signed_in_at),
                Arg::Int(user.disabled_at),
            ],
        ))
        .await
    }

    /// Writes everything but identity, name and creation.
    pub async fn update_user(&mut self, user: &UserRow) -> sqlx::Result<()> {
        self.run(Statement::with(
            "update users
            set password_hash = ?,
                role = ?,
                signed_in_at = ?,
                disabled_at = ?
            where id = ?",
            [
                Arg::text(&user.password_hash),
                Arg::text(&user.role),
                Arg::Int(user.signed_in_at),
                Arg::Int(user.disabled_at),
                Arg::text(&user.id),
            ],
        ))
        .await
    }

    /// The token of this name.
    pub async fn token(&mut self, name: &str) -> sqlx::Result<Option<TokenRow>> {
        Ok(self.select_tokens(named(TOKENS, name)).await?.pop())
    }

    /// Adds a token.
    pub async fn insert_token(&mut self, token: &TokenRow) -> sqlx::Result<()> {
        self.run(Statement::with(
            "insert into tokens
                (id, name, digest, role, prefixes, created_at, expires_at)
            values (?, ?, ?, ?, ?, ?, ?)",
            [
                Arg::text(&token.id),
                Arg::text(&token.name),
                bytes(&token.digest),
                Arg::text(&token.role),
                Arg::text(&token.prefixes),
                int(token.created_at),
                Arg::Int(token.expires_at),
            ],
        ))
        .await
    }

    /// Writes digest, rotation and revocation.
    pub async fn update_token(&mut self, token: &TokenRow) -> sqlx::Result<()> {
        self.run(Statement::with(
            "update tokens
            set digest = ?,
                rotated_at = ?,
                revoked_at = ?
            where id = ?",
            [
                bytes(&token.digest),
                Arg::Int(token.rotated_at),
                Arg::Int(token.revoked_at),
                Arg::text(&token.id),
            ],
        ))
        .await
    }

    /// Adds a session.
    pub async fn insert_session(&mut self, session: &SessionRow) -> sqlx::Result<()> {
        self.run(Statement::with(
            "insert into sessions
                (digest, user_id, created_at, last_seen_at, expires_at)
            values (?, ?, ?, ?, ?)",
            [
                bytes(&session.digest),
                Arg::text(&session.user_id),
                int(session.created_at),
                int(session.created_at),
                int(session.expires_at),
            ],
        ))
        .await
    }

    /// Ends a session.
    pub async fn delete_session(&mut self, digest: &Digest) -> sqlx::Result<()> {
        self.run(Statement::with(
            "delete from sessions where digest = ?",
            [bytes(digest)],
        ))
        .await
    }

    /// Ends all of a user's sessions but one.
    pub async fn delete_sessions(&mut self, user: &str, but: Option<&Digest>) -> sqlx::Result<()> {
        let mut delete =
            Statement::with("delete from sessions where user_id = ?", [Arg::text(user)]);
        if let Some(digest) = but {
            delete.push(" and digest <> ").bind(bytes(digest));
        }
        self.run(delete).await
    }

    /// Drops sessions past their end, or not seen since `idle_since`.
    pub async fn delete_stale_sessions(&mut self, idle_since: i64) -> sqlx::Result<()> {
        let now = self.now();
        self.run(Statement::with(
            "delete from sessions
            where expires_at <= ?
                or last_seen_at <= ?",
            [int(now), int(idle_since)],
        ))
        .await
    }
}

fn by_name(select: &str) -> Statement {
    let mut select = Statement::new(select);
    select.push(" order by name");
    select
}

fn named(select: &str, name: &str) -> Statement {
    let mut select = Statement::new(select);
    select.push(" where name = ").bind(Arg::text(name));
    select
}

fn int(value: i64) -> Arg {
    Arg::Int(Some(value))
}

fn bytes(value: &[u8]) -> Arg {
    Arg::Bytes(Some(value.to_vec()))
}
