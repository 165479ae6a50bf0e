//! What changes, for whoever watches: the tail of the log, and pages of leases
//! that are read once for all who look at the same one.
//!
//! Every reader gets the entries it missed, then a snapshot, then what comes.
//! It subscribes before it reads, so nothing falls between; and what it is sent
//! of a page carries the time it was read at, so nothing old follows something
//! newer. A thousand readers of a page cost the database what one does.

use std::{
    collections::{HashMap, HashSet},
    sync::{
        Arc, Mutex, PoisonError, Weak,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use baton_client::{
    EventHandovers, Handover, HandoverQuery, Lease, LeaseName, LeasePage, LeaseQuery, Order,
    Snapshot, TimeEvent, Timestamp,
    limits::{EVENTS_BEHIND_MAX, PAGE_MAX},
};
use tokio::{
    sync::{Notify, broadcast, mpsc},
    time::Instant,
};
use tokio_util::sync::CancellationToken;

use crate::{
    metrics::Viewer,
    rules::{LeaseRow, Rebuilt, view},
};

use super::{ListError, backend::Backend, history, in_time, listing, read_failed, writer::Lanes};

/// How often the log and the pages are read when nothing hints at a change.
const POLL: Duration = Duration::from_secs(1);
/// How close together hints are followed.
const SETTLE: Duration = Duration::from_millis(20);
/// How old a page may be that a new reader starts from.
const FRESH: Duration = Duration::from_millis(100);
/// Renewals of a lease are sent this far apart.
const RENEWALS_APART: Duration = Duration::from_millis(990);
/// How far a slow reader may fall behind before its stream ends. It comes back
/// and goes on where it was.
const BACKLOG: usize = 4_096;
/// How long a page rests for each lease of which there was news when it was read:
/// when thousands change hands at once, its readers get this much and no more.
const REST: Duration = Duration::from_millis(10);
/// How much is on its way to one reader.
const IN_FLIGHT: usize = 64;

/// One thing to send to a reader.
#[derive(Debug, Clone)]
pub struct Sent {
    /// Where to go on after this, if it moves that.
    pub id: Option<u64>,
    /// The event's name.
    pub name: &'static str,
    /// Its JSON.
    pub data: Arc<str>,
}

impl Sent {
    fn new(id: Option<u64>, name: &'static str, data: &impl serde::Serialize) -> Option<Self> {
        let data = serde_json::to_string(data)
            .inspect_err(|error| tracing::error!(%error, "an event cannot be written"))
            .ok()?;
        Some(Self {
            id,
            name,
            data: data.into(),
        })
    }
}

/// A new entry of the log.
#[derive(Debug, Clone)]
struct Logged {
    seq: u64,
    lease: Option<LeaseName>,
    sent: Sent,
}

/// A change of a lease on a page, found when the page was read for the
/// `reading`-th time. Times would not do, for a clock may go back.
#[derive(Debug, Clone)]
struct Change {
    reading: u64,
    sent: Sent,
}

/// The middle of all that watch.
pub struct Hub {
    backend: Arc<dyn Backend>,
    log: broadcast::Sender<Logged>,
    /// Up to here the log was sent on. Moves before the entries are sent, so
    /// that whoever listens first and then looks here knows what it may miss.
    sent_on: AtomicU64,
    time: broadcast::Sender<Sent>,
    pages: Mutex<HashMap<Shown, Weak<Page>>>,
    /// The log grew.
    grew: Arc<Notify>,
    stop: CancellationToken,
}

impl Hub {
    /// Starts to follow the log from where it ends now: before anybody listens,
    /// so that nothing falls between.
    ///
    /// # Errors
    /// The database does not answer.
    pub async fn start(lanes: &Arc<Lanes>) -> sqlx::Result<Arc<Self>> {
        let last = lanes.backend.read().await?.end().await?.head.seq;
        let hub = Arc::new(Self {
            backend: lanes.backend.clone(),
            log: broadcast::Sender::new(BACKLOG),
            sent_on: AtomicU64::new(last),
            time: broadcast::Sender::new(16),
            pages: Mutex::default(),
            grew: Arc::default(),
            stop: CancellationToken::new(),
        });
        tokio::spawn(hub.clone().follow(lanes.clone(), last));
        Ok(hub)
    }

    /// Ends every stream, because the server stops.
    pub fn stop(&self) {
        self.stop.cancel();
    }

    /// Follows the log: sends its entries on as they come, and the time.
    async fn follow(self: Arc<Self>, lanes: Arc<Lanes>, mut last: u64) {
        let mut logged = lanes.logged.subscribe();
        let mut timed: Option<Instant> = None;
        loop {
            tokio::select! {
                () = self.stop.cancelled() => return,
                _ = logged.changed() => {}
                () = self.backend.notified() => {}
                () = tokio::time::sleep(POLL) => {}
            }
            tokio::time::sleep(SETTLE).await;
            logged.mark_unchanged();
            let (now, seq) = match in_time(self.tail(&mut last, &lanes)).await {
                Ok(read) => read,
                Err(error) => {
                    tracing::warn!(%error, "cannot follow the log");
                    tokio::time::sleep(POLL).await;
                    continue;
                }
            };
            if timed.is_none_or(|at| at.elapsed() >= POLL) {
                timed = Some(Instant::now());
                if let Some(sent) = Sent::new(None, "time", &TimeEvent { now, seq }) {
                    drop(self.time.send(sent));
                }
            }
        }
    }

    /// Sends on what the log got since `last`, and moves it.
    async fn tail(&self, last: &mut u64, lanes: &Lanes) -> sqlx::Result<(Timestamp, u64)> {
        let mut reading = self.backend.read().await?;
        let now = reading.now().await?;
        let head = reading.end().await?.head;
        if *last == head.seq {
            return Ok((now, head.seq));
        }
        self.sent_on.store(head.seq, Ordering::SeqCst);
        self.grew.notify_waiters();
        // Other servers write too: who waits in line here is to hear of it.
        while *last < head.seq && (self.log.receiver_count() > 0 || lanes.lines.len() > 0) {
            let entries = reading.handovers(page_after(*last)).await?;
            lanes
                .lines
                .look_now(entries.iter().filter_map(|entry| entry.lease.as_ref()));
            let Some(end) = entries.last() else { break };
            for entry in &entries {
                if let Some(sent) = Sent::new(Some(entry.seq), "handover", entry) {
                    let (seq, lease) = (entry.seq, entry.lease.clone());
                    drop(self.log.send(Logged { seq, lease, sent }));
                }
            }
            *last = end.seq;
        }
        *last = head.seq;
        Ok((now, head.seq))
    }

    /// Starts a stream for a reader of the leases that `query` selects and of these
    /// `handovers`, who has seen the log up to `after`.
    ///
    /// # Errors
    /// The cursor is not of this list, or the database does not answer.
    pub async fn subscribe(
        self: &Arc<Self>,
        query: LeaseQuery,
        handovers: EventHandovers,
        after: Option<u64>,
    ) -> Result<mpsc::Receiver<Sent>, ListError> {
        let lasts = handovers == EventHandovers::Page;
        // First listen, then read: nothing falls between.
        let log = (!lasts).then(|| self.log.subscribe());
        let time = self.time.subscribe();
        let prefix = match handovers {
            EventHandovers::Prefix => query.prefix.clone(),
            EventHandovers::All | EventHandovers::Page => None,
        };
        let page = self.page(Shown { query, lasts });
        let changes = page.changes.subscribe();
        let sent_on = self.sent_on.load(Ordering::SeqCst);
        let (snapshot, reading) = page.snapshot(sent_on).await?;
        let (to, stream) = mpsc::channel(IN_FLIGHT);
        let reader = Reader {
            hub: self.clone(),
            log,
            prefix,
            time,
            changes,
            page,
            to,
            _counted: Viewer::enter(),
        };
        tokio::spawn(reader.run(snapshot, reading, after));
        Ok(stream)
    }

    fn page(self: &Arc<Self>, shown: Shown) -> Arc<Page> {
        let mut pages = self.pages.lock().unwrap_or_else(PoisonError::into_inner);
        pages.retain(|_, page| page.strong_count() > 0);
        if let Some(page) = pages.get(&shown).and_then(Weak::upgrade) {
            return page;
        }
        let page = Arc::new(Page {
            shown: shown.clone(),
            backend: self.backend.clone(),
            changes: broadcast::Sender::new(BACKLOG),
            seen: tokio::sync::Mutex::default(),
        });
        pages.insert(shown, Arc::downgrade(&page));
        tokio::spawn(Page::follow(
            Arc::downgrade(&page),
            self.grew.clone(),
            self.stop.clone(),
        ));
        page
    }
}

fn page_after(seq: u64) -> super::statement::Statement {
    let query = HandoverQuery {
        after: Some(seq),
        order: Some(Order::Asc),
        limit: Some(PAGE_MAX),
        ..HandoverQuery::default()
    };
    // Only a cursor can be bad, and there is none.
    history::handovers(&query).unwrap_or_default()
}

/// What a page shows.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Shown {
    query: LeaseQuery,
    /// With the last entry of each lease that changed or came.
    lasts: bool,
}

/// A page of leases that at least one reader looks at.
struct Page {
    shown: Shown,
    backend: Arc<dyn Backend>,
    changes: broadcast::Sender<Change>,
    seen: tokio::sync::Mutex<Option<Seen>>,
}

/// What a page was when it was last read.
struct Seen {
    reading: u64,
    rows: Vec<LeaseRow>,
    now: Timestamp,
    seq: u64,
    read: Instant,
    told: Told,
}

/// What readers were last told of each lease, and when.
type Told = HashMap<LeaseName, (LeaseRow, Instant)>;

impl Page {
    /// Reads the page again and again, as long as somebody looks at it.
    async fn follow(page: Weak<Self>, grew: Arc<Notify>, stop: CancellationToken) {
        loop {
            tokio::select! {
                () = stop.cancelled() => return,
                () = grew.notified() => {}
                () = tokio::time::sleep(POLL) => {}
            }
            let Some(page) = page.upgrade() else { return };
            let mut seen = page.seen.lock().await;
            let read = page.read(&mut seen).await;
            drop(seen);
            drop(page);
            match read {
                Ok(news) => tokio::time::sleep(POLL.min(REST * news)).await,
                // Readers notice by the lack of `time`.
                Err(error) => tracing::debug!(?error, "a page of leases could not be read"),
            }
        }
    }

    /// What a new reader starts from, and which reading of the page it is: one
    /// that knows the log up to `seq`, for the reader listens for what follows.
    async fn snapshot(&self, seq: u64) -> Result<(Snapshot, u64), ListError> {
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
        let reading = seen.as_ref().map_or(0, |seen| seen.reading) + 1;
        let mut told = seen.take().map(|seen| seen.told);
        let known = told.get_or_insert_with(|| {
            rows.iter()
                .map(|row| (row.name.clone(), (row.clone(), read)))
                .collect()
        });
        let mut news = self.tell_gone(reading, known, &rows);
        let mut changed = Vec::new();
        let mut logged = Vec::new();
        for row in &rows {
            let before = known.get(&row.name);
            if before.is_none_or(|(before, _)| is_logged(before, row)) {
                logged.push(&row.name);
            } else if !before.is_some_and(|(before, at)| is_renewed(before, row, at.elapsed())) {
                continue;
            }
            changed.push(row);
        }
        news += logged.len() as u32;
        if self.shown.lasts {
            for entry in last_entries(&*self.backend, logged.into_iter(), 0).await? {
                self.tell(reading, Sent::new(None, "handover", &entry));
            }
        }
        for row in changed {
            self.tell(reading, Sent::new(None, "lease", &view(row, now)));
            known.insert(row.name.clone(), (row.clone(), read));
        }
        *seen = Some(Seen {
            reading,
            told: told.unwrap_or_default(),
            rows,
            now,
            seq,
            read,
        });
        Ok(news)
    }

    /// Tells which leases are no longer on the page, and how many they are.
    fn tell_gone(&self, reading: u64, known: &mut Told, rows: &[LeaseRow]) -> u32 {
        let present: HashSet<&LeaseName> = rows.iter().map(|row| &row.name).collect();
        let mut gone = 0;
        known.retain(|name, _| {
            let stays = present.contains(name);
            if !stays {
                gone += 1;
                let data = serde_json::json!({ "lease": name, "gone": true });
                self.tell(reading, Sent::new(None, "lease", &data));
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

/// The last entry of each of these leases, if it is after `after`.
async fn last_entries(
    backend: &dyn Backend,
    leases: impl ExactSizeIterator<Item = &LeaseName>,
    after: u64,
) -> Result<Vec<Handover>, ListError> {
    if leases.len() == 0 {
        return Ok(Vec::new());
    }
    let read = async {
        let mut reading = backend.read().await?;
        reading.handovers(history::last_of(leases)).await
    };
    let mut entries = in_time(read).await.map_err(read_failed)?;
    entries.retain(|entry| entry.seq > after);
    Ok(entries)
}

/// Whether readers who know `before` are to be told of `row` now because of what
/// the log speaks of.
fn is_logged(before: &LeaseRow, row: &LeaseRow) -> bool {
    // Not by `changed_at`: after a clock stepped back, it stands still.
    let lapsed = |row: &LeaseRow| row.tenure.as_ref().is_some_and(|tenure| tenure.lapsed);
    Rebuilt::from(before) != Rebuilt::from(row)
        || before.blocked != row.blocked
        || lapsed(before) != lapsed(row)
}

/// Whether they are to be told that it was renewed: these are coalesced.
fn is_renewed(before: &LeaseRow, row: &LeaseRow, since: Duration) -> bool {
    let renewal = |row: &LeaseRow| {
        row.tenure.as_ref().map(|tenure| {
            let status = tenure.status.as_ref().map(|status| status.get().to_owned());
            (tenure.renewed_at, tenure.expires_at, status)
        })
    };
    since >= RENEWALS_APART && renewal(before) != renewal(row)
}

/// One who watches.
struct Reader {
    hub: Arc<Hub>,
    /// `None` who hears of the log through the page.
    log: Option<broadcast::Receiver<Logged>>,
    /// Only of leases whose names begin so, and of none.
    prefix: Option<String>,
    time: broadcast::Receiver<Sent>,
    changes: broadcast::Receiver<Change>,
    page: Arc<Page>,
    to: mpsc::Sender<Sent>,
    _counted: Viewer,
}

/// The reader is gone, or too slow: its stream ends.
struct Gone;

impl Reader {
    async fn run(mut self, snapshot: Snapshot, reading: u64, after: Option<u64>) {
        let stop = self.hub.stop.clone();
        tokio::select! {
            () = stop.cancelled() => {}
            _ = self.serve(snapshot, reading, after) => {}
        }
    }

    async fn serve(
        &mut self,
        snapshot: Snapshot,
        reading: u64,
        after: Option<u64>,
    ) -> Result<(), Gone> {
        let mut last = snapshot.seq;
        match after {
            Some(after) if self.log.is_some() => self.catch_up(after, last).await?,
            Some(after) => self.send_lasts(&snapshot.items, after).await?,
            None => {}
        }
        self.send(Sent::new(Some(last), "snapshot", &snapshot))
            .await?;
        drop(snapshot);
        loop {
            let sent = tokio::select! {
                logged = next_of(&mut self.log) => {
                    let Logged { seq, lease, sent } = logged?;
                    if seq <= last {
                        continue;
                    }
                    last = seq;
                    if !self.wants(lease.as_ref()) {
                        continue;
                    }
                    sent
                }
                change = self.changes.recv() => match change {
                    Ok(change) if change.reading > reading => change.sent,
                    Ok(_) => continue,
                    Err(_) => return Err(Gone),
                },
                time = self.time.recv() => match time {
                    Ok(sent) => sent,
                    Err(broadcast::error::RecvError::Lagged(_)) => continue,
                    Err(broadcast::error::RecvError::Closed) => return Err(Gone),
                },
                () = self.to.closed() => return Err(Gone),
            };
            self.send(Some(sent)).await?;
        }
    }

    /// Sends every entry after `after` up to `head`, or a reset if that is not
    /// possible.
    async fn catch_up(&mut self, after: u64, head: u64) -> Result<(), Gone> {
        if after > head || head - after > EVENTS_BEHIND_MAX {
            return self.reset().await;
        }
        let mut next = after;
        while next < head {
            let entries = self.entries_after(next).await.map_err(|error| {
                tracing::warn!(%error, "a reader of events could not catch up");
                Gone
            })?;
            // Archived: the next entry is not there any more.
            if entries.first().is_none_or(|entry| entry.seq != next + 1) {
                return self.reset().await;
            }
            for entry in entries.iter().take_while(|entry| entry.seq <= head) {
                next = entry.seq;
                if self.wants(entry.lease.as_ref()) {
                    self.send(Sent::new(Some(entry.seq), "handover", entry))
                        .await?;
                }
            }
        }
        Ok(())
    }

    /// Whether entries of this lease are asked for.
    fn wants(&self, lease: Option<&LeaseName>) -> bool {
        match (&self.prefix, lease) {
            (Some(prefix), Some(lease)) => lease.as_str().starts_with(prefix),
            _ => true,
        }
    }

    /// Sends what happened last to each of these, after `after`.
    async fn send_lasts(&mut self, leases: &[Lease], after: u64) -> Result<(), Gone> {
        let names = leases.iter().map(|lease| &lease.lease);
        let read = last_entries(&*self.page.backend, names, after).await;
        let entries = read.map_err(|error| {
            tracing::warn!(?error, "a reader of events could not catch up");
            Gone
        })?;
        for entry in entries {
            self.send(Sent::new(None, "handover", &entry)).await?;
        }
        Ok(())
    }

    async fn entries_after(&self, seq: u64) -> sqlx::Result<Vec<Handover>> {
        let mut reading = self.hub.backend.read().await?;
        reading.handovers(page_after(seq)).await
    }

    async fn reset(&mut self) -> Result<(), Gone> {
        self.send(Sent::new(None, "reset", &serde_json::json!({})))
            .await
    }

    async fn send(&mut self, sent: Option<Sent>) -> Result<(), Gone> {
        let sent = sent.ok_or(Gone)?;
        self.to.send(sent).await.map_err(|_| Gone)
    }
}

/// The next entry, for who listens to the log.
async fn next_of(log: &mut Option<broadcast::Receiver<Logged>>) -> Result<Logged, Gone> {
    match log {
        Some(log) => log.recv().await.map_err(|_| Gone),
        None => std::future::pending().await,
    }
}

/// Reads a page as it is answered, and the log's last `seq` at that moment.
pub(super) async fn read_page(
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
