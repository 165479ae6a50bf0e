//! `make bench`: renewals a second through the API of the real program, on both
//! databases, beside what plain SQL does with the same updates; how long a
//! renewal takes, and a change of hands; and what changes from a thousand leases
//! to a hundred thousand.
//!
//! Server, database and load generator share the machine, as they do in the
//! floors that they are held against. Rounds alternate between floor and server,
//! and medians are compared, so that what else the machine does hits both.

mod api;
mod floor;
mod load;
#[allow(dead_code)]
mod server;
mod table;

#[path = "../../tests/support/postgres.rs"]
#[allow(dead_code)]
mod postgres;

use std::{path::PathBuf, time::Duration};

use anyhow::Result;
use clap::Parser;

use floor::{PostgresFloor, SqliteFloor};
use postgres::Postgres;
use server::Server;
use sqlx::{Connection as _, PgConnection};
use table::{Report, Target, median, percentile, whole};

/// Leases of the throughput runs.
const LEASES: usize = 8_000;
/// Leases of the latency runs.
const FEW: usize = 1_000;
const MANY: usize = 100_000;
/// Connections of single renewals.
const CONNECTIONS: usize = 64;
const MANY_CONNECTIONS: usize = 256;
/// Connections that send calls of many renewals, and how many a call has.
const CALLERS: usize = 4;
const CALL: usize = 1_000;
/// Updates in one transaction of plain SQL.
const BATCH: usize = 200;
/// Renewals a second whose latency is measured.
const PACE: usize = 2_000;
/// Leases that change hands side by side.
const HANDED: usize = 4;

/// Nothing of a real cluster's safety is switched off.
const DURABLE: &str = "\
fsync = on
full_page_writes = on
synchronous_commit = on
shared_buffers = '256MB'
max_wal_size = '2GB'
";

/// Renewals per second beside plain SQL.
#[derive(Parser)]
struct Options {
    /// How often each measurement is made.
    #[arg(long, default_value_t = 5)]
    rounds: usize,
    /// How long one takes.
    #[arg(long, default_value_t = 3)]
    seconds: u64,
    /// Only this database: sqlite or postgres.
    #[arg(long)]
    only: Option<String>,
    /// Only this part: throughput or latency.
    #[arg(long)]
    part: Option<String>,
    /// Only one measurement, for a profiler: singles, calls, or sql or batches,
    /// which are the plain ones.
    #[arg(long)]
    just: Option<String>,
    /// What cargo says to every benchmark.
    #[arg(long, hide = true)]
    bench: bool,
}

impl Options {
    fn wants(&self, database: &str, part: &str) -> bool {
        let any = |only: &Option<String>, this| only.as_deref().is_none_or(|only| only == this);
        any(&self.only, database) && any(&self.part, part)
    }

    /// Only one measurement, if that is wanted, for a profiler to look at.
    async fn just(&self, what: &str, rate: impl Future<Output = Result<f64>>) -> Result<bool> {
        if self.just.as_deref() != Some(what) {
            return Ok(false);
        }
        progress("renewing");
        progress(&format!("{:.0} a second", rate.await?));
        Ok(true)
    }

    fn time(&self) -> Duration {
        Duration::from_secs(self.seconds)
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<()> {
    let options = Options::parse();
    let mut report = Report::default();
    report.line(&format!(
        "Medians of {} rounds of {} s, {} processors for client, server and database; {}.",
        options.rounds,
        options.seconds,
        std::thread::available_parallelism()?,
        std::env::consts::OS,
    ));
    if options.wants("postgres", "throughput") {
        postgres_throughput(&options, &mut report).await?;
    }
    if options.wants("sqlite", "throughput") {
        sqlite_throughput(&options, &mut report).await?;
    }
    for database in ["postgres", "sqlite"] {
        if options.wants(database, "latency") {
            latency(&options, &mut report, database).await?;
        }
    }
    print!("{}", report.text);
    let file = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).with_file_name("bench.md");
    std::fs::write(&file, &report.text)?;
    println!("\nThis table is in {}.", file.display());
    if report.missed.is_empty() {
        println!("Every target is met.");
    }
    for missed in &report.missed {
        println!("!!! TARGET MISSED: {missed}");
    }
    Ok(())
}

const THROUGHPUT: [&str; 5] = ["a second", "plain SQL", "Baton", "ratio", "target"];

fn progress(text: &str) {
    eprintln!("... {text}");
}

async fn postgres_throughput(options: &Options, report: &mut Report) -> Result<()> {
    let cluster = Postgres::start_with(DURABLE);
    let url = cluster.database().await;
    let server = Server::start(&url, LEASES).await?;
    let floor = PostgresFloor::copy(&cluster, &url, LEASES).await?;
    let mut found: [Vec<f64>; 6] = Default::default();
    let time = options.time();
    if options
        .just("sql", async { floor.singles(CONNECTIONS, time) })
        .await?
        || options
            .just("batches", floor.batches(CALLERS, BATCH, time))
            .await?
        || just_baton(options, &server).await?
    {
        return Ok(());
    }
    for round in 0..options.rounds {
        let this = [
            floor.singles(CONNECTIONS, time)?,
            load::singles(&server, CONNECTIONS, time).await?,
            load::singles(&server, MANY_CONNECTIONS, time).await?,
            floor.batches(1, BATCH, time).await?,
            floor.batches(CALLERS, BATCH, time).await?,
            load::batches(&server, CALLERS, CALL, time).await?,
        ];
        progress(&format!("PostgreSQL, round {}: {this:.0?}", round + 1));
        for (all, one) in found.iter_mut().zip(this) {
            all.push(one);
        }
    }
    let [single, few, many, batch, batches, calls] = found.map(median);
    report.table(&format!("PostgreSQL, {LEASES} leases"), &THROUGHPUT);
    let mut row = |what: String, floor: f64, baton: f64, target: Target| {
        let cells = [whole(floor), whole(baton)];
        report.row(&what, &cells, baton / floor, target);
    };
    row(
        format!(
            "renew, {CONNECTIONS} connections; one update a transaction, {CONNECTIONS} connections (pgbench, prepared)"
        ),
        single,
        few,
        Target::AtLeast(1.1),
    );
    row(
        format!("renew, {MANY_CONNECTIONS} connections; the same plain SQL"),
        single,
        many,
        Target::AtLeast(1.5),
    );
    row(
        format!(
            "/renewals of {CALL}, {CALLERS} connections; {BATCH} updates a transaction (unnest), one after the other"
        ),
        batch,
        calls,
        Target::AtLeast(1.0),
    );
    row(
        format!("the same; {CALLERS} such transactions at a time"),
        batches,
        calls,
        Target::None,
    );
    Ok(())
}

async fn just_baton(options: &Options, server: &Server) -> Result<bool> {
    let time = options.time();
    Ok(options
        .just("singles", load::singles(server, CONNECTIONS, time))
        .await?
        || options
            .just("calls", load::batches(server, CALLERS, CALL, time))
            .await?)
}

async fn sqlite_throughput(options: &Options, report: &mut Report) -> Result<()> {
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("baton.db");
    let server = Server::start(&format!("sqlite://{}", file.display()), LEASES).await?;
    let floor = SqliteFloor::copy(&file, &folder.path().join("floor.db"), LEASES).await?;
    let mut found: [Vec<f64>; 5] = Default::default();
    let time = options.time();
    if options
        .just("sql", async { floor.updates(1, time) })
        .await?
        || options
            .just("batches", async { floor.updates(BATCH, time) })
            .await?
        || just_baton(options, &server).await?
    {
        return Ok(());
    }
    for round in 0..options.rounds {
        let this = [
            floor.updates(1, time)?,
            load::singles(&server, CONNECTIONS, time).await?,
            floor.updates(BATCH, time)?,
            floor.updates(CALL, time)?,
            load::batches(&server, CALLERS, CALL, time).await?,
        ];
        progress(&format!("SQLite, round {}: {this:.0?}", round + 1));
        for (all, one) in found.iter_mut().zip(this) {
            all.push(one);
        }
    }
    let [single, few, batch, large, calls] = found.map(median);
    report.table(&format!("SQLite, {LEASES} leases"), &THROUGHPUT);
    let mut row = |what: String, floor: f64, baton: f64, target: Target| {
        report.row(&what, &[whole(floor), whole(baton)], baton / floor, target);
    };
    row(
        format!(
            "renew, {CONNECTIONS} connections; one prepared update a transaction (rusqlite, WAL, FULL)"
        ),
        single,
        few,
        Target::AtLeast(2.0),
    );
    row(
        format!(
            "/renewals of {CALL}, {CALLERS} connections; {BATCH} prepared updates a transaction"
        ),
        batch,
        calls,
        Target::AtLeast(1.0 / 3.0),
    );
    row(
        format!("the same; {CALL} prepared updates a transaction"),
        large,
        calls,
        Target::None,
    );
    Ok(())
}

/// Has a database do now what it would do about a hundred thousand grants in the
/// minutes after them.
async fn cleaned_up(superuser: &str) -> Result<()> {
    let mut session = PgConnection::connect(superuser).await?;
    for sql in ["vacuum (analyze)", "checkpoint"] {
        sqlx::query(sql).execute(&mut session).await?;
    }
    session.close().await?;
    Ok(())
}

/// What one measurement of latency found: half of them, and 99 of 100.
type Latency = (Vec<f64>, Vec<f64>);

async fn latency(options: &Options, report: &mut Report, database: &str) -> Result<()> {
    // Both at once, so that rounds can alternate between few and many.
    let folder = tempfile::tempdir()?;
    let cluster = (database == "postgres").then(|| Postgres::start_with(DURABLE));
    let mut servers = Vec::new();
    for leases in [FEW, MANY] {
        let url = match &cluster {
            Some(cluster) => cluster.database().await,
            None => format!("sqlite://{}/{leases}.db", folder.path().display()),
        };
        progress(&format!("{database}: acquiring {leases} leases"));
        servers.push(Server::start(&url, leases).await?);
        if let Some(cluster) = &cluster {
            cleaned_up(&cluster.superuser_url(&url)).await?;
        }
    }
    // As where they have been held for a while: every lease was renewed since the
    // database last wrote everything down.
    let time = options.time();
    for server in &servers {
        let size = CALL.min(server.leases() / CALLERS);
        load::batches(server, CALLERS, size, time).await?;
    }
    let mut renewed: [Latency; 2] = Default::default();
    let mut handed: [Latency; 2] = Default::default();
    let note = |latency: &mut Latency, mut took: Vec<Duration>| {
        latency.0.push(percentile(&mut took, 500));
        latency.1.push(percentile(&mut took, 990));
    };
    for round in 0..options.rounds {
        for (server, (renewed, handed)) in servers.iter().zip(renewed.iter_mut().zip(&mut handed)) {
            // In a few seconds one hiccup of the disk is all of the slowest hundredth.
            let took = load::paced(server, CONNECTIONS, PACE, 3 * time).await?;
            note(renewed, took);
            note(handed, load::handed_over(server, HANDED, time).await?);
        }
        progress(&format!(
            "{database}, latency, round {}: {renewed:.2?}",
            round + 1
        ));
    }
    let name = if cluster.is_some() {
        "PostgreSQL"
    } else {
        "SQLite"
    };
    report.table(
        &format!("{name}, latency in ms, by how many leases there are"),
        &[
            "",
            "1,000: p50",
            "p99",
            "100,000: p50",
            "p99",
            "p99 ratio",
            "target",
        ],
    );
    let mut row = |what: String, [few, many]: [Latency; 2], target: Target| {
        let numbers = [few.0, few.1, many.0, many.1].map(median);
        let cells = numbers.map(|ms| format!("{ms:.2}"));
        report.row(&what, &cells, numbers[3] / numbers[1], target);
    };
    row(
        format!(
            "renew, {} a second over {CONNECTIONS} connections, one page open",
            whole(PACE as f64)
        ),
        renewed,
        Target::AtMost(1.5),
    );
    row(
        format!("release → waiting acquire, {HANDED} leases side by side"),
        handed,
        Target::None,
    );
    Ok(())
}
