//! What an auditor does with the program: export the history, verify it without
//! Baton or without a server, and tell a cut export from a whole one.

#![allow(clippy::expect_used)]

#[path = "../support/served.rs"]
mod served;
#[path = "../support/mod.rs"]
mod support;

mod asks;
mod checkpoints;
mod cut;
mod damaged;
mod exports;

use std::{
    path::Path,
    process::{Command, Output},
};

use baton_client::{Acquire, Client, Generation, HolderId, LeaseName, Release};
use served::Served;

fn lease(name: &str) -> LeaseName {
    name.parse().expect("is a lease name")
}

fn holder(name: &str) -> HolderId {
    name.parse().expect("is a holder")
}

async fn take(client: &Client, name: &str, who: &str) -> Generation {
    let acquire = Acquire::new(holder(who), 600_000);
    let granted = client.acquire(&lease(name), &acquire).await;
    granted.expect("is granted").generation
}

async fn let_go(client: &Client, name: &str, who: &str, generation: Generation, why: &str) {
    let release = Release {
        holder: holder(who),
        generation,
        reason: Some(why.into()),
    };
    let released = client.release(&lease(name), &release).await;
    released.expect("is released");
}

/// Runs a command to its end.
fn run(command: &mut Command) -> Output {
    command.output().expect("the program starts")
}

fn said(output: &Output) -> String {
    format!(
        "{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    )
}

#[track_caller]
fn done(output: &Output) -> String {
    let said = said(output);
    assert!(output.status.success(), "{:?} {said}", output.status);
    said
}

#[track_caller]
fn failed(output: &Output, code: i32) -> String {
    let said = said(output);
    assert_eq!(output.status.code(), Some(code), "{said}");
    said
}

/// `baton export`, from the server.
fn export(served: &Served, file: &Path, more: &[&str]) -> Output {
    let mut command = served.baton();
    command.arg("export").arg("--output").arg(file).args(more);
    run(&mut command)
}

/// `baton verify`, which asks no server.
fn verify(served: &Served, files: &[&Path]) -> Output {
    let mut command = served.baton();
    command.env("BATON_URL", "http://127.0.0.1:1");
    command.env("BATON_DATABASE", served.database());
    run(command.arg("verify").args(files))
}
