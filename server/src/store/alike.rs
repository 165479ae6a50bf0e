//! What renewals write, put together where it is the same: those of one batch
//! share their time, and mostly the ttl and the status too. To write the same
//! values to a thousand rows takes a database half as long as to write a thousand
//! different ones.

use std::{collections::BTreeMap, sync::Arc};

use crate::rules::LeaseRow;

/// Fewer rows than this are not worth a statement of their own.
const FEW: usize = 8;

/// What a renewal writes to a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Written<'a> {
    /// In microseconds.
    pub renewed_at: i64,
    /// In microseconds.
    pub expires_at: i64,
    /// In milliseconds.
    pub ttl_ms: i64,
    /// JSON.
    pub status: Option<&'a str>,
}

/// The renewals of a batch, in each part in the order of their names,
/// as the rows are.
#[derive(Debug, Default)]
pub struct Renewals<'a> {
    /// Leases to which the same is written.
    pub alike: Vec<(Written<'a>, Vec<&'a str>)>,
    /// The others.
    pub others: Vec<(&'a str, Written<'a>)>,
}

impl<'a> Renewals<'a> {
    /// Puts together what is alike. Rows without a tenure are left out: nothing
    /// of them is renewed.
    pub fn of(rows: &'a [Arc<LeaseRow>]) -> Self {
        let mut groups: BTreeMap<Written<'a>, Vec<&'a str>> = BTreeMap::new();
        for row in rows {
            let Some(tenure) = &row.tenure else { continue };
            let written = Written {
                renewed_at: tenure.renewed_at.micros(),
                expires_at: tenure.expires_at.micros(),
                ttl_ms: tenure.ttl_ms as i64,
                status: tenure.status.as_ref().map(|status| status.get()),
            };
            groups.entry(written).or_default().push(row.name.as_str());
        }
        let mut renewals = Self::default();
        let single = groups.len() == 1;
        for (written, names) in groups {
            if single || names.len() >= FEW {
                renewals.alike.push((written, names));
            } else {
                let others = names.into_iter().map(|name| (name, written));
                renewals.others.extend(others);
            }
        }
        renewals.others.sort_unstable_by_key(|(name, _)| *name);
        renewals
    }
}

#[cfg(test)]
mod tests {
    use baton_client::{Generation, Timestamp};

    use super::*;
    use crate::rules::Tenure;

    fn row(number: u64, ttl_ms: u64) -> Arc<LeaseRow> {
        let at = Timestamp::from_micros(1);
        let name = format!("job-{number}").parse().expect("a name");
        let mut row = LeaseRow::new(name, at);
        row.generation = Generation::ZERO;
        row.tenure = Some(Tenure {
            holder: "a".parse().expect("a holder"),
            token: "t".into(),
            claim_id: None,
            granted_at: at,
            renewed_at: at,
            expires_at: at.plus_ms(ttl_ms),
            ttl_ms,
            grace_ms: 0,
            status: None,
            lapsed: false,
        });
        Arc::new(row)
    }

    #[test]
    fn what_is_alike_goes_together_and_nothing_is_left_out() {
        let rows: Vec<_> = (0..100)
            .map(|i| row(i, if i < 97 { 1_000 } else { 1_000 + i }))
            .collect();
        let renewals = Renewals::of(&rows);
        let [(written, names)] = &renewals.alike[..] else {
            panic!("one group");
        };
        assert_eq!((written.ttl_ms, names.len()), (1_000, 97));
        let others: Vec<_> = renewals.others.iter().map(|(name, _)| *name).collect();
        assert_eq!(others, ["job-97", "job-98", "job-99"]);
        assert_eq!(Renewals::of(&rows[99..]).alike.len(), 1, "one by itself");
    }
}
