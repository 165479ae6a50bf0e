//! What an auditor asks, over the API: each question many times, and about another
//! place of the history each time.

use std::time::{Duration, Instant};

use anyhow::Result;
use rand::{RngExt as _, SeedableRng as _, rngs::StdRng};

use super::{
    Options,
    api::Connection,
    fill::{at, holder, lease},
    server::Server,
    table::{Report, Target, percentile, whole},
};

/// How often each is asked.
const TIMES: usize = 40;
/// What half of the answers stay within, in milliseconds.
const WITHIN_MS: f64 = 100.0;

/// Asks everything; the median time of each.
pub async fn ask(server: &Server, entries: u64) -> Result<Vec<(&'static str, Duration)>> {
    let mut random = StdRng::seed_from_u64(5);
    let mut took = Vec::new();
    type Question = (&'static str, fn(&mut StdRng, u64) -> String);
    let questions: [Question; 8] = [
        ("the first page", |_, _| "/handovers".into()),
        ("a lease's history", |random, entries| {
            format!(
                "/handovers?lease={}",
                lease(random.random_range(0..entries))
            )
        }),
        ("a holder's history", |random, entries| {
            format!(
                "/handovers?holder={}",
                holder(random.random_range(0..entries))
            )
        }),
        ("what was before a time", |random, entries| {
            format!("/handovers?to={}", at(random.random_range(1..=entries)))
        }),
        ("from a time on, oldest first", |random, entries| {
            let from = at(random.random_range(1..=entries));
            format!("/handovers?from={from}&order=asc")
        }),
        ("forced releases of an hour", |random, entries| {
            let first = random.random_range(1..=entries);
            let (from, to) = (at(first), at(first + 3_600));
            format!("/handovers?event=forced&from={from}&to={to}")
        }),
        ("who held it then", |random, entries| {
            let lease = lease(random.random_range(0..entries));
            let time = at(random.random_range(1..=entries));
            format!("/leases/{lease}/at?time={time}")
        }),
        ("a holder's tenures of a day", |random, entries| {
            let first = random.random_range(1..=entries);
            let (from, to) = (at(first), at(first + 86_400));
            let holder = holder(random.random_range(0..entries));
            format!("/tenures?holder={holder}&from={from}&to={to}")
        }),
    ];
    for (what, question) in questions {
        let mut connection = Connection::open(server.address).await?;
        let mut times = Vec::new();
        for _ in 0..TIMES {
            let request = server.get(&question(&mut random, entries));
            let started = Instant::now();
            connection.ok(&request).await?;
            times.push(started.elapsed());
        }
        let median_ms = percentile(&mut times, 500);
        took.push((what, Duration::from_secs_f64(median_ms / 1_000.0)));
    }
    Ok(took)
}

/// The table: how long each takes in the long history, and how much longer than in
/// the short one.
pub fn compare(
    database: &str,
    options: &Options,
    small: &[(&'static str, Duration)],
    large: &[(&'static str, Duration)],
    report: &mut Report,
) {
    let (few, many) = (whole(options.small as f64), whole(options.large as f64));
    report.table(
        &format!("{database}: questions to a history of {many} entries (median, wanted in ms)"),
        &[
            "",
            &format!("of {few}"),
            &format!("of {many}"),
            "ms",
            "wanted",
        ],
    );
    for ((what, short), (_, long)) in small.iter().zip(large) {
        let (short_ms, long_ms) = (ms(*short), ms(*long));
        let cells = [format!("{short_ms:.2} ms"), format!("{long_ms:.2} ms")];
        report.row(what, &cells, long_ms, Target::AtMost(WITHIN_MS));
    }
    if let (Some((_, short)), Some((_, long))) = (small.first(), large.first()) {
        let cells = [
            format!("{:.2} ms", ms(*short)),
            format!("{:.2} ms", ms(*long)),
        ];
        report.row(
            "the first page, against the short history",
            &cells,
            ms(*long) / ms(*short),
            Target::AtMost(1.5),
        );
    }
}

fn ms(took: Duration) -> f64 {
    took.as_secs_f64() * 1_000.0
}
