//! A holder that stalls, and a log that refuses what it writes after that.
//!
//! Every append carries the generation of its writer's tenure. The log keeps the
//! highest that it has seen, and takes nothing lower: that is all that fencing
//! is. It needs no clock, and no answer from the server.
//!
//! `session_log FILE`, with `BATON_URL` and `BATON_TOKEN` set.

use std::{
    error::Error,
    fs::File,
    io::{BufRead as _, BufReader, Seek as _, SeekFrom, Write as _},
    time::Duration,
};

use baton_client::{
    Client, Generation,
    keeper::{HoldOptions, Keeper, KeeperOptions, Tenure},
};

fn main() -> Result<(), Box<dyn Error>> {
    let path = std::env::args().nth(1).ok_or("which file?")?;

    // Two writers, as two processes would be: each with a runtime of its own.
    let first = runtime()?;
    let tenure = first.block_on(become_writer("first"))?;
    append(&path, tenure.generation(), "first: hello")?;
    println!("first wrote, generation {}", tenure.generation());

    // The first stalls from here on: nothing of it runs, its renewals
    // included. So the second gets the lease.
    let second = runtime()?;
    let successor = second.block_on(become_writer("second"))?;
    append(&path, successor.generation(), "second: hello")?;
    println!("second wrote, generation {}", successor.generation());

    // The first goes on where it was. It might have asked, and would know; but
    // between asking and writing it can stall as well.
    println!("first holds: {}", tenure.holds());
    match append(&path, tenure.generation(), "first: still me") {
        Ok(()) => return Err("the log took a stale write".into()),
        Err(refused) => println!("first was refused: {refused}"),
    }
    second.block_on(successor.release())?;
    Ok(())
}

fn runtime() -> std::io::Result<tokio::runtime::Runtime> {
    // Of one thread, so that it stands still when nobody waits for it.
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
}

async fn become_writer(name: &str) -> Result<Tenure, Box<dyn Error>> {
    let url = std::env::var("BATON_URL").unwrap_or("http://127.0.0.1:7400".into());
    let client = Client::new(&url, std::env::var("BATON_TOKEN").ok())?;
    let holder = format!("{name}-{}", std::process::id()).parse()?;
    let keeper = Keeper::new(client, KeeperOptions::new(holder));
    let options = HoldOptions::ttl(Duration::from_secs(2));
    let mut lease = keeper.hold("example.session-log".parse()?, options);
    Ok(lease.tenure().await?)
}

/// Appends one line, unless a higher generation wrote before. Looking and
/// writing happen under one lock of the file, so nothing comes between them.
fn append(path: &str, generation: Generation, line: &str) -> Result<(), Box<dyn Error>> {
    let mut file = File::options()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .open(path)?;
    file.lock()?;
    let mut highest = Generation::ZERO;
    for written in BufReader::new(&file).lines() {
        if let Some((number, _)) = written?.split_once(' ') {
            highest = highest.max(number.parse()?);
        }
    }
    if generation < highest {
        return Err(format!("generation {generation} is stale, {highest} has written").into());
    }
    file.seek(SeekFrom::End(0))?;
    writeln!(file, "{generation} {line}")?;
    Ok(file.sync_data()?)
}
