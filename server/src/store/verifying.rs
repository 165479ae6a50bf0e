//! A database shown to a verifier: its log, where it says that its log ends, and
//! its lease table.

use baton_client::{HandoverQuery, LeaseQuery, Timestamp};

use crate::{
    audit::{Begins, Fault, Verified, Verifier},
    chain::Head,
    rules::{LeaseRow, Rebuilt},
};

use super::{
    Reader, StoreError,
    backend::{DbResult, Reading},
    history, in_time, listing, read_failed,
};

/// Entries and leases in one read.
const PAGE: u64 = 500;

impl Reader {
    /// Shows the whole log to a verifier that asks for everything, then holds the
    /// log's end and the lease table against it, both as they are at one moment.
    /// `seen` hears now and then how far it is: up to which `seq`, of how many.
    ///
    /// # Errors
    /// The database does not answer.
    pub async fn verify(
        &self,
        mut verifier: Verifier,
        mut seen: impl FnMut(u64, u64),
    ) -> Result<Verified, StoreError> {
        let end = self.end().await?;
        let mut after = 0;
        while after < end.head.seq {
            after = self.show(&mut verifier, after, end.head.seq).await?;
            seen(after, end.head.seq);
        }
        self.hold_against(verifier, after).await
    }

    /// Shows what comes after a `seq`, as much as one read brings, and says up to
    /// where that was.
    pub(super) async fn show(
        &self,
        verifier: &mut Verifier,
        after: u64,
        upto: u64,
    ) -> Result<u64, StoreError> {
        let shown = async {
            let mut reading = self.backend.read().await?;
            show_page(reading.as_mut(), verifier, after, upto).await
        };
        in_time(shown).await.map_err(read_failed)
    }

    /// Shows what was written since, and compares, in one transaction.
    async fn hold_against(
        &self,
        mut verifier: Verifier,
        mut after: u64,
    ) -> Result<Verified, StoreError> {
        let compare = async {
            let mut reading = self.backend.read().await?;
            let reading = reading.as_mut();
            let head = reading.end().await?.head;
            // Past the head too: nothing should stand there.
            let beyond = u64::try_from(i64::MAX).unwrap_or(u64::MAX);
            loop {
                let shown = show_page(reading, &mut verifier, after, beyond).await?;
                if shown == beyond {
                    break;
                }
                after = shown;
            }
            let mut verified = verifier.finish();
            hold_end(&mut verified, &head);
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
                    hold_row(&mut verified, row);
                }
                let last = page.last().filter(|_| more);
                query.cursor = last.map(|last| listing::lease_cursor(&query, last, now));
                if query.cursor.is_none() {
                    break;
                }
            }
            missing_rows(&mut verified);
            tracing::debug!(rows, "the lease table was held against the log");
            Ok(verified)
        };
        compare.await.map_err(read_failed)
    }
}

/// Shows one page. An entry that cannot be read is found out one by one.
async fn show_page(
    reading: &mut dyn Reading,
    verifier: &mut Verifier,
    after: u64,
    upto: u64,
) -> DbResult<u64> {
    let query = HandoverQuery::default();
    let page = reading
        .handovers(history::stretch(&query, after, upto, PAGE))
        .await;
    match page {
        Ok(entries) => {
            entries.iter().for_each(|entry| verifier.push(entry));
            let full = entries.len() as u64 == PAGE;
            let last = entries.last().filter(|_| full);
            Ok(last.map_or(upto, |last| last.seq))
        }
        Err(error) if is_damage(&error) => {
            let upto = upto.min(after + PAGE);
            for seq in after + 1..=upto {
                match reading.handovers(history::handover(seq)).await {
                    Ok(entries) => entries.iter().for_each(|entry| verifier.push(entry)),
                    Err(error) if is_damage(&error) => verifier.unreadable(seq, error.to_string()),
                    Err(error) => return Err(error),
                }
            }
            Ok(upto)
        }
        Err(error) => Err(error),
    }
}

fn is_damage(error: &sqlx::Error) -> bool {
    matches!(
        error,
        sqlx::Error::Decode(_) | sqlx::Error::ColumnDecode { .. }
    )
}

/// Holds where the database says that its log ends against the last entry, and the
/// beginning against what was archived.
pub(super) fn hold_end(verified: &mut Verified, head: &Head) {
    let fits = match &verified.last {
        Some(last) => last.seq == head.seq && last.hash == head.hash,
        // Nothing is known of one that cannot be read, and that was said.
        None => verified.count > 0 || head.seq == 0,
    };
    if !fits {
        let seq = verified.last.as_ref().map(|last| last.seq);
        verified.found(seq, Fault::WrongHead { seq: head.seq });
    }
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
