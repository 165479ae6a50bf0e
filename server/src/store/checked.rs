//! The chain, verified by the server as it grows: all of it from the beginning
//! after each start and once a day, and every new entry within seconds. Slowly, so
//! that nobody notices.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use baton_client::Timestamp;
use tokio::time::{Instant, sleep};

use crate::{
    audit::{Depth, Finding, Verifier},
    metrics,
};

use super::{LogEnd, Reader, StoreError};

/// How often the log is looked at when everything is verified.
const POLL: Duration = Duration::from_secs(1);
/// How often all of it is verified again.
const AGAIN: Duration = Duration::from_hours(24);
/// After each read, so many times as long as it took is left to others.
const REST: u32 = 4;
/// How long to wait when the database does not answer.
const RETRY: Duration = Duration::from_secs(5);

/// Up to where the log was verified.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct VerifiedTo {
    /// Up to this `seq`.
    pub seq: u64,
    /// At this time; `None` if nothing was verified yet.
    pub at: Option<Timestamp>,
    /// What is wrong.
    pub findings: Vec<Finding>,
    /// How much more is wrong.
    pub more: u64,
}

/// What is known of the log. Cheap to clone.
#[derive(Debug, Clone, Default)]
pub struct Checked {
    state: Arc<Mutex<VerifiedTo>>,
}

/// One way through the log.
pub(super) struct Pass {
    /// What has been found out.
    pub verifier: Verifier,
    /// Up to here it was shown.
    after: u64,
    /// Up to here the log was archived when that was looked at last.
    archived: u64,
}

impl Pass {
    /// Before the first entry.
    ///
    /// # Errors
    /// The database does not answer.
    pub async fn begin(reader: &Reader) -> Result<Self, StoreError> {
        Ok(Self {
            verifier: Verifier::new(Depth::Chain),
            after: 0,
            archived: reader.archived().await?,
        })
    }

    /// Goes on as far as one read brings. Where the log ends, if that was seen.
    ///
    /// # Errors
    /// The database does not answer.
    pub async fn step(&mut self, reader: &Reader) -> Result<Option<LogEnd>, StoreError> {
        let end = reader.end().await?;
        let began = self.after;
        if began >= end.head.seq {
            return Ok(Some(end));
        }
        // What cannot be read is noted, and what follows it is not known.
        let shown = reader.show(&mut self.verifier, began, end.head.seq).await?;
        self.after = shown.unwrap_or(end.head.seq);
        let archived = reader.archived().await?;
        if archived > began && archived > self.archived {
            // What was to be read next was archived meanwhile, and is not missing.
            // The log begins after that now.
            self.verifier = Verifier::new(Depth::Chain);
            self.after = archived;
        }
        self.archived = archived;
        Ok((self.after >= end.head.seq).then_some(end))
    }
}

impl Checked {
    /// As it is now.
    pub fn now(&self) -> VerifiedTo {
        let state = self.state.lock();
        state.unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Verifies the log for ever.
    pub async fn follow(self, reader: Reader) {
        loop {
            if let Err(error) = self.pass(&reader).await {
                tracing::debug!(?error, "the log is not verified for now");
                sleep(RETRY).await;
            }
        }
    }

    /// From the beginning to the end, and on for a day.
    async fn pass(&self, reader: &Reader) -> Result<(), StoreError> {
        let mut pass = Pass::begin(reader).await?;
        let started = Instant::now();
        loop {
            let read = Instant::now();
            let seen = pass.step(reader).await?;
            let Some(end) = seen else {
                sleep(read.elapsed() * REST).await;
                continue;
            };
            self.note(&pass.verifier, &end);
            if started.elapsed() > AGAIN {
                return Ok(());
            }
            sleep(POLL).await;
        }
    }

    /// The verifier has seen everything up to the log's end.
    fn note(&self, verifier: &Verifier, end: &LogEnd) {
        let mut verifier = verifier.clone();
        verifier.links.ends_with(end.head.seq, &end.head.hash);
        let mut verified = verifier.finish();
        super::verifying::hold_beginning(&mut verified);
        metrics::verified(end.head.seq, verified.findings.count());
        let now = VerifiedTo {
            seq: end.head.seq,
            at: Some(end.now),
            findings: verified.findings.kept,
            more: verified.findings.more,
        };
        let state = self.state.lock();
        let mut state = state.unwrap_or_else(PoisonError::into_inner);
        if now.findings != state.findings {
            for finding in &now.findings {
                tracing::error!(%finding, "the log does not hold");
            }
        }
        *state = now;
    }
}
