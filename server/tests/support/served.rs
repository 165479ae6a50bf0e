//! The real server as a process of its own, for tests of real holders: it can be
//! killed and started again at the same address.

// Every test program uses some of it.
#![allow(dead_code)]

use std::{
    fs,
    net::TcpListener,
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use baton_client::{Client, LeaseQuery};
use tempfile::TempDir;

const PROGRAM: &str = env!("CARGO_BIN_EXE_baton");
/// What holders send.
pub const HOLDER_TOKEN: &str = "baton_the-first-holders-token-of-these-tests";

/// A server, its database and two tokens.
pub struct Served {
    /// Where it is.
    pub url: String,
    address: String,
    database: String,
    operator_token: String,
    /// Beside what tests inherit.
    environment: Vec<(String, String)>,
    server: Child,
    folder: TempDir,
}

impl Served {
    /// On a new SQLite file.
    pub async fn start() -> Self {
        Self::on(None).await
    }

    /// On this database, or on a new SQLite file.
    pub async fn on(database: Option<String>) -> Self {
        let mut served = Self::spawned(database, Vec::new());
        served.ready().await;
        served.operator_token = served.token("operator", "operator").await;
        served
    }

    /// On this database, or on a new SQLite file, with more in its environment;
    /// without an operator, so there can be several on one database.
    pub async fn within(database: Option<String>, environment: Vec<(String, String)>) -> Self {
        let mut served = Self::spawned(database, environment);
        served.ready().await;
        served
    }

    fn spawned(database: Option<String>, environment: Vec<(String, String)>) -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder can be made");
        let file = format!("sqlite://{}/baton.db", folder.path().display());
        let database = database.unwrap_or(file);
        let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a port is free");
        let address = listener
            .local_addr()
            .expect("it has an address")
            .to_string();
        drop(listener);
        Self {
            url: format!("http://{address}"),
            server: serve(&address, &database, &environment, &folder),
            address,
            database,
            operator_token: String::new(),
            environment,
            folder,
        }
    }

    /// Waits until it answers.
    async fn ready(&mut self) {
        let client = self.client();
        let started = Instant::now();
        while let Err(error) = client.leases(&LeaseQuery::default()).await {
            let ended = self.server.try_wait().expect("it is our child");
            assert!(
                ended.is_none() && started.elapsed() < Duration::from_secs(60),
                "the server did not start: {ended:?} {error}\n{}",
                self.log()
            );
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    fn create_token(&self, name: &str, role: &str) -> String {
        let made = Command::new(PROGRAM)
            .args(["token", "create", "--name", name, "--role", role])
            .args(["--database", &self.database])
            .output()
            .expect("the program starts");
        assert!(made.status.success(), "{made:?}");
        String::from_utf8_lossy(&made.stdout).trim().to_owned()
    }

    /// Kills it, as a power cut would.
    pub fn kill(&mut self) {
        self.server.kill().expect("it is our child");
        self.server.wait().expect("it is our child");
    }

    /// Starts it again at the same address, and waits until it answers.
    pub async fn come_back(&mut self) {
        self.server = serve(
            &self.address,
            &self.database,
            &self.environment,
            &self.folder,
        );
        self.ready().await;
    }

    /// The process that serves.
    pub fn pid(&self) -> u32 {
        self.server.id()
    }

    /// Where it listens, as host and port.
    pub fn address(&self) -> &str {
        &self.address
    }

    /// Its database's address.
    pub fn database(&self) -> &str {
        &self.database
    }

    /// A new token, once the server knows it.
    pub async fn token(&self, name: &str, role: &str) -> String {
        let token = self.create_token(name, role);
        let client = Client::new(&self.url, Some(token.clone())).expect("an address and a token");
        let started = Instant::now();
        while let Err(error) = client.leases(&LeaseQuery::default()).await {
            assert!(
                started.elapsed() < Duration::from_secs(60),
                "the token stays unknown: {error}"
            );
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        token
    }

    /// A folder that goes with it.
    pub fn folder(&self) -> &std::path::Path {
        self.folder.path()
    }

    /// As a holder.
    pub fn client(&self) -> Client {
        Client::new(&self.url, Some(HOLDER_TOKEN.into())).expect("an address and a token")
    }

    /// As an operator.
    pub fn operator(&self) -> Client {
        Client::new(&self.url, Some(self.operator_token.clone())).expect("an address and a token")
    }

    /// The program as a client of this server, with the holder's token.
    pub fn baton(&self) -> Command {
        let mut command = Command::new(PROGRAM);
        command
            .env("BATON_URL", &self.url)
            .env("BATON_TOKEN", HOLDER_TOKEN);
        command
    }

    /// Waits until the server has said this so many times: its lines are written
    /// by a thread of its own, perhaps after the answer to the call they tell of.
    pub async fn says(&self, what: &str, times: usize) {
        let started = Instant::now();
        loop {
            let log = self.log();
            let said = log.matches(what).count();
            if said == times {
                return;
            }
            assert!(
                said < times && started.elapsed() < Duration::from_secs(60),
                "{what:?} was said {said} times instead of {times}:\n{log}"
            );
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    /// What the server said so far.
    pub fn log(&self) -> String {
        fs::read_to_string(self.folder.path().join("server.log")).unwrap_or_default()
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.server.kill();
        let _ = self.server.wait();
    }
}

fn serve(
    address: &str,
    database: &str,
    environment: &[(String, String)],
    folder: &TempDir,
) -> Child {
    let log = fs::OpenOptions::new()
        .create(true)
        .append(true)
        .open(folder.path().join("server.log"))
        .expect("a log can be made");
    Command::new(PROGRAM)
        .args(["serve", "--listen", address, "--database", database])
        .env("BATON_HOLDER_TOKEN", HOLDER_TOKEN)
        .env("BATON_ADMIN_PASSWORD", "correct horse battery staple")
        .envs(environment.iter().cloned())
        .stdin(Stdio::null())
        .stdout(log.try_clone().expect("a log can be shared"))
        .stderr(log)
        .spawn()
        .expect("the program starts")
}
