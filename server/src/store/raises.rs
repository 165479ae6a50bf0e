//! The entries that raised every generation. They name no lease and concern each
//! one that was there: whoever tells of a lease's past reads them beside its own.

use baton_client::{Generation, Handover, HandoverEvent, HandoverQuery, HolderId, Timestamp};

use crate::rules::keeping;

use super::{
    Reader, StoreError,
    backend::{DbResult, Reading},
    history, in_time, read_failed,
};

/// Entries in one read.
const PAGE: u64 = 500;
/// The highest `seq` that can be.
pub const TO_THE_END: u64 = i64::MAX.unsigned_abs();

impl Reader {
    /// Those after a `seq`, before a time, oldest first.
    ///
    /// # Errors
    /// The database does not answer.
    pub async fn raises(
        &self,
        after: u64,
        to: Option<Timestamp>,
    ) -> Result<Vec<Handover>, StoreError> {
        let read = async {
            let mut reading = self.backend.read().await?;
            between(reading.as_mut(), after, TO_THE_END, to).await
        };
        in_time(read).await.map_err(read_failed)
    }
}

/// Those after one `seq` and up to another, before a time, oldest first.
pub async fn between(
    reading: &mut dyn Reading,
    mut after: u64,
    upto: u64,
    to: Option<Timestamp>,
) -> DbResult<Vec<Handover>> {
    let query = HandoverQuery { to, ..raising() };
    let mut raises = Vec::new();
    loop {
        let select = history::stretch(&query, after, upto, PAGE);
        let page = reading.handovers(select).await?;
        let full = page.len() as u64 == PAGE;
        raises.extend(page);
        match raises.last().filter(|_| full) {
            Some(last) => after = last.seq,
            None => return Ok(raises),
        }
    }
}

/// The first one after a `seq`.
pub async fn first_after(reading: &mut dyn Reading, after: u64) -> DbResult<Option<Handover>> {
    let select = history::stretch(&raising(), after, TO_THE_END, 1);
    Ok(reading.handovers(select).await?.pop())
}

/// The grants of a holder's tenures that began before a time and were neither
/// let go nor taken over when, at that time or later, everything was raised.
pub async fn ended_after(
    reading: &mut dyn Reading,
    holder: &HolderId,
    time: Timestamp,
) -> DbResult<Vec<Handover>> {
    let later = HandoverQuery {
        from: Some(time),
        ..raising()
    };
    let first = history::stretch(&later, 0, TO_THE_END, 1);
    let Some(first) = reading.handovers(first).await?.pop() else {
        return Ok(Vec::new());
    };
    // The one before it left no tenure open.
    let before = history::newest(&raising(), first.seq - 1, 1);
    let before = reading.handovers(before).await?.pop();
    let after = before.map_or(0, |before| before.seq);
    let open = history::open_between(holder, time, after, first.seq);
    reading.handovers(open).await
}

/// A generation after so many raises.
pub fn raised(generation: Generation, times: usize) -> Generation {
    (0..times).fold(generation, |generation, _| {
        keeping::raised(generation).unwrap_or(generation)
    })
}

fn raising() -> HandoverQuery {
    HandoverQuery {
        event: Some(HandoverEvent::FloorRaised),
        ..HandoverQuery::default()
    }
}
