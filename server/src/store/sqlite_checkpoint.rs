//! Keeps SQLite's write-ahead log short. Left to itself SQLite copies it into
//! the database within the commit that makes it long, and everybody waits for
//! that; here it is copied beside the writer.

use std::time::Duration;

use sqlx::SqlitePool;

use crate::database::SqliteDatabase;

/// How often to copy what is new.
const EVERY: Duration = Duration::from_millis(200);
/// From how many pages on the log should begin anew: 32 MiB.
const LONG: i64 = 8_192;

/// Copies, as long as the database is open.
pub fn keep_short(database: &SqliteDatabase) {
    let database = database.clone();
    tokio::spawn(async move {
        while !database.readers.is_closed() {
            tokio::time::sleep(EVERY).await;
            if let Err(error) = copy(&database).await
                && !database.readers.is_closed()
            {
                tracing::warn!(%error, "SQLite's write-ahead log cannot be copied; it grows");
            }
        }
    });
}

async fn copy(database: &SqliteDatabase) -> sqlx::Result<()> {
    // This may be done on a connection that changes nothing else.
    let pages = checkpoint(&database.readers).await?;
    if pages < LONG {
        return Ok(());
    }
    // While others write, there is always something left. The writer itself
    // finds but that little, and its next commit begins the log anew, unless
    // somebody reads from it just then.
    checkpoint(&database.writer).await?;
    Ok(())
}

/// Copies what nobody needs to be waited for, and says how long the log is.
async fn checkpoint(connections: &SqlitePool) -> sqlx::Result<i64> {
    let (_, pages, _): (i64, i64, i64) = sqlx::query_as("pragma wal_checkpoint(passive)")
        .fetch_one(connections)
        .await?;
    Ok(pages)
}
