//! Where everything is kept: opening a database by its address, and bringing
//! its schema up to date. What is read and written is up to `store` and
//! `people`; this module knows only how to connect.

use std::{
    fs::{File, TryLockError},
    io::ErrorKind,
    path::{Path, PathBuf},
    str::FromStr,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use sqlx::{
    Connection as _, PgConnection, PgPool, Postgres, SqliteConnection, SqlitePool, Transaction,
    migrate::{MigrateError, Migrator},
    postgres::{PgConnectOptions, PgPoolOptions},
    sqlite::{SqliteConnectOptions, SqliteJournalMode, SqlitePoolOptions, SqliteSynchronous},
};

static SQLITE_MIGRATIONS: Migrator = sqlx::migrate!("../migrations/sqlite");
static POSTGRES_MIGRATIONS: Migrator = sqlx::migrate!("../migrations/postgres");

/// How long a call waits for a connection before the database counts as away.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(3);
/// Connections for reading, beside the writers.
const READERS: u32 = 8;

/// Rows that a SQLite thread reads before somebody takes them: the two wake each
/// other up less often.
const ROWS_AHEAD: usize = 500;

/// An open database.
#[derive(Debug, Clone)]
pub enum Database {
    /// One file, one server.
    Sqlite(SqliteDatabase),
    /// One database, any number of servers.
    Postgres(PgPool),
}

/// A SQLite file: one connection writes, others read beside it.
#[derive(Debug, Clone)]
pub struct SqliteDatabase {
    /// The only connection that writes.
    pub writer: SqlitePool,
    /// Which one that is, counting from the first: it may be opened anew.
    pub writer_number: Arc<AtomicU64>,
    /// Connections that only read.
    pub readers: SqlitePool,
    /// The file.
    pub file: PathBuf,
}

/// Why a database could not be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The address names no database that Baton knows.
    #[error("`{0}` is not a database address: use sqlite://FILE or postgres://USER@HOST/NAME")]
    Address(String),
    /// The folder of a SQLite file is not there.
    #[error("there is no folder {0}: make it, or name another file")]
    NoFolder(PathBuf),
    /// There is no such SQLite file, and none is to be made.
    #[error("there is no database at {0}")]
    NoFile(PathBuf),
    /// It could not be reached.
    #[error("the database at {address} cannot be opened")]
    Connect {
        /// The address, without a password.
        address: String,
        /// What the driver says.
        #[source]
        source: sqlx::Error,
    },
    /// The schema could not be brought up to date.
    #[error("the database at {address} cannot be brought to this version's schema")]
    Migrate {
        /// The address, without a password.
        address: String,
        /// What the driver says.
        #[source]
        source: MigrateError,
    },
}

/// Why a SQLite file could not be had for oneself.
#[derive(Debug, thiserror::Error)]
pub enum LockError {
    /// A server has it.
    #[error("a server serves {0}")]
    Taken(PathBuf),
    /// The file has several names, each of which a server could open.
    #[error(
        "{0} is a file with several names (hard links): a server at another one would not be \
         noticed; leave it one name"
    )]
    Linked(PathBuf),
    /// The lock beside the file cannot be made.
    #[error("cannot lock {file}")]
    Io {
        /// The lock.
        file: PathBuf,
        /// Why.
        #[source]
        source: std::io::Error,
    },
}

impl Database {
    /// Keeps servers from a SQLite file until the lock is dropped: its clock and
    /// its writer are one process's. PostgreSQL has none.
    ///
    /// # Errors
    /// A server has the file, or the lock cannot be made.
    pub fn lock(&self) -> Result<Option<File>, LockError> {
        let Self::Sqlite(sqlite) = self else {
            return Ok(None);
        };
        if has_several_names(&sqlite.file) {
            return Err(LockError::Linked(sqlite.file.clone()));
        }
        // One lock for one file, whatever path leads there.
        let file = sqlite.file.canonicalize();
        let mut name = file
            .unwrap_or_else(|_| sqlite.file.clone())
            .into_os_string();
        name.push(".lock");
        let path = PathBuf::from(name);
        let failed = |source| LockError::Io {
            file: path.clone(),
            source,
        };
        let file = File::options()
            .create(true)
            .truncate(false)
            .write(true)
            .open(&path)
            .map_err(failed)?;
        match file.try_lock() {
            Ok(()) => Ok(Some(file)),
            Err(TryLockError::WouldBlock) => Err(LockError::Taken(sqlite.file.clone())),
            Err(TryLockError::Error(error)) => Err(failed(error)),
        }
    }

    /// Opens the database at `sqlite://FILE` (made if it is not there) or
    /// `postgres://…`, and brings its schema up to date.
    ///
    /// # Errors
    /// As [`Self::connect`] and [`Self::migrate`].
    pub async fn open(address: &str) -> Result<Self, OpenError> {
        let database = Self::connect(address).await?;
        database.migrate(address).await?;
        Ok(database)
    }

    /// As [`Self::open`], and makes none: a mistyped address must not.
    ///
    /// # Errors
    /// As [`Self::open`], and there is no such file.
    pub async fn open_existing(address: &str) -> Result<Self, OpenError> {
        existing_sqlite(address)?;
        Self::open(address).await
    }

    /// Opens the database at `address` and leaves its schema as it is.
    ///
    /// # Errors
    /// The address is not understood, or the database cannot be reached.
    pub async fn connect(address: &str) -> Result<Self, OpenError> {
        let connect = |source| cannot_connect(address, source);
        if let Some(options) = sqlite_options(address)? {
            // SQLite itself says only that it cannot open the file.
            if let Some(folder) = missing_folder(options.get_filename()) {
                return Err(OpenError::NoFolder(folder.to_path_buf()));
            }
            Ok(Self::Sqlite(open_sqlite(options).await.map_err(connect)?))
        } else if address.starts_with("postgres:") || address.starts_with("postgresql:") {
            let options = PgConnectOptions::from_str(address).map_err(connect)?;
            let pool = postgres_pool(options, READERS).await.map_err(connect)?;
            Ok(Self::Postgres(pool))
        } else {
            Err(OpenError::Address(without_password(address)))
        }
    }

    /// Opens the database at `address` to look at it: nothing is made, and
    /// nothing is changed.
    ///
    /// # Errors
    /// The address is not understood, or there is no such database.
    pub async fn look(address: &str) -> Result<Self, OpenError> {
        let Some(options) = existing_sqlite(address)? else {
            return Self::connect(address).await;
        };
        let looked = look_at_sqlite(options).await;
        looked
            .map(Self::Sqlite)
            .map_err(|source| cannot_connect(address, source))
    }

    /// Closes a SQLite file, with all of it in the file itself and nothing in what
    /// lies beside it. On PostgreSQL there is nothing to do.
    ///
    /// # Errors
    /// What lies beside it could not be copied; it is copied with the next start.
    pub async fn close(&self) -> sqlx::Result<()> {
        let Self::Sqlite(sqlite) = self else {
            return Ok(());
        };
        sqlite.readers.close().await;
        let copied = sqlx::query("pragma wal_checkpoint(truncate)")
            .execute(&sqlite.writer)
            .await;
        sqlite.writer.close().await;
        copied.map(drop)
    }

    /// Brings the schema of the database at `address` up to date.
    ///
    /// # Errors
    /// The schema is newer than this program, or this role may not change it.
    pub async fn migrate(&self, address: &str) -> Result<(), OpenError> {
        self.run_migrations()
            .await
            .map_err(|source| OpenError::Migrate {
                address: without_password(address),
                source,
            })
    }

    async fn run_migrations(&self) -> Result<(), MigrateError> {
        match self {
            Self::Sqlite(sqlite) => SQLITE_MIGRATIONS.run(&sqlite.writer).await,
            Self::Postgres(pool) => {
                // An owner role may have migrated already, and this role may
                // not be allowed to: then there is nothing to do.
                if postgres_is_current(pool).await {
                    return Ok(());
                }
                POSTGRES_MIGRATIONS.run(pool).await
            }
        }
    }
}

/// Whether the database gave an answer that Baton did not write.
pub fn is_undecodable(error: &sqlx::Error) -> bool {
    matches!(
        error,
        sqlx::Error::Decode(_) | sqlx::Error::ColumnDecode { .. }
    )
}

/// Whether the database answers, and what it keeps cannot be read: what is there was
/// not written by Baton, or the file or the disk is damaged.
pub fn is_damage(error: &sqlx::Error) -> bool {
    match error {
        error if is_undecodable(error) => true,
        sqlx::Error::Database(error) => {
            let code = error.code().unwrap_or_default();
            // PostgreSQL: data and index corrupted, an error in reading a file, a
            // file that is not there. Its codes have letters, or five digits.
            if code.len() == 5 {
                return matches!(&*code, "XX001" | "XX002" | "58030" | "58P01");
            }
            // SQLite: a malformed file, no database (extended codes have the plain one
            // in their last byte), and errors in reading.
            code.parse::<u32>().is_ok_and(|code| {
                matches!(code & 0xff, 11 | 26) || matches!(code, 266 | 522 | 8202 | 8458)
            })
        }
        _ => false,
    }
}

/// Whether every migration of this version was applied.
async fn postgres_is_current(pool: &PgPool) -> bool {
    let applied: Result<Vec<i64>, _> =
        sqlx::query_scalar("select version from _sqlx_migrations where success")
            .fetch_all(pool)
            .await;
    applied.is_ok_and(|applied| {
        let wanted = POSTGRES_MIGRATIONS.iter().map(|m| m.version);
        wanted.clone().all(|version| applied.contains(&version)) && applied.len() == wanted.count()
    })
}

fn cannot_connect(address: &str, source: sqlx::Error) -> OpenError {
    OpenError::Connect {
        address: without_password(address),
        source,
    }
}

/// What the address of a SQLite file says; `None` of another address.
fn sqlite_options(address: &str) -> Result<Option<SqliteConnectOptions>, OpenError> {
    if !address.starts_with("sqlite:") {
        return Ok(None);
    }
    let options = SqliteConnectOptions::from_str(address);
    options
        .map(Some)
        .map_err(|source| cannot_connect(address, source))
}

/// The same of a file that is there.
fn existing_sqlite(address: &str) -> Result<Option<SqliteConnectOptions>, OpenError> {
    let options = sqlite_options(address)?;
    let file = options.as_ref().map(SqliteConnectOptions::get_filename);
    match file.filter(|file| file.try_exists().is_ok_and(|there| !there)) {
        Some(file) => Err(OpenError::NoFile(file.to_path_buf())),
        None => Ok(options),
    }
}

/// The folder that a file would be in, if it is none.
pub fn missing_folder(file: &Path) -> Option<&Path> {
    let folder = file.parent()?;
    // A bare name is in the folder that one is in.
    let is_missing = !folder.as_os_str().is_empty()
        && match folder.metadata() {
            Ok(found) => !found.is_dir(),
            Err(error) => error.kind() == ErrorKind::NotFound,
        };
    is_missing.then_some(folder)
}

async fn open_sqlite(options: SqliteConnectOptions) -> Result<SqliteDatabase, sqlx::Error> {
    let options = options
        .create_if_missing(true)
        .journal_mode(SqliteJournalMode::Wal)
        // An answer leaves after the commit, and a commit is on the disk.
        .synchronous(SqliteSynchronous::Full)
        .foreign_keys(true)
        .busy_timeout(Duration::from_secs(5))
        // REPLACE fires delete triggers only with this; see the log's triggers.
        .pragma("recursive_triggers", "on")
        .pragma("trusted_schema", "off")
        .row_buffer_size(ROWS_AHEAD)
        // The store copies the write-ahead log itself, beside its writer.
        .pragma("wal_autocheckpoint", "0")
        .statement_cache_capacity(256);
    let file = options.get_filename().to_path_buf();
    let writer_number = Arc::new(AtomicU64::new(0));
    let count = writer_number.clone();
    let writer = SqlitePoolOptions::new()
        .max_connections(1)
        .acquire_timeout(CONNECT_TIMEOUT)
        .after_connect(move |_, _| {
            count.fetch_add(1, Ordering::AcqRel);
            Box::pin(std::future::ready(Ok(())))
        })
        .after_release(|connection, _| Box::pin(is_sound(connection)))
        .connect_with(options.clone())
        .await?;
    let readers = SqlitePoolOptions::new()
        .max_connections(READERS)
        .acquire_timeout(CONNECT_TIMEOUT)
        .after_release(|connection, _| Box::pin(is_sound(connection)))
        .connect_lazy_with(options.pragma("query_only", "on"));
    Ok(SqliteDatabase {
        writer,
        writer_number,
        readers,
        file,
    })
}

/// Whether a connection that comes back can be used again. After a disk was full, or
/// failed, SQLite has taken the transaction back by itself, and the driver, which could
/// not do so as well, would take every later one for a part of it.
async fn is_sound(connection: &mut SqliteConnection) -> sqlx::Result<bool> {
    // What the driver has begun to take back is done when this is answered.
    connection.ping().await?;
    Ok(!connection.is_in_transaction())
}

/// A file that somebody else may be serving, or a copy of one.
async fn look_at_sqlite(options: SqliteConnectOptions) -> Result<SqliteDatabase, sqlx::Error> {
    let options = options
        .create_if_missing(false)
        .read_only(true)
        .busy_timeout(Duration::from_secs(5))
        .pragma("trusted_schema", "off");
    let file = options.get_filename().to_path_buf();
    let readers = SqlitePoolOptions::new()
        .max_connections(READERS)
        .acquire_timeout(CONNECT_TIMEOUT)
        .connect_with(options)
        .await?;
    Ok(SqliteDatabase {
        writer: readers.clone(),
        writer_number: Arc::default(),
        readers,
        file,
    })
}

/// A pool on PostgreSQL. Every session bounds its own idle, lock and statement
/// times, so that a server that freezes cannot hold rows or the log's head for
/// ever, and commits synchronously, whatever the database's default.
///
/// # Errors
/// The database cannot be reached.
pub async fn postgres_pool(
    options: PgConnectOptions,
    connections: u32,
) -> Result<PgPool, sqlx::Error> {
    let options = options.application_name("baton").options([
        ("synchronous_commit", "on"),
        ("idle_in_transaction_session_timeout", "5000"),
        ("lock_timeout", "2000"),
        ("statement_timeout", "30000"),
        ("default_transaction_isolation", "read committed"),
        ("timezone", "UTC"),
    ]);
    let pool = PgPoolOptions::new()
        .max_connections(connections)
        .acquire_timeout(CONNECT_TIMEOUT)
        .connect_with(options.clone())
        .await;
    if !matches!(pool, Err(sqlx::Error::PoolTimedOut)) {
        return pool;
    }
    // The pool tried again and again, and does not say what stood against it.
    let alone = PgConnection::connect_with(&options);
    match tokio::time::timeout(CONNECT_TIMEOUT, alone).await {
        Ok(Err(error)) => Err(error),
        _ => pool,
    }
}

/// Connections for writing: one for each lane, and some for leases that wait
/// for somebody else's lock.
pub const POSTGRES_WRITERS: u32 = 10;

/// Another pool on the same database, which connects when it is first used.
pub fn postgres_pool_like(pool: &PgPool, connections: u32) -> PgPool {
    PgPoolOptions::new()
        .max_connections(connections)
        .acquire_timeout(CONNECT_TIMEOUT)
        .connect_lazy_with((*pool.connect_options()).clone())
}

/// Begins a transaction on PostgreSQL, by this statement. In a task of its own, which
/// nobody gives up: the driver takes back only what it knows to have begun, and a
/// transaction whose beginning was not waited for would stay open in the pool.
///
/// # Errors
/// What the driver says.
pub async fn begin(
    pool: &PgPool,
    statement: &'static str,
) -> sqlx::Result<Transaction<'static, Postgres>> {
    let pool = pool.clone();
    let beginning = tokio::spawn(async move { pool.begin_with(statement).await });
    beginning.await.unwrap_or(Err(sqlx::Error::WorkerCrashed))
}

/// An address fit for messages and logs: what could be a password is left out,
/// and so is everything of an address that cannot be understood.
pub fn without_password(address: &str) -> String {
    let Ok(mut url) = url::Url::parse(address) else {
        let scheme = address.split_once(':').map_or("", |(scheme, _)| scheme);
        return format!("{scheme}:…");
    };
    if url.password().is_some() {
        // Only addresses that cannot have a password refuse this.
        let _ = url.set_password(Some("…"));
    }
    let pairs: Vec<(String, String)> = url
        .query_pairs()
        .map(|(key, value)| match &*key {
            "password" => (key.into_owned(), "…".into()),
            _ => (key.into_owned(), value.into_owned()),
        })
        .collect();
    if !pairs.is_empty() {
        url.query_pairs_mut().clear().extend_pairs(pairs);
    }
    url.to_string().replace("%E2%80%A6", "…")
}

fn has_several_names(file: &std::path::Path) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    std::fs::metadata(file).is_ok_and(|there| there.nlink() > 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_of_an_address_is_found() {
        for (address, file) in [
            ("sqlite://baton.db", Some("baton.db")),
            ("sqlite:///var/lib/baton.db", Some("/var/lib/baton.db")),
            ("sqlite:baton.db", Some("baton.db")),
            ("postgres://localhost/baton", None),
        ] {
            let options = sqlite_options(address).expect("it is an address");
            let found = options.as_ref().map(SqliteConnectOptions::get_filename);
            assert_eq!(found, file.map(Path::new), "{address}");
        }
    }

    #[test]
    fn passwords_are_not_shown() {
        assert_eq!(
            without_password("postgres://baton:secret@db/baton"),
            "postgres://baton:…@db/baton"
        );
        assert_eq!(without_password("sqlite://baton.db"), "sqlite://baton.db");
        assert_eq!(
            without_password("postgres://db/baton?user=u&password=secret"),
            "postgres://db/baton?user=u&password=…"
        );
        // A slash in a password ends the authority, so nothing can be told apart.
        assert!(!without_password("postgres://u:pa/ss@db/baton").contains("pa"));
    }
}
