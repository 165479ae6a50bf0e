//! What moves on a page, as signals. On the server they are set once and
//! rendered; in the browser `browser` keeps them current.

use std::collections::HashMap;

use baton_client::{Event, Lease, LeaseName, Problem, Timestamp, limits::PAGE_DEFAULT};
use leptos::prelude::*;

use crate::{
    LeasesView, Totals,
    address::Asked,
    connection::Phase,
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
}

impl Live {
    /// Not live yet.
    pub fn new() -> Self {
        let now = RwSignal::new(Timestamp::default());
        Self {
            phase: RwSignal::new(Phase::Waiting),
            now,
            now_s: Memo::new(move |_| whole_second(now.get())),
            next_try_s: RwSignal::new(None),
            try_now: RwSignal::new(0),
        }
    }

    /// The page was read at this database time. A live page knows better.
    pub fn read_at(&self, now: Timestamp) {
        if self.phase.get_untracked() != Phase::Live {
            self.now.set(now);
        }
    }
}

impl Default for Live {
    fn default() -> Self {
        Self::new()
    }
}

/// A row of the list: it keeps its elements for as long as its lease is shown.
#[derive(Debug, Clone)]
pub struct Row {
    /// Which lease.
    pub name: LeaseName,
    /// The lease as it is.
    pub lease: ArcRwSignal<Lease>,
}

/// The list of leases.
#[derive(Debug, Clone, Copy)]
pub struct LeaseList {
    rows: StoredValue<Rows>,
    /// The rows in order. Changes only when one comes, goes or moves.
    pub shown: RwSignal<Vec<Row>>,
    /// How many leases there are of each kind.
    pub totals: RwSignal<Totals>,
    /// The log's last `seq` that the list knows of.
    pub seq: RwSignal<u64>,
    /// The next page's cursor, if there is one.
    pub next: RwSignal<Option<String>>,
    /// Why the list could not be read, if it could not.
    pub problem: RwSignal<Option<Problem>>,
    /// What is shown, and the `seq` from which the stream has to go on;
    /// `None` before anything was read.
    pub opened: RwSignal<Option<(Asked, u64)>>,
}

impl LeaseList {
    /// Nothing read yet.
    pub fn new() -> Self {
        Self {
            rows: StoredValue::new(Rows::default()),
            shown: RwSignal::new(Vec::new()),
            totals: RwSignal::new(Totals::default()),
            seq: RwSignal::new(0),
            next: RwSignal::new(None),
            problem: RwSignal::new(None),
            opened: RwSignal::new(None),
        }
    }

    /// Shows what was read.
    pub fn open(&self, asked: Asked, view: LeasesView) {
        let page = view.page;
        self.rows.set_value(Rows::new(
            page.items,
            asked.sort,
            PAGE_DEFAULT as usize,
            asked.cursor.is_some(),
            page.next.is_some(),
        ));
        self.next.set(page.next);
        self.totals.set(view.totals);
        self.seq.set(view.seq);
        self.show();
        self.problem.set(None);
        self.opened.set(Some((asked, view.seq)));
    }

    /// Takes in what the stream said.
    pub fn take(&self, event: Event) {
        let merged = match event {
            Event::Snapshot(snapshot) => {
                self.saw(snapshot.seq);
                self.rows.update_value(|rows| rows.replace(snapshot.items));
                Merged::Moved
            }
            Event::Lease(lease) => {
                let put = |rows: &mut Rows| rows.put(*lease);
                self.rows.try_update_value(put).unwrap_or(Merged::Nothing)
            }
            Event::Gone(name) => {
                let remove = |rows: &mut Rows| rows.remove(&name);
                self.rows
                    .try_update_value(remove)
                    .unwrap_or(Merged::Nothing)
            }
            Event::Time(time) => {
                self.saw(time.seq);
                Merged::Nothing
            }
            Event::Handover(entry) => {
                self.saw(entry.seq);
                Merged::Nothing
            }
            // A snapshot follows; until then what is shown stays.
            Event::Reset => Merged::Nothing,
        };
        match merged {
            Merged::Moved => self.show(),
            Merged::Changed(at) => self.change(at),
            Merged::Nothing => {}
        }
    }

    fn saw(&self, seq: u64) {
        if self.seq.get_untracked() != seq {
            self.seq.set(seq);
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
                        row.lease.set(lease);
                        row
                    }
                    None => Row {
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

impl Default for LeaseList {
    fn default() -> Self {
        Self::new()
    }
}

/// The second that a moment falls into.
fn whole_second(at: Timestamp) -> Timestamp {
    let us = at.micros();
    Timestamp::from_micros(us - us.rem_euclid(1_000_000))
}

/// A text that is computed often and changes seldom: what depends on it runs
/// only when it is another.
pub fn text(text: impl Fn() -> String + Send + Sync + 'static) -> Memo<String> {
    Memo::new(move |_| text())
}
