//! Who leads the leases that this process does not hold: one bounded read of
//! all, kept for a while, and kept for longer when the next read fails.

use std::{collections::BTreeMap, time::Duration};

use tokio::sync::Mutex;

use super::{clock, timing::Moment};
use crate::{
    CallError, Client, Generation, HolderId, LeaseName, LeaseQuery, LeaseState, RawJson,
    limits::PAGE_MAX,
};

/// Pages that one read takes at most.
const PAGES_MAX: usize = 10;
/// How long one read may take at most.
const READ_MAX: Duration = Duration::from_secs(5);

/// Who leads a lease, as of some time ago. To show or to route by, never to
/// write by: only the holder's own [`Tenure`](super::Tenure) may answer that.
#[derive(Debug, Clone)]
pub struct Leader {
    /// Who holds it; `None` if nobody does, or did not renew in time.
    pub holder: Option<HolderId>,
    /// The generation.
    pub generation: Generation,
    /// What the holder reports.
    pub status: Option<RawJson>,
    /// How long ago this was asked for.
    pub age: Duration,
}

/// Nobody could be asked, and nothing was known before.
#[derive(Debug, thiserror::Error)]
pub enum LeaderError {
    /// The read failed.
    #[error("the leases could not be read")]
    Unread(#[source] CallError),
    /// The read took too long, or failed a moment ago.
    #[error("the leases could not be read in time")]
    Late,
    /// There are more leases than one read takes; narrow it with
    /// [`KeeperOptions::leaders_prefix`](super::KeeperOptions::leaders_prefix).
    #[error("the lease was not among the first {0} that were read")]
    Beyond(usize),
}

#[derive(Debug)]
struct Seen {
    holder: Option<HolderId>,
    generation: Generation,
    status: Option<RawJson>,
    at: Moment,
}

#[derive(Debug, Default)]
struct Known {
    leases: BTreeMap<LeaseName, Seen>,
    /// When all of them were last read, so that what is missing does not exist.
    all_at: Option<Moment>,
    tried_at: Option<Moment>,
    /// The last try came to nothing.
    failed: bool,
}

#[derive(Debug)]
pub(super) struct Leaders {
    client: Client,
    prefix: String,
    age_max: Duration,
    /// Locked while reading: who comes meanwhile shares the result.
    known: Mutex<Known>,
}

impl Leaders {
    pub(super) fn new(client: Client, prefix: String, age_max: Duration) -> Self {
        Self {
            client,
            prefix,
            age_max,
            known: Mutex::default(),
        }
    }

    pub(super) async fn leader(&self, lease: &LeaseName) -> Result<Leader, LeaderError> {
        let mut known = self.known.lock().await;
        let now = clock::now();
        let recent = known
            .tried_at
            .is_some_and(|tried| now.since(tried) < self.age_max);
        let read = if recent {
            (!known.failed).then_some(()).ok_or(LeaderError::Late)
        } else {
            known.tried_at = Some(now);
            // Should this be cancelled, it failed.
            known.failed = true;
            let read = tokio::time::timeout(READ_MAX, self.read(&mut known)).await;
            let read = read.unwrap_or(Err(LeaderError::Late));
            known.failed = read.is_err();
            read
        };
        let now = clock::now();
        if let Some(seen) = known.leases.get(lease) {
            return Ok(Leader {
                holder: seen.holder.clone(),
                generation: seen.generation,
                status: seen.status.clone(),
                age: now.since(seen.at),
            });
        }
        match known.all_at {
            Some(all_at) if lease.as_str().starts_with(&self.prefix) => Ok(Leader {
                holder: None,
                generation: Generation::ZERO,
                status: None,
                age: now.since(all_at),
            }),
            _ => Err(read
                .err()
                .unwrap_or(LeaderError::Beyond(PAGES_MAX * PAGE_MAX as usize))),
        }
    }

    /// Reads page by page. What a page says replaces what was known of its
    /// leases; only when all pages came is the rest forgotten.
    async fn read(&self, known: &mut Known) -> Result<(), LeaderError> {
        let began = clock::now();
        let mut query = LeaseQuery {
            prefix: Some(self.prefix.clone()).filter(|prefix| !prefix.is_empty()),
            limit: Some(PAGE_MAX),
            ..LeaseQuery::default()
        };
        for _ in 0..PAGES_MAX {
            let at = clock::now();
            let page = self.client.leases(&query).await;
            let page = page.map_err(LeaderError::Unread)?;
            for lease in page.items {
                let seen = Seen {
                    holder: lease.holder.filter(|_| lease.state == LeaseState::Held),
                    generation: lease.generation,
                    status: lease.status,
                    at,
                };
                known.leases.insert(lease.lease, seen);
            }
            query.cursor = page.next;
            if query.cursor.is_none() {
                known.leases.retain(|_, seen| seen.at >= began);
                known.all_at = Some(began);
                return Ok(());
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use tokio::{
        io::{AsyncReadExt as _, AsyncWriteExt as _},
        net::TcpListener,
    };

    use super::*;

    const PAGE: &str = r#"{"items":[{"lease":"a","state":"held","holder":"h","generation":7,
        "granted_at":null,"renewed_at":null,"expires_at":null,"takeable_at":null,
        "remaining_ms":10000,"ttl_ms":10000,"grace_ms":0,"attempt":0,"principal":null,
        "status":null,"protected":false,"step_down":null,"paused":null,"barred":null,
        "reserved":null,"blocked":null,"flapping":1,"now":"2026-11-29T02:14:07.000000Z"}],
        "next":null,"now":"2026-11-29T02:14:07.000000Z"}"#;

    /// Answers with the page as often as said, and then hangs up.
    async fn server(answers: usize) -> Client {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = format!("http://{}", listener.local_addr().expect("an address"));
        tokio::spawn(async move {
            let mut answered = 0;
            while let Ok((mut socket, _)) = listener.accept().await {
                let _ = socket.read(&mut [0; 4096]).await;
                answered += 1;
                if answered <= answers {
                    let head = "HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length:";
                    let answer = format!("{head} {}\r\n\r\n{PAGE}", PAGE.len());
                    let _ = socket.write_all(answer.as_bytes()).await;
                }
            }
        });
        Client::new(&address, None).expect("a client")
    }

    fn name(text: &str) -> LeaseName {
        text.parse().expect("a lease name")
    }

    #[tokio::test]
    async fn a_failed_read_forgets_nothing() {
        let leaders = Leaders::new(server(1).await, String::new(), Duration::ZERO);
        let first = leaders.leader(&name("a")).await.expect("it was read");
        tokio::time::sleep(Duration::from_millis(20)).await;
        let later = leaders.leader(&name("a")).await.expect("it is still known");
        assert_eq!(later.holder, first.holder);
        assert!(later.holder.is_some_and(|holder| holder.as_str() == "h"));
        assert!(later.age >= Duration::from_millis(20), "and says its age");
        let none = leaders.leader(&name("b")).await.expect("all were read");
        assert!(none.holder.is_none());
    }

    #[tokio::test]
    async fn a_recent_read_is_not_repeated() {
        let leaders = Leaders::new(server(1).await, String::new(), Duration::from_secs(60));
        for _ in 0..3 {
            assert!(leaders.leader(&name("a")).await.is_ok());
        }
    }

    #[tokio::test]
    async fn what_was_never_read_is_unknown() {
        let leaders = Leaders::new(server(0).await, String::new(), Duration::ZERO);
        let unknown = leaders.leader(&name("a")).await;
        assert!(matches!(unknown, Err(LeaderError::Unread(_))));
    }
}
