//! How the command is told and heard: its environment, signals both ways, exit
//! codes, an operator's step-down.

use std::{fs, process::Command, time::Duration};

use baton_client::{Acquire, LeaseState, StepDownRequest};

use crate::{
    file,
    running::{Running, until},
    served::Served,
    written,
};

/// Runs a script under a lease to its end; the exit code.
fn code(served: &Served, arguments: &[&str], script: &str) -> i32 {
    let all: Vec<&str> = arguments
        .iter()
        .copied()
        .chain(["--", "sh", "-c", script])
        .collect();
    Running::start(served.baton(), "someone", &all).code()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_commands_end_is_the_end_and_the_lease_is_free_then() {
    let served = Served::start().await;
    assert_eq!(code(&served, &["codes"], "exit 0"), 0);
    assert_eq!(code(&served, &["codes"], "exit 7"), 7);
    assert_eq!(code(&served, &["codes"], "kill -9 $$"), 137);
    let mut missing = Running::start(served.baton(), "h", &["codes", "--", "/no/such/program"]);
    assert_eq!(missing.code(), 127);
    let mut folder = Running::start(served.baton(), "h", &["codes", "--", "/"]);
    assert_eq!(folder.code(), 126);
    let lease = "codes".parse().expect("a lease");
    let lease = served.client().lease(&lease).await.expect("it is there");
    assert_eq!(lease.state, LeaseState::Free, "released each time");
    assert_eq!(lease.generation.get(), 10, "five grants, five releases");
}

#[tokio::test(flavor = "multi_thread")]
async fn who_cannot_have_the_lease_gets_75() {
    let served = Served::start().await;
    let client = served.client();
    let lease = "taken".parse().expect("a lease");
    let acquire = Acquire::new("other".parse().expect("a holder"), 1_000);
    for _ in 0..2 {
        let mut waiting = acquire.clone();
        waiting.wait_ms = 10_000;
        // The second one takes over from the first, which lapsed.
        client.acquire(&lease, &waiting).await.expect("a grant");
    }
    assert_eq!(
        code(&served, &["taken", "--max-attempts", "1"], "exit 0"),
        75,
        "the work lapsed too often"
    );
    let mut long = acquire;
    long.wait_ms = 10_000;
    long.ttl_ms = 60_000;
    client.acquire(&lease, &long).await.expect("a grant");
    assert_eq!(code(&served, &["taken", "--wait", "0"], "exit 0"), 75);
    assert_eq!(code(&served, &["taken", "--wait", "1s"], "exit 0"), 75);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_other_codes_are_those_of_every_command() {
    let served = Served::start().await;
    let mut stranger = served.baton();
    stranger.env("BATON_TOKEN", "baton_nobody");
    assert_eq!(
        Running::start(stranger, "h", &["a", "--", "true"]).code(),
        4
    );
    let mut nowhere = served.baton();
    nowhere.env("BATON_URL", "http://127.0.0.1:9");
    let arguments = ["a", "--wait", "500ms", "--", "true"];
    assert_eq!(Running::start(nowhere, "h", &arguments).code(), 5);
    let arguments = ["a", "--ttl", "10ms", "--", "true"];
    assert_eq!(Running::start(served.baton(), "h", &arguments).code(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn with_a_long_ttl_nobody_waits_long_either() {
    let mut served = Served::start().await;
    let lease = "taken".parse().expect("a lease");
    let taking = Acquire::new("somebody".parse().expect("a holder"), 60_000);
    let taken = served.client().acquire(&lease, &taking).await;
    taken.expect("a grant");
    let arguments = ["taken", "--ttl", "1h", "--wait", "0"];
    assert_eq!(code(&served, &arguments, "exit 0"), 75);

    // Nor does who asks for the end while the server is away.
    let script = "trap 'exit 7' USR1; sleep 1000 & wait";
    let arguments = ["kept", "--ttl", "1h", "--", "sh", "-c", script];
    let mut running = Running::start(served.baton(), "keeper", &arguments);
    running.until_living(2);
    served.kill();
    running.signal("USR1");
    until("nothing of it is left", || {
        running.living().is_empty().then_some(())
    });
    running.signal("TERM");
    assert_eq!(running.code(), 7);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_command_knows_its_tenure_and_not_the_token() {
    let served = Served::start().await;
    let (path, text) = file(&served, "environment");
    let script = format!("env > {text}.part; mv {text}.part {text}");
    let arguments = ["known", "--payload", r#"{"job":12}"#];
    assert_eq!(code(&served, &arguments, &script), 0);
    let environment = fs::read_to_string(&path).expect("it was written");
    let url = format!("BATON_URL={}", served.url);
    for expected in [
        "BATON_LEASE=known",
        "BATON_HOLDER=someone",
        "BATON_GENERATION=1",
        "BATON_ATTEMPT=0",
        r#"BATON_PAYLOAD={"job":12}"#,
        &url,
    ] {
        assert!(
            environment.lines().any(|line| line == expected),
            "{expected} in\n{environment}"
        );
    }
    assert!(!environment.contains("BATON_TOKEN"), "{environment}");

    assert_eq!(code(&served, &["known", "--pass-token"], &script), 0);
    let environment = fs::read_to_string(&path).expect("it was written");
    assert!(environment.contains("BATON_TOKEN=baton_"));
    assert!(
        !environment.contains("BATON_PAYLOAD"),
        "the new one has none"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn signals_are_passed_on_and_term_ends_when_the_command_did() {
    let served = Served::start().await;
    let (path, text) = file(&served, "heard");
    // It waits, and starts nothing meanwhile: some shells lose a signal that comes
    // while they start a program.
    let script = format!(
        "trap 'echo usr1 >> {text}' USR1; trap 'echo term >> {text}; exit 42' TERM
         (trap '' USR1; exec sleep 1000) &
         echo ready >> {text}; while :; do wait; done"
    );
    let arguments = ["signals", "--", "sh", "-c", &script];
    let mut running = Running::start(served.baton(), "hearing", &arguments);
    written(&path);
    running.signal("USR1");
    until("it heard", || {
        fs::read_to_string(&path)
            .ok()?
            .contains("usr1")
            .then_some(())
    });
    running.signal("TERM");
    assert_eq!(running.code(), 42);
    assert_eq!(written(&path), "ready\nusr1\nterm\n");
}

#[tokio::test(flavor = "multi_thread")]
async fn who_waits_ends_at_once_when_told() {
    let served = Served::start().await;
    let acquire = Acquire::new("other".parse().expect("a holder"), 60_000);
    let lease = "busy".parse().expect("a lease");
    served
        .client()
        .acquire(&lease, &acquire)
        .await
        .expect("it is free");
    let waiting = |count: u32| {
        let metrics = Command::new("curl")
            .args(["-sS", &format!("{}/metrics", served.url)])
            .output()
            .expect("the program is there");
        let metrics = String::from_utf8_lossy(&metrics.stdout).into_owned();
        let line = format!("\nbaton_waiting_acquires {count}\n");
        metrics.contains(&line).then_some(())
    };
    for (signal, code) in [("INT", 130), ("TERM", 143)] {
        // A shell has its background jobs ignore Ctrl-C's, and these may be such.
        let baton = served.baton();
        let mut heeding = Command::new("env");
        heeding.arg("--default-signal=INT").arg(baton.get_program());
        heeding.envs(
            baton
                .get_envs()
                .filter_map(|(name, value)| Some((name, value?))),
        );
        let mut running = Running::start(heeding, "patient", &["busy", "--", "true"]);
        until("it waits in line", || waiting(1));
        running.signal(signal);
        assert_eq!(running.code(), code, "{signal}");
        until("its place in line is free", || waiting(0));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_step_down_lets_the_command_finish_and_the_successor_comes_next() {
    let served = Served::start().await;
    let (path, text) = file(&served, "finished");
    // It waits, as above.
    let script = format!(
        "trap 'sleep 0.5; echo finished > {text}; exit 0' TERM
         sleep 1000 & wait"
    );
    let arguments = ["handed", "--ttl", "3s", "--", "sh", "-c", &script];
    let mut running = Running::start(served.baton(), "old", &arguments);
    running.until_living(2);
    let lease = "handed".parse().expect("a lease");
    let current = served.client().lease(&lease).await.expect("it is there");
    let ask = StepDownRequest {
        expected_generation: current.generation,
        reason: "maintenance".into(),
        incident: None,
        deadline_ms: 20_000,
        successor: Some("new".parse().expect("a holder")),
        reserve_ms: Some(20_000),
    };
    let asked = std::time::Instant::now();
    served
        .operator()
        .step_down(&lease, &ask)
        .await
        .expect("an operator may");
    let mut acquire = Acquire::new("new".parse().expect("a holder"), 60_000);
    acquire.wait_ms = 30_000;
    let next = served.client().acquire(&lease, &acquire).await;
    let next = next.expect("it is reserved for this one");
    assert_eq!(next.holder, Some(acquire.holder));
    assert_eq!(written(&path), "finished\n", "before the lease went on");
    assert!(
        asked.elapsed() < Duration::from_secs(15),
        "well before the deadline"
    );
    assert_eq!(running.living(), []);
    // It contends again meanwhile.
    running.signal("TERM");
    assert_eq!(running.code(), 143);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_status_command_says_how_far_the_work_is() {
    let served = Served::start().await;
    let arguments = [
        "swept",
        "--ttl",
        "1s",
        "--status-cmd",
        "echo sweep 3/9",
        "--",
    ];
    let arguments: Vec<&str> = arguments.into_iter().chain(["sleep", "1000"]).collect();
    let _running = Running::start(served.baton(), "sweeper", &arguments);
    let lease = "swept".parse().expect("a lease");
    let started = std::time::Instant::now();
    loop {
        let shown = served.client().lease(&lease).await.ok();
        let status = shown.and_then(|lease| lease.status);
        if status.is_some_and(|status| status.get() == "\"sweep 3/9\"") {
            return;
        }
        assert!(started.elapsed() < Duration::from_secs(30), "no status");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}
