//! Rows that stay in memory, so that a renewal need not read what this process
//! wrote a moment ago: to read a row of two dozen columns takes longer than to
//! renew it. What is kept is what the database holds, or it is not used.
//!
//! [`Rows`] bounds how many they are. PostgreSQL, which others write to as well,
//! keeps with each row the version that it must still have once it is locked.
//! SQLite's [`Shelf`] is believed only while nobody else has written ([`Mark`]):
//! a transaction takes everything along, takes out what it locks, and gives back
//! what it wrote only once that is on disk; however else it ends, what it took
//! out is read anew.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use baton_client::LeaseName;
use foldhash::fast::RandomState;

use crate::rules::LeaseRow;

/// Rows of one half. There are two, so this is half of what is kept.
const HALF: usize = 65_536;
/// Longer texts are not kept, so that the number of rows bounds the memory.
const TEXT_MAX: usize = 256;

/// Rows by their leases. Every renewal is looked up here, so the hash is a fast one.
type Named<V> = HashMap<LeaseName, (V, Arc<LeaseRow>), RandomState>;

/// A bounded number of rows, the latest written, each with its version.
#[derive(Debug)]
pub struct Rows<V> {
    /// Written since the halves were last exchanged.
    young: Named<V>,
    /// Written before.
    old: Named<V>,
}

impl<V> Default for Rows<V> {
    fn default() -> Self {
        Self {
            young: Named::default(),
            old: Named::default(),
        }
    }
}

impl<V> Rows<V> {
    /// Takes a row out, because it may change.
    pub fn remove(&mut self, name: &str) -> Option<(V, Arc<LeaseRow>)> {
        let young = self.young.remove(name);
        if self.old.is_empty() {
            return young;
        }
        let old = self.old.remove(name);
        young.or(old)
    }

    /// Keeps a row, if it is short.
    pub fn insert(&mut self, version: V, row: Arc<LeaseRow>) {
        if !is_short(&row) {
            return;
        }
        if self.young.len() >= HALF {
            self.old = std::mem::take(&mut self.young);
        }
        self.young.insert(row.name.clone(), (version, row));
    }
}

/// What tells that nobody else has written since: the connection's number, how
/// often other connections have changed the file, as this one sees it, and how
/// many rows this connection has changed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Mark {
    /// Which connection.
    pub connection: u64,
    /// `pragma data_version`.
    pub others: i64,
    /// `total_changes()`.
    pub own: i64,
}

/// Rows as they stand in a SQLite file.
#[derive(Debug, Default)]
struct Kept {
    /// When that was.
    mark: Mark,
    rows: Rows<()>,
}

/// Where a SQLite file's rows are kept between transactions.
#[derive(Debug, Clone, Default)]
pub struct Shelf(Arc<Mutex<Kept>>);

/// What a transaction took along. It comes back when dropped, unless what is in
/// the file may differ by then.
#[derive(Debug)]
pub struct Taken {
    kept: Kept,
    shelf: Shelf,
    certain: bool,
}

impl Shelf {
    /// Takes everything along, in a transaction that begins at `mark`.
    pub fn take(&self, mark: Mark) -> Taken {
        let mut kept = std::mem::take(&mut *self.lock());
        if kept.mark != mark {
            kept = Kept {
                mark,
                ..Kept::default()
            };
        }
        Taken {
            kept,
            shelf: self.clone(),
            certain: true,
        }
    }

    fn lock(&self) -> MutexGuard<'_, Kept> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Taken {
    /// Takes a row out, because it may change.
    pub fn remove(&mut self, name: &LeaseName) -> Option<Arc<LeaseRow>> {
        let (_, row) = self.kept.rows.remove(name.as_str())?;
        Some(row)
    }

    /// Takes everything out, because all of it may change.
    pub fn clear(&mut self) {
        self.kept.rows = Default::default();
    }

    /// The mark at the transaction's begin. From now on the file may differ from
    /// what is kept.
    pub fn doubt(&mut self) -> Mark {
        self.certain = false;
        self.kept.mark
    }

    /// The file holds these rows, which were taken out, and is at `mark`.
    pub fn keep(mut self, rows: Vec<Arc<LeaseRow>>, mark: Mark) {
        self.kept.mark = mark;
        for row in rows {
            self.kept.rows.insert((), row);
        }
        self.certain = true;
    }
}

impl Drop for Taken {
    fn drop(&mut self) {
        if self.certain {
            *self.shelf.lock() = std::mem::take(&mut self.kept);
        }
    }
}

/// Whether a row takes little memory: what operators leave on it can be long.
fn is_short(row: &LeaseRow) -> bool {
    let plain = row.step_down.is_none()
        && row.paused.is_none()
        && row.barred.is_none()
        && row.reserved.is_none()
        && row.blocked.is_none()
        && row.payload.is_none();
    let status = row
        .tenure
        .as_ref()
        .and_then(|tenure| tenure.status.as_ref());
    plain
        && status.is_none_or(|status| status.get().len() <= TEXT_MAX)
        && row
            .principal
            .as_ref()
            .is_none_or(|text| text.len() <= TEXT_MAX)
}

#[cfg(test)]
mod tests {
    use baton_client::Timestamp;

    use super::*;

    fn name(text: &str) -> LeaseName {
        text.parse().expect("a name")
    }

    fn row(text: &str) -> Arc<LeaseRow> {
        Arc::new(LeaseRow::new(name(text), Timestamp::from_micros(1)))
    }

    fn mark(others: i64, own: i64) -> Mark {
        Mark {
            connection: 1,
            others,
            own,
        }
    }

    #[test]
    fn nothing_is_believed_once_somebody_else_has_written() {
        let other_connection = Mark {
            connection: 2,
            ..mark(1, 2)
        };
        for other in [mark(2, 2), mark(1, 3), other_connection] {
            let shelf = Shelf::default();
            shelf.take(mark(1, 0)).keep(vec![row("a")], mark(1, 2));
            assert!(shelf.take(mark(1, 2)).kept.rows.young.len() == 1);
            assert!(shelf.take(other).remove(&name("a")).is_none(), "{other:?}");
            assert!(shelf.take(mark(1, 2)).remove(&name("a")).is_none());
        }
    }

    #[test]
    fn what_may_differ_does_not_come_back() {
        let shelf = Shelf::default();
        shelf
            .take(mark(1, 0))
            .keep(vec![row("a"), row("b")], mark(1, 2));
        // Only looked at: what was taken out is read anew.
        assert!(shelf.take(mark(1, 2)).remove(&name("a")).is_some());
        assert!(shelf.take(mark(1, 2)).remove(&name("a")).is_none());
        assert!(shelf.take(mark(1, 2)).kept.rows.young.len() == 1);
        // A commit of which nobody knows.
        shelf.take(mark(1, 2)).doubt();
        assert!(shelf.take(mark(1, 2)).remove(&name("b")).is_none());
    }

    #[test]
    fn what_is_kept_is_bounded_and_the_newest_stay() {
        let mut rows = Rows::default();
        for i in 0..3 * HALF {
            rows.insert(i, row(&format!("job-{i}")));
        }
        assert!(rows.young.len() + rows.old.len() <= 2 * HALF);
        assert!(rows.remove("job-0").is_none());
        let last = 3 * HALF - 1;
        let found = rows.remove(&format!("job-{last}"));
        assert_eq!(found.map(|(version, _)| version), Some(last));
        // Of two versions, the newer.
        let old = format!("job-{}", 2 * HALF - 1);
        rows.insert(7, row(&old));
        assert_eq!(rows.remove(&old).map(|(version, _)| version), Some(7));
        assert!(rows.remove(&old).is_none(), "the older one is gone too");
    }

    #[test]
    fn long_texts_are_not_kept() {
        let mut rows = Rows::default();
        let mut long = LeaseRow::new(name("a"), Timestamp::from_micros(1));
        long.principal = Some("x".repeat(TEXT_MAX + 1));
        rows.insert((), Arc::new(long));
        assert!(rows.remove("a").is_none());
    }
}
