//! What the two databases have to do for people: statements in, rows out. What is
//! asked stands in `sql`, what the rows mean is decided above.

use async_trait::async_trait;
use sqlx::FromRow;

use super::secrets::Digest;
use crate::{access_log::Draft, store::Statement};

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

/// Reading, each call by itself, and small notes.
#[async_trait]
pub(super) trait Backend: Send + Sync + std::fmt::Debug {
    /// Adds the time that people are judged by, in microseconds.
    fn now(&self, statement: &mut Statement);
    /// On a connection of its own, so that no queue of readers delays it.
    async fn select_version(&self, select: Statement) -> sqlx::Result<Version>;
    /// On the same connection.
    async fn select_tokens(&self, select: Statement) -> sqlx::Result<Vec<TokenRow>>;
    async fn select_users(&self, select: Statement) -> sqlx::Result<Vec<UserRow>>;
    async fn select_session(&self, select: Statement) -> sqlx::Result<Option<SessionUser>>;
    /// Changes what nobody has to learn of.
    async fn note(&self, statement: Statement) -> sqlx::Result<()>;
    /// Begins a change. One at a time, over all servers: it holds the counter.
    async fn change(&self) -> sqlx::Result<Box<dyn Change>>;
}

/// A transaction that changes something. Dropped without [`Change::commit`], it
/// did not happen.
#[async_trait]
pub(super) trait Change: Send {
    /// The database's time, read after the counter was locked.
    fn now(&self) -> i64;
    async fn select_users(&mut self, select: Statement) -> sqlx::Result<Vec<UserRow>>;
    async fn select_tokens(&mut self, select: Statement) -> sqlx::Result<Vec<TokenRow>>;
    async fn select_count(&mut self, select: Statement) -> sqlx::Result<i64>;
    async fn run(&mut self, statement: Statement) -> sqlx::Result<()>;
    /// Adds to the access log. The last thing before the commit.
    async fn write_down(&mut self, entries: &[Draft]) -> sqlx::Result<()>;
    async fn commit(self: Box<Self>) -> sqlx::Result<()>;
}
