//! Work that outlives its worker: the job is in the lease's payload, so whoever
//! takes over a worker that died knows what to do, and how often it was tried.
//! A job that kills its workers stops being tried.
//!
//! `orphan_rerun LEASE [JOB] [--crash]`, with `BATON_URL` and `BATON_TOKEN` set.
//! With `--crash` the worker dies in the middle. Without a JOB it takes over
//! what is there. Exit code 75 when no attempts are left.

use std::{error::Error, process::ExitCode, time::Duration};

use baton_client::{
    Client,
    keeper::{HoldError, HoldOptions, Keeper, KeeperOptions, Tenure},
};

#[tokio::main]
async fn main() -> Result<ExitCode, Box<dyn Error>> {
    let (flags, words): (Vec<_>, Vec<_>) = std::env::args()
        .skip(1)
        .partition(|argument| argument.starts_with("--"));
    let lease = words.first().ok_or("which lease?")?.parse()?;
    let mut options = HoldOptions {
        // The first try and two more.
        attempts_max: Some(2),
        ..HoldOptions::ttl(Duration::from_secs(1))
    };
    if let Some(job) = words.get(1) {
        options = options.with_payload(job)?;
    }

    let url = std::env::var("BATON_URL").unwrap_or("http://127.0.0.1:7400".into());
    let client = Client::new(&url, std::env::var("BATON_TOKEN").ok())?;
    let keeper = Keeper::new(client, KeeperOptions::default());
    match keeper.hold(lease, options).tenure().await {
        Ok(tenure) => {
            let crash = flags.iter().any(|flag| flag == "--crash");
            tenure.run(work(&tenure, crash)).await??;
            // Done: the next grant starts at attempt 0, without a payload.
            tenure.release().await?;
            println!("done");
            Ok(ExitCode::SUCCESS)
        }
        Err(HoldError::AttemptsExhausted(problem)) => {
            println!("no attempts left: {}", problem.detail);
            Ok(ExitCode::from(75))
        }
        Err(error) => Err(error.into()),
    }
}

async fn work(tenure: &Tenure, crash: bool) -> Result<(), Box<dyn Error>> {
    let job: Option<String> = tenure.payload_as()?;
    let job = job.unwrap_or("nothing".into());
    println!("attempt {} of {job}", tenure.attempt());
    tenure.status(format!("working on {job}"))?;
    if crash {
        std::process::abort();
    }
    tokio::time::sleep(Duration::from_millis(200)).await;
    Ok(())
}
