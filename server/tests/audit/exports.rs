//! Exports and what verifies them.

use std::{fs, os::unix::fs::symlink, path::Path, process::Command};

use serde_json::{Value, json};

use super::*;
use crate::support::postgres::Postgres;

/// The program that the documentation shows, which shares nothing with Baton.
const CHECKER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../end2end/verify_chain.py");
const DOCS: &str = include_str!("../../docs/audit.md");

fn checked_elsewhere(file: &Path) -> Output {
    run(Command::new("python3").arg(CHECKER).arg(file))
}

#[test]
fn the_documentation_shows_the_independent_checker() {
    let program = fs::read_to_string(CHECKER).expect("it is there");
    let shown = DOCS.split("```python\n").nth(1);
    let shown = shown.and_then(|rest| rest.split("```").next());
    assert_eq!(shown, Some(program.as_str()));
}

/// A history with all that texts can have in them.
async fn some_history(served: &Served) {
    let client = served.client();
    for (i, why) in [
        "done",
        "=cmd|' /C calc'!A0",
        "a, \"b\"\r\nand\tc",
        "🦊 שלום مرحبا",
        "'quoted'",
        "@SUM(A1)",
    ]
    .into_iter()
    .enumerate()
    {
        let name = format!("db.{}", i % 2);
        let generation = take(&client, &name, "Zoë 🦊").await;
        let_go(&client, &name, "Zoë 🦊", generation, why).await;
    }
    take(&client, "web", "+1").await;
}

async fn the_whole_round(served: Served) {
    some_history(&served).await;
    let file = |name: &str| served.folder().join(name);

    // From the server and straight from the database: the same, byte by byte, but
    // for the time in the trailer.
    let jsonl = file("all.jsonl");
    let said = done(&export(&served, &jsonl, &[]));
    assert!(said.contains("Exported 13 entries, seq 1 to 13"), "{said}");
    let direct = file("direct.jsonl");
    let mut command = served.baton();
    command.env("BATON_URL", "http://127.0.0.1:1");
    let from_database = ["export", "--database", served.database(), "--output"];
    done(&run(command.args(from_database).arg(&direct)));
    let text = fs::read_to_string(&jsonl).expect("it is there");
    let other = fs::read_to_string(&direct).expect("it is there");
    let entries = |text: &str| {
        text.rsplit_once("\n{\"trailer\"")
            .map(|(lines, _)| lines.to_owned())
    };
    assert_eq!(entries(&text), entries(&other));
    assert_eq!(entries(&text).expect("has a trailer").lines().count(), 13);

    // The database, the file alone, and the file by another program.
    for output in [
        verify(&served, &[]),
        verify(&served, &[&jsonl]),
        verify(&served, &[&direct]),
    ] {
        let said = done(&output);
        assert!(
            said.contains("Holds: 13 entries, from the beginning"),
            "{said}"
        );
    }
    let said = done(&checked_elsewhere(&jsonl));
    assert!(
        said.contains("holds: 13 entries") && !said.contains("cut"),
        "{said}"
    );

    // As JSON, for programs.
    let mut command = served.baton();
    let output = run(command.arg("verify").arg("--json").arg(&jsonl));
    let report: Value = serde_json::from_slice(&output.stdout).expect("is JSON");
    assert_eq!(
        (&report["holds"], &report["count"]),
        (&json!(true), &json!(13))
    );

    // In two parts, which hold together and only in their order.
    let (first, second) = (file("first.jsonl"), file("second.jsonl"));
    let lines: Vec<&str> = text.lines().take(5).collect();
    fs::write(&first, lines.join("\n") + "\n").expect("it can be written");
    done(&export(&served, &second, &["--after", "5"]));
    let said = done(&verify(&served, &[&first, &second]));
    assert!(said.contains("Holds: 13 entries"), "{said}");
    failed(&verify(&served, &[&second, &first]), 1);
    let said = done(&verify(&served, &[&second]));
    assert!(
        said.contains("from seq 6 on; what came before it was not looked at"),
        "{said}"
    );
    let said = failed(&verify(&served, &[&first]), 1);
    assert!(
        said.contains("seq 5: there is no trailer after it"),
        "{said}"
    );

    // A filter's export says that it is one.
    let filtered = file("filtered.jsonl");
    done(&export(
        &served,
        &filtered,
        &["--lease", "db.0", "--event", "released"],
    ));
    let said = done(&verify(&served, &[&filtered]));
    assert!(
        said.contains("Holds: 3 entries") && said.contains("export of a filter"),
        "{said}"
    );

    // It cannot have what a checkpoint saw, and that is no finding.
    let seen = file("checkpoint");
    let line = crate::checkpoints::checkpoint(&served, "key", &[]);
    fs::write(&seen, line).expect("it is written");
    let mut command = served.baton();
    command.arg("verify").arg("--checkpoint").arg(&seen);
    let said = failed(&run(command.arg(&filtered)), 2);
    assert!(said.contains("export it without one"), "{said}");

    // CSV, with its trailer beside it.
    let csv = file("all.csv");
    done(&export(&served, &csv, &["--format", "csv"]));
    let trailer = fs::read_to_string(file("all.csv.trailer.json")).expect("it is there");
    let trailer: Value = serde_json::from_str(&trailer).expect("is JSON");
    assert_eq!(trailer["count"], 13);
    let rows = csv::Reader::from_path(&csv)
        .expect("it is there")
        .into_records()
        .count();
    assert_eq!(rows, 13);
    // A report, from the server and from the database.
    let report = file("incident.md");
    done(&export(
        &served,
        &report,
        &["--format", "md", "--lease", "db.0"],
    ));
    let text = fs::read_to_string(&report).expect("it is there");
    assert!(
        text.starts_with("# Handovers") && text.contains("## Timeline"),
        "{text}"
    );
    // Nothing is left of how they came about.
    let left = fs::read_dir(served.folder()).expect("it is there");
    let left = left.filter_map(|file| file.ok()?.file_name().into_string().ok());
    let parts: Vec<String> = left.filter(|name| name.ends_with(".part")).collect();
    assert_eq!(parts, [""; 0]);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_exported_from_sqlite_verifies_everywhere() {
    the_whole_round(Served::start().await).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_exported_from_postgres_verifies_everywhere() {
    let database = Postgres::shared().await.database().await;
    the_whole_round(Served::on(Some(database)).await).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn whatever_is_done_to_a_file_is_found_by_both() {
    let served = Served::start().await;
    some_history(&served).await;
    let whole = served.folder().join("whole.jsonl");
    done(&export(&served, &whole, &[]));
    let text = fs::read_to_string(&whole).expect("it is there");
    let lines: Vec<&str> = text.lines().collect();
    let forged = served.folder().join("forged.jsonl");
    let forge = |change: &dyn Fn(&mut Vec<String>)| {
        let mut lines: Vec<String> = lines.iter().map(ToString::to_string).collect();
        change(&mut lines);
        fs::write(&forged, lines.join("\n") + "\n").expect("it can be written");
    };
    type Change = Box<dyn Fn(&mut Vec<String>)>;
    let changes: [(&str, &str, Change); 8] = [
        (
            "a reason is edited",
            "seq 2: its hash is not",
            Box::new(|lines| {
                lines[1] = lines[1].replace("\"done\"", "\"gone\"");
            }),
        ),
        (
            "a field is added",
            "seq 3: it is not an entry",
            Box::new(|lines| {
                lines[2] = lines[2].replacen('{', "{\"note\":\"added\",", 1);
            }),
        ),
        (
            "an entry is deleted",
            "entry 4 is missing",
            Box::new(|lines| {
                lines.remove(3);
            }),
        ),
        (
            "entries are swapped",
            "it comes after entry 5",
            Box::new(|lines| {
                lines.swap(3, 4);
            }),
        ),
        (
            "an entry is repeated",
            "seq 6: it comes after entry 6",
            Box::new(|lines| {
                lines.insert(6, lines[5].clone());
            }),
        ),
        (
            "a line is cut",
            "it is not an entry",
            Box::new(|lines| {
                let half = lines[7].chars().take(100).collect();
                lines[7] = half;
            }),
        ),
        (
            "the tail is cut off",
            "the trailer does not fit",
            Box::new(|lines| {
                lines.remove(12);
            }),
        ),
        (
            "an entry is added after the trailer",
            "entries follow it",
            Box::new(|lines| {
                lines.push(lines[0].clone());
            }),
        ),
    ];
    for (what, finding, change) in changes {
        forge(&*change);
        let said = failed(&verify(&served, &[&forged]), 1);
        assert!(said.contains(finding), "{what}: {said}");
        assert!(said.contains("Possible cause: "), "{what}: {said}");
        let said = failed(&checked_elsewhere(&forged), 1);
        assert!(said.contains("does not hold: seq "), "{what}: {said}");
    }
    // A file of SQLite, edited past everything.
    let copy = served.folder().join("copy.db");
    let database = served.database().trim_start_matches("sqlite://");
    let connection = rusqlite::Connection::open(database).expect("it opens");
    let into = format!("vacuum into '{}'", copy.display());
    connection.execute(&into, []).expect("a copy can be made");
    let said = done(&verify(&served, &[&copy]));
    assert!(said.contains("Holds: 13 entries"), "{said}");
    let connection = rusqlite::Connection::open(&copy).expect("it opens");
    let edit = "drop trigger handovers_no_update; \
        update handovers set holder = 'somebody else' where seq = 3";
    connection.execute_batch(edit).expect("nobody stops it");
    drop(connection);
    let said = failed(&verify(&served, &[&copy]), 1);
    assert!(
        said.contains("seq 3: its hash is not that of its fields"),
        "{said}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn wrong_usage_says_what_to_do() {
    let served = Served::start().await;
    let nowhere = served.folder().join("no/such/folder/file");
    let said = failed(&export(&served, &nowhere, &[]), 1);
    assert!(said.contains("cannot be written"), "{said}");
    // A pipe, a device or a folder is not replaced by a file.
    let said = failed(&export(&served, Path::new("/dev/null"), &[]), 2);
    assert!(said.contains("no regular file"), "{said}");
    let (link, target) = (served.folder().join("link"), served.folder().join("target"));
    symlink(&target, &link).expect("can be linked");
    let said = failed(&export(&served, &link, &[]), 2);
    assert!(said.contains("leads nowhere"), "{said}");
    fs::write(&target, "old").expect("can be written");
    export(&served, &link, &[]);
    let behind = fs::read_to_string(&target).expect("can be read");
    assert!(
        link.is_symlink() && behind.contains("\"trailer\""),
        "{behind}"
    );
    let missing = served.folder().join("missing.jsonl");
    let said = failed(&verify(&served, &[&missing]), 2);
    assert!(said.contains("missing.jsonl cannot be read"), "{said}");
    let mut command = served.baton();
    let database = "sqlite:///no/such/file.db";
    let said = failed(&run(command.args(["export", "--database", database])), 5);
    assert!(
        said.contains("there is no database at /no/such/file.db"),
        "{said}"
    );
    // What never was a history is not called a changed one.
    let other = served.folder().join("other.txt");
    fs::write(&other, "root:x:0:0\n\u{0}\n").expect("can be written");
    let said = failed(&verify(&served, &[&other]), 2);
    assert!(said.contains("nor an export of Baton"), "{said}");
    // A server that could not keep what it is told to keep does not start.
    let serve = |arguments: &[&str]| {
        let mut command = served.baton();
        run(command
            .args(["serve", "--listen", "127.0.0.1:0"])
            .args(arguments))
    };
    let said = failed(&serve(&["--database", database]), 1);
    assert!(said.contains("there is no folder /no/such"), "{said}");
    let every = [
        "--checkpoint-every",
        "1h",
        "--checkpoint-to",
        "/no/such/file",
    ];
    let said = failed(&serve(&every), 2);
    assert!(said.contains("there is no folder /no/such"), "{said}");
    let said = failed(&serve(&["--database", "postgres://127.0.0.1:1/none"]), 1);
    assert!(said.contains("refused"), "{said}");
    let mut command = served.baton();
    command.env("BATON_TOKEN", "baton_nobody-knows-this-one-at-all");
    failed(&run(command.arg("export")), 4);
}
