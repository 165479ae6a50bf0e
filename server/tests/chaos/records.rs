//! What the commands wrote down while they ran, and what must be true of it: by
//! itself, and beside the log.
//!
//! A command writes a line each time it does something. Lines are appended whole,
//! so their order in the file is the order in which they were written; their
//! times are of the clock that counts from the machine's start.

use std::{
    collections::BTreeMap,
    fs,
    path::Path,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use baton_client::{Handover, HandoverEvent, Timestamp, keeper::boot_time};

/// How exactly `/proc/uptime` tells the time, and how long writing down takes.
const SLACK: Duration = Duration::from_millis(50);

/// What a command does all the time: it writes down that it runs. With a trap or
/// deaf to SIGTERM, and perhaps as a daemon too.
pub const COMMAND: &str = r#"
file=$1 deaf=$2 turns=$3
mark() {
    read up rest < /proc/uptime
    echo "$BATON_LEASE $BATON_GENERATION $BATON_HOLDER $up $1" >> "$file"
}
case $deaf in
    yes) trap '' TERM; export file
         setsid sh -c 'while :; do
             read up rest < /proc/uptime
             echo "$BATON_LEASE $BATON_GENERATION $BATON_HOLDER $up daemon" >> "$file"
             sleep 0.03
         done' & ;;
    no) trap 'mark end; exit 0' TERM ;;
esac
mark start
while [ "$turns" -gt 0 ]; do mark beat; sleep 0.03; turns=$((turns - 1)); done
mark end
"#;

/// One line.
#[derive(Debug, Clone)]
pub struct Record {
    pub lease: String,
    pub generation: u64,
    pub holder: String,
    /// Since the machine's start.
    pub at: Duration,
    /// Read by people, when a check fails.
    #[expect(dead_code)]
    pub what: String,
}

/// Everything that was written down, in order.
pub fn read(file: &Path) -> Vec<Record> {
    let text = fs::read_to_string(file).expect("commands wrote something");
    text.lines().map(parse).collect()
}

fn parse(line: &str) -> Record {
    let words: Vec<&str> = line.split(' ').collect();
    let [lease, generation, holder, at, what] = words[..] else {
        panic!("not a whole line: {line}");
    };
    Record {
        lease: lease.into(),
        generation: generation.parse().expect("a number"),
        holder: holder.into(),
        at: Duration::from_secs_f64(at.parse().expect("seconds")),
        what: what.into(),
    }
}

/// No two tenures of one lease overlap: once a generation wrote, no lower one
/// does any more; and their times do not overlap either.
pub fn check_order(records: &[Record]) {
    // The highest generation yet, and the last time of all before it and of it.
    let mut newest: BTreeMap<&str, (u64, Duration, Duration)> = BTreeMap::new();
    for record in records {
        let known = newest.entry(&record.lease).or_default();
        assert!(
            record.generation >= known.0,
            "generation {} of {} was over already: {record:?}",
            record.generation,
            record.lease
        );
        if record.generation > known.0 {
            *known = (record.generation, known.1.max(known.2), record.at);
        }
        assert!(
            record.at >= known.1,
            "it began before the one before it ended, at {:?}: {record:?}",
            known.1
        );
        known.2 = known.2.max(record.at);
    }
}

/// A tenure, as the log tells it.
#[derive(Debug, Default)]
struct Tenure {
    holder: String,
    /// From when to when it was held; more than once if it recovered.
    spans: Vec<(Duration, Duration)>,
}

/// Every record lies within the tenure that it names, as the log has it: from
/// the grant to the release, or to the expiry if it lapsed.
pub fn check_against(log: &[Handover], records: &[Record]) {
    let tenures = tenures(log);
    for record in records {
        let tenure = tenures
            .get(&(record.lease.clone(), record.generation))
            .unwrap_or_else(|| panic!("the log knows no such tenure: {record:?}"));
        assert_eq!(tenure.holder, record.holder, "{record:?}");
        assert!(
            tenure
                .spans
                .iter()
                .any(|(from, to)| *from <= record.at + SLACK
                    && record.at <= to.saturating_add(SLACK)),
            "it was not held then: {record:?}\n{tenure:?}"
        );
    }
}

fn tenures(log: &[Handover]) -> BTreeMap<(String, u64), Tenure> {
    let boot = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .expect("it is after 1970")
        - boot_time();
    let since_boot = |at: Timestamp| Duration::from_micros(at.micros() as u64) - boot;
    let mut tenures: BTreeMap<(String, u64), Tenure> = BTreeMap::new();
    for entry in log {
        let lease = entry.lease.as_ref().expect("no lease was forgotten");
        let of = |generation: baton_client::Generation| (lease.to_string(), generation.get());
        match entry.event {
            HandoverEvent::Granted => {
                let tenure = tenures.entry(of(entry.generation)).or_default();
                tenure.holder = entry.holder.as_ref().expect("somebody got it").to_string();
                tenure.spans.push((since_boot(entry.at), Duration::MAX));
            }
            HandoverEvent::Recovered => {
                let tenure = tenures.entry(of(entry.generation)).or_default();
                tenure.spans.push((since_boot(entry.at), Duration::MAX));
            }
            HandoverEvent::Lapsed | HandoverEvent::Released => {
                let until = since_boot(entry.held_until.expect("somebody held it"));
                let tenure = tenures.entry(of(entry.previous_generation)).or_default();
                let span = tenure.spans.last_mut().expect("it was granted before");
                span.1 = span.1.min(until);
            }
            other => panic!("nobody did that: {other}"),
        }
    }
    tenures
}

/// How many tenures wrote something.
pub fn tenures_of(records: &[Record]) -> usize {
    let mut seen: Vec<_> = records.iter().map(|r| (&r.lease, r.generation)).collect();
    seen.sort();
    seen.dedup();
    seen.len()
}
