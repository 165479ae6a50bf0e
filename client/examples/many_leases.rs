//! A gateway: one process keeps the connections of many channels, each channel
//! is connected by one gateway only. All leases of a process are renewed in one
//! call, and lost one by one.
//!
//! `many_leases mail chat sms`, with `BATON_URL` and `BATON_TOKEN` set. Start it
//! twice: the second says who has what, and takes over what the first one loses.

use std::time::Duration;

use baton_client::{
    Client, LeaseName,
    keeper::{Handle, HoldOptions, Keeper, KeeperOptions, Tenure},
};

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let url = std::env::var("BATON_URL").unwrap_or("http://127.0.0.1:7400".into());
    let client = Client::new(&url, std::env::var("BATON_TOKEN").ok())?;
    let keeper = Keeper::new(client, KeeperOptions::default());
    println!("this gateway is {}", keeper.holder());

    let mut gateways = tokio::task::JoinSet::new();
    for channel in std::env::args().skip(1) {
        let lease: LeaseName = format!("example.channel.{channel}").parse()?;
        let options = HoldOptions {
            // Many contend for many: asking now and then is cheaper than to
            // have as many calls waiting in line.
            wait: Duration::ZERO,
            ..HoldOptions::ttl(Duration::from_secs(3))
        };
        gateways.spawn(serve(keeper.clone(), keeper.hold(lease, options)));
    }
    tokio::signal::ctrl_c().await?;
    // The tasks drop their tenures, and with that let go of them.
    gateways.shutdown().await;
    keeper.flush().await;
    Ok(())
}

/// One channel, again and again.
async fn serve(keeper: Keeper, mut lease: Handle) {
    let name = lease.lease().clone();
    loop {
        let tenure = tokio::select! {
            tenure = lease.tenure() => tenure,
            () = tell_leader(&keeper, &name) => continue,
        };
        match tenure {
            Ok(tenure) => {
                let Err(lost) = tenure.run(connection(&tenure)).await;
                println!("{name}: disconnected, {lost}");
            }
            Err(error) => {
                println!("{name}: {error}");
                tokio::time::sleep(Duration::from_secs(5)).await;
            }
        }
    }
}

/// The work of one channel, and what the page shows of it.
async fn connection(tenure: &Tenure) -> std::convert::Infallible {
    println!(
        "{}: connected, generation {}",
        tenure.lease(),
        tenure.generation()
    );
    for messages in 0u64.. {
        if let Err(error) = tenure.status(format!("{messages} messages")) {
            println!("{}: {error}", tenure.lease());
        }
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
    std::future::pending().await
}

/// Says, and says again only when it changes, who has a channel. Never ends.
async fn tell_leader(keeper: &Keeper, name: &LeaseName) {
    let mut told = None;
    loop {
        tokio::time::sleep(Duration::from_secs(1)).await;
        let Ok(leader) = keeper.leader(name).await else {
            continue;
        };
        if leader.holder.is_some() && leader.holder != told {
            told = leader.holder;
            let holder = told.as_ref().map_or("nobody", |holder| holder.as_str());
            println!("{name}: with {holder}");
        }
    }
}
