//! The access log on PostgreSQL. The time is the database's.

use baton_client::{AccessEntry, Timestamp};
use sqlx::{AssertSqlSafe, PgConnection, PgPool};

use crate::store::{Statement, bind_all};

use super::{
    Ends,
    entry::{AccessRecord, Draft, Tip, TipRecord, sealed},
};

const NOW: &str = "select (extract(epoch from clock_timestamp()) * 1000000)::bigint";

/// Adds entries, in the transaction that the connection is in. The end of the log
/// is locked last of all.
///
/// # Errors
/// What the driver says.
pub async fn append(connection: &mut PgConnection, drafts: &[Draft]) -> sqlx::Result<()> {
    let tip: TipRecord = sqlx::query_as("select seq, at, hash from access_head for update")
        .fetch_one(&mut *connection)
        .await?;
    let mut tip = Tip::from(tip);
    let micros: i64 = sqlx::query_scalar(NOW).fetch_one(&mut *connection).await?;
    let (insert, update) = sealed(&mut tip, drafts, Timestamp::from_micros(micros))?;
    for statement in [insert, update] {
        let sql = AssertSqlSafe(statement.numbered());
        bind_all!(sqlx::query(sql).persistent(false), statement.args)
            .execute(&mut *connection)
            .await?;
    }
    Ok(())
}

/// Where it ends.
///
/// # Errors
/// What the driver says.
pub async fn ends(pool: &PgPool) -> sqlx::Result<Ends> {
    let tip: TipRecord = sqlx::query_as("select seq, at, hash from access_head")
        .fetch_one(pool)
        .await?;
    let tip = Tip::from(tip);
    let micros: i64 = sqlx::query_scalar(NOW).fetch_one(pool).await?;
    let now = Timestamp::from_micros(micros).max(tip.at);
    Ok(Ends { tip, now })
}

/// The entries that a statement selects.
///
/// # Errors
/// What the driver says.
pub async fn select(pool: &PgPool, select: Statement) -> sqlx::Result<Vec<AccessEntry>> {
    let sql = AssertSqlSafe(select.numbered());
    let records: Vec<AccessRecord> = bind_all!(sqlx::query_as(sql), select.args)
        .fetch_all(pool)
        .await?;
    records.into_iter().map(AccessEntry::try_from).collect()
}
