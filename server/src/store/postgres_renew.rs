//! How rows are renewed on PostgreSQL: without being read or locked before, if they
//! still have the version that this server remembers, and together.
//!
//! A row's version is the transaction that wrote it (`xmin`). The statement that
//! writes compares it, so a row that somebody else wrote meanwhile stays as it is,
//! and the batch is done again with its rows locked.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use baton_client::LeaseName;
use sqlx::{PgConnection, Row as _, postgres::PgRow};

use crate::rules::LeaseRow;

use super::{
    alike::{Renewals, Written},
    backend::DbResult,
    kept::Rows,
};

/// The transaction that wrote a row last. Every transaction has another one,
/// until after four thousand million they come again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Version(u32);

/// The versions of rows that are remembered, in the order of their leases' names.
#[derive(Debug, Default)]
pub struct Versions(Vec<(LeaseName, Version)>);

impl Versions {
    /// The versions that these rows must have, as the signed numbers that PostgreSQL
    /// compares them with; null for a row that is locked. `names` are sorted.
    fn expected<'a>(&self, names: impl Iterator<Item = &'a str>) -> Vec<Option<i32>> {
        let mut known = self.0.iter().peekable();
        let version = |name| {
            while known.next_if(|(known, _)| known.as_str() < name).is_some() {}
            let (_, version) = known.next_if(|(known, _)| known.as_str() == name)?;
            Some(version.0.cast_signed())
        };
        names.map(version).collect()
    }
}

/// Rows that this server wrote, as of the transaction that did.
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

    /// Takes out what is kept of these leases, which are sorted.
    pub fn take(&self, names: &[LeaseName]) -> (Versions, Vec<Arc<LeaseRow>>) {
        let mut inner = self.inner();
        let mut versions = Vec::with_capacity(names.len());
        let mut rows = Vec::with_capacity(names.len());
        for name in names {
            if let Some((version, row)) = inner.rows.remove(name.as_str()) {
                versions.push((name.clone(), version));
                rows.push(row);
            }
        }
        (Versions(versions), rows)
    }

    /// Forgets leases that are about to change.
    pub fn forget(&self, names: &[&str]) {
        let mut inner = self.inner();
        for name in names {
            inner.rows.remove(name);
        }
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

/// Writes what renewals change, to rows that are locked or have the version that is
/// expected. Says whether it reached all of them.
pub async fn write(
    db: &mut PgConnection,
    rows: &[Arc<LeaseRow>],
    versions: &Versions,
) -> DbResult<bool> {
    let Renewals { alike, others } = Renewals::of(rows);
    let mut count = 0;
    for (written, names) in &alike {
        count += write_alike(db, *written, names, versions).await?;
    }
    if !others.is_empty() {
        count += write_others(db, &others, versions).await?;
    }
    Ok(count == rows.len() as u64)
}

/// Writes the same to many rows.
async fn write_alike(
    db: &mut PgConnection,
    written: Written<'_>,
    names: &[&str],
    versions: &Versions,
) -> DbResult<u64> {
    let expected = versions.expected(names.iter().copied());
    // Those that are renewed in one call were so the last time, too.
    let update = match expected.first() {
        Some(Some(first)) if expected.iter().all(|version| *version == Some(*first)) => {
            sqlx::query(
                "update leases set renewed_at = $3, expires_at = $4, ttl_ms = $5, status = $6
                where name = any($1) and xmin = $2::int",
            )
            .bind(names)
            .bind(*first)
        }
        _ => sqlx::query(
            "update leases set renewed_at = $3, expires_at = $4, ttl_ms = $5, status = $6
            from unnest($1::text[], $2::int[]) as renewed (name, version)
            where leases.name = renewed.name
                and (renewed.version is null or leases.xmin = renewed.version)",
        )
        .bind(names)
        .bind(expected),
    };
    let update = update
        .bind(written.renewed_at)
        .bind(written.expires_at)
        .bind(written.ttl_ms)
        .bind(written.status);
    Ok(update.execute(db).await?.rows_affected())
}

/// Writes to each row its own.
async fn write_others(
    db: &mut PgConnection,
    others: &[(&str, Written<'_>)],
    versions: &Versions,
) -> DbResult<u64> {
    let names: Vec<&str> = others.iter().map(|(name, _)| *name).collect();
    let column = |of: fn(&Written<'_>) -> i64| -> Vec<i64> {
        others.iter().map(|(_, written)| of(written)).collect()
    };
    let statuses: Vec<Option<&str>> = others.iter().map(|(_, written)| written.status).collect();
    let update = sqlx::query(
        "update leases set
            renewed_at = renewed.renewed_at,
            expires_at = renewed.expires_at,
            ttl_ms = renewed.ttl_ms,
            status = renewed.status
        from unnest($1::text[], $2::int[], $3::bigint[], $4::bigint[], $5::bigint[], $6::text[])
            as renewed (name, version, renewed_at, expires_at, ttl_ms, status)
        where leases.name = renewed.name
            and (renewed.version is null or leases.xmin = renewed.version)",
    )
    .bind(&names)
    .bind(versions.expected(names.iter().copied()))
    .bind(column(|written| written.renewed_at))
    .bind(column(|written| written.expires_at))
    .bind(column(|written| written.ttl_ms))
    .bind(statuses);
    Ok(update.execute(db).await?.rows_affected())
}
