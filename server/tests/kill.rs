//! `kill -9` of the server under load, twenty times, on both databases: every
//! grant and every renewal that was answered is there afterwards, and the chain
//! of the log holds.

#[path = "support/served.rs"]
mod served;
#[path = "support/mod.rs"]
mod support;
#[path = "support/whole.rs"]
mod whole;

use std::{
    collections::BTreeMap,
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use baton_client::{
    Acquire, Client, Generation, Lease, LeaseName, LeaseQuery, Release, Renew, Renewal,
    RenewalResult, Renewals, Timestamp,
};
use served::Served;
use support::postgres::Postgres;
use whole::{check_chain, whole_log};

const KILLS: u64 = 20;
const HOLDERS: usize = 8;
const LEASES_EACH: usize = 4;
const TTL_MS: u64 = 3_600_000;

/// The newest that was answered about each lease.
#[derive(Default)]
struct Answered {
    leases: Mutex<BTreeMap<LeaseName, (Generation, Option<Timestamp>)>>,
    count: AtomicU64,
}

impl Answered {
    fn note(&self, lease: &Lease) {
        let mut leases = self.leases.lock().expect("nobody panicked");
        let newest = (lease.generation, lease.expires_at);
        leases.insert(lease.lease.clone(), newest);
        self.count.fetch_add(1, Ordering::Relaxed);
    }

    /// Waits until so much was answered, whatever it takes on this machine.
    async fn grows(&self, count: u64) {
        let enough = async {
            while self.count.load(Ordering::Relaxed) < count {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        };
        let patience = tokio::time::timeout(Duration::from_secs(60), enough);
        patience.await.expect("the server answers");
    }

    /// Whatever was answered is still so, or something newer.
    fn check(&self, kept: &BTreeMap<LeaseName, Lease>) {
        for (name, (generation, expires_at)) in &*self.leases.lock().expect("nobody panicked") {
            let lease = kept.get(name).expect("an answered lease is there");
            assert!(lease.generation >= *generation, "{name} lost a generation");
            if lease.generation == *generation {
                assert!(lease.expires_at >= *expires_at, "{name} lost a renewal");
            }
        }
    }
}

/// A holder that takes its leases, renews them one by one and all at once, and
/// lets them go, again and again, whatever becomes of the server.
async fn hold(client: Client, me: usize, answered: Arc<Answered>) {
    let holder: baton_client::HolderId = format!("holder-{me}").parse().expect("is a holder");
    let leases: Vec<LeaseName> = (0..LEASES_EACH)
        .map(|i| format!("lease-{me}-{i}").parse().expect("is a name"))
        .collect();
    loop {
        let mut held: Vec<(LeaseName, Generation)> = Vec::new();
        for name in &leases {
            let mut acquire = Acquire::new(holder.clone(), TTL_MS);
            let known = answered
                .leases
                .lock()
                .expect("nobody panicked")
                .get(name)
                .copied();
            let generation = known.map_or(0, |(generation, _)| generation.get());
            // Safe to repeat until it was answered.
            acquire.claim_id = Some(format!("after-{generation}"));
            match client.acquire(name, &acquire).await {
                Ok(lease) => {
                    answered.note(&lease);
                    held.push((name.clone(), lease.generation));
                }
                Err(_) => catch_up(&client, name, &answered).await,
            }
        }
        for _ in 0..10 {
            for (name, generation) in &held {
                let renew = Renew {
                    holder: holder.clone(),
                    generation: *generation,
                    ttl_ms: None,
                    status: None,
                };
                if let Ok(lease) = client.renew(name, &renew).await {
                    answered.note(&lease);
                }
            }
            let renewals = held.iter().map(|(name, generation)| Renewal {
                lease: name.clone(),
                holder: holder.clone(),
                generation: *generation,
                ttl_ms: None,
                status: None,
            });
            let renewals = Renewals {
                renewals: renewals.collect(),
            };
            if held.is_empty() {
                continue;
            }
            let Ok(renewed) = client.renewals(&renewals).await else {
                continue;
            };
            for result in renewed.results {
                if let RenewalResult::Done { body, .. } = result {
                    answered.note(&body);
                }
            }
        }
        for (name, generation) in held {
            let release = Release {
                holder: holder.clone(),
                generation,
                reason: None,
            };
            if let Ok(lease) = client.release(&name, &release).await {
                answered.note(&lease);
            }
        }
    }
}

/// What became of the lease while nothing was answered: frees it if it is held.
async fn catch_up(client: &Client, name: &LeaseName, answered: &Answered) {
    let Ok(lease) = client.lease(name).await else {
        return tokio::time::sleep(Duration::from_millis(20)).await;
    };
    answered.note(&lease);
    let Some(holder) = lease.holder.clone() else {
        return;
    };
    let release = Release {
        holder,
        generation: lease.generation,
        reason: None,
    };
    if let Ok(lease) = client.release(name, &release).await {
        answered.note(&lease);
    }
}

async fn kept(client: &Client) -> BTreeMap<LeaseName, Lease> {
    let query = LeaseQuery {
        limit: Some(1_000),
        ..LeaseQuery::default()
    };
    let page = client.leases(&query).await.expect("it answers");
    let leases = page.items.into_iter();
    leases.map(|lease| (lease.lease.clone(), lease)).collect()
}

async fn survives_twenty_kills(database: Option<String>) {
    let mut served = Served::on(database).await;
    let answered = Arc::new(Answered::default());
    for round in 0..KILLS {
        let before = answered.count.load(Ordering::Relaxed);
        let holders: Vec<_> = (0..HOLDERS)
            .map(|me| tokio::spawn(hold(served.client(), me, answered.clone())))
            .collect();
        // At a different moment of the load each time.
        answered.grows(before + 30 + 37 * (round % 7)).await;
        served.kill();
        for holder in holders {
            holder.abort();
            let ended = holder.await;
            assert!(
                ended.is_err_and(|error| error.is_cancelled()),
                "a holder panicked"
            );
        }
        served.come_back().await;
        let client = served.client();
        // Nothing that was answered is lost.
        answered.check(&kept(&client).await);
    }
    let log = whole_log(&served.client()).await;
    check_chain(&log);
    assert!(log.len() as u64 > KILLS, "there was a load");
}

#[tokio::test(flavor = "multi_thread")]
async fn answers_survive_kills_on_sqlite() {
    survives_twenty_kills(None).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn answers_survive_kills_on_postgres() {
    let database = Postgres::shared().await.database().await;
    survives_twenty_kills(Some(database)).await;
}
