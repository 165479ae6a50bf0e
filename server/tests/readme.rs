//! The commands of the README, run as they stand there.

#![allow(clippy::expect_used)]

use std::{
    io::{BufRead, BufReader},
    path::Path,
    process::{Child, Command, Stdio},
};

const README: &str = include_str!("../../README.md");
const TOKEN: &str = "baton_readmereadmereadmereadme";

/// A server on a new file, killed when dropped.
struct Server {
    process: Child,
    url: String,
    database: String,
}

impl Server {
    fn start(folder: &Path) -> Self {
        let database = format!("sqlite://{}", folder.join("baton.db").display());
        let mut process = Command::new(env!("CARGO_BIN_EXE_baton"))
            .args(["serve", "--listen", "127.0.0.1:0", "--database", &database])
            .env("BATON_HOLDER_TOKEN", TOKEN)
            .env("BATON_ADMIN_PASSWORD", "a password for tests")
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("baton starts");
        let stdout = process.stdout.take().expect("it is piped");
        let first = BufReader::new(stdout)
            .lines()
            .next()
            .expect("a server says where it is")
            .expect("as text");
        let url = first.rsplit(' ').next().expect("an address").to_owned();
        Self {
            process,
            url,
            database,
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        drop(self.process.kill());
        drop(self.process.wait());
    }
}

/// What stands between ```` ```sh ```` and ```` ``` ````, in order.
fn commands() -> Vec<String> {
    README
        .split("```sh\n")
        .skip(1)
        .filter_map(|rest| rest.split("```").next())
        .map(ToOwned::to_owned)
        .collect()
}

#[test]
fn the_commands_of_the_readme_do_what_it_says() {
    let folder = tempfile::tempdir().expect("a folder");
    let server = Server::start(folder.path());
    let baton = Path::new(env!("CARGO_BIN_EXE_baton"));
    let operator = Command::new(baton)
        .args(["token", "create", "--name", "on-call", "--role", "operator"])
        .args(["--database", &server.database])
        .output()
        .expect("baton runs");
    let operator = String::from_utf8(operator.stdout).expect("a token");

    // Each block by itself, with a mark between, so that its output is known.
    let script = commands().join("\necho; echo '=== next ==='\n");
    let path = std::env::var("PATH").expect("a path");
    let bin = baton.parent().expect("a folder").display();
    let output = Command::new("bash")
        .args(["-euo", "pipefail", "-c", &script])
        .env("PATH", format!("{bin}:{path}"))
        .env("BATON_URL", &server.url)
        .env("BATON_TOKEN", TOKEN)
        .env("BATON_OPERATOR", operator.trim())
        .output()
        .expect("bash runs");
    let text = String::from_utf8_lossy(&output.stdout);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{text}\n{errors}");
    let outputs: Vec<&str> = text.split("=== next ===").collect();

    let expected = [
        ("the shorthands", vec![]),
        ("the grant", vec![r#""state":"held""#, r#""generation":1,"#]),
        (
            "the renewal",
            vec![r#""generation":1,"#, r#""status":"3 of 12""#],
        ),
        (
            "the refusal",
            vec![r#""code":"held""#, r#""retry_after_ms":"#],
        ),
        (
            "the takeover",
            vec![
                r#""holder":"worker-2""#,
                r#""generation":2,"#,
                r#""attempt":1,"#,
            ],
        ),
        (
            "the stale renewal",
            vec![r#""code":"lost""#, r#""ended":"taken""#],
        ),
        (
            "the forced release",
            vec![
                r#""state":"free""#,
                r#""generation":3,"#,
                r#""barred":{"holder":"worker-2""#,
            ],
        ),
        (
            "the history",
            vec![
                r#""event":"granted""#,
                r#""event":"lapsed""#,
                r#""event":"forced""#,
                r#""incident":"INC-4711""#,
            ],
        ),
        (
            "the command line",
            vec!["reports.nightly", "wedged, makes no progress"],
        ),
        ("the export", vec!["Holds: ", "from the beginning"]),
        ("a command under a lease", vec!["uploading as generation 1"]),
    ];
    assert_eq!(outputs.len(), expected.len(), "{text}");
    for (output, (what, parts)) in outputs.iter().zip(expected) {
        for part in parts {
            assert!(output.contains(part), "{what} has {part}: {output}");
        }
    }
}
