//! An export that is interrupted says so, and leaves nothing that looks whole.

use std::{
    fs,
    io::{Read as _, Write as _},
    net::{TcpListener, TcpStream},
    process::Stdio,
    sync::mpsc,
};

use tokio::task::JoinSet;

use super::*;

/// Much more than fits into pipes and sockets.
async fn long_history(served: &Served) {
    let why = "x".repeat(2_000);
    let mut lanes = JoinSet::new();
    for lane in 0..50 {
        let (client, why) = (served.client(), why.clone());
        lanes.spawn(async move {
            let name = format!("l-{lane}");
            for _ in 0..40 {
                let generation = take(&client, &name, "h").await;
                let_go(&client, &name, "h", generation, &why).await;
            }
        });
    }
    while let Some(done) = lanes.join_next().await {
        done.expect("it went well");
    }
}

/// Passes one connection on to a server, until so much has come back: then it
/// says so and stands still until the server is gone.
fn slow_way(to: String, bytes_max: usize) -> (String, mpsc::Receiver<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
    let address = listener.local_addr().expect("it has one").to_string();
    let (sender, receiver) = mpsc::channel();
    std::thread::spawn(move || {
        let (mut client, _) = listener.accept().expect("somebody comes");
        let mut server = TcpStream::connect(to).expect("it listens");
        let mut request = [0; 4_096];
        let length = client.read(&mut request).expect("it asks");
        server.write_all(&request[..length]).expect("it reads");
        let mut passed = 0;
        let mut piece = [0; 4_096];
        while passed < bytes_max {
            let length = server.read(&mut piece).expect("it answers");
            client.write_all(&piece[..length]).expect("it reads");
            passed += length;
        }
        sender.send(()).expect("the test waits");
        // What is on its way already may come; the rest never does.
        while let Ok(length @ 1..) = server.read(&mut piece) {
            if client.write_all(&piece[..length]).is_err() {
                break;
            }
        }
    });
    (address, receiver)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_killed_in_the_middle_leaves_no_file_that_looks_whole() {
    for format in ["jsonl", "csv"] {
        let mut served = Served::start().await;
        long_history(&served).await;
        let file = served.folder().join("history");
        let (way, halfway) = slow_way(served.address().to_owned(), 500_000);
        let mut command = served.baton();
        command
            .env("BATON_URL", format!("http://{way}"))
            .args(["export", "--format", format, "--output"])
            .arg(&file)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let exporting = command.spawn().expect("the program starts");
        // The server has sent a part, and is stuck with the rest.
        halfway.recv().expect("it comes so far");
        served.kill();
        let said = failed(&exporting.wait_with_output().expect("it ends"), 5);
        assert!(said.contains("incomplete: "), "{said}");
        assert!(!file.exists(), "no file has its name");
        let part = served.folder().join("history.part");
        let text = fs::read_to_string(&part).expect("what came stays");
        assert!(text.len() > 300_000 && text.ends_with('\n'), "whole lines");
        assert!(!served.folder().join("history.trailer.json").exists());

        // It says where to go on, and the parts are whole together.
        let seq = said
            .split("--after ")
            .nth(1)
            .and_then(|rest| rest.split(' ').next());
        let seq = seq.expect("it says where").to_owned();
        served.come_back().await;
        if format == "csv" {
            continue;
        }
        let said = failed(&verify(&served, &[&part]), 1);
        assert!(
            said.contains(&format!("seq {seq}: there is no trailer")),
            "{said}"
        );
        let rest = served.folder().join("rest");
        done(&export(&served, &rest, &["--after", &seq]));
        let said = done(&verify(&served, &[&part, &rest]));
        assert!(
            said.contains("Holds: 4,000 entries, from the beginning"),
            "{said}"
        );
        // The next one takes the place of what was left.
        done(&export(&served, &file, &[]));
        assert!(file.exists() && !part.exists());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pipe_that_is_cut_is_told_by_the_exit_code() {
    let mut served = Served::start().await;
    long_history(&served).await;
    let mut command = served.baton();
    command
        .arg("export")
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut exporting = command.spawn().expect("the program starts");
    let mut out = exporting.stdout.take().expect("it is a pipe");
    // Nobody reads on, so everything between stands still.
    let mut first = [0; 1_000];
    out.read_exact(&mut first).expect("it comes");
    served.kill();
    let mut rest = String::new();
    out.read_to_string(&mut rest).expect("it ends");
    let said = failed(&exporting.wait_with_output().expect("it ends"), 5);
    assert!(said.contains("incomplete: "), "{said}");
    assert!(!rest.contains("\"trailer\""), "and there is no trailer");
}
