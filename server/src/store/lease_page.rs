//! Pages of leases that are read once for all who look at the same one.

use std::{
    collections::{HashMap, HashSet},
    sync::{
        Arc, Weak,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use baton_client::{Handover, Lease, LeaseName, LeasePage, LeaseQuery, Snapshot, Timestamp};
use tokio::{
    sync::{broadcast, watch},
    time::Instant,
};
use tokio_util::sync::CancellationToken;

use crate::rules::{LeaseRow, Rebuilt, view};

use super::{
    ListError, StoreError, backend::Backend, history, in_time, listing, read_failed, sent::Sent,
};

/// How often the log and the pages are read when nothing hints at a change.
pub const POLL: Duration = Duration::from_secs(1);
/// How long a page may not be read before its readers are not told the time any more.
const STALE: Duration = Duration::from_secs(5);
/// How old a page may be that a new reader starts from.
const FRESH: Duration = Duration::from_millis(100);
/// Renewals of a lease are sent this far apart.
const RENEWALS_APART: Duration = Duration::from_millis(990);
/// How long a page rests for each lease of which there was news when it was read:
/// when thousands change hands at once, its readers get this much and no more.
const REST: Duration = Duration::from_millis(10);

/// A change of a lease on a page, found when the page was read for the
/// `reading`-th time. Times would not do, for a clock may go back.
#[derive(Debug, Clone)]
pub struct Change {
    /// Which reading found it.
    pub reading: u64,
    /// What is told of it.
    pub sent: Sent,
}

/// What a page shows.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Shown {
    /// The leases.
    pub query: LeaseQuery,
    /// With the last entry of each lease that changed or came.
    pub lasts: bool,
}

/// A page of leases that at least one reader looks at.
pub struct Page {
    shown: Shown,
    backend: Arc<dyn Backend>,
    changes: broadcast::Sender<Change>,
    seen: tokio::sync::Mutex<Option<Seen>>,
    /// Up to here in the log readers were told of what happened to the leases.
    read_to: AtomicU64,
    /// When it was last read.
    read_at: watch::Sender<Instant>,
}

/// What a page was when it was last read.
struct Seen {
    reading: u64,
    rows: Vec<LeaseRow>,
    now: Timestamp,
    seq: u64,
    read: Instant,
    /// What readers were last told of each lease, and when.
    told: HashMap<LeaseName, Told>,
}

/// What readers were last told of a lease.
struct Told {
    row: LeaseRow,
    /// The database's time that it was told for.
    now: Timestamp,
    at: Instant,
}

impl Told {
    /// Whether readers are to be told of `row` now because of what the log speaks
    /// of.
    fn is_logged(&self, row: &LeaseRow) -> bool {
        // Not by `changed_at`: after a clock stepped back, it stands still.
        let lapsed = |row: &LeaseRow| row.tenure.as_ref().is_some_and(|tenure| tenure.lapsed);
        Rebuilt::from(&self.row) != Rebuilt::from(row)
            || self.row.blocked != row.blocked
            || lapsed(&self.row) != lapsed(row)
    }

    /// Whether they are to be told that it was renewed: these are coalesced.
    fn is_renewed(&self, row: &LeaseRow) -> bool {
        let renewal = |row: &LeaseRow| {
            row.tenure.as_ref().map(|tenure| {
                let status = tenure.status.as_ref().map(|status| status.get().to_owned());
                (tenure.renewed_at, tenure.expires_at, status)
            })
        };
        self.at.elapsed() >= RENEWALS_APART && renewal(&self.row) != renewal(row)
    }

    /// Whether they were told what is over by now, although nothing was written.
    fn is_past(&self, now: Timestamp) -> bool {
        let marks = |now: Timestamp| {
            let lease = view(&self.row, now);
            let (barred, reserved) = (lease.barred.is_some(), lease.reserved.is_some());
            (barred, reserved, lease.blocked, lease.flapping)
        };
        marks(self.now) != marks(now)
    }
}

impl Page {
    /// What `shown` says; a reader may fall so many changes behind.
    pub fn new(shown: Shown, backend: Arc<dyn Backend>, backlog: usize) -> Self {
        Self {
            shown,
            backend,
            changes: broadcast::Sender::new(backlog),
            seen: tokio::sync::Mutex::default(),
            read_to: AtomicU64::new(0),
            read_at: watch::Sender::new(Instant::now()),
        }
    }

    /// What changes from now on.
    pub fn changes(&self) -> broadcast::Receiver<Change> {
        self.changes.subscribe()
    }

    /// Up to which `seq` of the log readers were told what happened to its leases.
    pub fn read_to(&self) -> u64 {
        self.read_to.load(Ordering::Acquire)
    }

    /// Whether it could not be read for so long that what readers know of it may be
    /// false.
    pub fn is_stale(&self) -> bool {
        self.read_at.borrow().elapsed() > STALE
    }

    /// Reads the page again and again, as long as somebody looks at it. `grew`
    /// moves with the log.
    pub async fn follow(page: Weak<Self>, mut grew: watch::Receiver<u64>, stop: CancellationToken) {
        loop {
            tokio::select! {
                () = stop.cancelled() => return,
                Ok(()) = grew.changed() => {}
                () = tokio::time::sleep(POLL) => {}
            }
            let Some(page) = page.upgrade() else { return };
            let mut seen = page.seen.lock().await;
            let read = page.read(&mut seen).await;
            drop(seen);
            drop(page);
            match read {
                Ok(news) => tokio::time::sleep(POLL.min(REST * news)).await,
                // Readers notice by the lack of `time`, once it is stale.
                Err(error) => tracing::debug!(?error, "a page of leases could not be read"),
            }
        }
    }

    /// What a new reader starts from, and which reading of the page it is: one
    /// that knows the log up to `seq`, for the reader listens for what follows.
    pub async fn snapshot(&self, seq: u64) -> Result<(Snapshot, u64), ListError> {
        let mut seen = self.seen.lock().await;
        let is_old = |seen: &Seen| seen.read.elapsed() > FRESH || seen.seq < seq;
        if seen.as_ref().is_none_or(is_old) {
            self.read(&mut seen).await?;
        }
        let Some(seen) = seen.as_ref() else {
            return Err(ListError::Store(super::StoreError::Internal));
        };
        // Not older than it is: what is left of each tenure counts from now.
        let age = seen.read.elapsed().as_micros() as i64;
        let now = Timestamp::from_micros(seen.now.micros() + age);
        let snapshot = Snapshot {
            items: seen.rows.iter().map(|row| view(row, now)).collect(),
            now,
            seq: seen.seq,
        };
        Ok((snapshot, seen.reading))
    }

    /// Reads the page and tells its readers what changed; of how many leases there
    /// was news.
    async fn read(&self, seen: &mut Option<Seen>) -> Result<u32, ListError> {
        let (rows, now, seq) = read_rows(&*self.backend, &self.shown.query).await?;
        let read = Instant::now();
        let told = |row: &LeaseRow| Told {
            row: row.clone(),
            now,
            at: read,
        };
        let Some(known) = seen else {
            let told = rows.iter().map(|row| (row.name.clone(), told(row)));
            self.read_to.store(seq, Ordering::Release);
            *seen = Some(Seen {
                reading: 1,
                told: told.collect(),
                rows,
                now,
                seq,
                read,
            });
            self.read_at.send_replace(read);
            return Ok(0);
        };
        let mut changed = Vec::new();
        let mut logged = Vec::new();
        for row in &rows {
            let before = known.told.get(&row.name);
            if before.is_none_or(|told| told.is_logged(row)) {
                logged.push(&row.name);
            } else if !before.is_some_and(|told| told.is_renewed(row) || told.is_past(now)) {
                continue;
            }
            changed.push(row);
        }
        let lasts = if self.shown.lasts {
            last_handovers(&*self.backend, logged.iter().copied()).await?
        } else {
            Vec::new()
        };
        // From here on nothing fails: what is known is what was told.
        known.reading += 1;
        let news = logged.len() as u32 + self.tell_gone(known, &rows);
        for entry in &lasts {
            self.tell(known.reading, Sent::new(None, "handover", entry));
        }
        for row in changed {
            self.tell(known.reading, Sent::new(None, "lease", &view(row, now)));
            known.told.insert(row.name.clone(), told(row));
        }
        self.read_to.store(seq, Ordering::Release);
        (known.rows, known.now, known.seq, known.read) = (rows, now, seq, read);
        self.read_at.send_replace(read);
        Ok(news)
    }

    /// Tells which leases are no longer on the page, and how many they are.
    fn tell_gone(&self, known: &mut Seen, rows: &[LeaseRow]) -> u32 {
        let present: HashSet<&LeaseName> = rows.iter().map(|row| &row.name).collect();
        let mut gone = 0;
        known.told.retain(|name, _| {
            let stays = present.contains(name);
            if !stays {
                gone += 1;
                let data = serde_json::json!({ "lease": name, "gone": true });
                self.tell(known.reading, Sent::new(None, "lease", &data));
            }
            stays
        });
        gone
    }

    fn tell(&self, reading: u64, sent: Option<Sent>) {
        if let Some(sent) = sent {
            drop(self.changes.send(Change { reading, sent }));
        }
    }
}

/// The last entry of each of these leases.
pub async fn last_handovers(
    backend: &dyn Backend,
    leases: impl ExactSizeIterator<Item = &LeaseName>,
) -> Result<Vec<Handover>, StoreError> {
    if leases.len() == 0 {
        return Ok(Vec::new());
    }
    let read = async {
        let mut reading = backend.read().await?;
        reading.handovers(history::last_of(leases)).await
    };
    in_time(read).await.map_err(read_failed)
}

/// Reads a page as it is answered, and the log's last `seq` at that moment.
pub async fn read_page(
    backend: &dyn Backend,
    query: &LeaseQuery,
) -> Result<(LeasePage, u64), ListError> {
    let (mut rows, now, seq) = read_rows_and_more(backend, query).await?;
    let more = listing::cut(&mut rows, query.limit);
    let last = rows.last().filter(|_| more);
    let next = last.map(|last| listing::lease_cursor(query, last, now));
    let items: Vec<Lease> = rows.iter().map(|row| view(row, now)).collect();
    Ok((LeasePage { items, next, now }, seq))
}

async fn read_rows(
    backend: &dyn Backend,
    query: &LeaseQuery,
) -> Result<(Vec<LeaseRow>, Timestamp, u64), ListError> {
    let (mut rows, now, seq) = read_rows_and_more(backend, query).await?;
    listing::cut(&mut rows, query.limit);
    Ok((rows, now, seq))
}

async fn read_rows_and_more(
    backend: &dyn Backend,
    query: &LeaseQuery,
) -> Result<(Vec<LeaseRow>, Timestamp, u64), ListError> {
    let read = async {
        let mut reading = backend.read().await?;
        let now = reading.now().await?;
        let select = match listing::leases(query, now, backend.dialect()) {
            Ok(select) => select,
            Err(bad) => return Ok(Err(bad)),
        };
        let rows = reading.leases(select).await?;
        let head = reading.end().await?.head;
        Ok(Ok((rows, now, head.seq)))
    };
    let read = in_time(read).await.map_err(read_failed)?;
    Ok(read?)
}
