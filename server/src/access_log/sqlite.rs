//! The access log on SQLite. The time is the wall clock's, as it is for people,
//! but never less than the entry's before.

use std::time::SystemTime;

use baton_client::{AccessEntry, Timestamp};
use sqlx::{AssertSqlSafe, SqliteConnection, SqlitePool};

use crate::store::{Statement, bind_all};

use super::{
    Ends,
    entry::{AccessRecord, Draft, Tip, TipRecord, sealed},
};

fn now() -> Timestamp {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    Timestamp::from_micros(since.map_or(0, |since| since.as_micros() as i64))
}

/// Adds entries, in the transaction that the connection is in.
///
/// # Errors
/// What the driver says.
pub async fn append(connection: &mut SqliteConnection, drafts: &[Draft]) -> sqlx::Result<()> {
    let tip: TipRecord = sqlx::query_as("select seq, at, hash from access_head")
        .fetch_one(&mut *connection)
        .await?;
    let mut tip = Tip::from(tip);
    let (insert, update) = sealed(&mut tip, drafts, now())?;
    for Statement { sql, args } in [insert, update] {
        bind_all!(sqlx::query(AssertSqlSafe(sql)), args)
            .execute(&mut *connection)
            .await?;
    }
    Ok(())
}

/// Where it ends.
///
/// # Errors
/// What the driver says.
pub async fn ends(pool: &SqlitePool) -> sqlx::Result<Ends> {
    let tip: TipRecord = sqlx::query_as("select seq, at, hash from access_head")
        .fetch_one(pool)
        .await?;
    let tip = Tip::from(tip);
    let now = now().max(tip.at);
    Ok(Ends { tip, now })
}

/// The entries that a statement selects.
///
/// # Errors
/// What the driver says.
pub async fn select(pool: &SqlitePool, select: Statement) -> sqlx::Result<Vec<AccessEntry>> {
    let Statement { sql, args } = select;
    let records: Vec<AccessRecord> = bind_all!(sqlx::query_as(AssertSqlSafe(sql)), args)
        .fetch_all(pool)
        .await?;
    records.into_iter().map(AccessEntry::try_from).collect()
}
