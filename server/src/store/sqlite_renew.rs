//! How a SQLite file's rows are renewed: a thousand at once, by texts that are made
//! once and stay prepared.

use std::sync::{Arc, LazyLock};

use baton_client::LeaseName;
use sqlx::{AssertSqlSafe, SqliteConnection};

use crate::rules::LeaseRow;

use super::{
    alike::{Renewals, Written},
    backend::DbResult,
    record::{LEASE_COLUMNS, LeaseRecord},
};

/// Rows to renew in one statement: two to this power, or a lower one. Far below
/// SQLite's bound of 32,766 values.
const POWER_MAX: u32 = 10;

/// Reads rows that are to be renewed.
pub async fn read(db: &mut SqliteConnection, names: &[LeaseName]) -> DbResult<Vec<Arc<LeaseRow>>> {
    static TEXTS: LazyLock<Vec<String>> = LazyLock::new(|| {
        texts("?", |places| {
            format!("select {LEASE_COLUMNS} from leases where name in ({places})")
        })
    });
    let mut rows = Vec::with_capacity(names.len());
    for (names, size, sql) in pieces(names, &TEXTS) {
        let mut select = sqlx::query_as(AssertSqlSafe(sql));
        for name in names {
            select = select.bind(name.as_str());
        }
        for _ in names.len()..size {
            select = select.bind(None::<&str>);
        }
        let records: Vec<LeaseRecord> = select.fetch_all(&mut *db).await?;
        for record in records {
            rows.push(Arc::new(record.try_into()?));
        }
    }
    Ok(rows)
}

/// Writes what renewals change.
pub async fn write(db: &mut SqliteConnection, rows: &[Arc<LeaseRow>]) -> DbResult<()> {
    let Renewals { alike, others } = Renewals::of(rows);
    for (written, names) in alike {
        write_alike(db, written, &names).await?;
    }
    write_others(db, &others).await
}

/// Writes the same to many rows.
async fn write_alike(
    db: &mut SqliteConnection,
    written: Written<'_>,
    names: &[&str],
) -> DbResult<()> {
    static TEXTS: LazyLock<Vec<String>> = LazyLock::new(|| {
        texts("?", |places| {
            format!(
                "update leases set renewed_at = ?, expires_at = ?, ttl_ms = ?, status = ?
                where name in ({places})"
            )
        })
    });
    for (names, size, sql) in pieces(names, &TEXTS) {
        let mut update = sqlx::query(AssertSqlSafe(sql))
            .bind(written.renewed_at)
            .bind(written.expires_at)
            .bind(written.ttl_ms)
            .bind(written.status);
        for name in names {
            update = update.bind(*name);
        }
        for _ in names.len()..size {
            update = update.bind(None::<&str>);
        }
        update.execute(&mut *db).await?;
    }
    Ok(())
}

/// Writes to each row its own.
async fn write_others(db: &mut SqliteConnection, others: &[(&str, Written<'_>)]) -> DbResult<()> {
    static TEXTS: LazyLock<Vec<String>> = LazyLock::new(|| {
        texts("(?, ?, ?, ?, ?)", |places| {
            format!(
                "with renewed (name, renewed_at, expires_at, ttl_ms, status) as (
                    values {places}
                )
                update leases set
                    renewed_at = renewed.renewed_at,
                    expires_at = renewed.expires_at,
                    ttl_ms = renewed.ttl_ms,
                    status = renewed.status
                from renewed where leases.name = renewed.name"
            )
        })
    });
    for (others, size, sql) in pieces(others, &TEXTS) {
        let mut update = sqlx::query(AssertSqlSafe(sql));
        for (name, written) in others {
            update = update
                .bind(*name)
                .bind(written.renewed_at)
                .bind(written.expires_at)
                .bind(written.ttl_ms)
                .bind(written.status);
        }
        for _ in 5 * others.len()..5 * size {
            update = update.bind(None::<i64>);
        }
        update.execute(&mut *db).await?;
    }
    Ok(())
}

/// One text for each number of rows to renew that is a power of two, with so many
/// places in it.
fn texts(place: &str, text: impl Fn(String) -> String) -> Vec<String> {
    (0..=POWER_MAX)
        .map(|power| text(vec![place; 1 << power].join(", ")))
        .collect()
}

/// Splits rows to renew into pieces, each with a text for so many rows, or for
/// more: the places that are left take null, which is no lease's name.
fn pieces<'a, T>(
    rows: &'a [T],
    texts: &'static [String],
) -> impl Iterator<Item = (&'a [T], usize, &'static str)> {
    rows.chunks(1 << POWER_MAX).map(|piece| {
        let size = piece.len().next_power_of_two();
        (piece, size, texts[size.ilog2() as usize].as_str())
    })
}
