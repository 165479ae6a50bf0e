//! The store on a SQLite file. This process is the database: one connection
//! writes, others read beside it, and time is [`Clock`]'s. What it wrote lately it
//! keeps in memory, as long as nobody else writes ([`super::kept`]).

use std::sync::{Arc, LazyLock, atomic::Ordering};

use async_trait::async_trait;
use baton_client::{Handover, LeaseName, Timestamp};
use sqlx::{AssertSqlSafe, Sqlite, SqliteConnection};

use crate::{
    chain::Head,
    database::{SqliteDatabase, is_damage},
    rules::LeaseRow,
};

use super::{
    backend::{
        Backend, Busy, DbResult, Dialect, Due, End, Lock, Locked, Place, Reading, Recalled,
        Transaction,
    },
    clock::Clock,
    kept::{Mark, Shelf, Taken},
    record::{
        ClaimRecord, HEAD_COLUMNS, HandoverRecord, HeadRecord, LEASE_COLUMNS, LeaseRecord,
        TotalsRecord, parse_names, read_all,
    },
    sql::{CLAIM_ARGS, append_handovers, move_head, save_leases, save_payload},
    sqlite_renew,
    statement::{Arg, Statement, bind_all},
};

const DIALECT: Dialect = Dialect { position: "instr" };

/// Leases among which to look at once for what is due.
const PART: i64 = 2_000;

/// Rows in one statement: below SQLite's bound of 32,766 values, and always
/// one of a few sizes, so that statements stay prepared.
const CHUNKS: [usize; 4] = [512, 64, 8, 1];

/// A SQLite file.
pub struct SqliteBackend {
    database: SqliteDatabase,
    clock: Clock,
    kept: Shelf,
}

impl SqliteBackend {
    /// Takes over the file's clock.
    ///
    /// # Errors
    /// What the driver says.
    pub async fn start(database: SqliteDatabase) -> DbResult<Self> {
        let newest = newest_past(&database).await?;
        Ok(Self::at(newest, database))
    }

    /// Looks at a file that may be damaged. Its time is the wall clock's where the
    /// file's cannot be read.
    ///
    /// # Errors
    /// What the driver says.
    pub async fn look(database: SqliteDatabase) -> DbResult<Self> {
        let newest = match newest_past(&database).await {
            Err(error) if is_damage(&error) => Timestamp::default(),
            newest => newest?,
        };
        Ok(Self::at(newest, database))
    }

    fn at(newest: Timestamp, database: SqliteDatabase) -> Self {
        Self {
            clock: Clock::start(newest),
            database,
            kept: Shelf::default(),
        }
    }
}

/// The newest time that is past and that a server wrote: an expiry may lie ahead.
async fn newest_past(database: &SqliteDatabase) -> DbResult<Timestamp> {
    let newest: i64 = sqlx::query_scalar(
        "select max(
            (select at from log_head),
            (select coalesce(max(renewed_at), 0) from leases)
        )",
    )
    .fetch_one(&database.writer)
    .await?;
    Ok(Timestamp::from_micros(newest))
}

#[async_trait]
impl Backend for SqliteBackend {
    async fn begin(&self) -> DbResult<Box<dyn Transaction>> {
        // A transaction that begins by reading could not become a writer.
        let mut tx = self.database.writer.begin_with("begin immediate").await?;
        // From here to the end, nobody else writes.
        let (others, own): (i64, i64) =
            sqlx::query_as("select data_version, total_changes() from pragma_data_version")
                .fetch_one(&mut *tx)
                .await?;
        Ok(Box::new(SqliteTransaction {
            tx,
            clock: self.clock.clone(),
            kept: self.kept.take(Mark {
                connection: self.database.writer_number.load(Ordering::Acquire),
                others,
                own,
            }),
            renewed: Vec::new(),
            saved: false,
        }))
    }

    async fn recall(&self, _: &[LeaseName]) -> DbResult<Option<Recalled>> {
        // To lock rows is to remember them, here.
        Ok(None)
    }

    async fn read(&self) -> DbResult<Box<dyn Reading>> {
        Ok(Box::new(SqliteReading {
            tx: self.database.readers.begin().await?,
            clock: self.clock.clone(),
        }))
    }

    async fn due(&self, from: &Place) -> DbResult<Due> {
        let after = match from {
            Place::After(name) => name.as_str(),
            Place::Start | Place::Block(_) => "",
        };
        let mut part: Vec<(String, bool)> = sqlx::query_as(
            "with part as materialized (
                select name, (expires_at <= $1 and not lapsed) is true
                    or (step_down_deadline <= $1) is true as due
                from leases where name > $2 order by name limit $3
            )
            select name, due from part
            where due or name = (select max(name) from part)
            order by name",
        )
        .bind(self.clock.now().micros())
        .bind(after)
        .bind(PART)
        .fetch_all(&self.database.readers)
        .await?;
        let next = part.last().map(|(name, _)| Place::After(name.clone()));
        part.retain(|(_, due)| *due);
        Ok(Due {
            names: parse_names(part.into_iter().map(|(name, _)| name).collect())?,
            next,
        })
    }

    async fn notified(&self) {
        // There is no other server.
        std::future::pending().await
    }

    fn renew_lanes(&self) -> usize {
        // There is one writer.
        1
    }

    async fn end_fences(&self, _: &LeaseName) -> DbResult<u64> {
        Ok(0)
    }

    async fn in_the_way(&self) -> DbResult<Option<String>> {
        // There is one writer, and it waits for nobody.
        Ok(None)
    }

    fn is_lock_timeout(&self, _: &sqlx::Error) -> bool {
        false
    }

    fn dialect(&self) -> Dialect {
        DIALECT
    }
}

struct SqliteTransaction {
    tx: sqlx::Transaction<'static, Sqlite>,
    clock: Clock,
    kept: Taken,
    /// Rows to keep once this is on disk.
    renewed: Vec<Arc<LeaseRow>>,
    /// More was written than rows that were renewed.
    saved: bool,
}

impl SqliteTransaction {
    /// Reads rows that are to change, with their payloads.
    async fn read_to_change(&mut self, names: &[LeaseName]) -> DbResult<Vec<Arc<LeaseRow>>> {
        let mut rows = Vec::with_capacity(names.len());
        for chunk in chunks(names) {
            let mut select = Statement::new("select ");
            select.push(LEASE_COLUMNS);
            select.push(", payload from leases left join payloads on lease = name where name in (");
            for (i, name) in chunk.iter().enumerate() {
                select.push(if i == 0 { "" } else { ", " });
                select.bind(Arg::text(name));
            }
            select.push(")");
            let Statement { sql, args } = select;
            let records: Vec<LeaseRecord> = bind_all!(sqlx::query_as(AssertSqlSafe(sql)), args)
                .fetch_all(&mut *self.tx)
                .await?;
            for record in records {
                rows.push(Arc::new(record.try_into()?));
            }
        }
        Ok(rows)
    }
}

#[async_trait]
impl Transaction for SqliteTransaction {
    async fn lock(&mut self, names: &[LeaseName], lock: Lock, _: Busy) -> DbResult<Locked> {
        // The only writer has locked everything.
        let mut rows = Vec::with_capacity(names.len());
        let mut unknown = Vec::new();
        for name in names {
            match (self.kept.remove(name), lock) {
                (Some(row), Lock::Renew) => rows.push(row),
                (None, Lock::Renew) => unknown.push(name.clone()),
                // Kept without its payload, and now it may change.
                (_, Lock::Change) => {}
            }
        }
        match lock {
            Lock::Renew => rows.extend(sqlite_renew::read(&mut self.tx, &unknown).await?),
            Lock::Change => rows.extend(self.read_to_change(names).await?),
        }
        Ok(Locked {
            rows,
            busy: Vec::new(),
        })
    }

    async fn now(&mut self) -> DbResult<Timestamp> {
        Ok(self.clock.now())
    }

    async fn end(&mut self) -> DbResult<End> {
        end(&mut self.tx).await
    }

    async fn lock_all(&mut self, _: u32) -> DbResult<()> {
        // The only writer has locked everything.
        self.kept.clear();
        Ok(())
    }

    async fn leases(&mut self, select: Statement) -> DbResult<Vec<LeaseRow>> {
        leases(&mut self.tx, select).await
    }

    async fn handovers(&mut self, select: Statement) -> DbResult<Vec<Handover>> {
        handovers(&mut self.tx, select).await
    }

    async fn cut(&mut self, last: u64) -> DbResult<u64> {
        self.saved = true;
        let guard: String = sqlx::query_scalar(
            "select sql from sqlite_master where type = 'trigger' and name = 'handovers_no_delete'",
        )
        .fetch_one(&mut *self.tx)
        .await?;
        sqlx::query("drop trigger handovers_no_delete")
            .execute(&mut *self.tx)
            .await?;
        let gone = sqlx::query("delete from handovers where seq <= $1")
            .bind(last as i64)
            .execute(&mut *self.tx)
            .await?;
        sqlx::raw_sql(AssertSqlSafe(guard))
            .execute(&mut *self.tx)
            .await?;
        Ok(gone.rows_affected())
    }

    async fn run(&mut self, statement: Statement) -> DbResult<()> {
        self.saved = true;
        let Statement { sql, args } = statement;
        bind_all!(sqlx::query(AssertSqlSafe(sql)), args)
            .execute(&mut *self.tx)
            .await?;
        Ok(())
    }

    async fn claims(&mut self, select: Statement) -> DbResult<Vec<ClaimRecord>> {
        let Statement { sql, args } = select;
        let prepared = args.len() == CLAIM_ARGS;
        bind_all!(
            sqlx::query_as(AssertSqlSafe(sql)).persistent(prepared),
            args
        )
        .fetch_all(&mut *self.tx)
        .await
    }

    async fn fences(&mut self, _: &LeaseName) -> DbResult<Option<String>> {
        // Nobody but the server writes here.
        Ok(None)
    }

    async fn renew(&mut self, rows: &[Arc<LeaseRow>]) -> DbResult<bool> {
        sqlite_renew::write(&mut self.tx, rows).await?;
        self.renewed.extend(rows.iter().cloned());
        Ok(true)
    }

    async fn save(&mut self, rows: &[&LeaseRow]) -> DbResult<()> {
        self.saved = true;
        for chunk in chunks(rows) {
            self.run(save_leases(chunk)).await?;
        }
        Ok(())
    }

    async fn save_payload(&mut self, row: &LeaseRow) -> DbResult<()> {
        self.saved = true;
        self.run(save_payload(row)).await
    }

    async fn append(&mut self, entries: &[Handover], head: &Head) -> DbResult<()> {
        self.saved = true;
        for chunk in chunks(entries) {
            self.run(append_handovers(chunk)).await?;
        }
        self.run(move_head(head)).await
    }

    async fn undo(self: Box<Self>) -> DbResult<()> {
        self.tx.rollback().await
    }

    async fn commit(self: Box<Self>) -> DbResult<()> {
        let Self {
            mut tx,
            mut kept,
            renewed,
            saved,
            ..
        } = *self;
        let mut mark = kept.doubt();
        mark.own += renewed.len() as i64;
        if saved {
            mark.own = sqlx::query_scalar("select total_changes()")
                .fetch_one(&mut *tx)
                .await?;
        }
        tx.commit().await?;
        kept.keep(renewed, mark);
        Ok(())
    }
}

/// Splits a slice into pieces of a few sizes only.
fn chunks<T>(mut items: &[T]) -> impl Iterator<Item = &[T]> {
    std::iter::from_fn(move || {
        let size = CHUNKS.into_iter().find(|size| *size <= items.len())?;
        let (chunk, rest) = items.split_at(size);
        items = rest;
        Some(chunk)
    })
}

async fn end(connection: &mut SqliteConnection) -> DbResult<End> {
    static READ: LazyLock<String> =
        LazyLock::new(|| format!("select {HEAD_COLUMNS} from log_head"));
    let record: HeadRecord = sqlx::query_as(AssertSqlSafe(READ.as_str()))
        .fetch_one(connection)
        .await?;
    Ok(record.try_into()?)
}

async fn leases(connection: &mut SqliteConnection, select: Statement) -> DbResult<Vec<LeaseRow>> {
    let Statement { sql, args } = select;
    let records: Vec<LeaseRecord> = bind_all!(sqlx::query_as(AssertSqlSafe(sql)), args)
        .fetch_all(connection)
        .await?;
    read_all(records)
}

async fn handovers(
    connection: &mut SqliteConnection,
    select: Statement,
) -> DbResult<Vec<Handover>> {
    let Statement { sql, args } = select;
    let records: Vec<HandoverRecord> = bind_all!(sqlx::query_as(AssertSqlSafe(sql)), args)
        .fetch_all(connection)
        .await?;
    read_all(records)
}

struct SqliteReading {
    tx: sqlx::Transaction<'static, Sqlite>,
    clock: Clock,
}

#[async_trait]
impl Reading for SqliteReading {
    async fn now(&mut self) -> DbResult<Timestamp> {
        Ok(self.clock.now())
    }

    async fn end(&mut self) -> DbResult<End> {
        end(&mut self.tx).await
    }

    async fn leases(&mut self, select: Statement) -> DbResult<Vec<LeaseRow>> {
        leases(&mut self.tx, select).await
    }

    async fn handovers(&mut self, select: Statement) -> DbResult<Vec<Handover>> {
        handovers(&mut self.tx, select).await
    }

    async fn totals(&mut self, select: Statement) -> DbResult<TotalsRecord> {
        let Statement { sql, args } = select;
        bind_all!(sqlx::query_as(AssertSqlSafe(sql)), args)
            .fetch_one(&mut *self.tx)
            .await
    }
}
