//! What changes, for whoever watches: the tail of the log, and pages of leases
//! that are read once for all who look at the same one.
//!
//! Every reader gets the entries it missed, then a snapshot, then what comes.
//! It subscribes before it reads, so nothing falls between; and what it is sent
//! of a page carries the time it was read at, so nothing old follows something
//! newer. A thousand readers of a page cost the database what one does.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError, Weak},
    time::Duration,
};

use baton_client::{
    EventHandovers, Handover, HandoverQuery, Lease, LeaseName, LeaseQuery, Order, Snapshot,
    TimeEvent, Timestamp,
    limits::{EVENTS_BEHIND_MAX, PAGE_MAX},
};
use tokio::{
    sync::{broadcast, mpsc, watch},
    time::Instant,
};
use tokio_util::sync::CancellationToken;

use crate::{chain::Head, metrics::Viewer};

pub use super::sent::Sent;
use super::{
    ListError,
    backend::{Backend, Reading},
    history, in_time,
    lease_page::{Change, POLL, Page, Shown, last_handovers},
    writer::Lanes,
};

/// How close together hints are followed.
const SETTLE: Duration = Duration::from_millis(20);
/// How far a slow reader may fall behind before its stream ends. It comes back
/// and goes on where it was.
const BACKLOG: usize = 4_096;
/// How much is on its way to one reader.
const IN_FLIGHT: usize = 64;
/// How long one may read nothing of it.
const READS_WITHIN: Duration = Duration::from_secs(30);

/// A new entry of the log.
#[derive(Debug, Clone)]
struct Logged {
    seq: u64,
    lease: Option<LeaseName>,
    sent: Sent,
}

/// The time, and what most readers are sent of it.
#[derive(Debug, Clone)]
struct Timed {
    event: TimeEvent,
    sent: Sent,
}

/// The middle of all that watch.
pub struct Hub {
    backend: Arc<dyn Backend>,
    log: broadcast::Sender<Logged>,
    /// Up to here the log was sent on. Moves before the entries are sent, so
    /// that whoever listens first and then looks here knows what it may miss.
    sent_on: watch::Sender<u64>,
    time: broadcast::Sender<Timed>,
    /// Moves when the log is not the one that was sent on: another database took
    /// over, and did not have all of it.
    rewound: watch::Sender<()>,
    pages: Mutex<HashMap<Shown, Weak<Page>>>,
    stop: CancellationToken,
}

impl Hub {
    /// Starts to follow the log from where it ends now: before anybody listens,
    /// so that nothing falls between.
    ///
    /// # Errors
    /// The database does not answer.
    pub async fn start(lanes: &Arc<Lanes>) -> sqlx::Result<Arc<Self>> {
        let last = lanes.backend.read().await?.end().await?.head;
        let hub = Arc::new(Self {
            backend: lanes.backend.clone(),
            log: broadcast::Sender::new(BACKLOG),
            sent_on: watch::Sender::new(last.seq),
            time: broadcast::Sender::new(16),
            rewound: watch::Sender::default(),
            pages: Mutex::default(),
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
    async fn follow(self: Arc<Self>, lanes: Arc<Lanes>, mut last: Head) {
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
                let event = TimeEvent { now, seq };
                if let Some(sent) = Sent::new(None, "time", &event) {
                    drop(self.time.send(Timed { event, sent }));
                }
            }
        }
    }

    /// Sends on what the log got since `last`, and moves it.
    async fn tail(&self, last: &mut Head, lanes: &Lanes) -> sqlx::Result<(Timestamp, u64)> {
        let mut reading = self.backend.read().await?;
        let now = reading.now().await?;
        let head = reading.end().await?.head;
        let seq = head.seq;
        if last.hash == head.hash {
            return Ok((now, seq));
        }
        if !goes_on(&mut *reading, last, &head).await? {
            tracing::warn!(last.seq, head.seq, "the log is not the one that it was");
            // Every stream ends, and nothing is sent on to them any more.
            *last = head.clone();
            self.rewound.send_replace(());
        }
        self.sent_on.send_replace(seq);
        // Other servers write too: who waits in line here is to hear of it.
        while last.seq < seq && (self.log.receiver_count() > 0 || lanes.lines.len() > 0) {
            let entries = reading.handovers(page_after(last.seq, PAGE_MAX)).await?;
            lanes
                .lines
                .look_now(entries.iter().filter_map(|entry| entry.lease.as_ref()));
            let Some(end) = entries.last().map(Head::of) else {
                break;
            };
            for entry in &entries {
                if let Some(sent) = Sent::new(Some(entry.seq), "handover", entry) {
                    let (seq, lease) = (entry.seq, entry.lease.clone());
                    drop(self.log.send(Logged { seq, lease, sent }));
                }
            }
            *last = end;
        }
        *last = head;
        Ok((now, seq))
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
        let changes = page.changes();
        let sent_on = *self.sent_on.borrow();
        let (snapshot, reading) = page.snapshot(sent_on).await?;
        let (to, stream) = mpsc::channel(IN_FLIGHT);
        let reader = Reader {
            hub: self.clone(),
            log,
            prefix,
            time,
            rewound: self.rewound.subscribe(),
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
        let page = Arc::new(Page::new(shown.clone(), self.backend.clone(), BACKLOG));
        pages.insert(shown, Arc::downgrade(&page));
        tokio::spawn(Page::follow(
            Arc::downgrade(&page),
            self.sent_on.subscribe(),
            self.stop.clone(),
        ));
        page
    }
}

/// Whether the log up to `head` goes on from `last`. What was archived since is
/// taken on trust.
async fn goes_on(reading: &mut dyn Reading, last: &Head, head: &Head) -> sqlx::Result<bool> {
    if head.seq <= last.seq {
        return Ok(false);
    }
    let entries = reading.handovers(page_after(last.seq, 1)).await?;
    let next = entries.first().filter(|entry| entry.seq == last.seq + 1);
    Ok(next.is_none_or(|entry| entry.prev_hash == last.hash))
}

fn page_after(seq: u64, limit: u64) -> super::statement::Statement {
    let query = HandoverQuery {
        after: Some(seq),
        order: Some(Order::Asc),
        limit: Some(limit),
        ..HandoverQuery::default()
    };
    // Only a cursor can be bad, and there is none.
    history::handovers(&query).unwrap_or_default()
}

/// One who watches.
struct Reader {
    hub: Arc<Hub>,
    /// `None` who hears of the log through the page.
    log: Option<broadcast::Receiver<Logged>>,
    /// Only of leases whose names begin so, and of none.
    prefix: Option<String>,
    time: broadcast::Receiver<Timed>,
    rewound: watch::Receiver<()>,
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
            // Who saw more than there is saw another log.
            Some(after) if after > last => self.send_lasts(&snapshot.items, 0).await?,
            Some(after) => self.send_lasts(&snapshot.items, after).await?,
            None => {}
        }
        self.send(Sent::new(Some(last), "snapshot", &snapshot))
            .await?;
        drop(snapshot);
        loop {
            if self.log.is_none() {
                // What the page told until here, it told before this was so.
                last = self.page.read_to();
            }
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
                    // It would say that what is known of the leases is true.
                    Ok(_) if self.page.is_stale() => continue,
                    Ok(timed) => match timed.told_to(last) {
                        Some(sent) => sent,
                        None => continue,
                    },
                    Err(broadcast::error::RecvError::Lagged(_)) => continue,
                    Err(broadcast::error::RecvError::Closed) => return Err(Gone),
                },
                Ok(()) = self.rewound.changed() => {
                    self.reset().await?;
                    return Err(Gone);
                }
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
        let read = last_handovers(&*self.hub.backend, names).await;
        let entries = read.map_err(|error| {
            tracing::warn!(?error, "a reader of events could not catch up");
            Gone
        })?;
        for entry in entries.iter().filter(|entry| entry.seq > after) {
            self.send(Sent::new(None, "handover", entry)).await?;
        }
        Ok(())
    }

    async fn entries_after(&self, seq: u64) -> sqlx::Result<Vec<Handover>> {
        let mut reading = self.hub.backend.read().await?;
        reading.handovers(page_after(seq, PAGE_MAX)).await
    }

    async fn reset(&mut self) -> Result<(), Gone> {
        self.send(Sent::new(None, "reset", &serde_json::json!({})))
            .await
    }

    async fn send(&mut self, sent: Option<Sent>) -> Result<(), Gone> {
        let sent = sent.ok_or(Gone)?;
        // Whoever reads nothing for so long would not hear that its stream ends.
        let sending = self.to.send_timeout(sent, READS_WITHIN);
        sending.await.map_err(|_| Gone)
    }
}

impl Timed {
    /// For a reader who was told of the log up to `seq`, and goes on from there if
    /// its stream ends now: what is still on its way is not passed over.
    fn told_to(self, seq: u64) -> Option<Sent> {
        if self.event.seq <= seq {
            return Some(self.sent);
        }
        Sent::new(None, "time", &TimeEvent { seq, ..self.event })
    }
}

/// The next entry, for who listens to the log.
async fn next_of(log: &mut Option<broadcast::Receiver<Logged>>) -> Result<Logged, Gone> {
    match log {
        Some(log) => log.recv().await.map_err(|_| Gone),
        None => std::future::pending().await,
    }
}
