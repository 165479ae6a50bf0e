//! An entry of the history, as people read it: one row, with the holder before
//! and after.

use baton_client::{Handover, Timestamp};

use super::{
    safe::safe,
    table::{clock, relative},
};

/// The headings of [`row`].
pub const HEADINGS: [&str; 9] = [
    "SEQ",
    "TIME",
    "AGO",
    "LEASE",
    "EVENT",
    "GENERATION",
    "HOLDER",
    "ACTOR",
    "REASON",
];

/// An entry as a row of the history that was true at `now`.
pub fn row(entry: &Handover, now: Timestamp) -> Vec<String> {
    let mut row = live_row(entry);
    row.insert(2, relative(now, entry.at).replace(" ago", ""));
    row
}

/// An entry as a row that has just come in: without how long ago it was.
pub fn live_row(entry: &Handover) -> Vec<String> {
    let lease = entry.lease.as_ref().map_or("-", |lease| lease.as_str());
    vec![
        entry.seq.to_string(),
        clock(entry.at),
        lease.to_owned(),
        entry.event.to_string(),
        generation(entry),
        holders(entry),
        safe(&entry.actor.to_string()).into_owned(),
        reason(entry),
    ]
}

fn generation(entry: &Handover) -> String {
    if entry.generation == entry.previous_generation {
        entry.generation.to_string()
    } else {
        format!("{} → {}", entry.previous_generation, entry.generation)
    }
}

fn holders(entry: &Handover) -> String {
    let name = |holder: &Option<baton_client::HolderId>| {
        holder
            .as_ref()
            .map_or("-".into(), |holder| safe(holder.as_str()).into_owned())
    };
    if entry.holder == entry.previous_holder {
        name(&entry.holder)
    } else {
        format!("{} → {}", name(&entry.previous_holder), name(&entry.holder))
    }
}

fn reason(entry: &Handover) -> String {
    match &entry.incident {
        Some(incident) => format!("{} [{}]", safe(&entry.reason), safe(incident)),
        None => safe(&entry.reason).into_owned(),
    }
}
