//! Throw-away PostgreSQL clusters: one for a whole test process, or one for a
//! single test that wants to stop and start it. A cluster lives in a temporary
//! folder, on a free port of the loopback address, and is ended and deleted by a
//! watching shell as soon as the test process ends, however it ends.
//!
//! Databases sort by English rules, so that whatever forgets to compare names by
//! their bytes is found out here. A PostgreSQL that is missing is a failure,
//! never a skip.

use std::{
    ffi::OsStr,
    fs,
    io::{BufRead as _, BufReader},
    net::TcpListener,
    os::unix::{
        fs::{MetadataExt as _, PermissionsExt as _, chown},
        process::CommandExt as _,
    },
    path::{Path, PathBuf},
    process::{Child, ChildStdin, Command, Stdio},
    sync::{
        OnceLock,
        atomic::{AtomicU32, Ordering},
    },
};

use sqlx::{Connection as _, PgConnection};

/// Who owns the databases: no superuser, as in real life.
const OWNER: &str = "baton";
/// Fast and small: nothing of this survives the test anyway.
const SETTINGS: &str = "\
listen_addresses = '127.0.0.1'
unix_socket_directories = ''
max_connections = 400
shared_buffers = '32MB'
fsync = off
full_page_writes = off
max_wal_size = '256MB'
log_line_prefix = '%m [%p] %u@%d '
";
/// Starts the cluster, says so, waits until the test process closes the pipe or
/// dies, and leaves nothing behind.
const WATCH: &str = r#"
bin=$1 folder=$2
if "$bin/pg_ctl" start -s -w -t 60 -D "$folder/data" -l "$folder/log" >/dev/null 2>&1 </dev/null
then echo ready; cat >/dev/null
else echo failed; cat >/dev/null
fi
"$bin/pg_ctl" stop -s -m immediate -D "$folder/data" >/dev/null 2>&1
rm -rf "$folder"
"#;

/// A running cluster.
#[derive(Debug)]
pub struct Postgres {
    programs: PathBuf,
    folder: PathBuf,
    port: u16,
    account: Option<Account>,
    watcher: Child,
    /// Closed when this is dropped or the process ends.
    lifeline: Option<ChildStdin>,
}

/// Whom the server runs as when the tests run as root, which it refuses.
#[derive(Debug, Clone, Copy)]
struct Account {
    user: u32,
    group: u32,
}

impl Postgres {
    /// The cluster of this test process, started at first use.
    pub async fn shared() -> &'static Self {
        static SHARED: OnceLock<Postgres> = OnceLock::new();
        SHARED.get_or_init(Self::start)
    }

    /// A cluster of one's own, ended when dropped.
    ///
    /// # Panics
    /// PostgreSQL is not installed or does not start.
    pub fn start() -> Self {
        Self::start_with("")
    }

    /// As [`Self::start`], with settings that come after the usual ones.
    ///
    /// # Panics
    /// As [`Self::start`].
    pub fn start_with(settings: &str) -> Self {
        let programs = programs();
        let account = account();
        // Somebody else may take the free port before PostgreSQL does.
        for _ in 0..5 {
            if let Some(started) = Self::try_start(&programs, account, settings) {
                started.create_owner();
                return started;
            }
        }
        panic!("PostgreSQL of {} did not start", programs.display());
    }

    fn try_start(programs: &Path, account: Option<Account>, more: &str) -> Option<Self> {
        let folder = tempfile::Builder::new()
            .prefix("baton-postgres-")
            .tempdir()
            .expect("a temporary folder can be made")
            .keep();
        own(&folder, account);
        fill(programs, &folder, account);
        let port = free_port();
        let settings = format!("{SETTINGS}port = {port}\n{more}");
        // Appended: what stands last in the file counts.
        let file = folder.join("data/postgresql.conf");
        let defaults = fs::read_to_string(&file).expect("initdb wrote the settings");
        fs::write(&file, defaults + &settings).expect("the settings can be written");

        let mut watcher = as_account(Command::new("sh"), account)
            .args(["-c", WATCH, "watch"])
            .args([programs, &folder])
            .current_dir(&folder)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            // Ctrl-C is for the tests; the watcher has to outlive them.
            .process_group(0)
            .spawn()
            .expect("sh can be started");
        let lifeline = watcher.stdin.take();
        let mut said = String::new();
        let stdout = watcher.stdout.take().expect("stdout is a pipe");
        BufReader::new(stdout)
            .read_line(&mut said)
            .expect("the watcher can be heard");
        let started = Self {
            programs: programs.to_owned(),
            folder,
            port,
            account,
            watcher,
            lifeline,
        };
        if said.trim() == "ready" {
            return Some(started);
        }
        eprintln!("PostgreSQL did not start:\n{}", started.log());
        None
    }

    /// A new, empty database; its address, as the role that owns it.
    pub async fn database(&self) -> String {
        static COUNT: AtomicU32 = AtomicU32::new(1);
        let name = format!("baton_{}", COUNT.fetch_add(1, Ordering::Relaxed));
        let mut connection = PgConnection::connect(&self.superuser_url("postgres"))
            .await
            .expect("PostgreSQL answers");
        let create = format!("create database {name} owner {OWNER}");
        sqlx::query(sqlx::AssertSqlSafe(create))
            .execute(&mut connection)
            .await
            .expect("a database can be made");
        connection.close().await.expect("PostgreSQL answers");
        format!("postgres://{OWNER}@127.0.0.1:{}/{name}", self.port)
    }

    /// The address of a database for the cluster's superuser: what owner and
    /// server cannot do. Takes the database's name or its address.
    pub fn superuser_url(&self, database: &str) -> String {
        let name = database.rsplit('/').next().unwrap_or(database);
        format!("postgres://postgres@127.0.0.1:{}/{name}", self.port)
    }

    /// A program that came with the server: beside it, or else on the PATH.
    pub fn program(&self, name: &str) -> PathBuf {
        let beside = self.programs.join(name);
        if beside.is_file() {
            beside
        } else {
            PathBuf::from(name)
        }
    }

    /// The port it listens on, at 127.0.0.1.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Ends the server at once, as a power cut would. Only for a cluster of
    /// one's own.
    pub fn go_away(&self) {
        self.pg_ctl(&["stop", "-m", "immediate"]);
    }

    /// Starts the server again after [`Self::go_away`], on the same port.
    pub fn come_back(&self) {
        self.pg_ctl(&["start", "-w", "-t", "60"]);
    }

    /// Where everything of it is.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// What the server wrote to its log.
    pub fn log(&self) -> String {
        fs::read_to_string(self.folder.join("log")).unwrap_or_default()
    }

    fn pg_ctl(&self, arguments: &[&str]) {
        let done = as_account(Command::new(self.programs.join("pg_ctl")), self.account)
            .args(arguments)
            .arg("-s")
            .arg("-D")
            .arg(self.folder.join("data"))
            .arg("-l")
            .arg(self.folder.join("log"))
            .current_dir(&self.folder)
            // The server must not inherit what a test runner waits on.
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status()
            .expect("pg_ctl can be started");
        assert!(done.success(), "pg_ctl {arguments:?}: {}", self.log());
    }

    fn create_owner(&self) {
        let url = self.superuser_url("postgres");
        let create = async move {
            let mut connection = PgConnection::connect(&url).await?;
            sqlx::query(sqlx::AssertSqlSafe(format!("create role {OWNER} login")))
                .execute(&mut connection)
                .await?;
            connection.close().await
        };
        // The caller may be inside a runtime, which must not be blocked on.
        std::thread::spawn(|| {
            tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build()
                .expect("a runtime starts")
                .block_on(create)
        })
        .join()
        .expect("the thread lives")
        .expect("the owner's role can be made");
    }
}

impl Drop for Postgres {
    fn drop(&mut self) {
        drop(self.lifeline.take());
        let _ = self.watcher.wait();
    }
}

/// Puts a new cluster into the folder. What `initdb` makes is kept beside the
/// test programs and copied, as it takes longer than everything else.
fn fill(programs: &Path, folder: &Path, account: Option<Account>) {
    let data = folder.join("data");
    let Some(template) = template(programs, account) else {
        initdb(programs, &data, account);
        return;
    };
    if copy(&template, &data) {
        return;
    }
    let _ = fs::remove_dir_all(&data);
    initdb(programs, &data, account);
    // Whoever is first renames a whole copy into place; a failure costs time only.
    let copied = template.with_extension(format!("new-{}", std::process::id()));
    if !copy(&data, &copied) || fs::rename(&copied, &template).is_err() {
        let _ = fs::remove_dir_all(&copied);
    }
}

/// Where the copy is kept: one for each version and account.
fn template(programs: &Path, account: Option<Account>) -> Option<PathBuf> {
    let program = fs::metadata(programs.join("initdb")).ok()?;
    let tests = std::env::current_exe().ok()?;
    let name = format!(
        "postgres-template-{}-{}-{}",
        program.size(),
        program.mtime(),
        account.map_or(0, |account| account.user)
    );
    Some(tests.ancestors().nth(2)?.join(name))
}

fn copy(from: &Path, to: &Path) -> bool {
    from.is_dir()
        && Command::new("cp")
            .arg("-Rp")
            .args([from, to])
            .stderr(Stdio::null())
            .status()
            .is_ok_and(|done| done.success())
}

fn initdb(programs: &Path, data: &Path, account: Option<Account>) {
    let run = |locale: &[&str]| {
        as_account(Command::new(programs.join("initdb")), account)
            .args(["-N", "-A", "trust", "-U", "postgres", "-E", "UTF8"])
            .args(locale)
            .arg("-D")
            .arg(data)
            .current_dir(data.parent().expect("the folder has a parent"))
            .stdin(Stdio::null())
            .output()
            .expect("initdb can be started")
    };
    let english = run(&["--locale=C", "--locale-provider=icu", "--icu-locale=en"]);
    if english.status.success() {
        return;
    }
    // Before PostgreSQL 15, or built without ICU.
    let plain = run(&[]);
    assert!(
        plain.status.success(),
        "initdb failed:\n{}\n{}",
        String::from_utf8_lossy(&english.stderr),
        String::from_utf8_lossy(&plain.stderr)
    );
}

/// The folder of the newest PostgreSQL server's programs.
fn programs() -> PathBuf {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let has_server = |folder: &Path| {
        ["initdb", "pg_ctl", "postgres"]
            .iter()
            .all(|program| folder.join(program).is_file())
    };
    let version = |folder: &Path| -> u32 {
        let parent = folder.parent().and_then(Path::file_name);
        let version = parent.and_then(OsStr::to_str).map(str::parse);
        version.and_then(Result::ok).unwrap_or(0)
    };
    let debian = fs::read_dir("/usr/lib/postgresql")
        .into_iter()
        .flatten()
        .filter_map(|entry| Some(entry.ok()?.path().join("bin")))
        .filter(|folder| has_server(folder))
        .max_by_key(|folder| version(folder));
    std::env::split_paths(&path)
        .find(|folder| has_server(folder))
        .or(debian)
        .expect(
            "PostgreSQL is not installed, and these tests need it: install the server \
             (Debian: apt-get install postgresql; macOS: brew install postgresql) or put \
             the folder of initdb and postgres on the PATH",
        )
}

/// Root may not run PostgreSQL; `postgres`, or else `nobody`, does it then.
fn account() -> Option<Account> {
    let id = Command::new("id").arg("-u").output().expect("id can run");
    if id.stdout.trim_ascii() != b"0" {
        return None;
    }
    let users = fs::read_to_string("/etc/passwd").expect("/etc/passwd can be read");
    let find = |name: &str| {
        let line = users
            .lines()
            .find(|line| line.split(':').next() == Some(name))?;
        let mut numbers = line.split(':').skip(2).map(str::parse::<u32>);
        Some(Account {
            user: numbers.next()?.ok()?,
            group: numbers.next()?.ok()?,
        })
    };
    Some(
        find("postgres")
            .or_else(|| find("nobody"))
            .expect("there is a user `postgres` to run PostgreSQL as"),
    )
}

fn as_account(mut command: Command, account: Option<Account>) -> Command {
    if let Some(account) = account {
        command.uid(account.user).gid(account.group);
    }
    command
}

fn own(folder: &Path, account: Option<Account>) {
    fs::set_permissions(folder, fs::Permissions::from_mode(0o700)).expect("the folder is ours");
    if let Some(Account { user, group }) = account {
        chown(folder, Some(user), Some(group)).expect("root may give a folder away");
    }
}

fn free_port() -> u16 {
    let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a port is free");
    listener.local_addr().expect("it has an address").port()
}
