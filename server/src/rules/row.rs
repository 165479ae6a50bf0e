//! A lease as it is kept.

use baton_client::{
    Actor, Barred, Generation, HolderId, LeaseName, Paused, RawJson, Reserved, Timestamp,
    limits::FLAPPING_MAX,
};

/// For how long a change of hands counts as recent: five minutes.
pub const FLAPPING_WINDOW_MS: u64 = 300_000;

/// One row of the lease table.
#[derive(Debug, Clone)]
pub struct LeaseRow {
    /// Its name.
    pub name: LeaseName,
    /// The fencing token; grows on every change of hands.
    pub generation: Generation,
    /// The current tenure; `None` while the lease is free.
    pub tenure: Option<Tenure>,
    /// How the last tenure ended; `None` before there was one.
    pub last_end: Option<LastEnd>,
    /// Lapses in a row. Outlives a forced release.
    pub attempt: u64,
    /// On whose behalf. Outlives a lapse and a forced release.
    pub principal: Option<String>,
    /// What the work is. Outlives a lapse and a forced release. Rows that are
    /// only renewed are read without it.
    pub payload: Option<RawJson>,
    /// The holder was asked to let go. Belongs to the tenure.
    pub step_down: Option<PendingStepDown>,
    /// Nobody can acquire.
    pub paused: Option<Paused>,
    /// Somebody must stay away; counts until its time is over.
    pub barred: Option<Barred>,
    /// Only one may acquire; counts until its time is over, and a grant uses
    /// it up.
    pub reserved: Option<Reserved>,
    /// A change of hands waits for fenced transactions. Ends with the next
    /// change of hands, with a recovery, or by itself.
    pub blocked: Option<Blocked>,
    /// An admin wants the name typed before it is forced.
    pub protected: bool,
    /// When it changed hands lately, oldest first: at most [`FLAPPING_MAX`].
    pub hands: Vec<Timestamp>,
    /// When the log last spoke of it.
    pub changed_at: Timestamp,
}

/// One holder's unbroken hold.
#[derive(Debug, Clone)]
pub struct Tenure {
    /// Who.
    pub holder: HolderId,
    /// The name of the API token that acquired it, and alone may renew it.
    pub token: String,
    /// What the acquire was told apart by, if it was.
    pub claim_id: Option<String>,
    /// When it began.
    pub granted_at: Timestamp,
    /// When it was last renewed, or granted.
    pub renewed_at: Timestamp,
    /// When it lapses.
    pub expires_at: Timestamp,
    /// How long a renewal lasts.
    pub ttl_ms: u64,
    /// How long past the expiry everyone must still wait.
    pub grace_ms: u64,
    /// What the holder reports.
    pub status: Option<RawJson>,
    /// The lapse is in the log.
    pub lapsed: bool,
}

/// What a change of hands waits for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Blocked {
    /// The fenced transactions, in words.
    pub by: String,
    /// Until when this counts, unless it is said again.
    pub until: Timestamp,
}

/// How a tenure ended that left the lease free.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LastEnd {
    /// Its holder let go.
    Released,
    /// It was taken away.
    Forced,
}

/// A step-down that was asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PendingStepDown {
    /// When it was asked.
    pub at: Timestamp,
    /// When the server forces.
    pub deadline: Timestamp,
    /// Who asked.
    pub actor: Actor,
    /// Why.
    pub reason: String,
    /// The incident, if one was named.
    pub incident: Option<String>,
    /// For whom, and how long, the lease is reserved when the tenure ends.
    pub successor: Option<(HolderId, u64)>,
}

impl LeaseRow {
    /// A lease that springs into being: before its first grant, the generation
    /// is 0.
    pub fn new(name: LeaseName, at: Timestamp) -> Self {
        Self {
            name,
            generation: Generation::ZERO,
            tenure: None,
            last_end: None,
            attempt: 0,
            principal: None,
            payload: None,
            step_down: None,
            paused: None,
            barred: None,
            reserved: None,
            blocked: None,
            protected: false,
            hands: Vec::new(),
            changed_at: at,
        }
    }

    /// Who holds it.
    pub fn holder(&self) -> Option<&HolderId> {
        self.tenure.as_ref().map(|tenure| &tenure.holder)
    }

    /// Notes a change of hands, and forgets those that are no longer recent.
    pub(super) fn note_hands(&mut self, at: Timestamp) {
        self.hands.retain(|then| is_recent(*then, at));
        self.hands.push(at);
        if self.hands.len() > FLAPPING_MAX {
            self.hands.remove(0);
        }
    }

    /// Changes of hands in the last five minutes.
    pub fn flapping(&self, now: Timestamp) -> u64 {
        self.hands
            .iter()
            .filter(|then| is_recent(**then, now))
            .count() as u64
    }

    /// What the step-down of the tenure that ends `now` leaves behind.
    pub(super) fn take_step_down_reservation(&mut self, now: Timestamp) -> Option<Reserved> {
        let asked = self.step_down.take()?;
        let (holder, reserve_ms) = asked.successor?;
        Some(Reserved {
            holder,
            until: now.plus_ms(reserve_ms),
            actor: asked.actor,
            reason: asked.reason,
        })
    }
}

fn is_recent(then: Timestamp, now: Timestamp) -> bool {
    now < then.plus_ms(FLAPPING_WINDOW_MS)
}
