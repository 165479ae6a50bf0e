//! The client against a stub that answers what it is told to: which errors
//! mean that nothing happened, and which that it may have.

use std::{sync::Arc, time::Duration};

use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpListener,
    sync::Mutex,
};

use super::*;
use crate::{Code, Event, HolderId, LeaseState, Outcome, Problem};

/// What the stub does with a request.
enum Reply {
    /// Sends these bytes and closes.
    Bytes(String),
    /// Closes without a word.
    HangUp,
    /// Keeps the connection and says nothing.
    Silence,
}

/// Answers every connection's first request alike, and keeps the requests.
async fn stub(reply: Reply) -> (String, Arc<Mutex<Vec<String>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = format!("http://{}", listener.local_addr().expect("an address"));
    let requests = Arc::new(Mutex::new(Vec::new()));
    let kept = requests.clone();
    tokio::spawn(async move {
        while let Ok((mut socket, _)) = listener.accept().await {
            let mut request = vec![0; 64 * 1024];
            let length = socket.read(&mut request).await.unwrap_or(0);
            request.truncate(length);
            kept.lock()
                .await
                .push(String::from_utf8_lossy(&request).into_owned());
            match &reply {
                Reply::Bytes(bytes) => {
                    let _ = socket.write_all(bytes.as_bytes()).await;
                }
                Reply::HangUp => {}
                Reply::Silence => tokio::time::sleep(Duration::from_secs(60)).await,
            }
        }
    });
    (address, requests)
}

fn answer(status: u16, headers: &str, body: &str) -> Reply {
    Reply::Bytes(format!(
        "HTTP/1.1 {status} X\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\
         connection: close\r\n{headers}\r\n{body}",
        body.len()
    ))
}

fn problem(code: Code, outcome: Option<Outcome>) -> Reply {
    let mut problem = Problem::new(code, "try something else");
    problem.outcome = outcome;
    let body = serde_json::to_string(&problem).expect("JSON");
    answer(code.status(), "", &body)
}

const LEASE: &str = r#"{"lease":"a","state":"held","holder":"h","generation":7,
    "granted_at":"2026-11-29T02:14:07.000000Z","renewed_at":"2026-11-29T02:14:07.000000Z",
    "expires_at":"2026-11-29T02:14:17.000000Z","takeable_at":"2026-11-29T02:14:17.000000Z",
    "remaining_ms":10000,"ttl_ms":10000,"grace_ms":0,"attempt":0,"principal":null,
    "status":null,"protected":false,"step_down":null,"paused":null,"barred":null,
    "reserved":null,"blocked":null,"flapping":1,"now":"2026-11-29T02:14:07.000000Z","new":1}"#;

fn lease_name() -> LeaseName {
    "a".parse().expect("a lease name")
}

fn holder() -> HolderId {
    "h".parse().expect("a holder")
}

async fn acquire(address: &str) -> Result<Lease, CallError> {
    let limits = Limits {
        connect: Duration::from_secs(1),
        call: Duration::from_millis(500),
    };
    let client =
        Client::with_limits(address, Some("baton_secret".into()), limits).expect("a client");
    client
        .acquire(&lease_name(), &Acquire::new(holder(), 10_000))
        .await
}

async fn acquire_answered(reply: Reply) -> Result<Lease, CallError> {
    let (address, _) = stub(reply).await;
    acquire(&address).await
}

#[tokio::test]
async fn a_grant_is_read_and_the_request_is_as_the_contract_says() {
    let (address, requests) = stub(answer(200, "", LEASE)).await;
    let lease = acquire(&address).await.expect("a grant");
    assert_eq!(lease.generation.get(), 7);
    assert_eq!(lease.state, LeaseState::Held);
    let request = requests.lock().await.remove(0);
    assert!(request.starts_with("POST /api/v1/leases/a/acquire HTTP/1.1\r\n"));
    assert!(request.contains("authorization: Bearer baton_secret\r\n"));
    assert!(request.contains("content-type: application/json\r\n"));
}

#[tokio::test]
async fn what_the_server_decides_against_is_refused() {
    for code in [
        Code::Held,
        Code::Lost,
        Code::Forbidden,
        Code::Unauthenticated,
        Code::UnknownLease,
        Code::Invalid,
    ] {
        match acquire_answered(problem(code, None)).await {
            Err(CallError::Refused(problem)) => assert_eq!(problem.code, code),
            other => panic!("{code} became {other:?}"),
        }
    }
}

#[tokio::test]
async fn rate_limits_say_when_to_come_back() {
    let body = serde_json::to_string(&Problem::new(Code::RateLimited, "slow down")).expect("JSON");
    let refused = acquire_answered(answer(429, "retry-after: 7\r\n", &body)).await;
    let error = refused.expect_err("a refusal");
    assert!(matches!(error, CallError::Refused(_)));
    assert_eq!(error.retry_after(), Some(Duration::from_secs(7)));
}

#[tokio::test]
async fn what_surely_did_not_happen_is_not_done() {
    // A port that nobody listens on.
    let closed = {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        format!("http://{}", listener.local_addr().expect("an address"))
    };
    let error = acquire(&closed).await.expect_err("nobody there");
    assert!(matches!(error, CallError::NotDone(_)), "{error:?}");

    for reply in [
        problem(Code::StoreUnavailable, Some(Outcome::NotDone)),
        problem(Code::HistoryBehind, None),
        answer(301, "location: https://elsewhere.example/\r\n", ""),
        answer(404, "", "<html>not Baton</html>"),
    ] {
        let error = acquire_answered(reply).await.expect_err("no grant");
        assert!(matches!(error, CallError::NotDone(_)), "{error:?}");
    }
}

#[tokio::test]
async fn what_may_have_happened_is_unknown() {
    for reply in [
        Reply::HangUp,
        Reply::Silence,
        // Half an answer.
        Reply::Bytes("HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n{".into()),
        problem(Code::StoreUnavailable, Some(Outcome::Unknown)),
        problem(Code::StoreUnavailable, None),
        problem(Code::Internal, None),
        answer(502, "", "<html>bad gateway</html>"),
        answer(503, "", ""),
        answer(200, "", "<html>a portal</html>"),
    ] {
        let error = acquire_answered(reply).await.expect_err("no grant");
        assert!(matches!(error, CallError::Unknown(_)), "{error:?}");
    }
}

#[tokio::test]
async fn nothing_shows_the_token() {
    let client = Client::new("http://127.0.0.1:1", Some("baton_secret".into())).expect("a client");
    let error = client.lease(&lease_name()).await.expect_err("nobody there");
    let shown = format!("{client:?} {error:?} {error}");
    assert!(!shown.contains("secret"), "{shown}");
    let bad = Client::new("http://127.0.0.1:1", Some("baton_secret\n".into())).expect_err("bad");
    assert!(!format!("{bad:?} {bad}").contains("secret"));
}

#[test]
fn addresses_are_checked() {
    for good in [
        "http://127.0.0.1:7400",
        "https://baton.example/",
        "http://[::1]:7400/x",
    ] {
        assert!(Client::new(good, None).is_ok(), "{good}");
    }
    for bad in [
        "",
        "127.0.0.1:7400",
        "ftp://x",
        "http://a:b@c",
        "http://x/?a=b",
    ] {
        assert!(Client::new(bad, None).is_err(), "{bad}");
    }
}

#[tokio::test]
async fn events_are_read_and_remember_where_they_were() {
    let lease = LEASE.replace('\n', " ");
    let body = format!(
        "id: 41\nevent: snapshot\ndata: {{\"items\":[{lease}],\"now\":\"2026-11-29T02:14:07Z\",\"seq\":41}}\n\n\
         event: novelty\ndata: {{}}\n\n: a comment\n\n\
         event: lease\ndata: {{\"lease\":\"a\",\"gone\":true}}\n\n\
         id: 42\nevent: time\ndata: {{\"now\":\"2026-11-29T02:14:08Z\",\"seq\":42}}\n\n"
    );
    let (address, requests) = stub(Reply::Bytes(format!(
        "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n{body}"
    )))
    .await;
    let client = Client::new(&address, None).expect("a client");
    let query = EventsQuery {
        after: Some(40),
        ..EventsQuery::default()
    };
    let mut stream = client.events(&query).await.expect("a stream");
    assert_eq!(stream.last_seq(), Some(40));
    let snapshot = stream.next().await.expect("an event").expect("whole");
    assert!(matches!(snapshot, Event::Snapshot(ref s) if s.items.len() == 1));
    assert_eq!(stream.last_seq(), Some(41));
    let gone = stream.next().await.expect("an event").expect("whole");
    assert!(matches!(gone, Event::Gone(name) if name == lease_name()));
    let time = stream.next().await.expect("an event").expect("whole");
    assert!(matches!(time, Event::Time(_)));
    assert_eq!(stream.last_seq(), Some(42));
    assert!(stream.next().await.is_none());
    let request = requests.lock().await.remove(0);
    assert!(request.starts_with("GET /api/v1/events?after=40 "));
}

#[tokio::test]
async fn a_stream_that_is_not_allowed_is_refused() {
    let (address, _) = stub(problem(Code::Unauthenticated, None)).await;
    let client = Client::new(&address, None).expect("a client");
    let error = client
        .events(&EventsQuery::default())
        .await
        .expect_err("no stream");
    assert_eq!(error.code(), Some(Code::Unauthenticated));
}
