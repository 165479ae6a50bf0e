//! The work is gone before time lets anybody else have the lease, whatever
//! becomes of `baton run`, of its watcher and of the server.

use std::time::{Duration, Instant};

use baton_client::{ForceRelease, Release};

use crate::{
    file, next_holder,
    running::{Running, signal, until},
    served::Served,
    stubborn, until_stubborn,
};

#[tokio::test(flavor = "multi_thread")]
async fn kill_minus_nine_leaves_nothing_behind() {
    let served = Served::start().await;
    let mut running = stubborn(&served, "kill-9", "killed", &["--ttl", "3s"]);
    running.signal("KILL");
    next_holder(&served.client(), "kill-9").await;
    assert_eq!(
        running.living(),
        [],
        "when the lease is granted to the next"
    );
    assert!(running.wait().code().is_none(), "it was killed");
    until("the watcher is gone too", || {
        running.watcher().is_none().then_some(())
    });
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stopped_run_loses_its_work_in_time_and_contends_again_when_it_wakes() {
    let served = Served::start().await;
    let running = stubborn(&served, "stopped", "sleeper", &["--ttl", "3s"]);
    running.signal("STOP");
    let next = next_holder(&served.client(), "stopped").await;
    assert_eq!(
        running.living(),
        [],
        "when the lease is granted to the next"
    );

    running.signal("CONT");
    tokio::time::sleep(Duration::from_millis(500)).await;
    assert_eq!(running.living(), [], "it holds nothing, so nothing runs");
    let release = Release {
        holder: "next".parse().expect("a holder"),
        generation: next.generation,
        reason: None,
    };
    served
        .client()
        .release(&next.lease, &release)
        .await
        .expect("it is the next holder's");
    let (_, mark) = file(&served, "sleeper");
    until_stubborn(&running, &mark, 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_server_the_work_is_gone_before_the_expiry() {
    let mut served = Served::start().await;
    let running = stubborn(&served, "cut", "lonely", &["--ttl", "3s"]);
    let confirmed_until = Instant::now() + Duration::from_secs(3);
    served.kill();
    until("the work is gone", || {
        running.living().is_empty().then_some(())
    });
    // What the server confirmed last, it confirmed before it was killed.
    assert!(Instant::now() < confirmed_until, "gone before the expiry");

    served.come_back().await;
    let (_, mark) = file(&served, "lonely");
    until_stubborn(&running, &mark, 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn without_its_watcher_the_work_is_killed_at_once() {
    let served = Served::start().await;
    let mut running = stubborn(&served, "unwatched", "orphan", &["--ttl", "60s"]);
    let watcher = running.watcher().expect("there is a watcher");
    signal(watcher.pid, "KILL");
    assert_eq!(running.code(), 137);
    assert_eq!(running.living(), []);
    // It was given back, for nothing is left that could use it.
    next_holder(&served.client(), "unwatched").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_watcher_that_does_not_move_is_not_relied_on() {
    let mut served = Served::start().await;
    let running = stubborn(&served, "frozen", "frozen", &["--ttl", "4s"]);
    let watcher = running.watcher().expect("there is a watcher");
    signal(watcher.pid, "STOP");
    let confirmed_until = Instant::now() + Duration::from_secs(4);
    served.kill();
    until("the work is gone", || {
        running.living().is_empty().then_some(())
    });
    assert!(Instant::now() < confirmed_until, "gone before the expiry");
}

#[tokio::test(flavor = "multi_thread")]
async fn signals_to_the_watcher_do_not_end_it() {
    let served = Served::start().await;
    let running = stubborn(&served, "deaf", "deaf", &["--ttl", "60s"]);
    let watcher = running.watcher().expect("there is a watcher");
    for name in ["HUP", "INT", "QUIT", "TERM", "USR1", "PIPE", "ALRM", "TSTP"] {
        signal(watcher.pid, name);
    }
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert_eq!(running.watcher(), Some(watcher));
    assert!(running.living().len() >= 5);
}

#[tokio::test(flavor = "multi_thread")]
async fn after_a_forced_release_the_work_is_killed_when_patience_ends() {
    let served = Served::start().await;
    let arguments = ["--ttl", "3s", "--kill-after", "200ms", "--once"];
    let mut running = stubborn(&served, "forced", "deposed", &arguments);
    let lease = "forced".parse().expect("a lease");
    let current = served.client().lease(&lease).await.expect("it is there");
    let force = ForceRelease {
        expected_generation: current.generation,
        reason: "a test".into(),
        incident: None,
        bar: None,
        bar_ms: None,
        successor: None,
        reserve_ms: None,
    };
    served
        .operator()
        .force_release(&lease, &force)
        .await
        .expect("an operator may");
    assert_eq!(running.code(), 3, "lost, with --once");
    assert_eq!(running.living(), []);
}

#[test]
fn what_a_command_leaves_behind_goes_with_it() {
    let served = tokio::runtime::Runtime::new()
        .expect("a runtime starts")
        .block_on(Served::start());
    let script = "setsid sh -c 'sleep 1000 & exit 0'; exit 9";
    let arguments = ["left", "--", "sh", "-c", script];
    let mut running = Running::start(served.baton(), "leaver", &arguments);
    assert_eq!(running.code(), 9);
    assert_eq!(running.living(), []);
}
