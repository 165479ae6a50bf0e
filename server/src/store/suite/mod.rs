//! Every behaviour of the store, written once and run on both databases. One
//! file per topic.

mod ask;
mod attack;
mod clock;
mod events;
mod export;
mod failing;
mod faults;
mod fence;
mod history;
mod inquiry;
mod keeping;
mod lapses;
mod locked;
mod operator;
mod rebuilt;
mod remembered;
mod takers;
mod tenure;
mod verified;
mod waiting;

use std::time::Duration;

use baton_client::{Code, Handover, HandoverQuery, Lease, LeaseName, LeaseQuery, Order};
use sqlx::AssertSqlSafe;

use super::{Store, StoreError};
use crate::{
    database::Database,
    rules::{self, LeaseRow, Rebuilt, Request, properties::log::check_log},
    support::postgres::Postgres,
};

/// How long a test waits for what must come, on the slowest machine.
const PATIENCE: Duration = Duration::from_secs(30);

/// A new, empty database, and what keeps it.
struct TestDatabase {
    address: String,
    _folder: Option<tempfile::TempDir>,
}

impl TestDatabase {
    fn sqlite() -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder can be made");
        let file = folder.path().join("baton.db");
        Self {
            address: format!("sqlite://{}", file.display()),
            _folder: Some(folder),
        }
    }

    async fn postgres() -> Self {
        Self {
            address: Postgres::shared().await.database().await,
            _folder: None,
        }
    }

    /// A new one on the same kind of database.
    async fn another(&self) -> Self {
        if self.is_postgres() {
            Self::postgres().await
        } else {
            Self::sqlite()
        }
    }

    fn is_postgres(&self) -> bool {
        self._folder.is_none()
    }

    async fn open(&self) -> Database {
        Database::open(&self.address)
            .await
            .expect("the database opens")
    }

    /// A server's store. On PostgreSQL there can be several.
    async fn store(&self) -> Store {
        Store::start(&self.open().await)
            .await
            .expect("the store starts")
    }

    /// Two servers' stores; where only one server can be, it is the same one.
    async fn two_stores(&self) -> (Store, Store) {
        let one = self.store().await;
        let other = if self.is_postgres() {
            self.store().await
        } else {
            one.clone()
        };
        (one, other)
    }

    /// A server that is gone when `work` is done: its tasks end wherever they
    /// are, as after a kill.
    async fn short_lived<F, T>(&self, work: impl FnOnce(Database) -> F + Send + 'static) -> T
    where
        F: Future<Output = T>,
        T: Send + 'static,
    {
        let address = self.address.clone();
        let served = move || {
            let runtime = tokio::runtime::Runtime::new().expect("a runtime starts");
            runtime.block_on(async {
                let database = Database::open(&address).await.expect("it opens");
                work(database).await
            })
        };
        tokio::task::spawn_blocking(served)
            .await
            .expect("the work is done")
    }

    /// Runs SQL behind the store's back.
    async fn run(&self, sql: &str) -> sqlx::Result<()> {
        let sql = AssertSqlSafe(sql.to_owned());
        match self.open().await {
            Database::Sqlite(sqlite) => sqlx::query(sql).execute(&sqlite.writer).await.map(drop),
            Database::Postgres(pool) => sqlx::query(sql).execute(&pool).await.map(drop),
        }
    }
}

/// The same test on both databases.
macro_rules! on_both_databases {
    ($($test:ident),+ $(,)?) => {
        mod on_sqlite {
            $(
                #[tokio::test(flavor = "multi_thread")]
                async fn $test() {
                    super::$test(super::TestDatabase::sqlite()).await;
                }
            )+
        }
        mod on_postgres {
            $(
                #[tokio::test(flavor = "multi_thread")]
                async fn $test() {
                    super::$test(super::TestDatabase::postgres().await).await;
                }
            )+
        }
    };
}
use on_both_databases;

/// Waits until `look` finds something.
async fn eventually<T, F: Future<Output = Option<T>>>(
    what: &str,
    mut look: impl FnMut() -> F,
) -> T {
    let looking = async {
        loop {
            if let Some(found) = look().await {
                return found;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::time::timeout(PATIENCE, looking)
        .await
        .unwrap_or_else(|_| panic!("still waiting: {what}"))
}

fn name(lease: &str) -> LeaseName {
    lease.parse().expect("is a lease name")
}

/// The code of what was refused by a rule.
fn code<T: std::fmt::Debug>(answer: &Result<T, StoreError>) -> Code {
    match answer {
        Err(StoreError::Refused(refused)) => refused.refusal.code(),
        Err(StoreError::Blocked(_)) => Code::Blocked,
        other => panic!("neither refused nor blocked: {other:?}"),
    }
}

impl Store {
    async fn ask(&self, lease: &str, request: Request) -> Result<Lease, StoreError> {
        let done = self.submit(name(lease), request).await?;
        Ok(done.lease_with_payload())
    }

    /// Takes a lease that is free, for a minute.
    async fn take(&self, lease: &str, holder: &str) -> Lease {
        self.ask(lease, ask::acquire(ask::taking(holder)))
            .await
            .expect("the lease is free")
    }

    async fn row(&self, lease: &str) -> LeaseRow {
        let mut reading = self.lanes.backend.read().await.expect("it answers");
        let select = super::listing::lease(&name(lease));
        let row = reading.leases(select).await.expect("it answers").pop();
        row.expect("there is a lease")
    }

    async fn log(&self, query: &HandoverQuery) -> Vec<Handover> {
        let mut query = HandoverQuery {
            order: Some(Order::Asc),
            limit: Some(1_000),
            ..query.clone()
        };
        let mut log = Vec::new();
        loop {
            let page = self.handovers(&query).await.expect("the log can be read");
            log.extend(page.items);
            query.cursor = page.next;
            if query.cursor.is_none() {
                return log;
            }
        }
    }

    async fn whole_log(&self) -> Vec<Handover> {
        self.log(&HandoverQuery::default()).await
    }

    async fn log_of(&self, lease: &str) -> Vec<Handover> {
        let query = HandoverQuery {
            lease: Some(name(lease)),
            ..HandoverQuery::default()
        };
        self.log(&query).await
    }

    async fn events_of(&self, lease: &str) -> Vec<String> {
        let log = self.log_of(lease).await;
        log.iter().map(|entry| entry.event.to_string()).collect()
    }

    /// The chain holds, and the log rebuilt into rows is the table.
    async fn verify(&self) {
        let (log, rows) = self.log_and_table().await;
        check_log(&log);
        let rebuilt = rules::rebuild(&log);
        assert_eq!(rebuilt.len(), rows.len(), "every lease is in both");
        for row in &rows {
            assert_eq!(rebuilt.get(&row.name), Some(&Rebuilt::from(row)));
        }
    }

    /// Both as they are at one moment.
    async fn log_and_table(&self) -> (Vec<Handover>, Vec<LeaseRow>) {
        let mut reading = self.lanes.backend.read().await.expect("it answers");
        let mut log: Vec<Handover> = Vec::new();
        loop {
            let query = HandoverQuery {
                order: Some(Order::Asc),
                limit: Some(1_000),
                after: log.last().map(|entry| entry.seq),
                ..HandoverQuery::default()
            };
            let select = super::history::handovers(&query).expect("has no cursor");
            let entries = reading.handovers(select).await.expect("it answers");
            if entries.is_empty() {
                break;
            }
            log.extend(entries);
        }
        let now = reading.now().await.expect("it answers");
        let query = LeaseQuery {
            limit: Some(100_000),
            ..LeaseQuery::default()
        };
        let dialect = self.lanes.backend.dialect();
        let select = super::listing::leases(&query, now, dialect).expect("has no cursor");
        (log, reading.leases(select).await.expect("it answers"))
    }
}
