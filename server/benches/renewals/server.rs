//! The real program, as a process of its own, on a database.

use std::{
    io::{BufRead as _, BufReader},
    net::SocketAddr,
    process::{Child, Command, Stdio},
};

use anyhow::{Context as _, Result};

use super::api::{self, Connection};

/// Known beforehand, so that requests can be made beforehand.
const TOKEN: &str = "baton_only-for-this-benchmark-0000";
/// So long that nothing lapses while the benchmark runs.
const TTL_MS: u64 = 86_400_000;
/// Connections that acquire side by side.
const ACQUIRERS: usize = 128;

/// A running `baton serve` with leases that are all held.
pub struct Server {
    process: Child,
    /// Where it listens.
    pub address: SocketAddr,
    /// The generation of each lease.
    generations: Vec<u64>,
}

/// The name of a lease.
pub fn lease(number: usize) -> String {
    format!("bench-{number}")
}

/// The name of its holder.
fn holder(number: usize) -> String {
    format!("holder-{number}.example")
}

impl Server {
    /// Starts a server on an empty database, and acquires so many leases.
    pub async fn start(database: &str, leases: usize) -> Result<Self> {
        let mut process = Command::new(env!("CARGO_BIN_EXE_baton"))
            .args(["serve", "--listen", "127.0.0.1:0", "--database", database])
            .env("BATON_HOLDER_TOKEN", TOKEN)
            .env("BATON_ADMIN_PASSWORD", "only for this benchmark")
            .env("BATON_LOG", "warn")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .context("baton cannot be started")?;
        let stdout = process.stdout.take().context("stdout is a pipe")?;
        let mut said = BufReader::new(stdout).lines();
        let address = said
            .by_ref()
            .map_while(Result::ok)
            .find_map(|line| line.strip_prefix("Baton is at http://")?.parse().ok());
        let mut server = Self {
            process,
            address: address.context("baton did not start")?,
            generations: Vec::new(),
        };
        // It must never block on what nobody reads.
        std::thread::spawn(move || said.for_each(drop));
        server.acquire(leases).await?;
        Ok(server)
    }

    async fn acquire(&mut self, leases: usize) -> Result<()> {
        let mut tasks = tokio::task::JoinSet::new();
        for first in 0..ACQUIRERS.min(leases) {
            let address = self.address;
            tasks.spawn(async move {
                let mut connection = Connection::open(address).await?;
                let mut acquired = Vec::new();
                for number in (first..leases).step_by(ACQUIRERS) {
                    let body = connection.ok(&acquire(number, 0)).await?;
                    acquired.push((number, api::number(body, "generation")?));
                }
                anyhow::Ok(acquired)
            });
        }
        self.generations = vec![0; leases];
        while let Some(acquired) = tasks.join_next().await {
            for (number, generation) in acquired?? {
                self.generations[number] = generation;
            }
        }
        Ok(())
    }

    /// How many leases are held.
    pub fn leases(&self) -> usize {
        self.generations.len()
    }

    /// The request that renews a lease.
    pub fn renew(&self, number: usize) -> Vec<u8> {
        let body = format!(
            r#"{{"holder":"{}","generation":{}}}"#,
            holder(number),
            self.generations[number]
        );
        api::request(
            "POST",
            &format!("/leases/{}/renew", lease(number)),
            TOKEN,
            &body,
        )
    }

    /// The request that renews many.
    pub fn renew_all(&self, numbers: impl Iterator<Item = usize>) -> Vec<u8> {
        let renewals: Vec<String> = numbers
            .map(|number| {
                format!(
                    r#"{{"lease":"{}","holder":"{}","generation":{}}}"#,
                    lease(number),
                    holder(number),
                    self.generations[number]
                )
            })
            .collect();
        let body = format!(r#"{{"renewals":[{}]}}"#, renewals.join(","));
        api::request("POST", "/renewals", TOKEN, &body)
    }

    /// The process that serves.
    pub fn pid(&self) -> u32 {
        self.process.id()
    }

    /// The request of something to look at.
    pub fn get(&self, path: &str) -> Vec<u8> {
        api::request("GET", path, TOKEN, "")
    }

    /// The request of a page that watches.
    pub fn watch(&self) -> Vec<u8> {
        api::request("GET", "/events?sort=attention&limit=100", TOKEN, "")
    }
}

/// The request that acquires a lease, waiting in line for it.
pub fn acquire(number: usize, wait_ms: u64) -> Vec<u8> {
    let body = format!(
        r#"{{"holder":"{}","ttl_ms":{TTL_MS},"wait_ms":{wait_ms}}}"#,
        holder(number)
    );
    api::request(
        "POST",
        &format!("/leases/{}/acquire", lease(number)),
        TOKEN,
        &body,
    )
}

/// The request that releases a lease.
pub fn release(number: usize, generation: u64) -> Vec<u8> {
    let body = format!(
        r#"{{"holder":"{}","generation":{generation}}}"#,
        holder(number)
    );
    api::request(
        "POST",
        &format!("/leases/{}/release", lease(number)),
        TOKEN,
        &body,
    )
}

impl Drop for Server {
    fn drop(&mut self) {
        // Everything it wrote is thrown away.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
