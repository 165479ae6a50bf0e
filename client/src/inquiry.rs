//! What an auditor asks of the history, and the answers: who held what, when, and
//! for how long nobody did.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::{Actor, Generation, HandoverEvent, HolderId, LeaseName, LeaseState, Timestamp};

/// One holder's unbroken hold of one lease, as the history tells it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tenure {
    /// Which lease.
    pub lease: LeaseName,
    /// Who held it.
    pub holder: HolderId,
    /// Under which generation.
    pub generation: Generation,
    /// When it was granted.
    pub from: Timestamp,
    /// When it was over: released, taken away or lapsed for good. `None` while it
    /// may go on.
    pub until: Option<Timestamp>,
    /// How it ended: `lapsed`, `released`, `forced` or `floor_raised`.
    pub ended: Option<HandoverEvent>,
    /// How long it stood lapsed before its holder renewed again.
    pub lapsed_ms: u64,
}

/// `GET /leases/{lease}/at`.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AtQuery {
    /// When: not in the future.
    pub time: Timestamp,
}

/// Who held a lease at some time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LeaseAt {
    /// Which lease.
    pub lease: LeaseName,
    /// When.
    pub time: Timestamp,
    /// Whether it was held then.
    pub state: LeaseState,
    /// Its generation then.
    pub generation: Generation,
    /// The tenure that was open or lapsed then; `None` if it was free.
    pub tenure: Option<Tenure>,
    /// The last entry about it until then; `None` if there was none yet.
    pub seq: Option<u64>,
    /// The database time that this is true for.
    pub now: Timestamp,
}

/// `GET /leases/{lease}/report`.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReportQuery {
    /// From this time on.
    pub from: Timestamp,
    /// Before this time.
    pub to: Timestamp,
}

/// A time without a holder.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Gap {
    /// Since when.
    pub from: Timestamp,
    /// Until when; `None` if nobody came before the end of the time that was asked
    /// about.
    pub until: Option<Timestamp>,
    /// How long, of the time that was asked about.
    pub ms: u64,
}

/// How often an actor forced a release.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ForcedBy {
    /// Who.
    pub actor: Actor,
    /// How often.
    pub count: u64,
}

/// How a lease fared.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Report {
    /// Which lease.
    pub lease: LeaseName,
    /// What is reported begins here: not before the history first spoke of it.
    pub from: Timestamp,
    /// And ends here: not after `now`.
    pub to: Timestamp,
    /// How long somebody held it.
    pub held_ms: u64,
    /// How long nobody did: free, or lapsed.
    pub unheld_ms: u64,
    /// The share of the time that it was held, in millionths.
    pub availability_ppm: u64,
    /// How many entries of each kind.
    pub events: BTreeMap<String, u64>,
    /// Who forced releases, most often first.
    pub forced_by: Vec<ForcedBy>,
    /// How many tenures there were, in whole or in part.
    pub tenures: u64,
    /// The longest of them, by its part in this time.
    pub longest_tenure: Option<Tenure>,
    /// How many times without a holder.
    pub gaps: u64,
    /// The longest of them.
    pub longest_gap: Option<Gap>,
    /// How long it took on average until a lease without a holder had a new one.
    pub mean_gap_ms: Option<u64>,
    /// The database time that this is true for.
    pub now: Timestamp,
}

/// Something that is wrong with the history.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Found {
    /// At which entry; `None` if it is about the whole.
    pub seq: Option<u64>,
    /// What is wrong.
    pub what: String,
    /// What could have caused it.
    pub cause: String,
}

/// `GET /verification`: how far the server has verified the chain of the history.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Verification {
    /// Nothing is wrong, as far as it was verified.
    pub holds: bool,
    /// Up to this `seq`.
    pub verified_seq: u64,
    /// At this time; `None` if the server has not come to it yet.
    pub verified_at: Option<Timestamp>,
    /// The last `seq` now.
    pub head_seq: u64,
    /// What is wrong: the first hundred.
    pub findings: Vec<Found>,
    /// The database time that this is true for.
    pub now: Timestamp,
}

/// `GET /tenures`.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TenureQuery {
    /// Whose.
    pub holder: HolderId,
    /// Tenures that were not over at this time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<Timestamp>,
    /// Tenures that began before this time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<Timestamp>,
    /// Tenures in a page: 1 to 1,000.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u64>,
    /// Where the page begins.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
}

/// A page of tenures: those that were open when the time began, by lease, and then
/// those that began in it, oldest first.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct TenurePage {
    /// The tenures.
    pub items: Vec<Tenure>,
    /// The next page's cursor; `None` on the last.
    pub next: Option<String>,
    /// The database time that this is true for.
    pub now: Timestamp,
}
