//! A database shown to a verifier: its log, where it says that its log ends, and
//! its lease table.

use baton_client::{HandoverQuery, LeaseQuery, Timestamp};

use crate::{
    audit::{Begins, Fault, Machine as _, Verified, Verifier},
    database::is_damage,
    rules::{LeaseRow, Rebuilt},
};

use super::{
    Reader, Statement, StoreError,
    backend::{DbResult, End, Reading},
    history, in_time, listing,
    raises::TO_THE_END,
    read_failed,
    shown::{PAGE, show},
    sql,
};

impl Reader {
    /// Shows the whole log to a verifier that asks for everything, then holds the
    /// log's end and the lease table against it, both as they are at one moment.
    /// `seen` hears now and then how far it is: up to which `seq`, of how many. What
    /// cannot be read is something that is wrong, too.
    ///
    /// # Errors
    /// The database does not answer.
    pub async fn verify(
        &self,
        verifier: Verifier,
        mut seen: impl FnMut(u64, u64),
    ) -> Result<Verified, StoreError> {
        loop {
            let archived = self.archived().await?;
            let verified = self.verify_once(verifier.clone(), &mut seen).await?;
            // What was archived meanwhile is not missing.
            if verified.holds() || self.archived().await? == archived {
                return Ok(verified);
            }
        }
    }

    async fn verify_once(
        &self,
        mut verifier: Verifier,
        mut seen: impl FnMut(u64, u64),
    ) -> Result<Verified, StoreError> {
        let end = match self.own_end().await {
            Ok(end) => end.head.seq,
            Err(error) if is_damage(&error) => {
                let what = format!("where the log ends cannot be read: {error}");
                verifier.links.found(None, Fault::Stopped(what));
                TO_THE_END
            }
            Err(error) => return Err(read_failed(error)),
        };
        let mut after = 0;
        while after < end {
            match self.show(&mut verifier, after, end).await? {
                Some(shown) => after = shown,
                None => return Ok(verifier.finish()),
            }
            if end < TO_THE_END {
                seen(after, end);
            }
        }
        if end == TO_THE_END {
            return Ok(verifier.finish());
        }
        self.hold_against(verifier, after).await
    }

    async fn own_end(&self) -> DbResult<End> {
        let read = async {
            let mut reading = self.backend.read().await?;
            reading.end().await
        };
        in_time(read).await
    }

    /// Up to which `seq` the log was archived, if that can be read.
    pub(super) async fn archived(&self) -> Result<u64, StoreError> {
        match self.own_end().await {
            Ok(end) => Ok(end.archived),
            // That is said where the end is looked for.
            Err(error) if is_damage(&error) => Ok(0),
            Err(error) => Err(read_failed(error)),
        }
    }

    /// Shows what comes after a `seq`, as much as one read brings, and says up to
    /// where that was; `None` if nothing more can be read.
    pub(super) async fn show(
        &self,
        verifier: &mut Verifier,
        after: u64,
        upto: u64,
    ) -> Result<Option<u64>, StoreError> {
        // Each read is a transaction of its own: one that failed is over.
        let read = |after, upto| {
            in_time(async move {
                let mut reading = self.backend.read().await?;
                reading.handovers(stretch(after, upto)).await
            })
        };
        let shown = show(verifier, after, upto, read).await;
        shown.map_err(read_failed)
    }

    /// Shows what was written since, and compares, in one transaction.
    async fn hold_against(
        &self,
        mut verifier: Verifier,
        after: u64,
    ) -> Result<Verified, StoreError> {
        let mut reading = match self.rest(&mut verifier, after).await {
            Ok(reading) => reading,
            Err(error) if is_damage(&error) => {
                let last = verifier.links.last().map_or(after, |last| last.seq);
                verifier.links.stopped(last + 1, error.to_string());
                return Ok(verifier.finish());
            }
            Err(error) => return Err(read_failed(error)),
        };
        let mut verified = verifier.finish();
        hold_beginning(&mut verified);
        match nothing_before_the_first(reading.as_mut()).await {
            Ok(true) => {}
            Ok(false) => {
                let what = "its seq is below 1".to_owned();
                verified.found(None, Fault::Unreadable(what));
            }
            Err(error) if is_damage(&error) => {
                let what = format!("its seq is below 1, and {error}");
                verified.found(None, Fault::Unreadable(what));
            }
            Err(error) => return Err(read_failed(error)),
        }
        match self.hold_table(&mut verified, reading.as_mut()).await {
            Ok(()) => Ok(verified),
            Err(error) if is_damage(&error) => {
                let what = format!("the lease table cannot be read: {error}");
                verified.found(None, Fault::Stopped(what));
                Ok(verified)
            }
            Err(error) => Err(read_failed(error)),
        }
    }

    /// Shows what was written since, up to the end as it is in a transaction.
    async fn rest(&self, verifier: &mut Verifier, mut after: u64) -> DbResult<Box<dyn Reading>> {
        let mut reading = self.backend.read().await?;
        let head = reading.end().await?.head;
        loop {
            // Past the head too: nothing should stand there.
            let entries = reading.handovers(stretch(after, TO_THE_END)).await?;
            entries.iter().for_each(|entry| verifier.push(entry));
            match entries.last() {
                Some(last) => after = last.seq,
                None => break,
            }
        }
        verifier.links.ends_with(head.seq, &head.hash);
        Ok(reading)
    }

    async fn hold_table(&self, verified: &mut Verified, reading: &mut dyn Reading) -> DbResult<()> {
        let now = reading.now().await?;
        let mut query = LeaseQuery {
            limit: Some(PAGE),
            ..LeaseQuery::default()
        };
        let mut rows = 0;
        loop {
            let select = listing::leases(&query, now, self.backend.dialect());
            let mut page = reading.leases(select.unwrap_or_default()).await?;
            let more = listing::cut(&mut page, query.limit);
            rows += page.len();
            for row in &page {
                hold_row(verified, row);
            }
            let last = page.last().filter(|_| more);
            query.cursor = last.map(|last| listing::lease_cursor(&query, last, now));
            if query.cursor.is_none() {
                break;
            }
        }
        missing_rows(verified);
        tracing::debug!(rows, "the lease table was held against the log");
        Ok(())
    }
}

fn stretch(after: u64, upto: u64) -> Statement {
    history::stretch(&HandoverQuery::default(), after, upto, PAGE)
}

/// Whether no entry stands where none can. Whoever puts one there adds nothing to the
/// chain, but changes which entry comes before a time.
async fn nothing_before_the_first(reading: &mut dyn Reading) -> DbResult<bool> {
    let found = reading.handovers(sql::below_the_first()).await?;
    Ok(found.is_empty())
}

/// Holds the beginning against what was archived.
pub(super) fn hold_beginning(verified: &mut Verified) {
    if let Begins::InTheMiddle { seq } = verified.begins {
        verified.found(Some(seq), Fault::BeginningMissing);
    }
}

/// Holds a row of the table against what the log says of it.
fn hold_row(verified: &mut Verified, row: &LeaseRow) {
    let whole = verified.begins == Begins::AtTheBeginning;
    let said = verified.leases.remove(&row.name);
    let what = match said {
        // An archived part may have been about it.
        None if !whole => return,
        None => "the log never spoke of it".to_owned(),
        Some(said) => match difference(&said, &Rebuilt::from(row), whole) {
            None => return,
            Some(what) => what,
        },
    };
    let lease = row.name.clone();
    verified.found(None, Fault::Table { lease, what });
}

/// Leases that the log speaks of, and that are not in the table.
fn missing_rows(verified: &mut Verified) {
    for (lease, _) in std::mem::take(&mut verified.leases) {
        let what = "it is not in the table".to_owned();
        verified.found(None, Fault::Table { lease, what });
    }
}

/// How the table differs from the log. Of a lease whose older entries were
/// archived, only what every entry says is known.
fn difference(log: &Rebuilt, table: &Rebuilt, whole: bool) -> Option<String> {
    let who = |lease: &Rebuilt| {
        let holder = lease.holder.as_ref();
        let holder = holder.map_or("nobody".into(), |holder| format!("`{holder}`"));
        format!("generation {} and {holder}", lease.generation)
    };
    if (log.generation, &log.holder) != (table.generation, &table.holder) {
        return Some(format!("the log says {}, it has {}", who(log), who(table)));
    }
    if !whole || log == table {
        return None;
    }
    let at = |at: Option<Timestamp>| at.map_or("never".into(), |at| at.to_string());
    let mut parts = Vec::new();
    if log.granted_at != table.granted_at {
        let (log, table) = (at(log.granted_at), at(table.granted_at));
        parts.push(format!("granted_at is {table}, not {log}"));
    }
    if log.attempt != table.attempt {
        parts.push(format!("attempt is {}, not {}", table.attempt, log.attempt));
    }
    for (name, differs) in [
        ("pause", log.paused != table.paused),
        ("bar", log.barred != table.barred),
        ("reservation", log.reserved != table.reserved),
        ("step-down", log.step_down != table.step_down),
        ("protection", log.protected != table.protected),
    ] {
        if differs {
            parts.push(format!("its {name} is not what the log says"));
        }
    }
    Some(parts.join("; "))
}
