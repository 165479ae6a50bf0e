//! Every example of the `client` crate, run against the real server. They are
//! programs like those that users write, so this also tests what the keeper
//! promises them: a released lease goes on at once, one whose holder died after
//! its ttl, and stale writes are refused.

#![allow(clippy::expect_used)]

use std::{
    io::{BufRead as _, BufReader},
    path::{Path, PathBuf},
    process::{Child, ChildStdout, Command, Output, Stdio},
    sync::Once,
    time::Duration,
};

const TOKEN: &str = "baton_examplesexamplesexamples";
/// What `baton` ends with when the server does not know its token.
const NOT_AUTHORISED: i32 = 4;

/// Ended when dropped, whatever the test came to.
struct Running {
    process: Child,
    lines: std::io::Lines<BufReader<ChildStdout>>,
}

impl Running {
    fn start(command: &mut Command) -> Self {
        let mut process = command
            .stdout(Stdio::piped())
            .spawn()
            .expect("the program starts");
        let stdout = process.stdout.take().expect("it is piped");
        Self {
            process,
            lines: BufReader::new(stdout).lines(),
        }
    }

    /// Reads on to a line with `part` in it.
    fn line(&mut self, part: &str) -> String {
        let mut before = Vec::new();
        for line in self.lines.by_ref() {
            let line = line.expect("text");
            if line.contains(part) {
                return line;
            }
            before.push(line);
        }
        panic!("`{part}` was not said, but {before:?}");
    }

    /// As Ctrl-C does.
    fn interrupt(&mut self) {
        let id = self.process.id().to_string();
        let sent = Command::new("kill").args(["-INT", &id]).status();
        assert!(sent.expect("there is a kill").success());
        self.process.wait().expect("it ends");
    }

    fn kill(&mut self) {
        self.process.kill().expect("it is killed");
        self.process.wait().expect("it ends");
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        drop(self.process.kill());
        drop(self.process.wait());
    }
}

/// A server on a new file.
struct Server {
    folder: tempfile::TempDir,
    database: String,
    url: String,
    _running: Running,
}

impl Server {
    fn start() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let database = format!("sqlite://{}", folder.path().join("baton.db").display());
        let mut running = Running::start(
            Command::new(env!("CARGO_BIN_EXE_baton"))
                .args(["serve", "--listen", "127.0.0.1:0", "--database", &database])
                .env("BATON_HOLDER_TOKEN", TOKEN)
                .env("BATON_ADMIN_PASSWORD", "a password for tests")
                .stderr(Stdio::null()),
        );
        let first = running.line("http://");
        let url = first.rsplit(' ').next().expect("an address").to_owned();
        Self {
            folder,
            database,
            url,
            _running: running,
        }
    }

    /// What an operator does with a lease.
    fn operate(&self, arguments: &[&str]) {
        let baton = env!("CARGO_BIN_EXE_baton");
        let token = Command::new(baton)
            .args(["token", "create", "--name", "on-call", "--role", "operator"])
            .args(["--database", &self.database])
            .output()
            .expect("baton runs");
        // A running server knows a new token a moment after it was made.
        for _ in 0..100 {
            let done = Command::new(baton)
                .args(arguments)
                .env("BATON_URL", &self.url)
                .env("BATON_TOKEN", text(&token).trim())
                .output()
                .expect("baton runs");
            if done.status.code() != Some(NOT_AUTHORISED) {
                assert!(done.status.success(), "{done:?}");
                return;
            }
            std::thread::sleep(Duration::from_millis(100));
        }
        panic!("the server never got to know the new token");
    }

    fn example(&self, name: &str, arguments: &[&str]) -> Command {
        let mut command = Command::new(example(name));
        command
            .args(arguments)
            .env("BATON_URL", &self.url)
            .env("BATON_TOKEN", TOKEN);
        command
    }
}

/// Where an example is: `target/<profile>/examples`, beside this test's folder.
/// `cargo test --workspace` has just built it; a test that runs by itself
/// builds it first.
fn example(name: &str) -> PathBuf {
    static BUILT: Once = Once::new();
    let this = std::env::current_exe().expect("this test");
    let profile = this.parent().and_then(Path::parent).expect("its folder");
    let path = profile.join("examples").join(name);
    BUILT.call_once(|| {
        if !path.exists() {
            let built = Command::new(env!("CARGO"))
                .args(["build", "--quiet", "-p", "baton-client", "--examples"])
                .status();
            assert!(built.expect("cargo runs").success(), "the examples build");
        }
    });
    path
}

fn text(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn generation(line: &str) -> u64 {
    let number = line.rsplit(' ').next().expect("a number at the end");
    number.parse().expect("a generation")
}

#[test]
fn single_leader_goes_on_elsewhere_when_it_is_released_and_when_it_dies() {
    let server = Server::start();
    let start = || Running::start(&mut server.example("single_leader", &[]));
    let mut first = start();
    let led = generation(&first.line("sweeping"));
    let mut second = start();
    second.line("waiting");

    first.interrupt();
    first.line("released");
    let after_release = generation(&second.line("sweeping"));
    assert!(after_release > led);

    let mut third = start();
    third.line("waiting");
    second.kill();
    assert!(generation(&third.line("sweeping")) > after_release);
}

#[test]
fn single_leader_lets_go_when_an_operator_asks() {
    let server = Server::start();
    let mut leader = Running::start(&mut server.example("single_leader", &[]));
    let led = generation(&leader.line("sweeping")).to_string();
    let step_down = ["step-down", "example.sweeper", "--deadline", "60s"];
    let why = ["--reason", "making room", "--expected-generation", &led];
    server.operate(&[&step_down[..], &why].concat());
    leader.line("asked to stop: making room");

    // The release and the new grant are a generation each.
    let again = generation(&leader.line("sweeping")).to_string();
    assert_eq!(again, "3");
}

#[test]
fn single_leader_goes_on_after_a_forced_release() {
    let server = Server::start();
    let mut leader = Running::start(&mut server.example("single_leader", &[]));
    let led = generation(&leader.line("sweeping")).to_string();
    let force = ["force-release", "example.sweeper", "--reason", "it hangs"];
    let seen = ["--expected-generation", led.as_str()];
    server.operate(&[&force[..], &seen].concat());
    leader.line("stopped: an operator took the lease away");
    assert_eq!(generation(&leader.line("sweeping")), 3);
}

#[test]
fn many_leases_are_held_by_one_gateway_and_go_on_with_another() {
    let server = Server::start();
    let channels = ["mail", "chat", "sms"];
    let start = || Running::start(&mut server.example("many_leases", &channels));
    let mut first = start();
    let told = first.line("this gateway is");
    let holder = told.rsplit(' ').next().expect("a holder");
    for _ in channels {
        first.line("connected");
    }

    let mut second = start();
    for _ in channels {
        // In no order, each once.
        let line = second.line(": with ");
        assert!(line.ends_with(holder), "{line}: {holder} has it");
    }
    first.kill();
    for _ in channels {
        second.line(": connected");
    }
    second.interrupt();
    // It let go of them: grant, takeover, release and grant are four.
    let mut third = start();
    for _ in channels {
        assert_eq!(generation(&third.line(": connected")), 4);
    }
}

#[test]
fn session_log_refuses_the_writer_that_stalled() {
    let server = Server::start();
    let log = server.folder.path().join("session.log");
    let path = log.to_str().expect("a path");
    let output = server.example("session_log", &[path]).output();
    let output = output.expect("it runs");
    let said = text(&output);
    assert!(output.status.success(), "{output:?}");
    assert!(said.contains("first holds: false"), "{said}");
    assert!(said.contains("first was refused"), "{said}");
    let written = std::fs::read_to_string(&log).expect("a log");
    let lines: Vec<_> = written.lines().collect();
    assert_eq!(lines.len(), 2, "{written}");
    assert!(lines[0].ends_with("first: hello"), "{written}");
    assert!(lines[1].ends_with("second: hello"), "{written}");
}

#[test]
fn orphan_rerun_takes_over_the_job_and_stops_trying_what_kills_it() {
    let server = Server::start();
    let run = |arguments: &[&str]| {
        let output = server.example("orphan_rerun", arguments).output();
        output.expect("it runs")
    };
    let crashed = run(&["job.a", "resize 42", "--crash"]);
    assert!(!crashed.status.success());
    assert!(text(&crashed).contains("attempt 0 of resize 42"));
    let rescued = run(&["job.a"]);
    assert!(text(&rescued).contains("attempt 1 of resize 42"));
    assert!(text(&rescued).contains("done"), "{rescued:?}");

    for attempt in 0..3 {
        let crashed = run(&["job.b", "divide by 0", "--crash"]);
        let said = text(&crashed);
        assert!(said.contains(&format!("attempt {attempt} of")), "{said}");
    }
    let last = run(&["job.b"]);
    assert_eq!(last.status.code(), Some(75), "{last:?}");
    assert!(text(&last).contains("no attempts left"));
}
