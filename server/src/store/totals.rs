//! How many leases there are of each kind. To count them is to read them all, so
//! it is done once for all who ask at the same time, and with rests between.

use std::time::Duration;

use tokio::{sync::Mutex, time::Instant};

use super::{StoreError, backend::Backend, in_time, listing, read_failed};

/// Counting may take this share of the time at most: one part in so many.
const SHARE: u32 = 5;

/// Numbers of leases.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Totals {
    /// All.
    pub all: u64,
    /// With a holder, before the expiry.
    pub held: u64,
    /// With a holder, past it.
    pub lapsed: u64,
    /// Without one.
    pub free: u64,
    /// Nobody can acquire.
    pub paused: u64,
    /// Changing hands again and again.
    pub flapping: u64,
}

/// Counts for whoever asks.
#[derive(Debug, Default)]
pub struct Counter(Mutex<Option<Counted>>);

#[derive(Debug)]
struct Counted {
    began: Instant,
    took: Duration,
    totals: Totals,
}

impl Counter {
    /// What was counted after this was asked, by whoever was first.
    pub async fn totals(&self, backend: &dyn Backend) -> Result<Totals, StoreError> {
        let asked = Instant::now();
        let mut last = self.0.lock().await;
        if let Some(counted) = &*last {
            if counted.began >= asked {
                return Ok(counted.totals);
            }
            tokio::time::sleep_until(counted.began + counted.took * SHARE).await;
        }
        let began = Instant::now();
        let totals = count(backend).await?;
        *last = Some(Counted {
            began,
            took: began.elapsed(),
            totals,
        });
        Ok(totals)
    }
}

async fn count(backend: &dyn Backend) -> Result<Totals, StoreError> {
    let read = async {
        let mut reading = backend.read().await?;
        let now = reading.now().await?;
        reading.totals(listing::totals(now)).await
    };
    let record = in_time(read).await.map_err(read_failed)?;
    let count = |number: i64| number.unsigned_abs();
    Ok(Totals {
        all: count(record.total),
        held: count(record.total - record.free - record.lapsed),
        lapsed: count(record.lapsed),
        free: count(record.free),
        paused: count(record.paused),
        flapping: count(record.flapping),
    })
}
