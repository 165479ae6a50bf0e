//! The real program, on a database of its own. When it goes, its log is searched
//! for every secret that the test used.

use std::{
    fs,
    process::Stdio,
    sync::{Mutex, PoisonError},
    time::{Duration, Instant},
};

use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::{
    io::AsyncWriteExt as _,
    process::{Child, Command},
};

use crate::{
    requests::{Request, Response},
    stream::Stream,
    support::postgres::Postgres,
};

const PROGRAM: &str = env!("CARGO_BIN_EXE_baton");
/// The admin's password.
pub const PASSWORD: &str = "correct horse battery staple";
/// The first holder's token.
pub const HOLDER: &str = "baton_the-first-holders-token-of-tests";

/// How to start it.
pub struct Options {
    pub database: Option<String>,
    pub arguments: Vec<String>,
}

/// A server under test.
pub struct Server {
    /// Where it listens.
    pub host: String,
    /// Its database's address.
    pub database: String,
    arguments: Vec<String>,
    child: Child,
    folder: TempDir,
    secrets: Mutex<Vec<String>>,
}

impl Server {
    /// On a new SQLite file.
    pub async fn start() -> Self {
        Self::with(&[]).await
    }

    /// On a new SQLite file, with these arguments.
    pub async fn with(arguments: &[&str]) -> Self {
        Self::new(Options {
            database: None,
            arguments: arguments.iter().map(ToString::to_string).collect(),
        })
        .await
    }

    /// On a new database of the tests' PostgreSQL.
    pub async fn on_postgres() -> Self {
        let database = Postgres::shared().await.database().await;
        Self::on(database).await
    }

    /// On this database.
    pub async fn on(database: String) -> Self {
        Self::new(Options {
            database: Some(database),
            arguments: Vec::new(),
        })
        .await
    }

    async fn new(options: Options) -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder can be made");
        let file = format!("sqlite://{}/baton.db", folder.path().display());
        let database = options.database.unwrap_or(file);
        let mut server = Self {
            host: String::new(),
            child: spawn(&database, &options.arguments, &folder, false),
            database,
            arguments: options.arguments,
            folder,
            secrets: Mutex::new(vec![PASSWORD.to_owned(), HOLDER.to_owned()]),
        };
        server.find_host().await;
        server
    }

    async fn find_host(&mut self) {
        let started = Instant::now();
        loop {
            let log = self.log();
            // The last one: a server that was started again has a new port.
            let said = log.rsplit_once("listening address=");
            if let Some((host, _)) = said.and_then(|(_, rest)| rest.split_once('\n')) {
                self.host = host.trim().to_owned();
                return;
            }
            let ended = self.child.try_wait().expect("it is our child");
            assert!(
                ended.is_none() && started.elapsed() < Duration::from_secs(60),
                "the server did not start: {ended:?}\n{log}"
            );
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    /// Asks it to stop, and waits until it has; how long that took.
    pub async fn stop(&mut self) -> Duration {
        let asked = Instant::now();
        self.signal("TERM").await;
        let ended = self.child.wait().await.expect("it is our child");
        assert!(ended.success(), "{ended}\n{}", self.log());
        asked.elapsed()
    }

    /// Starts it again on the same database, perhaps on another port.
    pub async fn start_again(&mut self) {
        fs::rename(self.log_file(), self.folder.path().join("log.before"))
            .expect("the log can be put away");
        self.child = spawn(&self.database, &self.arguments, &self.folder, false);
        self.find_host().await;
    }

    /// Kills it and starts it again, with its log going to somebody else.
    pub async fn log_to(&mut self, log: impl Into<Stdio>) {
        self.child.kill().await.expect("it is our child");
        let printed = self.folder.path().join("printed");
        fs::rename(&printed, self.folder.path().join("printed.before"))
            .expect("what was printed can be put away");
        let mut command = command(&self.database, &self.arguments, &self.folder);
        let file = fs::File::create(&printed).expect("what is printed can be kept");
        command.stdout(file).stderr(log);
        self.child = command.spawn().expect("the program can be started");
        eventually("the page's address", async || {
            let printed = self.printed();
            let said = printed.split_once("http://");
            let host = said.and_then(|(_, rest)| rest.split_once('\n'));
            host.map(|(host, _)| self.host = host.to_owned()).is_some()
        })
        .await;
    }

    /// Sends the process a signal by its name.
    pub async fn signal(&self, name: &str) {
        let id = self.child.id().expect("it runs").to_string();
        let sent = Command::new("kill").args(["-s", name, &id]).status().await;
        assert!(sent.expect("kill can run").success());
    }

    /// Starts another server on the same database and waits for it to end: its
    /// exit code and what it said.
    pub async fn second(&self) -> (Option<i32>, String) {
        let child = spawn(&self.database, &self.arguments, &self.folder, true);
        let waited = tokio::time::timeout(Duration::from_secs(30), child.wait_with_output());
        let output = waited
            .await
            .expect("the second server ends")
            .expect("it is our child");
        (
            output.status.code(),
            String::from_utf8_lossy(&output.stderr).into_owned(),
        )
    }

    fn log_file(&self) -> std::path::PathBuf {
        self.folder.path().join("log")
    }

    /// What it wrote to stderr.
    pub fn log(&self) -> String {
        fs::read_to_string(self.log_file()).unwrap_or_default()
    }

    /// A folder that goes with it, where commands run.
    pub fn folder(&self) -> &std::path::Path {
        self.folder.path()
    }

    /// What it printed.
    pub fn printed(&self) -> String {
        fs::read_to_string(self.folder.path().join("printed")).unwrap_or_default()
    }

    /// Runs a command of the program, with the server's database and address.
    pub async fn baton(&self, arguments: &[&str], input: &str) -> Result<String, String> {
        let mut child = Command::new(PROGRAM)
            .args(arguments)
            .env("BATON_DATABASE", &self.database)
            .env("BATON_URL", format!("http://{}", self.host))
            .env("BATON_TOKEN", HOLDER)
            .current_dir(self.folder.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the program can be started");
        let mut stdin = child.stdin.take().expect("stdin is a pipe");
        // A command that fails early does not read it.
        drop(stdin.write_all(input.as_bytes()).await);
        drop(stdin);
        let output = child.wait_with_output().await.expect("it is our child");
        let said = String::from_utf8_lossy(&output.stdout).trim().to_owned();
        if output.status.success() {
            return Ok(said);
        }
        let error = String::from_utf8_lossy(&output.stderr);
        Err(format!("{:?}: {error}", output.status.code()))
    }

    /// A command that succeeds.
    pub async fn done(&self, arguments: &[&str]) -> String {
        let done = self.baton(arguments, "").await;
        done.unwrap_or_else(|error| panic!("baton {arguments:?}: {error}"))
    }

    /// A new token, made beside the running server; it works when this returns.
    pub async fn token(&self, name: &str, role: &str, more: &[&str]) -> String {
        let mut arguments = vec!["token", "create", "--name", name, "--role", role];
        arguments.extend(more);
        let token = self.done(&arguments).await;
        self.known(&token).await;
        token
    }

    /// Waits until the server has heard of a token.
    pub async fn known(&self, token: &str) {
        self.secret(token);
        let look = Request::get("/api/v1/leases?limit=1").token(token);
        eventually("the server knows the token", async || {
            self.send(&look).await.status == 200
        })
        .await;
    }

    /// A new user.
    pub async fn user(&self, name: &str, role: &str, password: &str) {
        self.secret(password);
        let arguments = ["user", "create", name, "--role", role, "--password-stdin"];
        let made = self.baton(&arguments, password).await;
        made.expect("a user can be made");
    }

    /// The cookie of a session, by the page's form.
    pub async fn sign_in(&self, name: &str, password: &str) -> String {
        let form = Request::form("/sign-in", &[("name", name), ("password", password)]);
        let answer = self.send(&form).await;
        assert_eq!(answer.status, 303, "{}", answer.text());
        let cookie = answer.header("set-cookie").expect("there is a cookie");
        let cookie = cookie.split(';').next().unwrap_or_default().to_owned();
        self.secret(cookie.split_once('=').expect("it has a value").1);
        cookie
    }

    fn secret(&self, secret: &str) {
        let mut secrets = self.secrets.lock().unwrap_or_else(PoisonError::into_inner);
        secrets.push(secret.to_owned());
    }

    pub async fn send(&self, request: &Request) -> Response {
        request.send(&self.host).await
    }

    pub async fn get(&self, path: &str, token: &str) -> Response {
        self.send(&Request::get(path).token(token)).await
    }

    pub async fn post(&self, path: &str, token: &str, body: Value) -> Response {
        self.send(&Request::post(path, &body).token(token)).await
    }

    /// A call about a lease, by the first holder.
    pub async fn call(&self, lease: &str, verb: &str, body: Value) -> Response {
        self.post(&format!("/api/v1/leases/{lease}/{verb}"), HOLDER, body)
            .await
    }

    /// An acquire that succeeds, for a minute and longer than any test takes.
    pub async fn acquired(&self, lease: &str, holder: &str) -> Value {
        let body = json!({ "holder": holder, "ttl_ms": 600_000 });
        self.call(lease, "acquire", body).await.ok()
    }

    /// An event stream.
    pub async fn stream(&self, request: Request) -> Stream {
        Stream::open(&self.host, &request).await
    }

    /// All leases and the whole log, but for what time changes.
    pub async fn everything(&self) -> Value {
        let mut leases = self.get("/api/v1/leases?limit=1000", HOLDER).await.ok();
        for lease in leases["items"].as_array_mut().expect("it is a list") {
            for passing in ["now", "remaining_ms"] {
                lease[passing].take();
            }
        }
        let log = self.get("/api/v1/handovers?limit=1000", HOLDER).await.ok();
        json!([leases["items"], log["items"]])
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        drop(self.child.start_kill());
        if std::thread::panicking() {
            eprintln!("the server's log:\n{}", self.log());
            return;
        }
        let log = self.log();
        let secrets = self.secrets.lock().unwrap_or_else(PoisonError::into_inner);
        for secret in secrets.iter() {
            assert!(!log.contains(secret), "a secret is in the log:\n{log}");
        }
        assert!(!log.contains("panicked"), "something panicked:\n{log}");
    }
}

fn spawn(database: &str, arguments: &[String], folder: &TempDir, heard: bool) -> Child {
    let mut command = command(database, arguments, folder);
    if heard {
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        return command.spawn().expect("the program can be started");
    }
    let file = |name: &str| {
        let file = fs::File::options()
            .create(true)
            .append(true)
            .open(folder.path().join(name));
        file.expect("a log can be made")
    };
    command.stdout(file("printed")).stderr(file("log"));
    command.spawn().expect("the program can be started")
}

fn command(database: &str, arguments: &[String], folder: &TempDir) -> Command {
    let mut command = Command::new(PROGRAM);
    command
        .args(["serve", "--listen", "127.0.0.1:0", "--database", database])
        .args(arguments)
        .env("BATON_ADMIN_PASSWORD", PASSWORD)
        .env("BATON_HOLDER_TOKEN", HOLDER)
        // As much as there is, since it is searched for secrets.
        .env("BATON_LOG", "debug,baton=trace")
        .current_dir(folder.path())
        .stdin(Stdio::null())
        .kill_on_drop(true);
    command
}

/// Waits until something is true.
pub async fn eventually(what: &str, mut is_true: impl AsyncFnMut() -> bool) {
    let started = Instant::now();
    while !is_true().await {
        assert!(started.elapsed() < Duration::from_secs(30), "never: {what}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}
