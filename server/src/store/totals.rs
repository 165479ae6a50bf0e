//! How many leases there are of each kind. To count them is to read them all, so
//! it is done once for all who ask at the same time, not again while the log says
//! that nothing changed, and with rests between.

use std::time::Duration;

use tokio::{sync::Mutex, time::Instant};

use super::{StoreError, backend::Backend, in_time, listing, read_failed};

/// Counting may take this share of the time at most: one part in so many.
const SHARE: u32 = 5;
/// For how long what was counted holds while the log does not grow. Expiry needs
/// no entry to come, and gets one within about this time.
const HOLDS: Duration = Duration::from_secs(1);

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
    /// When it began to be counted.
    began: Instant,
    took: Duration,
    /// When it was last known to hold.
    held: Instant,
    /// The log's last `seq` when it was counted.
    seq: u64,
    totals: Totals,
}

impl Counted {
    /// Whether these are the numbers for who asked at `asked`.
    async fn answers(&mut self, asked: Instant, backend: &dyn Backend) -> Result<bool, StoreError> {
        let age = self.began.elapsed();
        if self.held >= asked || age < self.took * SHARE {
            return Ok(true);
        }
        if age >= HOLDS {
            return Ok(false);
        }
        let began = Instant::now();
        let read = async { backend.read().await?.end().await };
        let holds = in_time(read).await.map_err(read_failed)?.head.seq == self.seq;
        if holds {
            self.held = began;
        }
        Ok(holds)
    }
}

impl Counter {
    /// How many there are now, or were within [`HOLDS`] or so many times what
    /// counting takes as [`SHARE`] says.
    pub async fn totals(&self, backend: &dyn Backend) -> Result<Totals, StoreError> {
        let asked = Instant::now();
        let mut last = self.0.lock().await;
        if let Some(counted) = &mut *last
            && counted.answers(asked, backend).await?
        {
            return Ok(counted.totals);
        }
        let counted = count(backend).await?;
        let totals = counted.totals;
        *last = Some(counted);
        Ok(totals)
    }
}

async fn count(backend: &dyn Backend) -> Result<Counted, StoreError> {
    let began = Instant::now();
    let read = async {
        let mut reading = backend.read().await?;
        let now = reading.now().await?;
        let seq = reading.end().await?.head.seq;
        Ok((reading.totals(listing::totals(now)).await?, seq))
    };
    let (record, seq) = in_time(read).await.map_err(read_failed)?;
    let count = |number: i64| number.unsigned_abs();
    let totals = Totals {
        all: count(record.total),
        held: count(record.total - record.free - record.lapsed),
        lapsed: count(record.lapsed),
        free: count(record.free),
        paused: count(record.paused),
        flapping: count(record.flapping),
    };
    Ok(Counted {
        began,
        took: began.elapsed(),
        held: began,
        seq,
        totals,
    })
}
