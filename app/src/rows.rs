//! The leases that a page shows, and what an event does to them. It knows no
//! filter: the server says which leases match, and with `gone` which no longer
//! do.

use baton_client::{Attention, Lease, LeaseName, LeaseSort};

/// What became of an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Merged {
    /// The lease at this place is another now, and no lease moved.
    Changed(usize),
    /// Leases came, went or moved.
    Moved,
    /// Nothing: it was not newer.
    Nothing,
}

/// A page of leases, in order.
#[derive(Debug, Clone, Default)]
pub struct Rows {
    leases: Vec<Lease>,
    sort: LeaseSort,
    limit: usize,
    /// There are pages before this one.
    before: bool,
}

impl Rows {
    /// The leases as the server listed them.
    pub fn new(leases: Vec<Lease>, sort: LeaseSort, limit: usize, before: bool) -> Self {
        Self {
            leases,
            sort,
            limit,
            before,
        }
    }

    /// The leases, in order.
    pub fn leases(&self) -> &[Lease] {
        &self.leases
    }

    /// The server listed them anew.
    pub fn replace(&mut self, leases: Vec<Lease>) {
        self.leases = leases;
    }

    /// A lease no longer matches.
    pub fn remove(&mut self, name: &LeaseName) -> Merged {
        match self.find(name) {
            Some(at) => {
                self.leases.remove(at);
                Merged::Moved
            }
            None => Merged::Nothing,
        }
    }

    /// A lease changed, or is new.
    pub fn put(&mut self, lease: Lease) -> Merged {
        match self.find(&lease.lease) {
            Some(at) => self.update(at, lease),
            None => self.insert(lease),
        }
    }

    fn find(&self, name: &LeaseName) -> Option<usize> {
        self.leases.iter().position(|lease| lease.lease == *name)
    }

    fn update(&mut self, at: usize, lease: Lease) -> Merged {
        let old = &self.leases[at];
        // Judged by the generation, which never falls, and not by the time: the
        // database's clock may step back, and what comes then is still newer.
        if lease.generation < old.generation {
            return Merged::Nothing;
        }
        let moves = match self.sort {
            LeaseSort::Attention => rank(old) != rank(&lease),
            LeaseSort::Changed => old.generation != lease.generation,
            // By expiry every renewal would move a row from under the reader's
            // eyes: it stays until the page is asked for anew.
            LeaseSort::Name | LeaseSort::Expires => false,
        };
        if !moves {
            self.leases[at] = lease;
            return Merged::Changed(at);
        }
        self.leases.remove(at);
        self.insert(lease);
        Merged::Moved
    }

    /// The server tells only of leases that stand on the page, so one that is new
    /// has its place here, at an end of it too.
    fn insert(&mut self, lease: Lease) -> Merged {
        let at = match self.sort {
            // What changes comes onto the first page; a later one only gets what moves
            // up from the one behind it.
            LeaseSort::Changed if self.before => self.leases.len(),
            LeaseSort::Changed => 0,
            _ => self
                .leases
                .partition_point(|other| self.precedes(other, &lease)),
        };
        self.leases.insert(at, lease);
        self.leases.truncate(self.limit);
        Merged::Moved
    }

    fn precedes(&self, one: &Lease, other: &Lease) -> bool {
        match self.sort {
            LeaseSort::Name | LeaseSort::Changed => one.lease < other.lease,
            LeaseSort::Attention => (rank(one), &one.lease) < (rank(other), &other.lease),
            LeaseSort::Expires => {
                let key = |lease: &Lease| (lease.expires_at.is_none(), lease.expires_at);
                (key(one), &one.lease) < (key(other), &other.lease)
            }
        }
    }
}

/// What asks for a look comes first, the most pressing first of all.
fn rank(lease: &Lease) -> (bool, Option<Attention>) {
    let attention = lease.attention();
    (attention.is_none(), attention)
}

#[cfg(test)]
mod tests {
    use baton_client::LeaseState;

    use super::*;
    use crate::countdown::tests::held;

    fn rows(names: &[&str], sort: LeaseSort) -> Rows {
        let leases = names.iter().map(|name| held(name)).collect();
        Rows::new(leases, sort, 4, false)
    }

    fn names(rows: &Rows) -> Vec<&str> {
        rows.leases()
            .iter()
            .map(|lease| lease.lease.as_str())
            .collect()
    }

    #[test]
    fn a_renewal_moves_nothing() {
        for (sort, _, _) in crate::address::SORTS {
            let mut rows = rows(&["a", "b", "c"], sort);
            let mut lease = held("b");
            lease.expires_at = lease.expires_at.map(|at| at.plus_ms(60_000));
            assert_eq!(rows.put(lease), Merged::Changed(1), "{sort:?}");
        }
    }

    #[test]
    fn what_is_older_changes_nothing() {
        let mut rows = rows(&["a"], LeaseSort::Name);
        let mut newer = held("a");
        newer.generation = newer.generation.next().expect("has room");
        assert_eq!(rows.put(newer), Merged::Changed(0));
        assert_eq!(rows.put(held("a")), Merged::Nothing);
    }

    #[test]
    fn a_clock_that_steps_back_hides_no_takeover() {
        let mut rows = rows(&["a"], LeaseSort::Name);
        let mut taken = held("a");
        taken.generation = taken.generation.next().expect("has room");
        taken.now = baton_client::Timestamp::from_micros(taken.now.micros() - 3_600_000_000);
        assert_eq!(rows.put(taken), Merged::Changed(0));
    }

    #[test]
    fn a_new_lease_finds_its_place() {
        let mut rows = rows(&["a", "c"], LeaseSort::Name);
        assert_eq!(rows.put(held("b")), Merged::Moved);
        assert_eq!(names(&rows), ["a", "b", "c"]);
    }

    #[test]
    fn what_needs_attention_comes_first_and_goes_back() {
        let mut rows = rows(&["a", "b", "c"], LeaseSort::Attention);
        let mut lapsed = held("c");
        lapsed.state = LeaseState::Lapsed;
        assert_eq!(rows.put(lapsed), Merged::Moved);
        assert_eq!(names(&rows), ["c", "a", "b"]);
        assert_eq!(rows.put(held("c")), Merged::Moved);
        assert_eq!(names(&rows), ["a", "b", "c"]);
    }

    #[test]
    fn who_goes_is_followed_by_who_comes_onto_the_page() {
        let mut rows = rows(&["b", "c", "d", "e"], LeaseSort::Name);
        for (gone, comes) in [("b", "f"), ("e", "g"), ("c", "a")] {
            assert_eq!(rows.remove(&held(gone).lease), Merged::Moved);
            assert_eq!(rows.put(held(comes)), Merged::Moved);
            assert_eq!(rows.leases().len(), 4);
        }
        assert_eq!(names(&rows), ["a", "d", "f", "g"]);
    }

    #[test]
    fn what_moves_up_onto_a_later_page_comes_last() {
        let leases = vec![held("d"), held("b")];
        let mut rows = Rows::new(leases, LeaseSort::Changed, 4, true);
        assert_eq!(rows.put(held("a")), Merged::Moved);
        assert_eq!(names(&rows), ["d", "b", "a"]);
    }

    #[test]
    fn a_page_never_grows_beyond_its_limit() {
        let mut rows = rows(&["b", "c", "d", "e"], LeaseSort::Name);
        assert_eq!(rows.put(held("a")), Merged::Moved);
        assert_eq!(names(&rows), ["a", "b", "c", "d"]);
    }

    #[test]
    fn what_no_longer_matches_goes() {
        let mut rows = rows(&["a", "b"], LeaseSort::Name);
        let gone = held("a").lease;
        assert_eq!(rows.remove(&gone), Merged::Moved);
        assert_eq!(rows.remove(&gone), Merged::Nothing);
        assert_eq!(names(&rows), ["b"]);
    }
}
