//! A log read through the API, and whether its chain holds.

// Every test program uses some of it.
#![allow(dead_code)]

use baton_client::{Client, Handover, HandoverQuery, Order, Timestamp};

/// Every entry, oldest first.
pub async fn whole_log(client: &Client) -> Vec<Handover> {
    let mut query = HandoverQuery {
        order: Some(Order::Asc),
        limit: Some(1_000),
        ..HandoverQuery::default()
    };
    let mut log = Vec::new();
    loop {
        let page = client.handovers(&query).await.expect("the log can be read");
        log.extend(page.items);
        query.cursor = page.next;
        if query.cursor.is_none() {
            return log;
        }
    }
}

/// Panics unless the chain holds, `seq` has no gap and `at` never falls.
pub fn check_chain(log: &[Handover]) {
    let (mut seq, mut at) = (0, Timestamp::default());
    let mut hash = baton::chain::GENESIS.to_owned();
    for entry in log {
        assert_eq!(entry.seq, seq + 1);
        assert!(
            entry.at >= at,
            "entry {} is older than the one before",
            entry.seq
        );
        assert_eq!(entry.prev_hash, hash);
        let right = baton::chain::hash(entry).expect("it has a form");
        assert_eq!(entry.hash, right, "entry {} was changed", entry.seq);
        (seq, at) = (entry.seq, entry.at);
        hash.clone_from(&entry.hash);
    }
}
