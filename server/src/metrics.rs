//! What the server counts. No label grows with the number of leases: names of
//! leases and holders never stand here.

use std::{cell::RefCell, collections::HashMap, time::Duration};

use ::metrics::{
    Counter, Histogram, counter, describe_counter, describe_gauge, describe_histogram, gauge,
    histogram,
};
use baton_client::HandoverEvent;
use metrics_exporter_prometheus::{BuildError, Matcher, PrometheusBuilder, PrometheusHandle};

const RENEWALS: &str = "baton_renewals_total";
const HANDOVERS: &str = "baton_handovers_total";
const BATCH: &str = "baton_batch_requests";
const WRITE: &str = "baton_write_seconds";
const QUEUE: &str = "baton_queue_requests";
const WAITING: &str = "baton_waiting_acquires";
const STALE: &str = "baton_stale_presentations_total";
const ABOVE: &str = "baton_presentations_above_total";
const BEHIND: &str = "baton_history_behind";
const STREAMS: &str = "baton_event_streams";
const LEASES: &str = "baton_leases";
const VERIFIED: &str = "baton_log_verified_seq";
const FINDINGS: &str = "baton_log_findings";
const REQUESTS: &str = "baton_http_requests_total";
const REQUEST: &str = "baton_http_request_seconds";

/// How often what histograms were told is added up, whether or not anybody asks:
/// until then it takes memory.
const ADD_UP_EVERY: Duration = Duration::from_secs(5);

/// Starts counting. Once a process, inside its runtime.
///
/// # Errors
/// Somebody else in this process counts already.
pub fn start() -> Result<PrometheusHandle, BuildError> {
    let seconds = [
        0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0,
    ];
    let requests = [1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0, 200.0, 500.0, 1000.0];
    let handle = PrometheusBuilder::new()
        .set_buckets_for_metric(Matcher::Suffix("_seconds".into()), &seconds)?
        .set_buckets_for_metric(Matcher::Full(BATCH.into()), &requests)?
        .install_recorder()?;
    let adding_up = handle.clone();
    tokio::spawn(async move {
        loop {
            tokio::time::sleep(ADD_UP_EVERY).await;
            adding_up.run_upkeep();
        }
    });
    describe_counter!(RENEWALS, "Renewals that are on disk");
    describe_counter!(HANDOVERS, "Log entries that this server wrote, by event");
    describe_histogram!(BATCH, "Requests in one transaction, by lane");
    describe_histogram!(
        WRITE,
        "From the start of a transaction to its commit, by lane"
    );
    describe_gauge!(QUEUE, "Requests under way to the database");
    describe_gauge!(WAITING, "Acquires that wait in line");
    describe_counter!(STALE, "Generations that were presented and are over");
    describe_counter!(
        ABOVE,
        "Generations that were presented and are above the current one"
    );
    describe_gauge!(
        BEHIND,
        "1 while a checkpoint is ahead of the log and nothing is granted"
    );
    describe_gauge!(STREAMS, "Readers of the event stream");
    describe_gauge!(LEASES, "Leases, by state");
    describe_gauge!(VERIFIED, "The log is verified up to this seq");
    describe_gauge!(FINDINGS, "What is wrong with the log; 0 while it holds");
    describe_counter!(REQUESTS, "HTTP requests, by route, method and status");
    describe_histogram!(
        REQUEST,
        "From a request to the head of its answer, by route"
    );
    // Present from the first scrape on, and zero until something happens.
    counter!(RENEWALS).absolute(0);
    counter!(STALE).absolute(0);
    counter!(ABOVE).absolute(0);
    gauge!(BEHIND).set(0.0);
    gauge!(STREAMS).set(0.0);
    verified(0, 0);
    for event in HandoverEvent::ALL {
        counter!(HANDOVERS, "event" => event.as_str()).absolute(0);
    }
    Ok(handle)
}

/// A transaction is on disk.
pub fn wrote(lane: &'static str, requests: usize, took: Duration) {
    histogram!(BATCH, "lane" => lane).record(requests as f64);
    histogram!(WRITE, "lane" => lane).record(took.as_secs_f64());
}

/// Renewals are on disk.
pub fn renewed(count: usize) {
    counter!(RENEWALS).increment(count as u64);
}

/// An entry is in the log.
pub fn handed_over(event: HandoverEvent) {
    counter!(HANDOVERS, "event" => event.as_str()).increment(1);
}

/// A generation was presented that is over.
pub fn presented_stale() {
    counter!(STALE).increment(1);
}

/// A generation was presented that is above the current one.
pub fn presented_above() {
    counter!(ABOVE).increment(1);
}

/// Whether a checkpoint is ahead of the log.
pub fn behind(is_behind: bool) {
    gauge!(BEHIND).set(if is_behind { 1.0 } else { 0.0 });
}

/// How full the ways are.
pub fn queued(under_way: usize, waiting: usize) {
    gauge!(QUEUE).set(under_way as f64);
    gauge!(WAITING).set(waiting as f64);
}

/// How many leases there are in each state.
pub fn leases(free: u64, held: u64, lapsed: u64) {
    for (state, count) in [("free", free), ("held", held), ("lapsed", lapsed)] {
        gauge!(LEASES, "state" => state).set(count as f64);
    }
}

/// The log was verified up to a `seq`, and so much is wrong with it.
pub fn verified(seq: u64, findings: u64) {
    gauge!(VERIFIED).set(seq as f64);
    gauge!(FINDINGS).set(findings as f64);
}

/// A request was answered. `route` is a pattern of the table of routes.
pub fn answered(route: &str, method: &str, status: u16, took: Duration) {
    ROUTES.with_borrow_mut(|routes| {
        if !routes.contains_key(route) {
            routes.insert(route.to_owned(), RouteMeters::of(route));
        }
        if let Some(meters) = routes.get_mut(route) {
            meters.seconds.record(took.as_secs_f64());
            meters.requests(route, method, status).increment(1);
        }
    });
}

/// What counts a route's requests. To look it up by its labels at each request
/// would take longer than counting, so every thread keeps what it found.
struct RouteMeters {
    seconds: Histogram,
    requests: Vec<(String, u16, Counter)>,
}

thread_local! {
    static ROUTES: RefCell<HashMap<String, RouteMeters>> = RefCell::default();
}

impl RouteMeters {
    fn of(route: &str) -> Self {
        Self {
            seconds: histogram!(REQUEST, "route" => route.to_owned()),
            requests: Vec::new(),
        }
    }

    fn requests(&mut self, route: &str, method: &str, status: u16) -> &Counter {
        let known = |(m, s, _): &(String, u16, Counter)| m == method && *s == status;
        let at = self.requests.iter().position(known).unwrap_or_else(|| {
            let counter = counter!(
                REQUESTS,
                "route" => route.to_owned(),
                "method" => method.to_owned(),
                "status" => status.to_string()
            );
            self.requests.push((method.to_owned(), status, counter));
            self.requests.len() - 1
        });
        &self.requests[at].2
    }
}

/// A reader of the event stream, counted until dropped.
#[derive(Debug)]
pub struct Viewer(());

impl Viewer {
    /// Counts one more.
    pub fn enter() -> Self {
        gauge!(STREAMS).increment(1.0);
        Self(())
    }
}

impl Drop for Viewer {
    fn drop(&mut self) {
        gauge!(STREAMS).decrement(1.0);
    }
}
