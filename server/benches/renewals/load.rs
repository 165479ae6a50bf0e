//! What is asked of the server: renewals as fast as they go, renewals at a
//! steady pace, and leases that change hands.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use anyhow::{Result, ensure};
use tokio::task::JoinSet;

use super::{
    api::{self, Connection},
    server::{Server, acquire, release},
};

/// How far apart a pair of holders release, so that the other one is in line.
const IN_LINE: Duration = Duration::from_millis(5);

/// Renewals a second, each by itself, over so many connections. Each connection
/// renews its own leases, one after the other.
pub async fn singles(server: &Server, connections: usize, time: Duration) -> Result<f64> {
    let mut open = Vec::new();
    for first in 0..connections {
        let own = (first..server.leases()).step_by(connections);
        let requests: Vec<Vec<u8>> = own.map(|number| server.renew(number)).collect();
        open.push((Connection::open(server.address).await?, requests));
    }
    let start = Instant::now();
    let mut tasks = JoinSet::new();
    for (mut connection, requests) in open {
        tasks.spawn(async move {
            let mut count = 0;
            for request in requests.iter().cycle() {
                if start.elapsed() >= time {
                    break;
                }
                connection.ok(request).await?;
                count += 1;
            }
            anyhow::Ok(count)
        });
    }
    per_second(tasks, start).await
}

/// Renewals a second in calls of so many, over so many connections.
pub async fn batches(
    server: &Server,
    connections: usize,
    size: usize,
    time: Duration,
) -> Result<f64> {
    let mut open = Vec::new();
    for first in 0..connections {
        let own: Vec<usize> = (first..server.leases()).step_by(connections).collect();
        ensure!(own.len() >= size, "too few leases for calls of {size}");
        let requests: Vec<Vec<u8>> = own
            .chunks_exact(size)
            .map(|numbers| server.renew_all(numbers.iter().copied()))
            .collect();
        open.push((Connection::open(server.address).await?, requests));
    }
    let start = Instant::now();
    let mut tasks = JoinSet::new();
    for (mut connection, requests) in open {
        tasks.spawn(async move {
            let mut count = 0;
            for request in requests.iter().cycle() {
                if start.elapsed() >= time {
                    break;
                }
                let body = connection.ok(request).await?;
                let renewed = api::count(body, br#""status":200"#);
                ensure!(renewed == size, "only {renewed} of {size} were renewed");
                count += renewed;
            }
            anyhow::Ok(count)
        });
    }
    per_second(tasks, start).await
}

async fn per_second(mut tasks: JoinSet<Result<usize>>, start: Instant) -> Result<f64> {
    let mut count = 0;
    while let Some(counted) = tasks.join_next().await {
        count += counted??;
    }
    Ok(count as f64 / start.elapsed().as_secs_f64())
}

/// How long each of so many renewals a second takes, over so many connections,
/// with a page that watches.
pub async fn paced(
    server: &Server,
    connections: usize,
    rate: usize,
    time: Duration,
) -> Result<Vec<Duration>> {
    let mut page = Connection::open(server.address).await?;
    page.send(&server.watch()).await?;
    let page = tokio::spawn(async move { page.drain().await });
    let apart = Duration::from_secs(1) * connections as u32 / rate as u32;
    let mut open = Vec::new();
    for first in 0..connections {
        let own = (first..server.leases()).step_by(connections);
        let requests: Vec<Vec<u8>> = own.map(|number| server.renew(number)).collect();
        open.push((Connection::open(server.address).await?, requests));
    }
    // Only now, or the time that it takes to make a hundred thousand requests would
    // count as the server's.
    let start = tokio::time::Instant::now();
    let mut tasks = JoinSet::new();
    for (first, (mut connection, requests)) in (0u32..).zip(open) {
        let mut at = start + apart * first / connections as u32;
        tasks.spawn(async move {
            let mut took = Vec::new();
            for request in requests.iter().cycle() {
                if at - start >= time {
                    break;
                }
                // Whoever is late because the one before took long has waited
                // since then; whoever was woken late has not.
                let mut from = at;
                if tokio::time::Instant::now() < at {
                    tokio::time::sleep_until(at).await;
                    from = tokio::time::Instant::now();
                }
                connection.ok(request).await?;
                took.push(from.elapsed());
                at += apart;
            }
            anyhow::Ok(took)
        });
    }
    let mut all = Vec::new();
    while let Some(took) = tasks.join_next().await {
        all.extend(took??);
    }
    ensure!(!page.is_finished(), "the page's stream ended");
    page.abort();
    Ok(all)
}

/// How long it takes from a release until the one who waits in line has the
/// lease: so many leases, each handed to and fro between two connections.
pub async fn handed_over(server: &Server, leases: usize, time: Duration) -> Result<Vec<Duration>> {
    let start = Instant::now();
    let mut tasks = JoinSet::new();
    for i in 0..leases {
        // Leases of their own, behind those that are renewed.
        let number = server.leases() + i;
        let (mut one, mut other) = (
            Connection::open(server.address).await?,
            Connection::open(server.address).await?,
        );
        let waiting = Arc::new(acquire(number, 30_000));
        tasks.spawn(async move {
            let mut took = Vec::new();
            let body = one.ok(&waiting).await?;
            let mut generation = api::number(body, "generation")?;
            while start.elapsed() < time {
                other.send(&waiting).await?;
                tokio::time::sleep(IN_LINE).await;
                let released = release(number, generation);
                let sent = Instant::now();
                one.send(&released).await?;
                let granted = other.answer().await?.ok()?;
                took.push(sent.elapsed());
                generation = api::number(granted, "generation")?;
                one.answer().await?.ok()?;
                std::mem::swap(&mut one, &mut other);
            }
            one.ok(&release(number, generation)).await?;
            anyhow::Ok(took)
        });
    }
    let mut all = Vec::new();
    while let Some(took) = tasks.join_next().await {
        all.extend(took??);
    }
    Ok(all)
}
