//! Databases and files of which a part is gone or was made to say two things.

use std::fs;

use serde_json::Value;

use super::*;

/// A server's SQLite file with some history, which nobody serves any more.
async fn left_behind() -> (Served, std::path::PathBuf) {
    let mut served = Served::start().await;
    let client = served.client();
    for i in 0..40 {
        take(&client, &format!("lease.{i}"), "h").await;
    }
    served.kill();
    let file = served.database().trim_start_matches("sqlite://").into();
    let connection = rusqlite::Connection::open(&file).expect("it opens");
    let whole: i64 = connection
        .query_row("pragma wal_checkpoint(truncate)", [], |row| row.get(0))
        .expect("it is copied");
    assert_eq!(whole, 0, "nobody reads it");
    (served, file)
}

/// Makes a page of a SQLite file nothing.
fn wipe(file: &Path, page: i64) {
    let connection = rusqlite::Connection::open(file).expect("it opens");
    let size: i64 = connection
        .query_row("pragma page_size", [], |row| row.get(0))
        .expect("it has pages");
    drop(connection);
    let mut bytes = fs::read(file).expect("it can be read");
    let start = ((page - 1) * size) as usize;
    bytes[start..start + size as usize].fill(0);
    fs::write(file, bytes).expect("it can be written");
}

fn root_of(file: &Path, table: &str) -> i64 {
    let connection = rusqlite::Connection::open(file).expect("it opens");
    let root = "select rootpage from sqlite_master where name = ?1";
    let root = connection.query_row(root, [table], |row| row.get(0));
    root.expect("there is one")
}

#[tokio::test(flavor = "multi_thread")]
async fn a_damaged_database_does_not_hold_and_one_that_is_away_is_unreachable() {
    let (served, file) = left_behind().await;
    let said = done(&verify(&served, &[]));
    assert!(said.contains("Holds: 40 entries"), "{said}");
    let whole = fs::read(&file).expect("it can be read");

    // All of the log, from its first entry on.
    wipe(&file, root_of(&file, "handovers"));
    let said = failed(&verify(&served, &[]), 1);
    assert!(said.contains("seq 1: reading stopped here"), "{said}");
    assert!(
        said.contains("a backup or an export may be whole"),
        "{said}"
    );
    // A program is told the same.
    let mut command = served.baton();
    command.env("BATON_DATABASE", served.database());
    let output = run(command.args(["verify", "--json"]));
    failed(&output, 1);
    let report: Value = serde_json::from_slice(&output.stdout).expect("is JSON");
    assert_eq!(
        (&report["holds"], &report["findings"][0]["seq"]),
        (&false.into(), &1.into())
    );

    // The table beside it, and the other log.
    for (table, finding) in [
        (
            "leases",
            "reading stopped here, what follows was not looked at: the lease table",
        ),
        ("log_head", "where the log ends cannot be read"),
        ("access_log", "access log, seq 1: reading stopped here"),
        ("access_head", "access log, reading stopped here"),
    ] {
        fs::write(&file, &whole).expect("it can be written");
        wipe(&file, root_of(&file, table));
        let said = failed(&verify(&served, &[]), 1);
        assert!(said.contains(finding), "{table}: {said}");
    }
    // The file's very beginning.
    fs::write(&file, &whole).expect("it can be written");
    let mut bytes = whole.clone();
    bytes[..64].fill(b'x');
    fs::write(&file, bytes).expect("it can be written");
    let said = failed(&verify(&served, &[]), 1);
    assert!(said.contains("seq 1: reading stopped here"), "{said}");

    // That is another kind of failure than none to be read.
    for away in [
        "sqlite:///no/such/file.db",
        "postgres://baton@127.0.0.1:1/baton",
    ] {
        let mut command = served.baton();
        command.env("BATON_DATABASE", away);
        failed(&run(command.arg("verify")), 5);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn parts_that_end_before_the_log_did_do_not_hold() {
    let served = Served::start().await;
    let client = served.client();
    for i in 0..13 {
        take(&client, &format!("lease.{i}"), "h").await;
    }
    let file = |name: &str| served.folder().join(name);
    let (whole, first, rest) = (
        file("whole.jsonl"),
        file("first.jsonl.part"),
        file("rest.jsonl"),
    );
    done(&export(&served, &whole, &[]));
    let text = fs::read_to_string(&whole).expect("it is there");
    let lines: Vec<&str> = text.lines().take(7).collect();
    fs::write(&first, lines.join("\n") + "\n").expect("it can be written");
    // Nothing came after the thirteenth, and what is between is in no part.
    done(&export(&served, &rest, &["--after", "13"]));
    done(&verify(&served, &[&rest]));
    done(&verify(&served, &[&whole, &rest]));
    let said = failed(&verify(&served, &[&first, &rest]), 1);
    assert!(
        said.contains("seq 7: entries 8 to 13 are missing"),
        "{said}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn the_access_log_is_verified_beside_the_history() {
    let mut served = Served::start().await;
    let client = served.client();
    take(&client, "deploy", "h").await;
    let admin = served.token("auditor", "admin").await;
    let exported = served.folder().join("access.jsonl");
    let url = format!("{}/api/v1/access/export", served.url);
    let bearer = format!("Authorization: Bearer {admin}");
    // The server notices a new token within a second.
    let retry = [
        "-sSf",
        "--retry",
        "20",
        "--retry-delay",
        "1",
        "--retry-all-errors",
        "-H",
    ];
    let answer = run(std::process::Command::new("curl")
        .args(retry)
        .args([&bearer, &url]));
    assert!(answer.status.success(), "{}", said(&answer));
    let text = String::from_utf8_lossy(&answer.stdout).into_owned();
    let check = |text: &str| {
        fs::write(&exported, text).expect("it can be written");
        verify(&served, &[&exported])
    };
    let count = text.lines().count() - 1;
    assert!(count >= 3, "{text}");
    let said = done(&check(&text));
    assert_eq!(said.trim().lines().count(), 1, "{said}");
    let holds = format!("The access log holds: {count} entries, from the beginning");
    assert!(said.starts_with(&holds), "{said}");
    // Beside a file of the history, in either order.
    let history = served.folder().join("history.jsonl");
    done(&export(&served, &history, &[]));
    for files in [[&history, &exported], [&exported, &history]] {
        let said = done(&verify(&served, &files.map(|file| file.as_path())));
        assert!(
            said.contains("Holds: 1 entries") && said.contains(&holds),
            "{said}"
        );
    }
    // Whatever is done to it.
    let lines: Vec<&str> = text.lines().collect();
    let without = |i: usize| {
        let mut lines = lines.clone();
        lines.remove(i);
        lines.join("\n") + "\n"
    };
    for (forged, finding) in [
        (
            text.replacen("\"auditor\"", "\"another\"", 1),
            "its hash is not that of its fields",
        ),
        (without(1), "access log, seq 3: entry 2 is missing"),
        (without(lines.len() - 1), "there is no trailer after it"),
        (without(lines.len() - 2), "the trailer does not fit"),
        (
            text.replacen("\"details\":{", "\"details\":{\"x\":1,\"x\":1,", 1),
            "key `x` is there twice",
        ),
        (
            text.replacen("\"seq\":1,", "\"seq\":1,\"seq\":1,", 1),
            "duplicate field `seq`",
        ),
    ] {
        assert_ne!(forged, text, "{finding}");
        let said = failed(&check(&forged), 1);
        assert!(
            said.contains(finding) && said.contains("access log, seq "),
            "{finding}: {said}"
        );
        assert!(
            said.contains("error: the access log does not hold"),
            "{said}"
        );
    }
    // In the database, past its triggers.
    let said = done(&verify(&served, &[]));
    assert!(said.contains("The access log holds: "), "{said}");
    served.kill();
    let file = served.database().trim_start_matches("sqlite://");
    let connection = rusqlite::Connection::open(file).expect("it opens");
    for (forgery, finding) in [
        (
            "update access_head set seq = seq - 1",
            "mark says that the log ends with entry",
        ),
        (
            "delete from access_log where seq = 1",
            "seq 2: entry 1 is missing",
        ),
        (
            "update access_log set actor = 'user:nobody' where seq = 2",
            "access log, seq 2: its hash",
        ),
        (
            "update access_log set event = 'vanished' where seq = 3",
            "access log, seq 3: it is not an entry of the log",
        ),
    ] {
        let unguarded = format!(
            "begin; drop trigger access_log_no_update; drop trigger access_log_no_delete; {forgery}; commit"
        );
        let saved = served.folder().join("saved.db");
        fs::remove_file(&saved).ok();
        connection
            .execute(&format!("vacuum into '{}'", saved.display()), [])
            .expect("a copy can be made");
        let copy = rusqlite::Connection::open(&saved).expect("it opens");
        copy.execute_batch(&unguarded).expect("nobody stops it");
        drop(copy);
        let said = failed(&verify(&served, &[&saved]), 1);
        assert!(said.contains(finding), "{forgery}: {said}");
        assert!(
            said.contains("Holds: 1 entries"),
            "the history does: {said}"
        );
    }
}
