//! Checkpoints: taken by hand and by the server, and what they prove.

use std::{
    fs,
    os::unix::fs::PermissionsExt as _,
    path::PathBuf,
    time::{Duration, Instant},
};

use serde_json::Value;

use super::*;
use crate::support::postgres::Postgres;

/// `baton checkpoint`, with its key in the server's folder.
pub fn checkpoint(served: &Served, key: &str, more: &[&str]) -> String {
    let mut command = served.baton();
    command
        .arg("checkpoint")
        .arg("--key")
        .arg(served.folder().join(key))
        .args(more);
    let output = run(&mut command);
    done(&output);
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}

fn verify_beside(served: &Served, checkpoints: &[&PathBuf], more: &[&str]) -> Output {
    let mut command = served.baton();
    command
        .env("BATON_DATABASE", served.database())
        .arg("verify");
    for file in checkpoints {
        command.arg("--checkpoint").arg(file);
    }
    run(command.args(more))
}

async fn the_story_of_a_checkpoint(mut served: Served) {
    let client = served.client();
    let empty = checkpoint(&served, "key", &[]);
    let generation = take(&client, "deploy", "h").await;
    let_go(&client, "deploy", "h", generation, "done").await;
    let file = served.folder().join("checkpoints");
    fs::write(&file, empty + "\n").expect("it can be written");
    // By the server's word and by the database's; each is added to the file.
    let to = ["--output", &file.display().to_string()].map(ToOwned::to_owned);
    let to: Vec<&str> = to.iter().map(String::as_str).collect();
    let line = checkpoint(&served, "key", &to);
    let database = served.database().to_owned();
    let direct = checkpoint(
        &served,
        "key",
        &[to.as_slice(), &["--database", &database]].concat(),
    );
    let read = |line: &str| serde_json::from_str::<Value>(line).expect("is JSON");
    let (line, direct) = (read(&line), read(&direct));
    assert_eq!(
        (&line["seq"], &line["hash"]),
        (&direct["seq"], &direct["hash"])
    );
    assert_eq!(
        (line["seq"].as_u64(), &line["key"]),
        (Some(2), &direct["key"])
    );
    let key = served.folder().join("key");
    let mode = fs::metadata(&key)
        .expect("it was made")
        .permissions()
        .mode();
    assert_eq!(mode & 0o777, 0o600);
    // What comes later is no harm.
    take(&client, "deploy", "h").await;
    let public = line["key"].as_str().expect("it names its key");
    for more in [&[][..], &["--signed-by", public]] {
        let said = done(&verify_beside(&served, &[&file], more));
        assert!(said.contains("It contains 3 checkpoints."), "{said}");
    }
    // And an export alone proves it too.
    let exported = served.folder().join("all.jsonl");
    done(&export(&served, &exported, &[]));
    let exported = exported.display().to_string();
    let said = done(&verify_beside(&served, &[&file], &[&exported]));
    assert!(
        said.contains("Holds: 3 entries") && said.contains("3 checkpoints"),
        "{said}"
    );

    // Somebody else's, and one that was changed, are worth nothing.
    let other = served.folder().join("others");
    fs::write(&other, checkpoint(&served, "other-key", &[])).expect("it can be written");
    let said = failed(&verify_beside(&served, &[&file, &other], &[]), 1);
    assert!(said.contains("that of seq 3 is of another key"), "{said}");
    failed(
        &verify_beside(&served, &[&other], &["--signed-by", public]),
        1,
    );
    let text = fs::read_to_string(&file).expect("it is there");
    let forged = served.folder().join("forged");
    fs::write(&forged, text.replace("\"seq\":2", "\"seq\":3")).expect("it can be written");
    let said = failed(&verify_beside(&served, &[&forged], &[]), 1);
    assert!(said.contains("that of seq 3 is not its own"), "{said}");
    fs::write(&forged, "nothing\n").expect("it can be written");
    let said = failed(&verify_beside(&served, &[&forged], &[]), 2);
    assert!(
        said.contains("line 1 of") && said.contains("is no checkpoint"),
        "{said}"
    );
    served.kill();
}

#[tokio::test(flavor = "multi_thread")]
async fn checkpoints_prove_what_was_there_on_sqlite() {
    the_story_of_a_checkpoint(Served::start().await).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn checkpoints_prove_what_was_there_on_postgres() {
    let database = Postgres::shared().await.database().await;
    the_story_of_a_checkpoint(Served::on(Some(database)).await).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_server_takes_checkpoints_as_the_log_grows() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("checkpoints");
    let variable =
        |name: &str, value: &std::path::Path| (name.to_owned(), value.display().to_string());
    let environment = vec![
        ("BATON_CHECKPOINT_EVERY".to_owned(), "1s".to_owned()),
        variable("BATON_CHECKPOINT_TO", &file),
        variable("BATON_CHECKPOINT_KEY", &folder.path().join("key")),
    ];
    let mut served = Served::within(None, environment).await;
    let client = served.client();
    let newest = async |seq: u64| {
        let started = Instant::now();
        loop {
            let text = fs::read_to_string(&file).unwrap_or_default();
            let last = text.lines().next_back().unwrap_or("{}");
            let last: Value = serde_json::from_str(last).expect("whole lines");
            if last["seq"].as_u64() == Some(seq) {
                return text.lines().count();
            }
            assert!(started.elapsed() < Duration::from_secs(60), "{text}");
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    newest(0).await;
    let generation = take(&client, "deploy", "h").await;
    newest(1).await;
    let_go(&client, "deploy", "h", generation, "done").await;
    // One for each end that the log had, and none while it stands still.
    let count = newest(2).await;
    assert_eq!(count, 3);
    done(&verify_beside(&served, &[&file], &[]));
    // With a log that was cut off, it shows.
    served.kill();
    let database = served.database().trim_start_matches("sqlite://");
    let connection = rusqlite::Connection::open(database).expect("it opens");
    let cut = "drop trigger handovers_no_delete; delete from handovers where seq = 2; \
        update log_head set seq = 1, hash = (select hash from handovers)";
    connection.execute_batch(cut).expect("nobody stops it");
    drop(connection);
    let said = failed(&verify_beside(&served, &[&file], &[]), 1);
    assert!(
        said.contains("a checkpoint saw entry 2, and the log ends before it"),
        "{said}"
    );
}
