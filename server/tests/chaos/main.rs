//! Many `baton run` contend for few leases while everything goes wrong: the
//! server is killed, the network is slow, silent or broken, holders and watchers
//! are killed and stopped for longer than the lease lasts. Their commands write
//! down when they run, and afterwards it is checked that no two tenures of a lease
//! overlap, that the log agrees, and that its chain holds.
//!
//! The long form, twenty holders and three minutes: `BATON_CHAOS=long`.
#![cfg(target_os = "linux")]

mod proxy;
mod records;
#[path = "../support/running.rs"]
mod running;
#[path = "../support/served.rs"]
mod served;
#[path = "../support/mod.rs"]
mod support;

use std::{
    collections::BTreeMap,
    io::Write as _,
    process::{Command, Stdio},
    time::{Duration, Instant},
};

use baton_client::{Client, Handover, HandoverQuery, Order};
use proxy::{Proxy, Weather};
use rand::{Rng as _, RngExt as _, SeedableRng as _, rngs::StdRng};
use running::{Running, of_holder, until};
use served::Served;
use support::postgres::Postgres;

/// How much of it.
#[derive(Debug, Clone, Copy)]
struct Scale {
    runners: usize,
    leases: usize,
    ttl: Duration,
    time: Duration,
}

fn scale() -> Scale {
    if std::env::var("BATON_CHAOS").as_deref() == Ok("long") {
        Scale {
            runners: 20,
            leases: 5,
            ttl: Duration::from_secs(3),
            time: Duration::from_secs(180),
        }
    } else {
        Scale {
            runners: 6,
            leases: 2,
            ttl: Duration::from_secs(2),
            time: Duration::from_secs(20),
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn no_two_tenures_overlap_on_sqlite() {
    chaos(Served::start().await).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn no_two_tenures_overlap_on_postgres() {
    let database = Postgres::shared().await.database().await;
    chaos(Served::on(Some(database)).await).await;
}

/// A place for a runner: whoever ends is followed by the next one.
struct Place {
    number: usize,
    turn: usize,
    running: Running,
    /// Stopped until then.
    stopped: Option<Instant>,
    holders: Vec<String>,
}

struct World {
    scale: Scale,
    random: StdRng,
    served: Served,
    proxy: Proxy,
    places: Vec<Place>,
    server_back: Option<Instant>,
    fair_again: Option<Instant>,
    deck: Vec<Harm>,
    counts: BTreeMap<Harm, u32>,
}

/// What can go wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Harm {
    KillServer,
    Weather(Weather),
    /// SIGSTOP, for three times the ttl.
    Stop,
    Kill,
    KillWatcher,
}

const HARMS: [Harm; 8] = [
    Harm::KillServer,
    Harm::Weather(Weather::Slow),
    Harm::Weather(Weather::Silent),
    Harm::Weather(Weather::Broken),
    Harm::Stop,
    Harm::Stop,
    Harm::Kill,
    Harm::KillWatcher,
];

async fn chaos(served: Served) {
    let scale = scale();
    let seed: u64 = rand::random();
    eprintln!("chaos with seed {seed}: {scale:?}");
    let proxy = Proxy::start(served.address().into(), scale.ttl / 4).await;
    let mut world = World {
        scale,
        random: StdRng::seed_from_u64(seed),
        served,
        proxy,
        places: Vec::new(),
        server_back: None,
        fair_again: None,
        deck: Vec::new(),
        counts: BTreeMap::new(),
    };
    for number in 0..scale.runners {
        let running = world.runner(number, 0);
        let holders = vec![running.holder.clone()];
        world.places.push(Place {
            number,
            turn: 0,
            running,
            stopped: None,
            holders,
        });
    }
    let end = Instant::now() + scale.time;
    let mut next = Instant::now() + scale.ttl;
    while Instant::now() < end {
        world.look_after().await;
        if Instant::now() >= next {
            world.harm();
            next = Instant::now() + scale.ttl.mul_f64(world.random.random_range(0.4..1.0));
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    world.calm().await;
    world.judge().await;
}

impl World {
    fn runner(&mut self, number: usize, turn: usize) -> Running {
        let lease = format!("lease-{}", (number + turn) % self.scale.leases);
        let holder = format!("runner-{number}-{turn}-{:08x}", self.random.next_u32());
        let file = self.served.folder().join("records");
        let file = file.to_str().expect("a path of letters");
        let ttl = format!("{}ms", self.scale.ttl.as_millis());
        let deaf = if number.is_multiple_of(2) {
            "yes"
        } else {
            "no"
        };
        // Some end by themselves; others would go on far beyond the lease, if
        // they were let.
        let beats = match self.random.random_bool(0.5) {
            true => 10..40,
            false => 220..280,
        };
        let turns = self.random.random_range(beats).to_string();
        let mut baton = self.served.baton();
        baton
            .env("BATON_URL", &self.proxy.url)
            .stderr(Stdio::null());
        let arguments = [
            lease.as_str(),
            "--ttl",
            &ttl,
            "--kill-after",
            "500ms",
            "--",
            "sh",
            "-c",
            records::COMMAND,
            "sh",
            file,
            deaf,
            &turns,
        ];
        Running::start(baton, &holder, &arguments)
    }

    /// What comes back by itself comes back.
    async fn look_after(&mut self) {
        let now = Instant::now();
        if self.server_back.is_some_and(|at| at <= now) {
            self.server_back = None;
            self.served.come_back().await;
        }
        if self.fair_again.is_some_and(|at| at <= now) {
            self.fair_again = None;
            self.proxy.set(Weather::Fair);
        }
        for index in 0..self.places.len() {
            let place = &mut self.places[index];
            if place.stopped.is_some_and(|at| at <= now) {
                place.stopped = None;
                place.running.signal("CONT");
            }
            if place.running.has_ended() {
                let (number, turn) = (place.number, place.turn + 1);
                let running = self.runner(number, turn);
                let place = &mut self.places[index];
                place.holders.push(running.holder.clone());
                place.turn = turn;
                place.running = running;
            }
        }
    }

    /// One thing goes wrong.
    fn harm(&mut self) {
        let ttl = self.scale.ttl;
        let now = Instant::now();
        let part = ttl.mul_f64(self.random.random_range(0.2..0.9));
        let harm = self.draw();
        *self.counts.entry(harm).or_default() += 1;
        match harm {
            Harm::KillServer => {
                if self.server_back.is_none() {
                    self.served.kill();
                    self.server_back = Some(now + part);
                }
            }
            Harm::Weather(weather) => {
                self.proxy.set(weather);
                self.fair_again = Some(now + part);
            }
            Harm::Stop => {
                if let Some(place) = self.victim() {
                    place.running.signal("STOP");
                    place.stopped = Some(now + 3 * ttl);
                }
            }
            Harm::Kill => {
                if let Some(place) = self.victim() {
                    place.running.signal("KILL");
                }
            }
            Harm::KillWatcher => {
                if let Some(watcher) = self.victim().and_then(|place| place.running.watcher()) {
                    running::signal_if_there(watcher.pid, "KILL");
                }
            }
        }
    }

    /// From a shuffled deck, so that everything has its turn.
    fn draw(&mut self) -> Harm {
        if self.deck.is_empty() {
            self.deck = HARMS.to_vec();
            for last in (1..self.deck.len()).rev() {
                self.deck.swap(last, self.random.random_range(0..=last));
            }
        }
        self.deck.pop().expect("it was just filled")
    }

    /// Somebody who runs; mostly one that has a lease, for the others have
    /// little to lose.
    fn victim(&mut self) -> Option<&mut Place> {
        let mut able = Vec::new();
        for (index, place) in self.places.iter_mut().enumerate() {
            if place.stopped.is_none() && !place.running.has_ended() {
                able.push(index);
            }
        }
        if self.random.random_bool(0.8) {
            able.retain(|index| self.places[*index].running.watcher().is_some());
        }
        let chosen = self.random.random_range(0..able.len().max(1));
        able.get(chosen).map(|index| &mut self.places[*index])
    }

    /// Everything works again, and everybody is asked to end.
    async fn calm(&mut self) {
        self.proxy.set(Weather::Fair);
        if self.server_back.take().is_some() {
            self.served.come_back().await;
        }
        for place in &mut self.places {
            if place.stopped.take().is_some() {
                place.running.signal("CONT");
            }
            if !place.running.has_ended() {
                place.running.signal("TERM");
            }
        }
        for place in &mut self.places {
            place.running.wait();
            until("nothing is left of anybody", || {
                let left = place
                    .holders
                    .iter()
                    .any(|holder| !of_holder(holder).is_empty());
                (!left).then_some(())
            });
        }
    }

    async fn judge(&self) {
        let log = whole_log(&self.served.client()).await;
        check_chain(&log);
        let records = records::read(&self.served.folder().join("records"));
        records::check_order(&records);
        records::check_against(&log, &records);
        let tenures = records::tenures_of(&records);
        eprintln!(
            "{tenures} tenures wrote {} records; {} entries in the log; {:?}",
            records.len(),
            log.len(),
            self.counts
        );
        assert!(
            tenures >= 2 * self.scale.leases,
            "little happened: {tenures}"
        );
    }
}

async fn whole_log(client: &Client) -> Vec<Handover> {
    let mut log: Vec<Handover> = Vec::new();
    loop {
        let query = HandoverQuery {
            after: Some(log.last().map_or(0, |entry| entry.seq)),
            order: Some(Order::Asc),
            limit: Some(1_000),
            ..HandoverQuery::default()
        };
        let page = client.handovers(&query).await.expect("the log can be read");
        if page.items.is_empty() {
            return log;
        }
        log.extend(page.items);
    }
}

/// By the checker that shares no code with the server.
fn check_chain(log: &[Handover]) {
    let mut checker = Command::new("python3")
        .arg(concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/../end2end/verify_chain.py"
        ))
        .stdin(Stdio::piped())
        .spawn()
        .expect("python3 is there");
    let mut lines = checker.stdin.take().expect("its input is a pipe");
    for entry in log {
        let line = serde_json::to_string(entry).expect("it came as JSON");
        writeln!(lines, "{line}").expect("it reads");
    }
    drop(lines);
    assert!(
        checker.wait().expect("it ends").success(),
        "the chain holds"
    );
}
