//! One process of many does the work; another takes over when it is gone.
//!
//! Start it twice, with `BATON_URL` and `BATON_TOKEN` set, and end the first
//! with Ctrl-C (the second goes on at once) or with `kill -9` (after the ttl).

use std::time::Duration;

use baton_client::{
    Client, Generation,
    keeper::{HoldOptions, Keeper, KeeperOptions},
};

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let url = std::env::var("BATON_URL").unwrap_or("http://127.0.0.1:7400".into());
    let client = Client::new(&url, std::env::var("BATON_TOKEN").ok())?;
    let keeper = Keeper::new(client, KeeperOptions::default());
    let options = HoldOptions::ttl(Duration::from_secs(3));
    let mut lease = keeper.hold("example.sweeper".parse()?, options);

    loop {
        println!("waiting");
        let tenure = tokio::select! {
            tenure = lease.tenure() => tenure?,
            _ = tokio::signal::ctrl_c() => return Ok(()),
        };
        tokio::select! {
            over = tenure.run(sweep(tenure.generation())) => {
                let Err(lost) = over;
                println!("stopped: {lost}");
            }
            asked = tenure.step_down_asked() => {
                // There is time to finish something. Then the tenure is
                // dropped, and with that the lease let go.
                println!("asked to stop: {}", asked.words.reason);
            }
            _ = tokio::signal::ctrl_c() => {
                // The work was dropped; nobody has to wait for the ttl.
                tenure.release().await?;
                println!("released");
                return Ok(());
            }
        }
    }
}

/// The work: it never ends by itself, and carries the generation into
/// everything that it writes.
async fn sweep(generation: Generation) -> std::convert::Infallible {
    loop {
        println!("sweeping, generation {generation}");
        tokio::time::sleep(Duration::from_millis(500)).await;
    }
}
