//! What an auditor asks a server.

use std::time::{Duration, Instant};

use baton_client::{Call, HandoverQuery, Report, Verification};

use super::*;

/// What `GET /verification` says, once it is what is waited for.
async fn verification(served: &Served, fits: impl Fn(&Verification) -> bool) -> Verification {
    let started = Instant::now();
    loop {
        let said = served.client().send(Call::verification()).await;
        let said = said.expect("it answers").value;
        if fits(&said) {
            return said;
        }
        assert!(started.elapsed() < Duration::from_secs(60), "{said:?}");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_server_verifies_the_log_as_it_grows() {
    let mut served = Served::start().await;
    let client = served.client();
    for round in 0..20 {
        let generation = take(&client, "deploy", "h").await;
        let_go(
            &client,
            "deploy",
            "h",
            generation,
            &format!("round {round}"),
        )
        .await;
    }
    let said = verification(&served, |said| said.verified_seq == 40).await;
    assert!(said.holds && said.findings.is_empty() && said.head_seq == 40);
    assert!(said.verified_at.expect("it was verified") <= said.now);
    take(&client, "deploy", "h").await;
    verification(&served, |said| said.verified_seq == 41).await;

    // Somebody edits the file while no server looks.
    served.kill();
    let database = served.database().trim_start_matches("sqlite://");
    let connection = rusqlite::Connection::open(database).expect("it opens");
    let edit = "drop trigger handovers_no_update; \
        update handovers set reason = 'forged' where seq = 7";
    connection.execute_batch(edit).expect("nobody stops it");
    drop(connection);
    served.come_back().await;
    let said = verification(&served, |said| !said.holds).await;
    assert_eq!(said.findings.len(), 1, "{said:?}");
    assert_eq!(said.findings[0].seq, Some(7));
    assert!(
        said.findings[0]
            .what
            .contains("its hash is not that of its fields")
    );
    served.says("the log does not hold", 1).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_report_tells_how_a_lease_fared_and_who_held_it() {
    let served = Served::start().await;
    let client = served.client();
    let generation = take(&client, "deploy", "ana").await;
    let_go(&client, "deploy", "ana", generation, "done").await;
    take(&client, "deploy", "ben").await;
    let page = client.handovers(&HandoverQuery::default()).await;
    let page = page.expect("it answers");
    let [second, _, first] = page.items.as_slice() else {
        panic!("three entries: {page:?}");
    };
    let baton = |arguments: &[&str]| {
        let mut command = served.baton();
        run(command.arg("report").args(arguments))
    };
    let said = done(&baton(&["deploy", "--at", &first.at.to_string()]));
    assert!(
        said.contains("ana held deploy at ") && said.contains("(released)"),
        "{said}"
    );
    let said = done(&baton(&["deploy", "--at", &second.at.to_string()]));
    assert!(
        said.contains("ben held deploy at ") && said.contains("until now or later"),
        "{said}"
    );
    let said = done(&baton(&["deploy"]));
    for part in ["held ", "2 granted", "1 released", "tenures         2"] {
        assert!(said.contains(part), "{part}: {said}");
    }
    let json = baton(&["deploy", "--json"]);
    let report: Report = serde_json::from_slice(&json.stdout).expect("a report");
    assert_eq!((report.tenures, report.from), (2, first.at));
    let said = done(&baton(&["--holder", "ana"]));
    assert!(
        said.contains("deploy") && said.contains("(released)"),
        "{said}"
    );
    assert!(!said.contains("ben"), "{said}");
    let said = failed(&baton(&["never"]), 3);
    assert!(said.contains("there is no lease `never`"), "{said}");
    let said = failed(&baton(&["deploy", "--at", "2200-01-01T00:00:00Z"]), 2);
    assert!(said.contains("is not in the future"), "{said}");
    failed(&baton(&[]), 2);
}
