//! Steps of a server's wall clock, an hour either way, under the real process:
//! on SQLite they neither expire nor extend a lease, and on PostgreSQL a server
//! whose clock is an hour off decides the same as its peers. The steps are made
//! by libfaketime, which has to be there.
#![cfg(target_os = "linux")]

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
    Acquire, Client, Code, Generation, HandoverEvent, HolderId, Lease, LeaseName, LeaseState,
    Renew, Timestamp,
};
use served::Served;
use support::postgres::Postgres;
use whole::{check_chain, whole_log};

/// A wall clock that can be turned.
struct Wall {
    library: PathBuf,
    file: PathBuf,
    _folder: tempfile::TempDir,
}

impl Wall {
    fn new(offset_seconds: i64) -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder can be made");
        let wall = Self {
            library: library(),
            file: folder.path().join("offset"),
            _folder: folder,
        };
        wall.turn(offset_seconds);
        wall
    }

    /// Puts it so far from the real time.
    fn turn(&self, offset_seconds: i64) {
        // Replaced whole, as it is read all the time.
        let new = self.file.with_extension("new");
        fs::write(&new, format!("{offset_seconds:+}\n")).expect("a file can be written");
        fs::rename(&new, &self.file).expect("a file can be replaced");
        let shown = self.shown() - real();
        let missed = (shown - offset_seconds).abs();
        assert!(
            missed < 60,
            "libfaketime shows {shown} s, not {offset_seconds} s"
        );
    }

    fn environment(&self) -> Vec<(String, String)> {
        let path = |path: &Path| path.display().to_string();
        [
            ("LD_PRELOAD", path(&self.library)),
            ("FAKETIME_TIMESTAMP_FILE", path(&self.file)),
            ("FAKETIME_NO_CACHE", "1".into()),
            // By default it fakes the monotonic clock too, which no step does.
            ("FAKETIME_DONT_FAKE_MONOTONIC", "1".into()),
        ]
        .map(|(name, value)| (name.to_owned(), value))
        .into()
    }

    /// What a program sees on it, in seconds.
    fn shown(&self) -> i64 {
        let date = Command::new("date")
            .arg("+%s")
            .envs(self.environment())
            .output();
        let date = date.expect("date can run").stdout;
        String::from_utf8_lossy(&date)
            .trim()
            .parse()
            .expect("is a number")
    }

    async fn serve(&self, database: Option<String>) -> Served {
        let served = Served::within(database, self.environment()).await;
        let maps = fs::read_to_string(format!("/proc/{}/maps", served.pid()));
        assert!(
            maps.expect("it runs").contains("libfaketime"),
            "it is not faked"
        );
        served
    }
}

fn library() -> PathBuf {
    let folders = fs::read_dir("/usr/lib").into_iter().flatten().flatten();
    folders
        .map(|folder| folder.path().join("faketime/libfaketimeMT.so.1"))
        .chain(["/usr/lib/faketime/libfaketimeMT.so.1".into()])
        .chain(["/usr/lib64/faketime/libfaketimeMT.so.1".into()])
        .find(|library| library.is_file())
        .expect("libfaketime is not installed, and these tests need it: apt-get install faketime")
}

/// The real time, in seconds.
fn real() -> i64 {
    let since = std::time::SystemTime::UNIX_EPOCH.elapsed();
    since.expect("it is later than 1970").as_secs() as i64
}

fn name(lease: &str) -> LeaseName {
    lease.parse().expect("is a name")
}

fn holder(name: &str) -> HolderId {
    name.parse().expect("is a holder")
}

async fn take(client: &Client, lease: &str, who: &str, ttl_ms: u64) -> Lease {
    let acquire = Acquire::new(holder(who), ttl_ms);
    client
        .acquire(&name(lease), &acquire)
        .await
        .expect("is free")
}

async fn is_held(client: &Client, lease: &str) {
    let acquire = Acquire::new(holder("other"), 60_000);
    let refused = client.acquire(&name(lease), &acquire).await;
    let refused = refused.expect_err("it is held");
    assert_eq!(refused.code(), Some(Code::Held), "{lease}");
}

async fn renew(client: &Client, lease: &str, who: &str, generation: Generation) -> Lease {
    let renew = Renew {
        holder: holder(who),
        generation,
        ttl_ms: None,
        status: None,
    };
    client.renew(&name(lease), &renew).await.expect("is held")
}

/// Waits until the lease has lapsed, and says how long that took.
async fn until_lapsed(client: &Client, lease: &str) -> Duration {
    let started = Instant::now();
    loop {
        let lease = client.lease(&name(lease)).await.expect("it answers");
        if lease.state == LeaseState::Lapsed {
            return started.elapsed();
        }
        assert!(
            started.elapsed() < Duration::from_secs(30),
            "it never lapses"
        );
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

fn seconds_between(earlier: Timestamp, later: Timestamp) -> i64 {
    (later.micros() - earlier.micros()) / 1_000_000
}

#[tokio::test(flavor = "multi_thread")]
async fn steps_of_the_wall_neither_expire_nor_extend_a_lease_on_sqlite() {
    let wall = Wall::new(0);
    let mut served = wall.serve(None).await;
    let client = served.client();
    let held = take(&client, "held", "a", 60_000).await;
    let mut last = held.now;
    for (round, offset) in [3_600, 0, -3_600, 3_600, -3_600].into_iter().enumerate() {
        wall.turn(offset);
        // It does not expire what is held, whichever way the wall went.
        is_held(&client, "held").await;
        let renewed = renew(&client, "held", "a", held.generation).await;
        assert!(renewed.remaining_ms <= Some(60_000) && renewed.remaining_ms > Some(50_000));
        // Time goes on as it did.
        let passed = seconds_between(last, renewed.now);
        assert!((0..30).contains(&passed), "{passed} s passed");
        last = renewed.now;

        // Nor does it extend what nobody renews.
        let brief = format!("brief-{round}");
        take(&client, &brief, "a", 1_500).await;
        wall.turn(-offset);
        let lapsed_after = until_lapsed(&client, &brief).await;
        assert!(
            lapsed_after > Duration::from_millis(500),
            "{lapsed_after:?}"
        );
        take(&client, &brief, "b", 60_000).await;
    }

    // A server that starts on a wall that went back goes on from where it was.
    wall.turn(-3_600);
    served.kill();
    served.come_back().await;
    let client = served.client();
    let renewed = renew(&client, "held", "a", held.generation).await;
    assert!(renewed.now >= last);
    let log = whole_log(&client).await;
    check_chain(&log);
    let lapses = log
        .iter()
        .filter(|entry| entry.event == HandoverEvent::Lapsed);
    assert!(
        lapses
            .into_iter()
            .all(|entry| entry.lease != Some(name("held")))
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn servers_an_hour_off_decide_the_same_on_postgres() {
    let database = Postgres::shared().await.database().await;
    let (right, ahead, behind) = (Wall::new(0), Wall::new(3_600), Wall::new(-3_600));
    let mut servers = Vec::new();
    for wall in [&right, &ahead, &behind] {
        servers.push(wall.serve(Some(database.clone())).await);
    }
    let clients: Vec<Client> = servers.iter().map(Served::client).collect();
    let held = take(&clients[0], "held", "a", 60_000).await;
    // All of them see the same time, and the same tenure.
    for client in &clients {
        is_held(client, "held").await;
        let renewed = renew(client, "held", "a", held.generation).await;
        assert!(renewed.remaining_ms > Some(50_000));
        assert!((0..30).contains(&seconds_between(held.now, renewed.now)));
    }
    // What each of them grants lasts as long as it should, for all of them.
    for (i, client) in clients.iter().enumerate() {
        let lease = format!("brief-{i}");
        take(client, &lease, "a", 1_500).await;
        let next = &clients[(i + 1) % clients.len()];
        is_held(next, &lease).await;
        let lapsed_after = until_lapsed(next, &lease).await;
        assert!(lapsed_after < Duration::from_secs(20), "{lapsed_after:?}");
        take(next, &lease, "b", 60_000).await;
    }
    // Each lapse was found once, and time never fell in the log.
    let log = whole_log(&clients[0]).await;
    check_chain(&log);
    let lapses = log
        .iter()
        .filter(|entry| entry.event == HandoverEvent::Lapsed);
    assert_eq!(lapses.count(), clients.len());
}
