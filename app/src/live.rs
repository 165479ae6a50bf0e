//! What moves on a page, as signals. On the server they are set once and
//! rendered; in the browser `browser` keeps them current.

use std::collections::HashMap;

use baton_client::{HandoverEvent, Lease, LeaseName, Timestamp};
use leptos::prelude::*;

use crate::{
    LeaseView, LeasesView, Totals,
    address::{Asked, ROWS},
    connection::Phase,
    entry::{Entry, Last},
    heard::Heard,
    lease_asked::{ENTRIES_MAX, Window},
    rows::{Merged, Rows},
};

/// How far the page may be trusted, and as of when.
#[derive(Debug, Clone, Copy)]
pub struct Live {
    /// What the page may say of itself.
    pub phase: RwSignal<Phase>,
    /// The database time that everything shown is true for. It stands still
    /// while the page is not live.
    pub now: RwSignal<Timestamp>,
    /// The same to the second, for what is not shown more finely.
    pub now_s: Memo<Timestamp>,
    /// Seconds until the next try; `None` while one is under way.
    pub next_try_s: RwSignal<Option<u64>>,
    /// Counts how often somebody wanted to try at once.
    pub try_now: RwSignal<u32>,
    /// Somebody wants what is shown to stay as it is.
    pub paused: RwSignal<bool>,
}

impl Live {
    /// Not live yet, with what was true at `now`.
    pub fn new(now: Timestamp) -> Self {
        let now = RwSignal::new(now);
        Self {
            phase: RwSignal::new(Phase::Waiting),
            now,
            now_s: Memo::new(move |_| whole_second(now.get())),
            next_try_s: RwSignal::new(None),
            try_now: RwSignal::new(0),
            paused: RwSignal::new(false),
        }
    }
}

/// A row of the list: it keeps its elements for as long as its lease is shown.
#[derive(Debug, Clone)]
pub struct Row {
    /// Which lease.
    pub name: LeaseName,
    /// The lease as it is.
    pub lease: ArcRwSignal<Lease>,
    /// What happened to it last, as far as that is known.
    pub last: ArcRwSignal<Option<Last>>,
}

/// One lease and its history.
#[derive(Debug, Clone, Copy)]
pub struct OneLease {
    /// The lease as it is.
    pub lease: RwSignal<Lease>,
    /// Its entries in the window and those that raised it with all others, oldest
    /// first.
    pub entries: RwSignal<Vec<Entry>>,
    /// What stands before them.
    pub before: StoredValue<Option<Entry>>,
    /// The entry of the act that is followed.
    pub act: StoredValue<Option<Entry>>,
    /// What the stream told since everything was read, or it could not go on.
    since: StoredValue<Vec<Entry>>,
    /// Which part of its time is shown.
    pub window: Window,
}

impl OneLease {
    /// Shows what was read.
    pub fn new(window: Window, view: LeaseView) -> Self {
        Self {
            lease: RwSignal::new(view.lease),
            entries: RwSignal::new(view.entries),
            before: StoredValue::new(view.before),
            act: StoredValue::new(view.act),
            since: StoredValue::new(Vec::new()),
            window,
        }
    }

    /// Takes in what was read again.
    pub fn replace(&self, view: LeaseView) {
        // What the stream told since it was read stays.
        let mut entries = view.entries;
        let read_to = entries.last().map_or(0, |last| last.seq).max(view.seq);
        let mut newer = self.since.get_value();
        self.since.set_value(Vec::new());
        newer.retain(|entry| entry.seq > read_to);
        if newer.is_empty() {
            self.lease.set(view.lease);
        }
        newer
            .into_iter()
            .for_each(|entry| push_newest(&mut entries, entry));
        self.before.set_value(view.before);
        self.entries.set(entries);
    }

    /// Takes in what the stream said.
    pub fn take(&self, heard: Heard) {
        match heard {
            Heard::Standing(standing) => {
                standing.items.into_iter().for_each(|lease| self.put(lease));
            }
            Heard::Lease(lease) => self.put(*lease),
            Heard::Logged(entry) => self.log(*entry),
            // All of it is read again, for it may be another log.
            Heard::Reset => self.since.set_value(Vec::new()),
            Heard::Gone(_) | Heard::Time(..) => {}
        }
    }

    fn put(&self, lease: Lease) {
        let newer = self.lease.with_untracked(|known| {
            known.lease == lease.lease && known.generation <= lease.generation
        });
        if newer {
            self.lease.set(lease);
        }
    }

    fn log(&self, entry: Entry) {
        let is_own = entry.event == HandoverEvent::FloorRaised
            || self
                .lease
                .with_untracked(|lease| entry.lease.as_ref() == Some(&lease.lease));
        let is_new = self
            .entries
            .with_untracked(|entries| entries.last().is_none_or(|last| last.seq < entry.seq));
        // What is shown of the past stays as it is.
        let ended = matches!(self.window, Window::Between(_, Some(to)) if to <= entry.at);
        if is_own && !ended {
            self.since
                .update_value(|since| push_newest(since, entry.clone()));
        }
        if is_own && is_new && !ended {
            self.entries.update(|entries| push_newest(entries, entry));
        }
    }

    /// From when to when the picture goes, at `now`.
    pub fn bounds(&self, now: Timestamp) -> (Timestamp, Timestamp) {
        match self.window {
            Window::Last(ms) => (back(now, ms), now),
            Window::Between(from, to) => (from, to.unwrap_or(now)),
            Window::Newest => {
                let first = self.entries.with(|entries| {
                    let first = entries.first()?;
                    Some(first.held_from.unwrap_or(first.at))
                });
                // A second at least, so that there is something to divide.
                let second_ago = back(now, 1_000);
                (first.unwrap_or(back(now, 3_600_000)).min(second_ago), now)
            }
        }
    }
}

/// So many milliseconds before.
fn back(at: Timestamp, ms: u64) -> Timestamp {
    Timestamp::from_micros(at.micros().saturating_sub(ms as i64 * 1_000))
}

/// What stands where the list belongs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stands {
    /// The list.
    List,
    /// That there is no lease at all.
    NoLeaseYet,
    /// That no lease matches.
    NothingMatches,
}

impl Stands {
    /// The word for it in the document.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::List => "list",
            Self::NoLeaseYet => "no-lease-yet",
            Self::NothingMatches => "nothing-matches",
        }
    }
}

/// The list of leases.
#[derive(Debug, Clone, Copy)]
pub struct LeaseList {
    rows: StoredValue<Rows>,
    /// What happened last to the leases that are shown, and to some others.
    lasts: StoredValue<HashMap<LeaseName, Last>>,
    filters: bool,
    /// The rows in order. Changes only when one comes, goes or moves.
    pub shown: RwSignal<Vec<Row>>,
    /// How many leases there are of each kind.
    pub totals: RwSignal<Totals>,
    /// The log's last `seq` that the list knows of.
    pub seq: StoredValue<u64>,
}

impl LeaseList {
    /// Shows what was read.
    pub fn new(asked: Asked, view: LeasesView) -> Self {
        let list = Self {
            rows: StoredValue::new(Rows::new(
                view.items,
                asked.sort,
                ROWS as usize,
                asked.cursor.is_some(),
            )),
            lasts: StoredValue::new(by_lease(view.lasts)),
            filters: asked.filters() || asked.cursor.is_some(),
            shown: RwSignal::new(Vec::new()),
            totals: RwSignal::new(view.totals),
            seq: StoredValue::new(view.seq),
        };
        list.show();
        list
    }

    /// What stands where the list belongs.
    pub fn stands(&self) -> Stands {
        if !self.shown.with_untracked(Vec::is_empty) {
            Stands::List
        } else if !self.filters && self.totals.with_untracked(|totals| totals.all == 0) {
            Stands::NoLeaseYet
        } else {
            Stands::NothingMatches
        }
    }

    /// Takes in what was read again about what happened last.
    pub fn take_lasts(&self, lasts: Vec<Last>) {
        self.lasts.set_value(by_lease(lasts));
    }

    /// Keeps what happened last.
    fn log(&self, last: Last) {
        let name = last.lease.clone();
        self.shown.with_untracked(|rows| {
            if let Some(row) = rows.iter().find(|row| row.name == name) {
                row.last.set(Some(last.clone()));
            }
        });
        let many = self.lasts.with_value(HashMap::len) >= LASTS_MAX;
        self.lasts.update_value(|lasts| {
            if many {
                let shown = self.shown.get_untracked();
                lasts.retain(|name, _| shown.iter().any(|row| row.name == *name));
            }
            lasts.insert(name, last);
        });
    }

    /// Takes in what the stream said.
    pub fn take(&self, heard: Heard) {
        if let Some(seq) = heard.seq() {
            self.seq.set_value(seq);
        }
        let merged = match heard {
            Heard::Standing(standing) => {
                self.rows.update_value(|rows| rows.replace(standing.items));
                Merged::Moved
            }
            Heard::Lease(lease) => {
                let put = |rows: &mut Rows| rows.put(*lease);
                self.rows.try_update_value(put).unwrap_or(Merged::Nothing)
            }
            Heard::Gone(name) => {
                let remove = |rows: &mut Rows| rows.remove(&name);
                self.rows
                    .try_update_value(remove)
                    .unwrap_or(Merged::Nothing)
            }
            Heard::Logged(entry) => {
                if let Some(last) = Last::of(&entry) {
                    self.log(last);
                }
                Merged::Nothing
            }
            // After a reset a snapshot follows; until then what is shown stays.
            Heard::Time(..) | Heard::Reset => Merged::Nothing,
        };
        match merged {
            Merged::Moved => self.show(),
            Merged::Changed(at) => self.change(at),
            Merged::Nothing => {}
        }
    }

    /// Puts the leases into rows; a lease that was shown keeps its row.
    fn show(&self) {
        let mut known: HashMap<LeaseName, Row> = self
            .shown
            .get_untracked()
            .into_iter()
            .map(|row| (row.name.clone(), row))
            .collect();
        let rows = self.rows.with_value(|rows| {
            let leases = rows.leases().iter().cloned();
            leases
                .map(|lease| match known.remove(&lease.lease) {
                    Some(row) => {
                        let last = self.lasts.with_value(|lasts| lasts.get(&row.name).cloned());
                        if last != row.last.get_untracked() {
                            row.last.set(last);
                        }
                        row.lease.set(lease);
                        row
                    }
                    None => Row {
                        last: ArcRwSignal::new(
                            self.lasts
                                .with_value(|lasts| lasts.get(&lease.lease).cloned()),
                        ),
                        name: lease.lease.clone(),
                        lease: ArcRwSignal::new(lease),
                    },
                })
                .collect()
        });
        self.shown.set(rows);
    }

    fn change(&self, at: usize) {
        let lease = self.rows.with_value(|rows| rows.leases().get(at).cloned());
        let row = self.shown.with_untracked(|shown| shown.get(at).cloned());
        if let (Some(lease), Some(row)) = (lease, row) {
            row.lease.set(lease);
        }
    }
}

/// As many leases' last entries are kept beyond those that are shown.
const LASTS_MAX: usize = 1_000;

fn by_lease(lasts: Vec<Last>) -> HashMap<LeaseName, Last> {
    let pairs = lasts.into_iter().map(|last| (last.lease.clone(), last));
    pairs.collect()
}

/// Adds an entry; a page that stays open for days keeps the newest ones.
fn push_newest(entries: &mut Vec<Entry>, entry: Entry) {
    entries.push(entry);
    let too_many = entries.len().saturating_sub(ENTRIES_MAX);
    entries.drain(..too_many);
}

/// The second that a moment falls into.
fn whole_second(at: Timestamp) -> Timestamp {
    let us = at.micros();
    Timestamp::from_micros(us - us.rem_euclid(1_000_000))
}

/// A text that is computed often and changes seldom: what depends on it runs
/// only when it is another. What pages show should be made of these and of
/// [`flag`]: each closure in a view is compiled with everything around it, and
/// these are one type.
pub fn text(text: impl Fn() -> String + Send + Sync + 'static) -> Memo<String> {
    fn memo(text: Box<dyn Fn() -> String + Send + Sync>) -> Memo<String> {
        Memo::new(move |_| text())
    }
    memo(Box::new(text))
}

/// As [`text()`], for what is so or not.
pub fn flag(flag: impl Fn() -> bool + Send + Sync + 'static) -> Memo<bool> {
    fn memo(flag: Box<dyn Fn() -> bool + Send + Sync>) -> Memo<bool> {
        Memo::new(move |_| flag())
    }
    memo(Box::new(flag))
}
