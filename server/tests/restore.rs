//! An old backup is restored, and the grants since are lost: the story of the
//! README, with its commands, on both databases. No generation is ever granted
//! twice, because a checkpoint was remembered outside.

#[path = "support/served.rs"]
mod served;
#[path = "support/mod.rs"]
mod support;
#[path = "support/whole.rs"]
mod whole;

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
    time::{Duration, Instant},
};

use baton_client::{
    Acquire, CallError, Client, Code, Ended, Generation, Handover, HandoverEvent, Lease, Problem,
    Release, Renew,
};
use served::Served;
use support::postgres::Postgres;
use whole::{check_chain, whole_log};

const RAISED_BY: u64 = 1 << 32;

async fn acquire(client: &Client, lease: &str, holder: &str) -> Result<Lease, CallError> {
    let acquire = Acquire {
        holder: holder.parse().expect("is a holder"),
        ttl_ms: 600_000,
        grace_ms: 0,
        claim_id: None,
        above: None,
        expected_generation: None,
        max_attempts: None,
        payload: None,
        principal: None,
        status: None,
        wait_ms: 0,
    };
    client
        .acquire(&lease.parse().expect("is a name"), &acquire)
        .await
}

async fn release(client: &Client, lease: &Lease) {
    let release = Release {
        holder: lease.holder.clone().expect("is held"),
        generation: lease.generation,
        reason: None,
    };
    let released = client.release(&lease.lease, &release).await;
    released.expect("it is held");
}

/// What a holder is told that goes on with a tenure of before.
async fn renew(client: &Client, lease: &Lease) -> Problem {
    let renew = Renew {
        holder: lease.holder.clone().expect("is held"),
        generation: lease.generation,
        ttl_ms: None,
        status: None,
    };
    refused(client.renew(&lease.lease, &renew).await)
}

fn refused(answer: Result<Lease, CallError>) -> Problem {
    let error = answer.expect_err("it is refused");
    let problem = error.problem().expect("the server says why");
    problem.clone()
}

fn succeeds(command: &mut Command) {
    let output = command.output().expect("the program is there");
    assert!(
        output.status.success(),
        "{command:?}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
}

/// Writes down where the log ends, as a checkpoint does.
fn remember(log: &[Handover], file: &Path) {
    let last = log.last().expect("something happened");
    let line = serde_json::json!({ "seq": last.seq, "hash": last.hash, "at": last.at });
    fs::write(file, format!("{line}\n")).expect("a file can be written");
}

/// What differs between the databases.
enum Kind {
    Sqlite,
    Postgres(&'static Postgres),
}

impl Kind {
    async fn database(&self, folder: &Path, name: &str) -> String {
        match self {
            Self::Sqlite => format!("sqlite://{}", folder.join(name).display()),
            Self::Postgres(postgres) => postgres.database().await,
        }
    }

    /// Beside the running server.
    fn back_up(&self, database: &str, to: &Path) {
        match self {
            Self::Sqlite => succeeds(
                Command::new("sqlite3")
                    .arg(database.trim_start_matches("sqlite://"))
                    .arg(format!(".backup '{}'", to.display())),
            ),
            Self::Postgres(postgres) => succeeds(
                Command::new(postgres.program("pg_dump"))
                    .args(["--format=custom", "--file"])
                    .arg(to)
                    .arg(database),
            ),
        }
    }

    fn restore(&self, backup: &Path, database: &str) {
        match self {
            Self::Sqlite => {
                let file = PathBuf::from(database.trim_start_matches("sqlite://"));
                fs::copy(backup, file).expect("a file can be copied");
            }
            Self::Postgres(postgres) => succeeds(
                Command::new(postgres.program("pg_restore"))
                    .args(["--no-owner", "--exit-on-error", "--dbname", database])
                    .arg(backup),
            ),
        }
    }
}

async fn an_old_backup_is_restored(kind: Kind) {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let backup = folder.path().join("backup");
    let checkpoint = folder.path().join("checkpoint");

    // Two tenures, a backup, and then what the backup does not have.
    let database = kind.database(folder.path(), "baton.db").await;
    let mut server = Served::within(Some(database.clone()), Vec::new()).await;
    let client = server.client();
    let first = acquire(&client, "ledger", "a").await.expect("is free");
    release(&client, &first).await;
    let kept = acquire(&client, "kept", "k").await.expect("is free");
    kind.back_up(&database, &backup);
    let lost = acquire(&client, "ledger", "b").await.expect("is free");
    assert_eq!(lost.generation.get(), 3);
    let unknown = acquire(&client, "new", "b").await.expect("is free");
    remember(&whole_log(&client).await, &checkpoint);
    server.kill();

    // The backup instead, and the checkpoint that was remembered.
    let database = kind.database(folder.path(), "restored.db").await;
    kind.restore(&backup, &database);
    let file = checkpoint.to_string_lossy().into_owned();
    let environment = vec![("BATON_CHECKPOINT".to_owned(), file)];
    let mut server = Served::within(Some(database.clone()), environment.clone()).await;
    let client = server.client();
    let log = whole_log(&client).await;
    check_chain(&log);
    assert_eq!(log.len(), 3, "what came after the backup is lost");
    // Without it, this would grant generation 3 to somebody else.
    let behind = refused(acquire(&client, "ledger", "c").await);
    assert_eq!((behind.status, behind.code), (503, Code::HistoryBehind));
    assert!(behind.detail.contains("raise-floor"), "{}", behind.detail);
    let shorter = "does not contain the checkpoint, it is shorter";
    server.says(shorter, 1).await;
    // A holder from the lost time presents what nobody granted, as it seems.
    let presented = renew(&client, &lost).await;
    assert_eq!(presented.ended, Some(Ended::Unknown));
    server.says("above the current one was presented", 1).await;
    let metrics = Command::new("curl")
        .args(["-sS", &format!("{}/metrics", server.url)])
        .output()
        .expect("the program is there");
    let metrics = String::from_utf8_lossy(&metrics.stdout);
    assert!(
        metrics.contains("baton_presentations_above_total 1"),
        "{metrics}"
    );
    assert!(metrics.contains("baton_history_behind 1"), "{metrics}");
    // Starting again is no way out.
    server.kill();
    server.come_back().await;
    let behind = refused(acquire(&client, "ledger", "c").await);
    assert_eq!(behind.code, Code::HistoryBehind);
    server.says(shorter, 2).await;
    // Nor is it without the checkpoint: it was noted, and that is said at each start.
    server.kill();
    let mut server = Served::within(Some(database.clone()), Vec::new()).await;
    let client = server.client();
    let behind = refused(acquire(&client, "ledger", "c").await);
    assert_eq!(behind.code, Code::HistoryBehind);
    server.says(shorter, 1).await;

    // Raising is. On SQLite, while no server has the file.
    let raise = |server: &Served| {
        let mut raise = server.baton();
        raise
            .args(["raise-floor", "--reason", "restored last night's backup"])
            .args(["--json", "--database", &database]);
        raise.output().expect("the program is there")
    };
    if matches!(kind, Kind::Sqlite) {
        let refused = raise(&server);
        assert_eq!(refused.status.code(), Some(3));
        server.kill();
    }
    let raised = raise(&server);
    assert!(raised.status.success(), "{raised:?}");
    let raised: Handover = serde_json::from_slice(&raised.stdout).expect("is an entry");
    assert_eq!(raised.event, HandoverEvent::FloorRaised);
    if matches!(kind, Kind::Sqlite) {
        server.come_back().await;
    }
    let granted = acquire(&client, "ledger", "c").await.expect("is free");
    assert_eq!(granted.generation.get(), RAISED_BY + 3);
    let new = acquire(&client, "new", "c").await.expect("is free");
    assert!(new.generation > unknown.generation, "{}", new.generation);
    // Whoever held something, then or before, is refused.
    for old in [&first, &kept, &lost, &unknown] {
        assert_eq!(renew(&client, old).await.code, Code::Lost);
    }
    // Also with the same checkpoint, the next start grants.
    server.kill();
    let server = Served::within(Some(database.clone()), environment).await;
    let client = server.client();
    // What it has to say against the checkpoint comes before this.
    server.says("listening address=", 1).await;
    assert!(
        !server.log().contains("does not contain"),
        "{}",
        server.log()
    );
    acquire(&client, "after", "c").await.expect("is free");
    let log = whole_log(&client).await;
    check_chain(&log);
    assert!(granted_once(&log));
    // And the history, with the raise in it, fits together and tells the table.
    let mut verify = server.baton();
    verify.args(["verify", "--database", &database]);
    succeeds(&mut verify);
}

/// No generation of a lease is granted twice.
fn granted_once(log: &[Handover]) -> bool {
    let grants = log.iter().filter(|e| e.event == HandoverEvent::Granted);
    let mut seen = std::collections::BTreeMap::new();
    grants.into_iter().all(|entry| {
        let last: Option<Generation> = seen.insert(entry.lease.clone(), entry.generation);
        last.is_none_or(|last| last < entry.generation)
    })
}

#[tokio::test]
async fn an_old_backup_is_restored_on_sqlite() {
    an_old_backup_is_restored(Kind::Sqlite).await;
}

#[tokio::test]
async fn an_old_backup_is_restored_on_postgres() {
    an_old_backup_is_restored(Kind::Postgres(Postgres::shared().await)).await;
}

/// Beside a server that has the SQLite file, forgetting goes through that server.
#[tokio::test]
async fn forgetting_asks_the_server_that_has_the_file() {
    let server = Served::start().await;
    let client = server.client();
    for i in 0..5 {
        let lease = acquire(&client, &format!("job-{i}"), "a").await;
        release(&client, &lease.expect("is free")).await;
    }
    let forget = |idle: &str, token: &str| {
        let mut forget = server.baton();
        forget
            .args(["forget", "--json", "--idle", idle, "--database"])
            .arg(server.database())
            .env("BATON_TOKEN", token);
        forget.output().expect("the program is there")
    };
    let holder = forget("1h", served::HOLDER_TOKEN);
    assert_eq!(
        holder.status.code(),
        Some(4),
        "it takes an admin: {holder:?}"
    );
    let admin = server.token("root", "admin").await;
    let none = forget("1h", &admin);
    assert_eq!(
        String::from_utf8_lossy(&none.stdout).trim(),
        r#"{"floor":0,"forgotten":0}"#
    );
    let log = whole_log(&client).await;
    assert_eq!(log.len(), 10, "nothing was written");
    // What was idle for a second goes, once that is over.
    let started = Instant::now();
    let mut forgotten = 0;
    while forgotten < 5 {
        assert!(started.elapsed() < Duration::from_secs(60), "{forgotten}");
        let some = forget("1s", &admin);
        let some: serde_json::Value = serde_json::from_slice(&some.stdout).expect("is JSON");
        forgotten += some["forgotten"].as_u64().expect("is a number");
    }
    let log = whole_log(&client).await;
    check_chain(&log);
    let last = log.last().expect("it was logged");
    assert_eq!(last.actor.to_string(), "token:root");
    let back = acquire(&client, "job-3", "a").await.expect("is free");
    assert_eq!(back.generation.get(), 3);
}

/// The history's older part goes into a file: the rest verifies, file and rest
/// verify as one, and what the file has is in no database any more.
async fn the_older_part_is_archived(kind: Kind) {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let database = kind.database(folder.path(), "baton.db").await;
    let mut server = Served::within(Some(database.clone()), Vec::new()).await;
    let client = server.client();
    for i in 0..3 {
        let lease = acquire(&client, &format!("job-{i}"), "a").await;
        release(&client, &lease.expect("is free")).await;
    }
    let kept = acquire(&client, "kept", "k").await.expect("is free");
    let log = whole_log(&client).await;
    // Later than all but the last.
    let before = log[6].at.to_string();
    let file = |name: &str| folder.path().join(name);
    let baton = |server: &Served, arguments: &[&str]| {
        let mut command = server.baton();
        command.args(arguments).env("BATON_DATABASE", &database);
        command
            .current_dir(folder.path())
            .output()
            .expect("the program is there")
    };
    let archive = ["archive", "--before", &before, "--to", "old.jsonl"];
    if matches!(kind, Kind::Sqlite) {
        let refused = baton(&server, &archive);
        assert_eq!(refused.status.code(), Some(3), "a server has the file");
        server.kill();
    }
    let nothing = [
        "archive",
        "--before",
        "2020-01-01T00:00:00Z",
        "--to",
        "none.jsonl",
    ];
    let done = baton(&server, &nothing);
    assert!(
        done.status.success() && !file("none.jsonl").exists(),
        "{done:?}"
    );
    let done = baton(&server, &archive);
    assert!(done.status.success(), "{done:?}");
    let again = baton(&server, &archive);
    assert_eq!(
        again.status.code(),
        Some(2),
        "an archive overwrites nothing"
    );
    if matches!(kind, Kind::Sqlite) {
        server.come_back().await;
    }
    // Everything goes on.
    let granted = acquire(&client, "job-1", "b").await.expect("is free");
    assert_eq!(granted.generation.get(), 3);
    let rest = whole_log(&client).await;
    assert_eq!(rest[0].seq, 7);
    assert_eq!(rest[0].prev_hash, log[5].hash);
    assert!(
        rest.iter()
            .any(|entry| entry.event == HandoverEvent::Archived)
    );
    let renewed = Renew {
        holder: kept.holder.clone().expect("is held"),
        generation: kept.generation,
        ttl_ms: None,
        status: None,
    };
    client
        .renew(&kept.lease, &renewed)
        .await
        .expect("it is held");

    for arguments in [
        &["export", "--output", "rest.jsonl"][..],
        &["verify", "--database", &database],
        &["verify", "old.jsonl"],
        &["verify", "rest.jsonl"],
        &["verify", "old.jsonl", "rest.jsonl"],
    ] {
        let done = baton(&server, arguments);
        assert!(done.status.success(), "{arguments:?}: {done:?}");
    }
    // Also with nothing of Baton's.
    let both =
        [file("old.jsonl"), file("rest.jsonl")].map(|file| fs::read(file).expect("is there"));
    let both = both.concat();
    fs::write(file("both.jsonl"), both).expect("a file can be written");
    let checker = concat!(env!("CARGO_MANIFEST_DIR"), "/../end2end/verify_chain.py");
    for part in ["old.jsonl", "rest.jsonl", "both.jsonl"] {
        succeeds(Command::new("python3").arg(checker).arg(file(part)));
    }
}

#[tokio::test]
async fn the_older_part_is_archived_on_sqlite() {
    the_older_part_is_archived(Kind::Sqlite).await;
}

#[tokio::test]
async fn the_older_part_is_archived_on_postgres() {
    the_older_part_is_archived(Kind::Postgres(Postgres::shared().await)).await;
}
