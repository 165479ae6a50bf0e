//! The stream of events: its order, and that nothing is missing from it.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::{
    requests::Request,
    server::{HOLDER, Server},
    stream::Stream,
};

fn events(query: &str) -> Request {
    Request::get(format!("/api/v1/events{query}")).token(HOLDER)
}

fn tenure(generation: u64) -> Value {
    json!({ "holder": "h", "generation": generation })
}

async fn head(server: &Server) -> u64 {
    let log = server.get("/api/v1/handovers?limit=1", HOLDER).await.ok();
    log["items"][0]["seq"].as_u64().unwrap_or(0)
}

#[tokio::test]
async fn a_stream_is_no_file() {
    let server = Server::start().await;
    let request = events("").header("Accept-Encoding", "br, gzip");
    let mut stream = server.stream(request).await;
    let has = |line: &str| stream.head.iter().any(|header| header == line);
    assert!(has("content-type: text/event-stream"), "{:?}", stream.head);
    assert!(
        has("cache-control: no-cache, no-transform"),
        "{:?}",
        stream.head
    );
    assert!(has("x-accel-buffering: no"), "{:?}", stream.head);
    let packed = |header: &String| header.starts_with("content-encoding");
    assert!(
        !stream.head.iter().any(packed),
        "packing would hold events back"
    );
    stream.until("snapshot").await;
}

#[tokio::test]
async fn first_what_was_missed_then_the_snapshot_then_what_happens() {
    let server = Server::start().await;
    for lease in ["a", "b", "c"] {
        server.acquired(lease, "h").await;
    }
    for request in [
        events("?after=1"),
        events("").header("Last-Event-ID", "1"),
        events("?after=3").header("Last-Event-ID", "1"),
    ] {
        let mut stream = server.stream(request).await;
        for seq in [2, 3] {
            let event = stream.news().await;
            assert_eq!((event.name.as_str(), event.id), ("handover", Some(seq)));
            assert_eq!(event.data["seq"], seq);
        }
        let event = stream.news().await;
        assert_eq!((event.name.as_str(), event.id), ("snapshot", Some(3)));
        assert_eq!(event.data["seq"], 3);
        assert_eq!(event.data["items"].as_array().map(Vec::len), Some(3));
        assert!(event.data["now"].is_string());
        assert!(!event.data.to_string().contains("payload"));
    }
    let mut stream = server.stream(events("")).await;
    assert_eq!(stream.news().await.name, "snapshot");
    server.call("b", "release", tenure(1)).await.ok();
    let (mut handover, mut lease) = (None, None);
    while handover.is_none() || lease.is_none() {
        let event = stream.news().await;
        match event.name.as_str() {
            "handover" => handover = Some(event),
            "lease" => lease = Some(event),
            other => panic!("what is {other}?"),
        }
    }
    let handover = handover.expect("it was sent");
    assert_eq!(handover.id, Some(4));
    assert_eq!(handover.data["event"], "released");
    let lease = lease.expect("it was sent");
    assert_eq!(lease.id, None);
    assert_eq!(
        (&lease.data["lease"], &lease.data["state"]),
        (&json!("b"), &json!("free"))
    );
}

#[tokio::test]
async fn time_comes_at_least_every_five_seconds() {
    let server = Server::start().await;
    let mut stream = server.stream(events("")).await;
    let mut last = Instant::now();
    for _ in 0..3 {
        let event = stream.until("time").await;
        assert!(
            last.elapsed() < Duration::from_millis(5_500),
            "{:?}",
            last.elapsed()
        );
        last = Instant::now();
        assert!(
            event.data["now"].is_string() && event.data["seq"] == 0,
            "{event:?}"
        );
    }
}

#[tokio::test]
async fn what_no_longer_matches_is_gone_once() {
    let server = Server::start().await;
    server.acquired("a", "h").await;
    let mut stream = server.stream(events("?state=held")).await;
    assert_eq!(
        stream.news().await.data["items"].as_array().map(Vec::len),
        Some(1)
    );
    server.call("a", "release", tenure(1)).await.ok();
    let gone = stream.until("lease").await;
    assert_eq!(gone.data, json!({ "lease": "a", "gone": true }));
    server.acquired("a", "h").await;
    let back = stream.until("lease").await;
    assert_eq!(
        (&back.data["lease"], &back.data["generation"]),
        (&json!("a"), &json!(3))
    );
}

#[tokio::test]
async fn renewals_are_shown_at_most_once_a_second() {
    let server = Server::start().await;
    server.acquired("a", "h").await;
    let mut stream = server.stream(events("")).await;
    stream.until("snapshot").await;
    let started = Instant::now();
    let renewing = async {
        while started.elapsed() < Duration::from_secs(3) {
            server.call("a", "renew", tenure(1)).await.ok();
        }
    };
    let counting = async {
        let mut count = 0;
        while started.elapsed() < Duration::from_secs(3) {
            let next = tokio::time::timeout(Duration::from_millis(200), stream.news()).await;
            count += u32::from(next.is_ok_and(|event| event.name == "lease"));
        }
        count
    };
    let ((), count) = tokio::join!(renewing, counting);
    assert!((1..=4).contains(&count), "{count} in three seconds");
}

/// Reads until the snapshot: whether it began with a reset, and the entries.
async fn caught_up(stream: &mut Stream) -> (bool, Vec<u64>) {
    let (mut reset, mut entries) = (false, Vec::new());
    loop {
        let event = stream.news().await;
        match event.name.as_str() {
            "reset" => {
                assert!(
                    entries.is_empty() && !reset,
                    "a reset comes first, and once"
                );
                reset = true;
            }
            "handover" => entries.push(event.id.expect("it has an id")),
            "snapshot" => return (reset, entries),
            other => panic!("{other} before the snapshot"),
        }
    }
}

async fn goes_on_without_a_gap_after_a_restart(mut server: Server) {
    let mut seen = Vec::new();
    server.acquired("a", "h").await;
    let mut stream = server.stream(events("")).await;
    seen.push(stream.until("snapshot").await.id.expect("it has an id"));
    server.call("a", "release", tenure(1)).await.ok();
    seen.push(stream.until("handover").await.id.expect("it has an id"));
    // What happens from here on, this reader does not see.
    drop(stream);
    server.acquired("a", "h").await;
    server.stop().await;
    server.start_again().await;
    server.call("a", "release", tenure(3)).await.ok();

    let last = seen.last().copied().unwrap_or_default();
    let again = events("").header("Last-Event-ID", last.to_string());
    let mut stream = server.stream(again).await;
    let (reset, entries) = caught_up(&mut stream).await;
    assert!(!reset);
    seen.extend(entries);
    server.acquired("a", "h").await;
    seen.push(stream.until("handover").await.id.expect("it has an id"));
    assert_eq!(seen, [1, 2, 3, 4, 5]);
}

#[tokio::test]
async fn goes_on_without_a_gap_after_a_restart_on_sqlite() {
    goes_on_without_a_gap_after_a_restart(Server::start().await).await;
}

#[tokio::test]
async fn goes_on_without_a_gap_after_a_restart_on_postgres() {
    goes_on_without_a_gap_after_a_restart(Server::on_postgres().await).await;
}

#[tokio::test]
async fn who_was_away_while_much_happened_has_every_entry_once() {
    let server = Server::start().await;
    server.acquired("a", "h").await;
    let changing = async {
        for generation in 1..60 {
            if generation % 2 == 1 {
                server.call("a", "release", tenure(generation)).await.ok();
            } else {
                server.acquired("a", "h").await;
            }
        }
    };
    // Comes and goes while entries are written.
    let reading = async {
        let mut seen = 0;
        while seen < 60 {
            let mut stream = server.stream(events(&format!("?after={seen}"))).await;
            for _ in 0..7 {
                let event = stream.news().await;
                match event.name.as_str() {
                    "handover" => {
                        assert_eq!(event.id, Some(seen + 1), "each once, in order");
                        seen += 1;
                    }
                    "snapshot" => assert_eq!(event.id, Some(seen), "all before it was sent"),
                    _ => {}
                }
                if seen == 60 {
                    break;
                }
            }
        }
    };
    tokio::join!(changing, reading);
}

#[tokio::test]
async fn who_cannot_go_on_begins_anew() {
    let server = Server::start().await;
    server.acquired("a", "h").await;
    // Beyond the head: another database's.
    for after in [2, 1_u64 << 40] {
        let mut stream = server.stream(events(&format!("?after={after}"))).await;
        assert_eq!(caught_up(&mut stream).await, (true, vec![]));
    }
    let mut stream = server.stream(events("?after=1")).await;
    assert_eq!(
        caught_up(&mut stream).await,
        (false, vec![]),
        "nothing was missed"
    );
    let mut stream = server.stream(events("?after=0")).await;
    assert_eq!(caught_up(&mut stream).await, (false, vec![1]));
    for wrong in ["x", "-1", "+1", "1.5", "9007199254740992", "", "1 1"] {
        let request = events("").header("Last-Event-ID", wrong);
        let problem = server.send(&request).await.problem(422, "invalid");
        assert_eq!(problem["errors"][0]["field"], "Last-Event-ID", "{wrong}");
    }
}

#[tokio::test]
async fn every_reader_sees_the_same() {
    let server = Server::start().await;
    let mut streams = Vec::new();
    for query in ["", "?prefix=a", "?search=a&limit=5", "?sort=changed"] {
        let mut stream = server.stream(events(query)).await;
        stream.until("snapshot").await;
        streams.push(stream);
    }
    let metrics = server.send(&Request::get("/metrics")).await.text();
    assert!(metrics.contains("\nbaton_event_streams 4\n"), "{metrics}");
    server.acquired("a", "h").await;
    let last = head(&server).await;
    for stream in &mut streams {
        let event = stream.until("handover").await;
        assert_eq!(event.id, Some(last));
    }
}
