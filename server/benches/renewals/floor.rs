//! What the same updates cost in plain SQL, on tables like the server's: one
//! update a transaction, and so many. They read nothing, decide nothing and
//! answer nobody.

use std::{
    path::Path,
    process::Command,
    time::{Duration, Instant},
};

use anyhow::{Context as _, Result, ensure};
use baton::database::Database;
use sqlx::{Connection as _, PgConnection};
use tokio::task::JoinSet;

use super::{postgres::Postgres, server::lease};

/// What a renewal changes. The numbers do not matter, only that they differ.
const RENEWED_AT: i64 = 1_795_918_447_000_000;
const EXPIRES_AT: i64 = RENEWED_AT + TTL_MS * 1_000;
const TTL_MS: i64 = 86_400_000;

/// A table beside the server's, in the same PostgreSQL database.
pub struct PostgresFloor<'a> {
    cluster: &'a Postgres,
    url: String,
    leases: usize,
}

impl<'a> PostgresFloor<'a> {
    /// Copies the server's table, with all that stands around it.
    pub async fn copy(cluster: &'a Postgres, url: &str, leases: usize) -> Result<Self> {
        let mut owner = PgConnection::connect(url).await?;
        for sql in [
            // `like` does not copy how the table is stored.
            "create table floor_leases (like leases including all)
                with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.05)",
            "insert into floor_leases select * from leases",
            "vacuum analyze leases",
            "vacuum analyze floor_leases",
        ] {
            sqlx::query(sql).execute(&mut owner).await?;
        }
        owner.close().await?;
        Ok(Self {
            cluster,
            url: url.to_owned(),
            leases,
        })
    }

    /// Updates a second, each a transaction, by PostgreSQL's own load generator
    /// with prepared statements. No two connections touch the same row.
    pub fn singles(&self, connections: usize, time: Duration) -> Result<f64> {
        let last = self.leases / connections - 1;
        let script = format!(
            "\\set number :client_id + {connections} * random(0, {last})\n\
             update floor_leases set renewed_at = {RENEWED_AT} + :number, \
             expires_at = {EXPIRES_AT}, ttl_ms = {TTL_MS}, status = null \
             where name = 'bench-' || :number;\n"
        );
        let file = tempfile::NamedTempFile::new()?;
        std::fs::write(&file, script)?;
        let run = Command::new(self.cluster.program("pgbench"))
            .args(["--no-vacuum", "--protocol=prepared", "--jobs=1"])
            .arg(format!("--client={connections}"))
            .arg(format!("--time={}", time.as_secs().max(1)))
            .arg("--file")
            .arg(file.path())
            .arg(&self.url)
            .output()
            .context("pgbench, which comes with PostgreSQL's server, cannot be started")?;
        let said = String::from_utf8_lossy(&run.stdout);
        let tps = said
            .lines()
            .find_map(|line| line.strip_prefix("tps = ")?.split(' ').next()?.parse().ok());
        tps.with_context(|| format!("pgbench: {said}{}", String::from_utf8_lossy(&run.stderr)))
    }

    /// Updates a second, so many a transaction, over so many connections that
    /// touch no row twice.
    pub async fn batches(&self, connections: usize, size: usize, time: Duration) -> Result<f64> {
        let mut open = Vec::new();
        for first in 0..connections {
            let mut names: Vec<String> = (first..self.leases)
                .step_by(connections)
                .map(lease)
                .collect();
            names.sort_unstable();
            ensure!(names.len() >= size, "too few leases");
            open.push((PgConnection::connect(&self.url).await?, names));
        }
        let start = Instant::now();
        let mut tasks = JoinSet::new();
        for (mut connection, names) in open {
            tasks.spawn(async move {
                let mut count = 0;
                let (ttls, statuses) = (vec![TTL_MS; size], vec![None::<&str>; size]);
                for names in names.chunks_exact(size).cycle() {
                    if start.elapsed() >= time {
                        break;
                    }
                    let times = |from: i64| (0..size as i64).map(|i| from + i).collect::<Vec<_>>();
                    let updated = sqlx::query(
                        "update floor_leases set
                            renewed_at = renewed.renewed_at,
                            expires_at = renewed.expires_at,
                            ttl_ms = renewed.ttl_ms,
                            status = renewed.status
                        from unnest($1::text[], $2::bigint[], $3::bigint[], $4::bigint[],
                            $5::text[]) as renewed (name, renewed_at, expires_at, ttl_ms, status)
                        where floor_leases.name = renewed.name",
                    )
                    .bind(names)
                    .bind(times(RENEWED_AT + count as i64))
                    .bind(times(EXPIRES_AT + count as i64))
                    .bind(&ttls)
                    .bind(&statuses)
                    .execute(&mut connection)
                    .await?;
                    ensure!(
                        updated.rows_affected() == size as u64,
                        "not all were updated"
                    );
                    count += size;
                }
                connection.close().await?;
                anyhow::Ok(count)
            });
        }
        let mut count = 0;
        while let Some(counted) = tasks.join_next().await {
            count += counted??;
        }
        Ok(count as f64 / start.elapsed().as_secs_f64())
    }
}

/// A file like the server's, beside it.
pub struct SqliteFloor {
    connection: rusqlite::Connection,
    names: Vec<String>,
}

impl SqliteFloor {
    /// Copies the server's table, with all that stands around it.
    pub async fn copy(from: &Path, to: &Path, leases: usize) -> Result<Self> {
        drop(Database::open(&format!("sqlite://{}", to.display())).await?);
        let connection = rusqlite::Connection::open(to)?;
        connection.pragma_update(None, "synchronous", "full")?;
        let wal: String = connection.pragma_query_value(None, "journal_mode", |row| row.get(0))?;
        ensure!(wal == "wal", "the file's journal is {wal}");
        connection.execute("attach $1 as served", [from.to_string_lossy()])?;
        let copied =
            connection.execute("insert into main.leases select * from served.leases", [])?;
        ensure!(copied == leases, "only {copied} leases were copied");
        connection.execute("detach served", [])?;
        Ok(Self {
            connection,
            names: (0..leases).map(lease).collect(),
        })
    }

    /// Updates a second, so many a transaction, with one prepared statement on
    /// the one connection that can write at a time.
    pub fn updates(&self, size: usize, time: Duration) -> Result<f64> {
        let start = Instant::now();
        let mut update = self.connection.prepare(
            "update leases set renewed_at = $1, expires_at = $2, ttl_ms = $3, status = $4 \
             where name = $5",
        )?;
        let mut count = 0;
        for names in self.names.chunks_exact(size).cycle() {
            if start.elapsed() >= time {
                break;
            }
            // A single statement is a transaction by itself.
            if size > 1 {
                self.connection.execute_batch("begin immediate")?;
            }
            for name in names {
                count += update.execute(rusqlite::params![
                    RENEWED_AT + count as i64,
                    EXPIRES_AT + count as i64,
                    TTL_MS,
                    None::<&str>,
                    name
                ])?;
            }
            if size > 1 {
                self.connection.execute_batch("commit")?;
            }
        }
        Ok(count as f64 / start.elapsed().as_secs_f64())
    }
}
