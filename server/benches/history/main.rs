//! `make bench-history`: an export of a million entries beside the database's own
//! copy-out of the same rows, with renewals beside it; and how long an auditor's
//! questions take in a history of ten million.

mod fill;
mod questions;

#[path = "../renewals/api.rs"]
#[allow(dead_code)]
mod api;
#[path = "../renewals/load.rs"]
#[allow(dead_code)]
mod load;
#[path = "../renewals/server.rs"]
#[allow(dead_code)]
mod server;
#[path = "../renewals/table.rs"]
#[allow(dead_code)]
mod table;

#[path = "../../tests/support/postgres.rs"]
#[allow(dead_code)]
mod postgres;

use std::{
    process::{Command, Stdio},
    time::{Duration, Instant},
};

use anyhow::{Context as _, Result, ensure};
use clap::Parser;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
};

use fill::Fill;
use postgres::Postgres;
use server::Server;
use table::{Report, Target, percentile, whole};

/// Leases that are renewed beside an export.
const RENEWED: usize = 1_000;
/// Renewals a second beside it.
const PACE: usize = 1_000;
/// Connections that renew.
const CONNECTIONS: usize = 16;
/// How long renewals are measured without an export.
const ALONE: Duration = Duration::from_secs(5);

/// As a cluster of this size would be set up, and nothing of its safety is off.
const SETTINGS: &str = "\
fsync = on
full_page_writes = on
synchronous_commit = on
shared_buffers = '1GB'
max_wal_size = '4GB'
maintenance_work_mem = '1GB'
";

/// Exports and questions, in long histories.
#[derive(Parser)]
struct Options {
    /// Entries of the history that is exported.
    #[arg(long, default_value_t = 1_000_000)]
    entries: u64,
    /// Entries of the history that is asked about.
    #[arg(long, default_value_t = 10_000_000)]
    large: u64,
    /// Entries of the short history that it is compared with.
    #[arg(long, default_value_t = 10_000)]
    small: u64,
    /// Only this database: sqlite or postgres.
    #[arg(long)]
    only: Option<String>,
    /// Only this part: export or questions.
    #[arg(long)]
    part: Option<String>,
    /// What cargo says to every benchmark.
    #[arg(long, hide = true)]
    bench: bool,
}

impl Options {
    fn wants(&self, database: &str, part: &str) -> bool {
        let any = |only: &Option<String>, this| only.as_deref().is_none_or(|only| only == this);
        any(&self.only, database) && any(&self.part, part)
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<()> {
    let options = Options::parse();
    let mut report = Report::default();
    let load = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    report.line(&format!(
        "{} processors for client, server and database; load before: {}.",
        std::thread::available_parallelism()?,
        load.split(' ').next().unwrap_or("unknown")
    ));
    for database in ["postgres", "sqlite"] {
        if options.wants(database, "export") {
            export(database, &options, &mut report).await?;
        }
        if options.wants(database, "questions") {
            let small = questions_of(database, options.small).await?;
            let large = questions_of(database, options.large).await?;
            questions::compare(database, &options, &small, &large, &mut report);
        }
    }
    println!("{}", report.text);
    ensure!(
        report.missed.is_empty(),
        "missed: {}",
        report.missed.join("; ")
    );
    Ok(())
}

/// A database with a history of so many entries.
struct Filled {
    address: String,
    /// What copies the log out with the database's own means.
    copy_out: Command,
    _cluster: Option<Postgres>,
    _folder: tempfile::TempDir,
}

impl Filled {
    async fn new(database: &str, entries: u64) -> Result<Self> {
        let folder = tempfile::tempdir()?;
        let started = Instant::now();
        let filled = match database {
            "postgres" => {
                let cluster = Postgres::start_with(SETTINGS);
                let address = cluster.database().await;
                Fill { entries }.postgres(&address).await?;
                let mut copy_out = Command::new(cluster.program("psql"));
                copy_out.args([
                    &address,
                    "-c",
                    "copy (select * from handovers order by seq) to stdout",
                ]);
                Self {
                    address,
                    copy_out,
                    _cluster: Some(cluster),
                    _folder: folder,
                }
            }
            _ => {
                let file = folder.path().join("baton.db");
                let address = format!("sqlite://{}", file.display());
                Fill { entries }.sqlite(&address, &file).await?;
                let mut copy_out = Command::new("sqlite3");
                copy_out
                    .arg("-csv")
                    .arg(&file)
                    .arg("select * from handovers order by seq");
                Self {
                    address,
                    copy_out,
                    _cluster: None,
                    _folder: folder,
                }
            }
        };
        let took = started.elapsed();
        eprintln!(
            "{database}: {} entries are there after {took:.0?}",
            whole(entries as f64)
        );
        Ok(filled)
    }

    /// How long the database takes for all rows.
    fn copied_out(&mut self) -> Result<Duration> {
        let started = Instant::now();
        let status = self.copy_out.stdout(Stdio::null()).status();
        ensure!(
            status.context("psql and sqlite3 are needed")?.success(),
            "the copy-out failed"
        );
        Ok(started.elapsed())
    }
}

async fn questions_of(database: &str, entries: u64) -> Result<Vec<(&'static str, Duration)>> {
    let filled = Filled::new(database, entries).await?;
    let server = Server::start(&filled.address, 0).await?;
    questions::ask(&server, entries).await
}

async fn export(database: &str, options: &Options, report: &mut Report) -> Result<()> {
    let mut filled = Filled::new(database, options.entries).await?;
    let server = Server::start(&filled.address, RENEWED).await?;
    verified(&server).await?;
    let mut alone = load::paced(&server, CONNECTIONS, PACE, ALONE).await?;
    let before = resident_kib(&server, "VmRSS")?;
    forget_peak(&server)?;
    let first = exported(&server).await?;
    let grew = resident_kib(&server, "VmHWM")?.saturating_sub(before);
    let copy = filled.copied_out()?;
    let second = exported(&server).await?;
    // With renewals beside it, for as long as it takes.
    let (mut beside, busy) = tokio::join!(
        load::paced(&server, CONNECTIONS, PACE, first.took),
        exported(&server)
    );
    let beside = beside
        .as_mut()
        .map_err(|error| anyhow::anyhow!("{error}"))?;
    let busy = busy?;
    report.table(
        &format!(
            "{database}: an export of {} entries",
            whole(options.entries as f64)
        ),
        &["", "", "", "ratio", "wanted"],
    );
    let rate = |took: Duration| options.entries as f64 / took.as_secs_f64();
    let took = first.took.min(second.took);
    let cells = [
        format!("{} entries/s", whole(rate(took))),
        format!("{} entries/s copied out", whole(rate(copy))),
    ];
    report.row(
        "rate",
        &cells,
        rate(took) / rate(copy),
        Target::AtLeast(0.2),
    );
    let cells = [
        format!("{} MiB sent", first.bytes >> 20),
        format!("{} MiB", grew >> 10),
    ];
    let grew_mib = grew as f64 / 1_024.0;
    report.row(
        "memory grew by, MiB",
        &cells,
        grew_mib,
        Target::AtMost(32.0),
    );
    let (p99, p99_alone) = (percentile(beside, 990), percentile(&mut alone, 990));
    let cells = [format!("{p99:.1} ms"), format!("{p99_alone:.1} ms without")];
    report.row(
        "renewals beside it, p99",
        &cells,
        p99 / p99_alone,
        Target::AtMost(2.0),
    );
    let cells = [
        format!("{} entries/s", whole(rate(busy.took))),
        String::new(),
    ];
    report.row(
        "rate beside renewals",
        &cells,
        rate(busy.took) / rate(copy),
        Target::None,
    );
    Ok(())
}

struct Exported {
    took: Duration,
    bytes: u64,
}

/// Reads an export from the socket and throws it away.
async fn exported(server: &Server) -> Result<Exported> {
    let started = Instant::now();
    let mut stream = TcpStream::connect(server.address).await?;
    stream.write_all(&server.get("/handovers/export")).await?;
    let mut piece = vec![0; 1 << 16];
    let (mut bytes, mut end) = (0, Vec::new());
    // The last chunk is empty.
    while !end.ends_with(b"\r\n0\r\n\r\n") {
        let length = stream.read(&mut piece).await?;
        ensure!(length > 0, "the export was cut after {bytes} bytes");
        bytes += length as u64;
        end.extend_from_slice(&piece[length.saturating_sub(16)..length]);
        end.drain(..end.len().saturating_sub(16));
    }
    Ok(Exported {
        took: started.elapsed(),
        bytes,
    })
}

/// Waits until the server has read and verified the whole log, as it does after
/// each start: that takes a processor, too.
async fn verified(server: &Server) -> Result<()> {
    let started = Instant::now();
    let mut connection = api::Connection::open(server.address).await?;
    loop {
        let said = connection.ok(&server.get("/verification")).await?;
        if api::number(said, "verified_seq")? >= api::number(said, "head_seq")? {
            eprintln!("verified after {:.0?}", started.elapsed());
            return Ok(());
        }
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
}

/// The most memory that the server had is counted from now on: starting takes
/// more than what comes after.
fn forget_peak(server: &Server) -> Result<()> {
    std::fs::write(format!("/proc/{}/clear_refs", server.pid()), "5")
        .context("the kernel forgets how much memory a process had")
}

/// A line of the server's memory, in KiB (on Linux).
fn resident_kib(server: &Server, line: &str) -> Result<u64> {
    let status = std::fs::read_to_string(format!("/proc/{}/status", server.pid()))?;
    let found = status.lines().find_map(|text| text.strip_prefix(line));
    let number = found.and_then(|rest| rest.split_whitespace().nth(1)?.parse().ok());
    number.context("the kernel says how much memory a process has")
}
