//! How rows are renewed on PostgreSQL: locked without being read, if they still
//! have the version that this server keeps, and written together.

use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError};

use sqlx::{AssertSqlSafe, PgConnection, Row as _, postgres::PgRow};

use crate::rules::LeaseRow;

use super::{
    alike::{Renewals, Written},
    backend::DbResult,
    kept::Rows,
    record::{LEASE_COLUMNS, LeaseRecord},
};

/// The transaction that wrote a row last. Every transaction has another one,
/// until after four thousand million they come again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Version(u32);

/// Rows that this server renewed, as of the transaction that did.
#[derive(Debug, Clone, Default)]
pub struct Kept(Arc<Mutex<Inner>>);

#[derive(Debug, Default)]
struct Inner {
    /// How often a connection was opened.
    opened: u64,
    rows: Rows<Version>,
}

impl Kept {
    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A connection is opened, perhaps to another server that has taken over,
    /// whose versions are others: nothing is believed any more.
    pub fn opened(&self) {
        let mut inner = self.inner();
        inner.opened += 1;
        inner.rows = Rows::default();
    }

    /// How often that happened.
    pub fn times_opened(&self) -> u64 {
        self.inner().opened
    }

    /// Keeps rows that are committed, if no connection was opened since the
    /// transaction began.
    pub fn keep(&self, opened: u64, version: Version, rows: Vec<Arc<LeaseRow>>) {
        let mut inner = self.inner();
        if inner.opened == opened {
            for row in rows {
                inner.rows.insert(version, row);
            }
        }
    }
}

/// The version at a place of a row.
pub fn version(row: &PgRow, place: usize) -> DbResult<Version> {
    let value = row.try_get_raw(place)?;
    let bytes = value.as_bytes().map_err(sqlx::Error::Decode)?;
    let bytes: Result<[u8; 4], _> = bytes.try_into();
    let bytes = bytes.map_err(|why| sqlx::Error::Decode(Box::new(why)))?;
    Ok(Version(u32::from_be_bytes(bytes)))
}

/// Locks rows that are to be renewed, those that nobody else has locked. Rows are
/// taken from what is kept, and read if they are not what was kept.
pub async fn lock(
    db: &mut PgConnection,
    names: &[&str],
    kept: &Kept,
) -> DbResult<Vec<Arc<LeaseRow>>> {
    let locked = sqlx::query(
        "select name, xmin from leases where name = any($1) order by name \
        for no key update skip locked",
    )
    .bind(names)
    .fetch_all(&mut *db)
    .await?;
    let mut rows = Vec::with_capacity(locked.len());
    let mut unknown: Vec<&str> = Vec::new();
    {
        let mut kept = kept.inner();
        for row in &locked {
            let name: &str = row.try_get(0)?;
            let now = version(row, 1)?;
            match kept.rows.remove(name) {
                Some((then, row)) if then == now => rows.push(row),
                _ => unknown.push(name),
            }
        }
    }
    if !unknown.is_empty() {
        rows.extend(read(db, &unknown).await?);
    }
    Ok(rows)
}

/// Reads rows that are locked already.
async fn read(db: &mut PgConnection, names: &[&str]) -> DbResult<Vec<Arc<LeaseRow>>> {
    static TEXT: LazyLock<String> =
        LazyLock::new(|| format!("select {LEASE_COLUMNS} from leases where name = any($1)"));
    let found: Vec<LeaseRecord> = sqlx::query_as(AssertSqlSafe(TEXT.as_str()))
        .bind(names)
        .fetch_all(db)
        .await?;
    let mut rows = Vec::with_capacity(found.len());
    for record in found {
        rows.push(Arc::new(record.try_into()?));
    }
    Ok(rows)
}

/// Writes what renewals change.
pub async fn write(db: &mut PgConnection, rows: &[Arc<LeaseRow>]) -> DbResult<()> {
    let Renewals { alike, others } = Renewals::of(rows);
    for (written, names) in alike {
        write_alike(db, written, &names).await?;
    }
    if !others.is_empty() {
        write_others(db, &others).await?;
    }
    Ok(())
}

/// Writes the same to many rows.
async fn write_alike(db: &mut PgConnection, written: Written<'_>, names: &[&str]) -> DbResult<()> {
    sqlx::query(
        "update leases set renewed_at = $2, expires_at = $3, ttl_ms = $4, status = $5 \
        where name = any($1)",
    )
    .bind(names)
    .bind(written.renewed_at)
    .bind(written.expires_at)
    .bind(written.ttl_ms)
    .bind(written.status)
    .execute(db)
    .await?;
    Ok(())
}

/// Writes to each row its own.
async fn write_others(db: &mut PgConnection, others: &[(&str, Written<'_>)]) -> DbResult<()> {
    let names: Vec<&str> = others.iter().map(|(name, _)| *name).collect();
    let column = |of: fn(&Written<'_>) -> i64| -> Vec<i64> {
        others.iter().map(|(_, written)| of(written)).collect()
    };
    let statuses: Vec<Option<&str>> = others.iter().map(|(_, written)| written.status).collect();
    sqlx::query(
        "update leases set
            renewed_at = renewed.renewed_at,
            expires_at = renewed.expires_at,
            ttl_ms = renewed.ttl_ms,
            status = renewed.status
        from unnest($1::text[], $2::bigint[], $3::bigint[], $4::bigint[], $5::text[])
            as renewed (name, renewed_at, expires_at, ttl_ms, status)
        where leases.name = renewed.name",
    )
    .bind(names)
    .bind(column(|written| written.renewed_at))
    .bind(column(|written| written.expires_at))
    .bind(column(|written| written.ttl_ms))
    .bind(statuses)
    .execute(db)
    .await?;
    Ok(())
}
