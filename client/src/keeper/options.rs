//! What a program chooses: who it is, and how it holds each lease.

use std::time::Duration;

use serde::Serialize;

use crate::{Acquire, Generation, HolderId, RawJson, limits};

/// How a whole keeper behaves.
#[derive(Debug, Clone)]
pub struct KeeperOptions {
    /// Who holds the leases. Unique per process; by default made of the
    /// machine's name, the process id and a random number.
    pub holder: HolderId,
    /// How old the answer of [`Keeper::leader`](super::Keeper::leader) may be
    /// before it reads again; 2 s by default.
    pub leaders_age_max: Duration,
    /// [`Keeper::leader`](super::Keeper::leader) knows leases whose name starts
    /// with this; all of them, if it is empty.
    pub leaders_prefix: String,
}

impl KeeperOptions {
    /// For a holder with this name.
    pub fn new(holder: HolderId) -> Self {
        Self {
            holder,
            leaders_age_max: Duration::from_secs(2),
            leaders_prefix: String::new(),
        }
    }
}

impl Default for KeeperOptions {
    /// For a holder that is named after its machine and process.
    fn default() -> Self {
        let process = std::process::id();
        let random = fastrand::u32(..);
        let named = format!("{}-{process}-{random:08x}", machine());
        let plain = || format!("baton-{process}-{random:08x}");
        let holder = HolderId::try_from(named).or_else(|_| HolderId::try_from(plain()));
        Self::new(holder.expect("letters, digits and dashes are a holder"))
    }
}

#[cfg(unix)]
fn machine() -> String {
    let system = rustix::system::uname();
    let name = system.nodename().to_string_lossy();
    name.chars().take(200).collect()
}

#[cfg(not(unix))]
fn machine() -> String {
    std::env::var("COMPUTERNAME").unwrap_or_default()
}

/// How one lease is held.
#[derive(Debug, Clone)]
pub struct HoldOptions {
    /// How long a tenure lasts without renewal: 1 s to 24 h, 15 s by default.
    /// It is renewed every third of that, and given up after two thirds.
    pub ttl: Duration,
    /// How long past the expiry everyone must still wait: 0 to 1 h, none by
    /// default.
    pub grace: Duration,
    /// How long each acquire waits in line at the server: 0 to 60 s, 20 s by
    /// default. Without it the lease is asked for again and again, which is
    /// right for a process that contends for a great many.
    pub wait: Duration,
    /// Give up, with [`HoldError::AttemptsExhausted`](super::HoldError), once
    /// the work has lapsed this often in a row.
    pub attempts_max: Option<u64>,
    /// Acquire only at this generation, with
    /// [`HoldError::GenerationMoved`](super::HoldError) otherwise; 0 for "no
    /// such lease yet".
    pub expected_generation: Option<Generation>,
    /// The new generation shall be above this one.
    pub above: Option<u64>,
    /// What the work is, for whoever takes it over: at most 64 KiB.
    pub payload: Option<RawJson>,
    /// On whose behalf.
    pub principal: Option<String>,
    /// What the page shows of the work at first: at most 1 KiB.
    pub status: Option<RawJson>,
}

impl Default for HoldOptions {
    fn default() -> Self {
        Self {
            ttl: Duration::from_secs(15),
            grace: Duration::ZERO,
            wait: Duration::from_secs(20),
            attempts_max: None,
            expected_generation: None,
            above: None,
            payload: None,
            principal: None,
            status: None,
        }
    }
}

impl HoldOptions {
    /// With this ttl, and otherwise the defaults.
    pub fn ttl(ttl: Duration) -> Self {
        Self {
            ttl,
            ..Self::default()
        }
    }

    /// With this payload, for whoever takes the work over.
    ///
    /// # Errors
    /// It does not become JSON.
    pub fn with_payload(mut self, payload: &impl Serialize) -> Result<Self, serde_json::Error> {
        self.payload = Some(serde_json::value::to_raw_value(payload)?);
        Ok(self)
    }

    /// The ttl in the milliseconds of the wire, within its bounds.
    pub(super) fn ttl_ms(&self) -> u64 {
        ms(self.ttl).clamp(limits::TTL_MS_MIN, limits::TTL_MS_MAX)
    }

    pub(super) fn wait_ms(&self) -> u64 {
        ms(self.wait).min(limits::WAIT_MS_MAX)
    }

    /// The acquire that these options make.
    pub(super) fn acquire(&self, holder: HolderId, claim_id: String) -> Acquire {
        Acquire {
            grace_ms: ms(self.grace).min(limits::GRACE_MS_MAX),
            claim_id: Some(claim_id),
            above: self.above,
            expected_generation: self.expected_generation,
            max_attempts: self.attempts_max,
            payload: self.payload.clone(),
            principal: self.principal.clone(),
            status: self.status.clone(),
            wait_ms: self.wait_ms(),
            ..Acquire::new(holder, self.ttl_ms())
        }
    }
}

fn ms(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn holders_differ_and_bounds_are_kept() {
        let (one, other) = (KeeperOptions::default(), KeeperOptions::default());
        assert_ne!(one.holder, other.holder);
        assert_eq!(HoldOptions::ttl(Duration::ZERO).ttl_ms(), 1_000);
        assert_eq!(HoldOptions::ttl(Duration::MAX).ttl_ms(), 86_400_000);
    }
}
