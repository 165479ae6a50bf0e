//! Recognising API tokens without reading the database: the table in memory, and
//! how it is kept current.

use std::{
    collections::HashMap,
    sync::{
        Arc, PoisonError, RwLock,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use subtle::ConstantTimeEq as _;
use tokio::{
    sync::{Mutex, watch},
    time::{self, MissedTickBehavior},
};

use super::{
    Caller, People, PeopleError,
    backend::TokenRow,
    secrets::{self, Digest},
    tokens::prefixes,
    users::role,
};

/// How often the counter of changes is read.
const POLL_EVERY: Duration = Duration::from_millis(300);
/// A table confirmed longer ago than this is not trusted.
const TRUST: Duration = Duration::from_secs(1);
/// How long one reading of the counter, and of the table, may take.
const REFRESH_TIMEOUT: Duration = Duration::from_secs(1);
/// How often it is noted which tokens were used.
const NOTE_USE_EVERY: Duration = Duration::from_secs(60);

const _: () = assert!(POLL_EVERY.as_millis() * 2 < TRUST.as_millis());

/// Why a token is not accepted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum BearerError {
    /// It is none, or expired, rotated or revoked.
    #[error("the token is unknown, expired or revoked")]
    Unknown,
    /// The database could not be asked for a second: it may have been revoked.
    #[error("the token cannot be checked, as the database does not answer")]
    Unavailable,
}

/// Every token that works, by digest.
#[derive(Default)]
pub(super) struct Bearers {
    state: RwLock<State>,
    /// One reading at a time, so that an older one never overwrites a newer.
    reading: Mutex<()>,
    /// The counter, for those who have to look again when it moves.
    version: watch::Sender<i64>,
}

#[derive(Default)]
struct State {
    table: Arc<HashMap<Digest, Entry>>,
    version: i64,
    confirmed: Option<Confirmed>,
}

/// When the table was known to be current.
#[derive(Clone, Copy)]
struct Confirmed {
    /// When the database was asked, on this server's clock.
    asked: Instant,
    /// The database's time, read not earlier than that.
    now: i64,
}

struct Entry {
    digest: Digest,
    id: String,
    caller: Arc<Caller>,
    expires_at: Option<i64>,
    used: AtomicBool,
}

impl People {
    /// Whose API token this is. Reads no database, and waits for nothing.
    ///
    /// # Errors
    /// It is nobody's, or that cannot be known for sure.
    pub fn bearer(&self, token: &str) -> Result<Arc<Caller>, BearerError> {
        let digest = secrets::digest(token);
        let state = &self.shared.bearers.state;
        let state = state.read().unwrap_or_else(PoisonError::into_inner);
        let confirmed = state.confirmed.ok_or(BearerError::Unavailable)?;
        let age = confirmed.asked.elapsed();
        if age > TRUST {
            return Err(BearerError::Unavailable);
        }
        let entry = state.table.get(&digest).ok_or(BearerError::Unknown)?;
        // Not earlier than the database's time is now.
        let now = confirmed.now + age.as_micros() as i64;
        let works = entry.expires_at.is_none_or(|expires_at| now < expires_at);
        if !works || !bool::from(entry.digest.ct_eq(&digest)) {
            return Err(BearerError::Unknown);
        }
        // Read first: writing would take the line from all other processors.
        if !entry.used.load(Ordering::Relaxed) {
            entry.used.store(true, Ordering::Relaxed);
        }
        Ok(entry.caller.clone())
    }

    /// Changes when a user, a token or a session changed, here or on another
    /// server. Whoever keeps a caller for long, an event stream, recognises them
    /// anew then.
    pub fn changes(&self) -> watch::Receiver<i64> {
        self.shared.bearers.version.subscribe()
    }

    /// Reads the tokens anew if anything changed since last time.
    ///
    /// # Errors
    /// The database cannot be used; the table is then trusted for its second.
    pub async fn refresh(&self) -> Result<(), PeopleError> {
        let reading = self.shared.bearers.reading.lock().await;
        let refreshed = time::timeout(REFRESH_TIMEOUT, self.read_tokens()).await;
        drop(reading);
        refreshed.unwrap_or(Err(PeopleError::Store(sqlx::Error::PoolTimedOut)))
    }

    async fn read_tokens(&self) -> Result<(), PeopleError> {
        let bearers = &self.shared.bearers;
        let asked = Instant::now();
        let read = self.backend().version().await?;
        let known = {
            let state = bearers.state.read().unwrap_or_else(PoisonError::into_inner);
            state.version
        };
        let table = if read.version == known {
            None
        } else {
            // Read after the counter: it may hold more than was counted, and is
            // then read once more, but never less.
            Some(Arc::new(table(self.backend().tokens().await?)?))
        };
        let mut state = bearers
            .state
            .write()
            .unwrap_or_else(PoisonError::into_inner);
        if let Some(table) = table {
            keep_used(&state.table, &table);
            state.table = table;
        }
        state.version = read.version;
        state.confirmed = Some(Confirmed {
            asked,
            now: read.now,
        });
        drop(state);
        bearers.version.send_if_modified(|version| {
            let moved = *version != read.version;
            *version = read.version;
            moved
        });
        Ok(())
    }

    /// Keeps the table current, for as long as the server runs. Also notes which
    /// tokens were used.
    pub async fn follow(self) {
        let mut ticks = time::interval(POLL_EVERY);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut noted = Instant::now();
        let mut failing = false;
        loop {
            ticks.tick().await;
            let refreshed = self.refresh().await;
            match &refreshed {
                Ok(()) if failing => tracing::info!("tokens can be checked again"),
                Err(error) if !failing => {
                    let error = error as &dyn std::error::Error;
                    tracing::warn!(error, "tokens cannot be checked");
                }
                _ => {}
            }
            failing = refreshed.is_err();
            if !failing && noted.elapsed() >= NOTE_USE_EVERY {
                noted = Instant::now();
                let people = self.clone();
                // Beside the polling, which must not wait for a writer.
                tokio::spawn(async move { people.note_use().await });
            }
        }
    }

    /// Writes down which tokens were used since last time.
    pub(super) async fn note_use(&self) {
        let (ids, now) = {
            let state = &self.shared.bearers.state;
            let state = state.read().unwrap_or_else(PoisonError::into_inner);
            let used = state.table.values();
            let used = used.filter(|entry| entry.used.swap(false, Ordering::Relaxed));
            let ids: Vec<String> = used.map(|entry| entry.id.clone()).collect();
            (ids, state.confirmed.map_or(0, |confirmed| confirmed.now))
        };
        if ids.is_empty() {
            return;
        }
        if let Err(error) = self.backend().touch_tokens(&ids, now).await {
            tracing::warn!(%error, "the use of tokens could not be noted");
        }
    }
}

fn table(rows: Vec<TokenRow>) -> Result<HashMap<Digest, Entry>, PeopleError> {
    let mut table = HashMap::with_capacity(rows.len());
    for row in rows.into_iter().filter(|row| row.revoked_at.is_none()) {
        let digest = Digest::try_from(row.digest)
            .map_err(|_| PeopleError::Store(sqlx::Error::Decode("not a digest".into())))?;
        let (role, prefixes) = (role(&row.role)?, prefixes(&row.prefixes)?);
        let entry = Entry {
            digest,
            caller: Arc::new(Caller::token(row.id.clone(), row.name, role, prefixes)),
            id: row.id,
            expires_at: row.expires_at,
            used: AtomicBool::new(false),
        };
        table.insert(digest, entry);
    }
    Ok(table)
}

/// Uses that are not noted yet survive the table that they were seen in.
fn keep_used(old: &HashMap<Digest, Entry>, new: &HashMap<Digest, Entry>) {
    for (digest, entry) in old {
        if entry.used.load(Ordering::Relaxed)
            && let Some(entry) = new.get(digest)
        {
            entry.used.store(true, Ordering::Relaxed);
        }
    }
}
