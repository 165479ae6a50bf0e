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
    history, in_time, listing, raises, read_failed,
};

/// Entries in one read.
const PAGE: u64 = 500;
/// Leases that one holder holds at once, and that are told; more are not told apart.
const HELD_MAX: u64 = 100_000;

impl Reader {
    /// Since when the history is here; `None` if nothing of it was archived.
    ///
    /// # Errors
    /// The database does not answer.
    pub async fn begins(&self) -> Result<Option<Timestamp>, StoreError> {
        let read = async {
            let mut reading = self.backend.read().await?;
            let first = first_left(reading.as_mut()).await?;
            Ok(first.map(|first| first.at))
        };
        in_time(read).await.map_err(read_failed)
    }

    /// Who held a lease at a time that is not in the future, nor before what is here
    /// of the history; `None` if that never spoke of it.
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
        // Of what was archived nothing is counted.
        let begins = self.begins().await?;
        let from = begins.map_or(query.from, |begins| begins.max(query.from));
        let mut reporter = Reporter::new(lease.clone(), from, to);
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
                let page = reading.handovers(select).await?;
                let full = page.len() as u64 == PAGE;
                let end = page.last().filter(|_| full).map_or(upto, |last| last.seq);
                let raises = raises::between(reading.as_mut(), after, end, filter.to).await?;
                Ok((page, full, raises))
            };
            let (page, full, raises) = in_time(page).await.map_err(read_failed)?;
            let mut both: Vec<&Handover> = page.iter().chain(&raises).collect();
            both.sort_by_key(|entry| entry.seq);
            both.into_iter().for_each(|entry| reporter.push(entry));
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
            let (begun, next) = tenures(reading.as_mut(), query, cursor, self, now).await?;
            let mut items = followed_all(reading.as_mut(), begun).await?;
            if let Some(from) = query.from {
                // What lapsed before that, and was ended later, was over.
                let is_over = |tenure: &Tenure| tenure.until.is_some_and(|until| until <= from);
                items.retain(|tenure| tenure.from >= from || !is_over(tenure));
            }
            Ok(TenurePage { items, next, now })
        };
        Ok(in_time(read).await.map_err(read_failed)?)
    }
}

/// A tenure as it began.
struct Begun {
    tenure: Tenure,
    /// An entry after which it was open; `None` if it is open now.
    open_at: Option<u64>,
}

impl Begun {
    fn new(lease: LeaseName, holder: HolderId, generation: Generation, from: Timestamp) -> Self {
        Self {
            tenure: Tenure {
                lease,
                holder,
                generation,
                from,
                until: None,
                ended: None,
                lapsed_ms: 0,
            },
            open_at: None,
        }
    }

    fn open_at(mut self, seq: u64) -> Self {
        self.open_at = Some(seq);
        self
    }
}

/// Tenures with what became of them.
async fn followed_all(reading: &mut dyn Reading, begun: Vec<Begun>) -> DbResult<Vec<Tenure>> {
    if begun.is_empty() {
        return Ok(Vec::new());
    }
    let keys = begun.iter().map(|b| (&b.tenure.lease, b.tenure.generation));
    let entries = reading.handovers(history::of_tenures(keys)).await?;
    let mut by_tenure: BTreeMap<(LeaseName, Generation), Vec<Handover>> = BTreeMap::new();
    for entry in entries {
        if let Some(lease) = &entry.lease {
            let key = (lease.clone(), entry.previous_generation);
            by_tenure.entry(key).or_default().push(entry);
        }
    }
    let raises = match begun.iter().filter_map(|begun| begun.open_at).min() {
        Some(first) => raises::between(reading, first, raises::TO_THE_END, None).await?,
        None => Vec::new(),
    };
    let followed = begun.into_iter().map(|Begun { tenure, open_at }| {
        let key = (tenure.lease.clone(), tenure.generation);
        let mut entries = by_tenure.remove(&key).unwrap_or_default();
        let raise = open_at.map(|seq| raises.partition_point(|raise| raise.seq <= seq));
        let raise = raise.and_then(|place| raises.get(place).cloned());
        entries.extend(raise);
        followed(tenure, entries)
    });
    Ok(followed.collect())
}

/// A tenure with what became of it.
fn followed(tenure: Tenure, mut entries: Vec<Handover>) -> Tenure {
    entries.sort_by_key(|entry| entry.seq);
    let mut tenures = Tenures::from(tenure.clone());
    for entry in &entries {
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
        return nothing_before(reading, answer).await;
    };
    answer.seq = Some(last.seq);
    answer.generation = last.generation;
    let raises = raises::between(reading, last.seq, raises::TO_THE_END, Some(after)).await?;
    if let Some(raise) = raises.last() {
        // Whoever held it then does no longer.
        answer.seq = Some(raise.seq);
        answer.generation = raises::raised(last.generation, raises.len());
        return Ok(Some(answer));
    }
    let Some(holder) = &last.holder else {
        return Ok(Some(answer));
    };
    let grant = grant_until(reading, lease, last.seq).await?;
    let grant = grant.filter(|grant| grant.generation == last.generation);
    let from = grant.as_ref().map(|grant| grant.at);
    // An archived grant is known by what ended the tenure.
    let from = from.or(last.held_from).unwrap_or(last.at);
    let begun = Begun::new(lease.clone(), holder.clone(), last.generation, from);
    let since = grant.map_or(0, |grant| grant.seq);
    let entries = history::of_tenure(lease, last.generation, since, PAGE);
    let mut entries = reading.handovers(entries).await?;
    // An entry that comes between, such as a pause, changes nothing of a lapse.
    let known = entries.iter().filter(|entry| entry.seq <= last.seq).rev();
    let logged = known
        .map(|entry| entry.event)
        .find(|event| matches!(event, HandoverEvent::Lapsed | HandoverEvent::Recovered));
    entries.extend(raises::first_after(reading, last.seq).await?);
    let lapse = lapses_at(reading, lease, last.generation, last.seq).await?;
    let lapsed = logged == Some(HandoverEvent::Lapsed) || lapse.is_some_and(|at| at <= time);
    answer.state = if lapsed {
        LeaseState::Lapsed
    } else {
        LeaseState::Held
    };
    answer.tenure = Some(followed(begun.tenure, entries));
    Ok(Some(answer))
}

/// The first entry that was not archived; `None` if none was.
async fn first_left(reading: &mut dyn Reading) -> DbResult<Option<Handover>> {
    let archived = reading.end().await?.archived;
    if archived == 0 {
        return Ok(None);
    }
    let first = reading.handovers(history::handover(archived + 1)).await?;
    Ok(first.into_iter().next())
}

/// What there is to say of a lease at a time before which nothing about it is here:
/// it came later, or what came before was archived. Then what came next knows, or
/// the lease itself.
async fn nothing_before(
    reading: &mut dyn Reading,
    mut answer: LeaseAt,
) -> DbResult<Option<LeaseAt>> {
    let lease = answer.lease.clone();
    let next = HandoverQuery {
        lease: Some(lease.clone()),
        order: Some(Order::Asc),
        limit: Some(1),
        ..HandoverQuery::default()
    };
    let next = one(reading, &next).await?;
    let row = reading.leases(listing::lease(&lease)).await?.pop();
    let (generation, holder) = match (&next, &row) {
        (Some(next), _) => (next.previous_generation, next.previous_holder.clone()),
        (None, Some(row)) => (
            row.generation,
            row.tenure.as_ref().map(|tenure| tenure.holder.clone()),
        ),
        (None, None) => return Ok(None),
    };
    answer.generation = generation;
    let Some(holder) = holder else {
        return Ok(Some(answer));
    };
    let entries = history::of_tenure(&lease, generation, 0, PAGE);
    let mut entries = reading.handovers(entries).await?;
    let own = row.filter(|row| row.generation == generation);
    let granted_at = own.and_then(|row| row.tenure).map(|own| own.granted_at);
    let from = entries.iter().find_map(|entry| entry.held_from);
    let begins = first_left(reading).await?.map(|first| first.at);
    let from = from.or(granted_at).or(begins).unwrap_or(answer.time);
    // Over a lapse that was archived: nothing else is granted or recovered from a holder.
    let over_lapse = |next: &Handover| {
        matches!(
            next.event,
            HandoverEvent::Granted | HandoverEvent::Recovered
        )
    };
    let lapse = lapses_at(reading, &lease, generation, 0).await?;
    let lapsed = next.as_ref().is_some_and(over_lapse) || lapse.is_some_and(|at| at <= answer.time);
    if lapsed {
        answer.state = LeaseState::Lapsed;
    } else {
        answer.state = LeaseState::Held;
    }
    if let Some(next) = next {
        entries.extend(raises::first_after(reading, next.seq).await?);
    }
    let begun = Begun::new(lease, holder, generation, from);
    answer.tenure = Some(followed(begun.tenure, entries));
    Ok(Some(answer))
}

/// The tenures of a page, as they began, and the next page's cursor.
async fn tenures(
    reading: &mut dyn Reading,
    query: &TenureQuery,
    cursor: Option<i64>,
    reader: &Reader,
    now: Timestamp,
) -> DbResult<(Vec<Begun>, Option<String>)> {
    let mut tenures = Vec::new();
    if let (Some(from), None) = (query.from, cursor) {
        tenures = open_at(reading, &query.holder, from, reader, now).await?;
        tenures.retain(|begun| query.to.is_none_or(|to| begun.tenure.from < to));
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
        let begun = Begun::new(grant.lease?, grant.holder?, grant.generation, grant.at);
        Some(begun.open_at(grant.seq))
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
) -> DbResult<Vec<Begun>> {
    let mut open: BTreeMap<(LeaseName, Generation), Begun> = BTreeMap::new();
    let mut insert = |begun: Begun| {
        let key = (begun.tenure.lease.clone(), begun.tenure.generation);
        open.insert(key, begun);
    };
    let begun = |lease, generation, from| Begun::new(lease, holder.clone(), generation, from);
    for entry in reading.handovers(history::open_at(holder, time)).await? {
        if let (Some(lease), Some(from)) = (entry.lease, entry.held_from) {
            insert(begun(lease, entry.previous_generation, from).open_at(entry.seq));
        }
    }
    for grant in raises::ended_after(reading, holder, time).await? {
        if let Some(lease) = grant.lease {
            insert(begun(lease, grant.generation, grant.at).open_at(grant.seq));
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
            insert(begun(name, generation, tenure.granted_at));
        }
    }
    Ok(open.into_values().collect())
}
