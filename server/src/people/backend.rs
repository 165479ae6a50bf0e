//! What the two databases have to do for people: rows in, rows out. What the
//! rows mean is decided above; `sqlite` and `postgres` hold the SQL.

use async_trait::async_trait;
use sqlx::FromRow;

use super::secrets::Digest;
use crate::access_log::Draft;

/// A row of `users`.
#[derive(Debug, Clone, FromRow)]
pub(super) struct UserRow {
    pub id: String,
    pub name: String,
    pub password_hash: String,
    pub role: String,
    pub created_at: i64,
    pub signed_in_at: Option<i64>,
    pub disabled_at: Option<i64>,
}

/// A row of `tokens`.
#[derive(Debug, Clone, FromRow)]
pub(super) struct TokenRow {
    pub id: String,
    pub name: String,
    pub digest: Vec<u8>,
    pub role: String,
    pub prefixes: String,
    pub created_at: i64,
    pub rotated_at: Option<i64>,
    pub expires_at: Option<i64>,
    pub revoked_at: Option<i64>,
    pub last_used_at: Option<i64>,
}

/// A row of `sessions`.
#[derive(Debug, Clone)]
pub(super) struct SessionRow {
    pub digest: Digest,
    pub user_id: String,
    pub created_at: i64,
    pub expires_at: i64,
}

/// A session with its user, and the database's time when it was read.
#[derive(Debug, Clone, FromRow)]
pub(super) struct SessionUser {
    pub user_id: String,
    pub name: String,
    pub role: String,
    pub disabled_at: Option<i64>,
    pub last_seen_at: i64,
    pub expires_at: i64,
    pub now: i64,
}

/// The counter of changes, and the database's time when it was read.
#[derive(Debug, Clone, Copy, FromRow)]
pub(super) struct Version {
    pub version: i64,
    pub now: i64,
}

/// Reading, each call by itself.
#[async_trait]
pub(super) trait Backend: Send + Sync + std::fmt::Debug {
    /// On a connection of its own, so that no queue of readers delays it.
    async fn version(&self) -> sqlx::Result<Version>;
    async fn users(&self) -> sqlx::Result<Vec<UserRow>>;
    async fn user(&self, name: &str) -> sqlx::Result<Option<UserRow>>;
    async fn tokens(&self) -> sqlx::Result<Vec<TokenRow>>;
    async fn session(&self, digest: &Digest) -> sqlx::Result<Option<SessionUser>>;
    /// Notes that a session was used at `now`, unless it was noted later.
    async fn touch_session(&self, digest: &Digest, now: i64) -> sqlx::Result<()>;
    /// Notes that tokens were used at `now`, unless it was noted later.
    async fn touch_tokens(&self, ids: &[String], now: i64) -> sqlx::Result<()>;
    /// Begins a change. One at a time, over all servers: it holds the counter.
    async fn change(&self) -> sqlx::Result<Box<dyn Change>>;
}

/// A transaction that changes something. Dropped without [`Change::commit`], it
/// did not happen.
#[async_trait]
pub(super) trait Change: Send {
    /// The database's time, read after the counter was locked.
    fn now(&self) -> i64;
    /// Counts this change, so that every server reads anew.
    async fn count(&mut self) -> sqlx::Result<()>;

    async fn any_users(&mut self) -> sqlx::Result<bool>;
    /// How many users could still administer.
    async fn active_admins(&mut self) -> sqlx::Result<i64>;
    async fn user(&mut self, name: &str) -> sqlx::Result<Option<UserRow>>;
    async fn insert_user(&mut self, user: &UserRow) -> sqlx::Result<()>;
    /// Writes everything but identity, name and creation.
    async fn update_user(&mut self, user: &UserRow) -> sqlx::Result<()>;

    async fn token(&mut self, name: &str) -> sqlx::Result<Option<TokenRow>>;
    async fn insert_token(&mut self, token: &TokenRow) -> sqlx::Result<()>;
    /// Writes digest, rotation and revocation.
    async fn update_token(&mut self, token: &TokenRow) -> sqlx::Result<()>;

    async fn insert_session(&mut self, session: &SessionRow) -> sqlx::Result<()>;
    async fn delete_session(&mut self, digest: &Digest) -> sqlx::Result<()>;
    /// Ends all of a user's sessions but one.
    async fn delete_sessions(&mut self, user: &str, but: Option<&Digest>) -> sqlx::Result<()>;
    /// Drops sessions past their end, or not seen since `idle_since`.
    async fn delete_stale_sessions(&mut self, idle_since: i64) -> sqlx::Result<()>;

    /// Adds to the access log. The last thing before the commit.
    async fn write_down(&mut self, entries: &[Draft]) -> sqlx::Result<()>;

    async fn commit(self: Box<Self>) -> sqlx::Result<()>;
}
