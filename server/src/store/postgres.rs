//! The store on PostgreSQL, which any number of servers share. Time is
//! `clock_timestamp()`, read after the rows are locked: `now()` stands still
//! from the transaction's start, so it is stale after a wait.

use std::{
    collections::HashMap,
    sync::{Arc, LazyLock},
    time::Duration,
};

use async_trait::async_trait;
use baton_client::{Handover, LeaseName, Timestamp};
use sqlx::{AssertSqlSafe, PgConnection, PgPool, Postgres, Row as _, postgres::PgListener};
use tokio::sync::Mutex;

use crate::{chain::Head, database, rules::LeaseRow};

use super::{
    backend::{
        Backend, Busy, DbResult, Dialect, Due, End, Lock, Locked, Place, Reading, Recalled,
        Transaction,
    },
    postgres_renew::{self, Kept, Version, Versions},
    record::{
        ClaimRecord, HEAD_COLUMNS, HandoverRecord, HeadRecord, LEASE_COLUMNS, LeaseRecord,
        TotalsRecord, parse_names, read_all, read_payload,
    },
    sql::{CLAIM_ARGS, append_handovers, move_head, save_leases, save_payload},
    statement::{Statement, bind_all},
};

const DIALECT: Dialect = Dialect { position: "strpos" };

/// The channel on which servers tell each other that the log grew.
const CHANNEL: &str = "baton_log";

/// Blocks of the table in which to look at once for what is due.
const PART: i64 = 256;

/// Rows in one statement: below PostgreSQL's bound of 65,535 values.
const CHUNK: usize = 1_000;

/// Begins a transaction whose rows are not locked before. Who has one of them
/// locked commits soon, or the batch is done again without that row.
const BEGIN_RENEWALS: &str = "begin; set local lock_timeout = 50";
/// Begins one that sees one moment of everything.
const BEGIN_READING: &str = "begin isolation level repeatable read read only";

/// How long to wait before listening again after that failed.
const LISTEN_RETRY: Duration = Duration::from_secs(1);

/// The sessions that hold the lock which `baton_fence` takes besides the row, on
/// the lease `$1`. A lock's key stands in two halves.
macro_rules! fences {
    () => {
        "(
            select l.pid, a.application_name, a.usename, a.xact_start
            from pg_locks l
            join pg_stat_activity a on a.pid = l.pid
            where l.locktype = 'advisory'
                and l.database = (select oid from pg_database where datname = current_database())
                and l.objsubid = 1
                and (l.classid::bigint << 32) | l.objid::bigint = baton_fence_key($1)
                and l.granted
        ) open"
    };
}

/// The sessions that hold a lock on the table of leases that is more than a look.
macro_rules! lockers {
    () => {
        "(
            select l.pid, a.application_name, a.usename, a.xact_start
            from (
                select distinct pid from pg_locks
                where locktype = 'relation'
                    and relation = 'leases'::regclass
                    and database = (select oid from pg_database where datname = current_database())
                    and granted and mode <> 'AccessShareLock' and pid <> pg_backend_pid()
            ) l
            join pg_stat_activity a on a.pid = l.pid
        ) open"
    };
}

/// Up to three of such sessions, in words.
macro_rules! told {
    ($sessions:expr) => {
        concat!(
            "select format(
                'process %s (%s as %s), open for %s s', pid,
                coalesce(nullif(application_name, ''), 'no name'), coalesce(usename, 'somebody'),
                coalesce(floor(extract(epoch from clock_timestamp() - xact_start))::text, '?')
            ) from ",
            $sessions,
            " order by xact_start limit 3"
        )
    };
}

/// The database's time, in microseconds.
const MICROS: &str = "(extract(epoch from clock_timestamp()) * 1000000)::bigint";

/// A PostgreSQL database.
pub struct PostgresBackend {
    /// For writing: few, and never taken by a reader.
    writers: PgPool,
    readers: PgPool,
    listener: Mutex<Option<PgListener>>,
    kept: Kept,
}

impl PostgresBackend {
    /// Writes through `writers` and reads through `readers`.
    pub fn new(writers: PgPool, readers: PgPool) -> Self {
        let kept = Kept::default();
        let opened = kept.clone();
        let options = writers.options().clone().after_connect(move |_, _| {
            opened.opened();
            Box::pin(std::future::ready(Ok(())))
        });
        let to = (*writers.connect_options()).clone();
        Self {
            writers: options.connect_lazy_with(to),
            readers,
            listener: Mutex::new(None),
            kept,
        }
    }

    fn transaction(
        &self,
        tx: sqlx::Transaction<'static, Postgres>,
        opened: u64,
        versions: Versions,
    ) -> Box<dyn Transaction> {
        Box::new(PostgresTransaction {
            tx,
            opened,
            version: None,
            versions,
            written: Vec::new(),
            kept: self.kept.clone(),
        })
    }
}

#[async_trait]
impl Backend for PostgresBackend {
    async fn begin(&self) -> DbResult<Box<dyn Transaction>> {
        // Read first: what a connection to another server says is not kept.
        let opened = self.kept.times_opened();
        let tx = database::begin(&self.writers, "begin").await?;
        Ok(self.transaction(tx, opened, Versions::default()))
    }

    async fn recall(&self, names: &[LeaseName]) -> DbResult<Option<Recalled>> {
        let opened = self.kept.times_opened();
        let (versions, rows) = self.kept.take(names);
        if rows.is_empty() {
            return Ok(None);
        }
        let tx = database::begin(&self.writers, BEGIN_RENEWALS).await?;
        // The connection may have been opened just now, to another server.
        if self.kept.times_opened() != opened {
            tx.rollback().await?;
            return Ok(None);
        }
        Ok(Some((self.transaction(tx, opened, versions), rows)))
    }

    async fn read(&self) -> DbResult<Box<dyn Reading>> {
        let tx = database::begin(&self.readers, BEGIN_READING).await?;
        Ok(Box::new(PostgresReading { tx }))
    }

    async fn due(&self, from: &Place) -> DbResult<Due> {
        let block = match from {
            Place::Block(block) => *block,
            Place::Start | Place::After(_) => 0,
        };
        let (names, blocks): (Vec<String>, i64) = sqlx::query_as(
            "with clock as materialized (
                select (extract(epoch from clock_timestamp()) * 1000000)::bigint as now
            )
            select
                coalesce((
                    select array_agg(name) from leases, clock
                    where ctid >= format('(%s,0)', $1::bigint)::tid
                        and ctid < format('(%s,0)', $2::bigint)::tid
                        and ((expires_at <= now and not lapsed) or step_down_deadline <= now)
                ), '{}'),
                pg_relation_size('leases') / current_setting('block_size')::bigint",
        )
        .bind(block)
        .bind(block + PART)
        .fetch_one(&self.readers)
        .await?;
        Ok(Due {
            names: parse_names(names)?,
            next: (block + PART < blocks).then_some(Place::Block(block + PART)),
        })
    }

    async fn notified(&self) {
        let mut listener = self.listener.lock().await;
        if listener.is_none() {
            let listening = async {
                let mut listener = PgListener::connect_with(&self.readers).await?;
                listener.listen(CHANNEL).await?;
                Ok::<_, sqlx::Error>(listener)
            };
            match listening.await {
                Ok(new) => *listener = Some(new),
                // The poll behind it goes on; there is nothing to tell.
                Err(_) => return tokio::time::sleep(LISTEN_RETRY).await,
            }
        }
        if let Some(current) = listener.as_mut()
            && current.recv().await.is_err()
        {
            *listener = None;
            tokio::time::sleep(LISTEN_RETRY).await;
        }
    }

    fn renew_lanes(&self) -> usize {
        // While one waits for its commit's sync, others decide and are written. None
        // waits for what another one has locked.
        4
    }

    async fn end_fences(&self, lease: &LeaseName) -> DbResult<u64> {
        let ended: i64 = sqlx::query_scalar(concat!(
            "select count(*) filter (where pg_terminate_backend(pid)) from ",
            fences!()
        ))
        .bind(lease.as_str())
        .fetch_one(&self.readers)
        .await?;
        Ok(ended.unsigned_abs())
    }

    async fn in_the_way(&self) -> DbResult<Option<String>> {
        let open: Vec<String> = sqlx::query_scalar(told!(lockers!()))
            .fetch_all(&self.readers)
            .await?;
        Ok((!open.is_empty()).then(|| open.join("; ")))
    }

    fn is_lock_timeout(&self, error: &sqlx::Error) -> bool {
        const LOCK_NOT_AVAILABLE: &str = "55P03";
        error
            .as_database_error()
            .and_then(|error| error.code())
            .is_some_and(|code| code == LOCK_NOT_AVAILABLE)
    }

    fn dialect(&self) -> Dialect {
        DIALECT
    }
}

struct PostgresTransaction {
    tx: sqlx::Transaction<'static, Postgres>,
    /// How often connections were opened before it began.
    opened: u64,
    /// The version of what this transaction writes.
    version: Option<Version>,
    /// Rows that are not locked, and are renewed if they still have these versions.
    versions: Versions,
    /// Rows to keep once this is committed.
    written: Vec<Arc<LeaseRow>>,
    kept: Kept,
}

impl PostgresTransaction {
    /// Reads the payloads of locked rows. By a statement of its own: one that
    /// also locks sees the rows as they are after the wait, but what is joined
    /// to them as it was before.
    async fn read_payloads(&mut self, rows: &mut [LeaseRow]) -> DbResult<()> {
        if rows.is_empty() {
            return Ok(());
        }
        let names: Vec<&str> = rows.iter().map(|row| row.name.as_str()).collect();
        let payloads: Vec<(String, String)> =
            sqlx::query_as("select lease, payload from payloads where lease = any($1)")
                .bind(&names)
                .fetch_all(&mut *self.tx)
                .await?;
        let mut payloads: HashMap<String, String> = payloads.into_iter().collect();
        for row in rows {
            row.payload = read_payload(payloads.remove(row.name.as_str()))?;
        }
        Ok(())
    }

    /// Locks rows and reads them.
    async fn lock_and_read(
        &mut self,
        names: &[&str],
        lock: Lock,
        busy: Busy,
    ) -> DbResult<Vec<Arc<LeaseRow>>> {
        self.kept.forget(names);
        let records: Vec<LeaseRecord> = sqlx::query_as(AssertSqlSafe(lock_sql(lock, busy)))
            .bind(names)
            .fetch_all(&mut *self.tx)
            .await?;
        let mut rows: Vec<LeaseRow> = read_all(records)?;
        // Whoever waits for a row may be repeating a claim, which is answered
        // with the payload.
        if lock == Lock::Change || matches!(busy, Busy::Wait(_)) {
            self.read_payloads(&mut rows).await?;
        }
        Ok(rows.into_iter().map(Arc::new).collect())
    }
}

/// The text of a lock: how the rows are locked that are read. Each is made once.
fn lock_sql(lock: Lock, busy: Busy) -> &'static str {
    static TEXTS: LazyLock<[String; 4]> = LazyLock::new(|| {
        let strengths = [
            "no key update",
            "no key update skip locked",
            "update",
            "update skip locked",
        ];
        strengths.map(|strength| {
            format!(
                "select {LEASE_COLUMNS} from leases where name = any($1) \
                order by name for {strength}"
            )
        })
    });
    let [renew, renew_skip, change, change_skip] = &*TEXTS;
    match (lock, busy) {
        (Lock::Renew, Busy::Wait(_)) => renew,
        (Lock::Renew, Busy::Skip) => renew_skip,
        (Lock::Change, Busy::Wait(_)) => change,
        (Lock::Change, Busy::Skip) => change_skip,
    }
}

#[async_trait]
impl Transaction for PostgresTransaction {
    async fn lock(&mut self, names: &[LeaseName], lock: Lock, busy: Busy) -> DbResult<Locked> {
        let names: Vec<&str> = names.iter().map(LeaseName::as_str).collect();
        if let Busy::Wait(ms) = busy {
            sqlx::query("select set_config('lock_timeout', $1, true)")
                .bind(ms.to_string())
                .execute(&mut *self.tx)
                .await?;
        }
        let rows = self.lock_and_read(&names, lock, busy).await?;
        if rows.len() == names.len() {
            return Ok(Locked {
                rows,
                busy: Vec::new(),
            });
        }
        let locked: std::collections::HashSet<&str> =
            rows.iter().map(|row| row.name.as_str()).collect();
        let missing: Vec<&str> = names
            .into_iter()
            .filter(|name| !locked.contains(name))
            .collect();
        let busy: Vec<String> = sqlx::query_scalar("select name from leases where name = any($1)")
            .bind(&missing)
            .fetch_all(&mut *self.tx)
            .await?;
        Ok(Locked {
            rows,
            busy: parse_names(busy)?,
        })
    }

    async fn now(&mut self) -> DbResult<Timestamp> {
        static TEXT: LazyLock<String> =
            LazyLock::new(|| format!("select {MICROS}, pg_current_xact_id()::xid"));
        let row = sqlx::query(AssertSqlSafe(TEXT.as_str()))
            .fetch_one(&mut *self.tx)
            .await?;
        self.version = Some(postgres_renew::version(&row, 1)?);
        Ok(Timestamp::from_micros(row.try_get(0)?))
    }

    async fn end(&mut self) -> DbResult<End> {
        static LOCK: LazyLock<String> =
            LazyLock::new(|| format!("select {HEAD_COLUMNS} from log_head for update"));
        let record: HeadRecord = sqlx::query_as(AssertSqlSafe(LOCK.as_str()))
            .fetch_one(&mut *self.tx)
            .await?;
        Ok(record.try_into()?)
    }

    async fn lock_all(&mut self, wait_ms: u32) -> DbResult<()> {
        // Whoever locks a row locks the table too, more weakly. So this waits
        // for all of them, and then nobody holds the log's end either.
        sqlx::query("select set_config('lock_timeout', $1, true)")
            .bind(wait_ms.to_string())
            .execute(&mut *self.tx)
            .await?;
        sqlx::query("lock table leases in exclusive mode")
            .execute(&mut *self.tx)
            .await?;
        Ok(())
    }

    async fn leases(&mut self, select: Statement) -> DbResult<Vec<LeaseRow>> {
        leases(&mut self.tx, select).await
    }

    async fn handovers(&mut self, select: Statement) -> DbResult<Vec<Handover>> {
        handovers(&mut self.tx, select).await
    }

    async fn cut(&mut self, last: u64) -> DbResult<u64> {
        // A million entries take longer than what a server does otherwise.
        let lift = "set local statement_timeout = 0;
            alter table handovers disable trigger handovers_append_only";
        sqlx::raw_sql(lift).execute(&mut *self.tx).await?;
        let gone = sqlx::query("delete from handovers where seq <= $1")
            .bind(last as i64)
            .execute(&mut *self.tx)
            .await?;
        sqlx::query("alter table handovers enable trigger handovers_append_only")
            .execute(&mut *self.tx)
            .await?;
        Ok(gone.rows_affected())
    }

    async fn run(&mut self, statement: Statement) -> DbResult<()> {
        let sql = AssertSqlSafe(statement.numbered());
        // Texts of every length: kept prepared, they would fill the session.
        bind_all!(sqlx::query(sql).persistent(false), statement.args)
            .execute(&mut *self.tx)
            .await?;
        Ok(())
    }

    async fn claims(&mut self, select: Statement) -> DbResult<Vec<ClaimRecord>> {
        let sql = AssertSqlSafe(select.numbered());
        let prepared = select.args.len() == CLAIM_ARGS;
        bind_all!(sqlx::query_as(sql).persistent(prepared), select.args)
            .fetch_all(&mut *self.tx)
            .await
    }

    async fn fences(&mut self, lease: &LeaseName) -> DbResult<Option<String>> {
        let open: Vec<String> = sqlx::query_scalar(told!(fences!()))
            .bind(lease.as_str())
            .fetch_all(&mut *self.tx)
            .await?;
        Ok((!open.is_empty()).then(|| format!("fenced transactions: {}", open.join("; "))))
    }

    async fn renew(&mut self, rows: &[Arc<LeaseRow>]) -> DbResult<bool> {
        let all = postgres_renew::write(&mut self.tx, rows, &self.versions).await?;
        self.written.extend(rows.iter().cloned());
        Ok(all)
    }

    async fn save(&mut self, rows: &[&LeaseRow]) -> DbResult<()> {
        for chunk in rows.chunks(CHUNK) {
            self.run(save_leases(chunk)).await?;
        }
        // Whoever was granted a lease will renew it soon.
        let without_payload = |row: &&LeaseRow| {
            Arc::new(LeaseRow {
                payload: None,
                ..(*row).clone()
            })
        };
        let held = rows.iter().filter(|row| row.tenure.is_some());
        self.written.extend(held.map(without_payload));
        Ok(())
    }

    async fn save_payload(&mut self, row: &LeaseRow) -> DbResult<()> {
        self.run(save_payload(row)).await
    }

    async fn append(&mut self, entries: &[Handover], head: &Head) -> DbResult<()> {
        for chunk in entries.chunks(CHUNK) {
            self.run(append_handovers(chunk)).await?;
        }
        self.run(move_head(head)).await?;
        // Only here, never on a renewal: it takes a global lock at commit.
        sqlx::query("select pg_notify($1, '')")
            .bind(CHANNEL)
            .execute(&mut *self.tx)
            .await?;
        Ok(())
    }

    async fn undo(self: Box<Self>) -> DbResult<()> {
        self.tx.rollback().await
    }

    async fn commit(self: Box<Self>) -> DbResult<()> {
        self.tx.commit().await?;
        if let Some(version) = self.version {
            self.kept.keep(self.opened, version, self.written);
        }
        Ok(())
    }
}

async fn now(connection: &mut PgConnection) -> DbResult<Timestamp> {
    static NOW: LazyLock<String> = LazyLock::new(|| format!("select {MICROS}"));
    let now = AssertSqlSafe(NOW.as_str());
    let micros: i64 = sqlx::query_scalar(now).fetch_one(connection).await?;
    Ok(Timestamp::from_micros(micros))
}

async fn leases(connection: &mut PgConnection, select: Statement) -> DbResult<Vec<LeaseRow>> {
    let sql = AssertSqlSafe(select.numbered());
    let records: Vec<LeaseRecord> = bind_all!(sqlx::query_as(sql), select.args)
        .fetch_all(connection)
        .await?;
    read_all(records)
}

async fn handovers(connection: &mut PgConnection, select: Statement) -> DbResult<Vec<Handover>> {
    let sql = AssertSqlSafe(select.numbered());
    let records: Vec<HandoverRecord> = bind_all!(sqlx::query_as(sql), select.args)
        .fetch_all(connection)
        .await?;
    read_all(records)
}

struct PostgresReading {
    tx: sqlx::Transaction<'static, Postgres>,
}

#[async_trait]
impl Reading for PostgresReading {
    async fn now(&mut self) -> DbResult<Timestamp> {
        now(&mut self.tx).await
    }

    async fn end(&mut self) -> DbResult<End> {
        static READ: LazyLock<String> =
            LazyLock::new(|| format!("select {HEAD_COLUMNS} from log_head"));
        let record: HeadRecord = sqlx::query_as(AssertSqlSafe(READ.as_str()))
            .fetch_one(&mut *self.tx)
            .await?;
        Ok(record.try_into()?)
    }

    async fn leases(&mut self, select: Statement) -> DbResult<Vec<LeaseRow>> {
        leases(&mut self.tx, select).await
    }

    async fn handovers(&mut self, select: Statement) -> DbResult<Vec<Handover>> {
        handovers(&mut self.tx, select).await
    }

    async fn totals(&mut self, select: Statement) -> DbResult<TotalsRecord> {
        let sql = AssertSqlSafe(select.numbered());
        bind_all!(sqlx::query_as(sql), select.args)
            .fetch_one(&mut *self.tx)
            .await
    }
}
