//! What an auditor asks, read by key: who held a lease at some time, how it fared,
//! and what a holder held.

use std::collections::BTreeMap;

use baton_client::{
    Generation, Handover, HandoverEvent, HandoverQuery, HolderId, LeaseAt, LeaseName, LeaseQuery,
    LeaseState, Order, Report, ReportQuery, Tenure, TenurePage, TenureQuery, Timestamp,
};

use crate::{
    audit::{Reporter, tenures::Tenures},
    rules::LeaseRow,
};

use super::{
    ListError, Reader, StoreError,
    backend::{DbResult, Reading},
    history, in_time, listing, read_failed,
};

/// Entries in one read.
const PAGE: u64 = 500;
/// Leases that one holder holds at once, and that are told; more are not told apart.
const HELD_MAX: u64 = 100_000;

impl Reader {
    /// Who held a lease at a time that is not in the future; `None` if the history
    /// never spoke of it.
    ///
    /// # Errors
    /// The database does not answer.
    pub async fn held_at(
        &self,
        lease: &LeaseName,
        time: Timestamp,
    ) -> Result<Option<LeaseAt>, StoreError> {
        let read = async {
            let mut reading = self.backend.read().await?;
            held_at(reading.as_mut(), lease, time).await
        };
        in_time(read).await.map_err(read_failed)
    }

    /// How a lease fared in some time, as far as that is past; `None` if the
    /// history never spoke of it before the end of that time.
    ///
    /// # Errors
    /// The database does not answer.
    pub async fn report(
        &self,
        lease: &LeaseName,
        query: &ReportQuery,
    ) -> Result<Option<Report>, StoreError> {
        let begun = async {
            let mut reading = self.backend.read().await?;
            let now = reading.now().await?;
            let upto = reading.end().await?.head.seq;
            let before = last_before(reading.as_mut(), lease, query.from).await?;
            // Whoever held it then did so since the grant.
            let first = match before {
                Some(before) if before.holder.is_some() => {
                    let grant = grant_until(reading.as_mut(), lease, before.seq).await?;
                    Some(grant.unwrap_or(before))
                }
                before => before,
            };
            Ok((now, upto, first))
        };
        let (now, upto, first) = in_time(begun).await.map_err(read_failed)?;
        let to = query.to.min(now);
        let mut reporter = Reporter::new(lease.clone(), query.from, to);
        let mut last: Option<Handover> = None;
        let filter = HandoverQuery {
            lease: Some(lease.clone()),
            to: Some(to),
            ..HandoverQuery::default()
        };
        let mut after = first.map_or(0, |first| first.seq - 1);
        loop {
            let page = async {
                let mut reading = self.backend.read().await?;
                let select = history::stretch(&filter, after, upto, PAGE);
                reading.handovers(select).await
            };
            let page = in_time(page).await.map_err(read_failed)?;
            page.iter().for_each(|entry| reporter.push(entry));
            let full = page.len() as u64 == PAGE;
            last = page.into_iter().next_back().or(last);
            match last.as_ref().filter(|_| full) {
                Some(last) => after = last.seq,
                None => break,
            }
        }
        let lapses_at = match last.filter(|last| last.holder.is_some()) {
            None => None,
            Some(last) => {
                let read = async {
                    let mut reading = self.backend.read().await?;
                    lapses_at(reading.as_mut(), lease, last.generation, last.seq).await
                };
                in_time(read).await.map_err(read_failed)?
            }
        };
        Ok(reporter.finish(lapses_at, now))
    }

    /// What a holder held.
    ///
    /// # Errors
    /// The cursor is not of this list, or the database does not answer.
    pub async fn tenures(&self, query: &TenureQuery) -> Result<TenurePage, ListError> {
        let cursor = query.cursor.as_deref().map(history::read_seq_cursor);
        let cursor = cursor.transpose()?;
        let read = async {
            let mut reading = self.backend.read().await?;
            let now = reading.now().await?;
            let (mut tenures, next) = tenures(reading.as_mut(), query, cursor, self, now).await?;
            let mut items = Vec::with_capacity(tenures.len());
            if !tenures.is_empty() {
                let keys = tenures.iter().map(|t| (&t.lease, t.generation));
                let ends = reading.handovers(history::of_tenures(keys)).await?;
                let mut by_tenure: BTreeMap<(LeaseName, Generation), Vec<Handover>> =
                    BTreeMap::new();
                for entry in ends {
                    if let Some(lease) = &entry.lease {
                        let key = (lease.clone(), entry.previous_generation);
                        by_tenure.entry(key).or_default().push(entry);
                    }
                }
                for tenure in tenures.drain(..) {
                    let key = (tenure.lease.clone(), tenure.generation);
                    let entries = by_tenure.remove(&key).unwrap_or_default();
                    items.push(followed(tenure, &entries));
                }
            }
            Ok(TenurePage { items, next, now })
        };
        Ok(in_time(read).await.map_err(read_failed)?)
    }
}

/// A tenure with what became of it.
fn followed(tenure: Tenure, entries: &[Handover]) -> Tenure {
    let mut tenures = Tenures::from(tenure.clone());
    for entry in entries {
        if let Some(over) = tenures.follow(entry).over {
            return over;
        }
    }
    tenures.open().map_or(tenure, |open| open.so_far())
}

async fn one(reading: &mut dyn Reading, query: &HandoverQuery) -> DbResult<Option<Handover>> {
    // Without a cursor it cannot be a bad one.
    let select = history::handovers(query).unwrap_or_default();
    Ok(reading.handovers(select).await?.into_iter().next())
}

/// The last entry about a lease before a time.
async fn last_before(
    reading: &mut dyn Reading,
    lease: &LeaseName,
    time: Timestamp,
) -> DbResult<Option<Handover>> {
    let query = HandoverQuery {
        lease: Some(lease.clone()),
        to: Some(time),
        limit: Some(1),
        ..HandoverQuery::default()
    };
    one(reading, &query).await
}

/// The last grant of a lease up to an entry.
async fn grant_until(
    reading: &mut dyn Reading,
    lease: &LeaseName,
    seq: u64,
) -> DbResult<Option<Handover>> {
    let query = HandoverQuery {
        lease: Some(lease.clone()),
        event: Some(HandoverEvent::Granted),
        limit: Some(1),
        ..HandoverQuery::default()
    };
    let select = history::newest(&query, seq, 1);
    Ok(reading.handovers(select).await?.into_iter().next())
}

/// When a tenure lapsed, or will, as a later entry or the lease itself says.
async fn lapses_at(
    reading: &mut dyn Reading,
    lease: &LeaseName,
    generation: Generation,
    after: u64,
) -> DbResult<Option<Timestamp>> {
    let later = history::of_tenure(lease, generation, after, PAGE);
    let later = reading.handovers(later).await?;
    if let Some(until) = later.iter().find_map(|entry| entry.held_until) {
        return Ok(Some(until));
    }
    let row = reading.leases(listing::lease(lease)).await?.pop();
    Ok(row
        .filter(|row| row.generation == generation)
        .and_then(|row| row.tenure)
        .map(|tenure| tenure.expires_at))
}

async fn held_at(
    reading: &mut dyn Reading,
    lease: &LeaseName,
    time: Timestamp,
) -> DbResult<Option<LeaseAt>> {
    let now = reading.now().await?;
    let after = Timestamp::from_micros(time.micros().saturating_add(1));
    let mut answer = LeaseAt {
        lease: lease.clone(),
        time,
        state: LeaseState::Free,
        generation: Generation::ZERO,
        tenure: None,
        seq: None,
        now,
    };
    let Some(last) = last_before(reading, lease, after).await? else {
        // Did it come later, or never?
        let ever = last_before(reading, lease, Timestamp::from_micros(i64::MAX)).await?;
        return Ok(ever.map(|_| answer));
    };
    answer.seq = Some(last.seq);
    answer.generation = last.generation;
    let Some(holder) = &last.holder else {
        return Ok(Some(answer));
    };
    let grant = grant_until(reading, lease, last.seq).await?;
    let grant = grant.filter(|grant| grant.generation == last.generation);
    let from = grant.as_ref().map(|grant| grant.at);
    let tenure = Tenure {
        lease: lease.clone(),
        holder: holder.clone(),
        generation: last.generation,
        // An archived grant is known by what ended the tenure.
        from: from.or(last.held_from).unwrap_or(last.at),
        until: None,
        ended: None,
        lapsed_ms: 0,
    };
    let since = grant.map_or(0, |grant| grant.seq);
    let entries = history::of_tenure(lease, last.generation, since, PAGE);
    let entries = reading.handovers(entries).await?;
    let lapse = lapses_at(reading, lease, last.generation, last.seq).await?;
    let lapsed = last.event == HandoverEvent::Lapsed || lapse.is_some_and(|at| at <= time);
    answer.state = if lapsed {
        LeaseState::Lapsed
    } else {
        LeaseState::Held
    };
    answer.tenure = Some(followed(tenure, &entries));
    Ok(Some(answer))
}

/// The tenures of a page, as they began, and the next page's cursor.
async fn tenures(
    reading: &mut dyn Reading,
    query: &TenureQuery,
    cursor: Option<i64>,
    reader: &Reader,
    now: Timestamp,
) -> DbResult<(Vec<Tenure>, Option<String>)> {
    let mut tenures = Vec::new();
    if let (Some(from), None) = (query.from, cursor) {
        tenures = open_at(reading, &query.holder, from, reader, now).await?;
        tenures.retain(|tenure| query.to.is_none_or(|to| tenure.from < to));
    }
    let grants = HandoverQuery {
        holder: Some(query.holder.to_string()),
        event: Some(HandoverEvent::Granted),
        from: query.from,
        to: query.to,
        after: cursor.map(i64::unsigned_abs),
        order: Some(Order::Asc),
        limit: query.limit,
        ..HandoverQuery::default()
    };
    let select = history::handovers(&grants).unwrap_or_default();
    let mut grants = reading.handovers(select).await?;
    let more = listing::cut(&mut grants, query.limit);
    let next = grants.last().filter(|_| more);
    let next = next.map(|entry| history::seq_cursor(entry.seq));
    // Somebody else's grant after this holder's lapse has it on the other side.
    let own = grants
        .into_iter()
        .filter(|grant| grant.holder.as_ref() == Some(&query.holder));
    tenures.extend(own.filter_map(|grant| {
        Some(Tenure {
            lease: grant.lease?,
            holder: grant.holder?,
            generation: grant.generation,
            from: grant.at,
            until: None,
            ended: None,
            lapsed_ms: 0,
        })
    }));
    Ok((tenures, next))
}

/// The tenures of a holder that began before a time and were not over at it.
async fn open_at(
    reading: &mut dyn Reading,
    holder: &HolderId,
    time: Timestamp,
    reader: &Reader,
    now: Timestamp,
) -> DbResult<Vec<Tenure>> {
    let mut open: BTreeMap<(LeaseName, Generation), Timestamp> = BTreeMap::new();
    for entry in reading.handovers(history::open_at(holder, time)).await? {
        if let (Some(lease), Some(from)) = (entry.lease, entry.held_from) {
            open.insert((lease, entry.previous_generation), from);
        }
    }
    // And those that go on, of which the log has not said how they end.
    let held = LeaseQuery {
        holder: Some(holder.to_string()),
        limit: Some(HELD_MAX),
        ..LeaseQuery::default()
    };
    let select = listing::leases(&held, now, reader.backend.dialect()).unwrap_or_default();
    for row in reading.leases(select).await? {
        let LeaseRow {
            name,
            generation,
            tenure: Some(tenure),
            ..
        } = row
        else {
            continue;
        };
        if tenure.granted_at < time && tenure.expires_at > time {
            open.insert((name, generation), tenure.granted_at);
        }
    }
    let tenure = |((lease, generation), from)| Tenure {
        lease,
        holder: holder.clone(),
        generation,
        from,
        until: None,
        ended: None,
        lapsed_ms: 0,
    };
    Ok(open.into_iter().map(tenure).collect())
}
