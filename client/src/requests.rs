//! What can be asked, as it stands in bodies and queries. Unknown fields are
//! refused. Values are only as checked as their types; the server checks the
//! rest, and says every field that is wrong.

use serde::{Deserialize, Deserializer, Serialize};

use crate::{
    Actor, Generation, HandoverEvent, HolderId, LeaseName, LeaseState, RawJson, Timestamp,
};

/// Tells an explicit `null` (`Some(None)`) from an absent field (`None`).
pub(crate) fn present<'de, D, T>(deserializer: D) -> Result<Option<T>, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de>,
{
    T::deserialize(deserializer).map(Some)
}

/// `POST /leases/{lease}/acquire`.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Acquire {
    /// Who wants it.
    pub holder: HolderId,
    /// How long the tenure lasts without renewal: 1,000 to 86,400,000.
    pub ttl_ms: u64,
    /// How long past the expiry everyone must still wait: 0 to 3,600,000.
    #[serde(default)]
    pub grace_ms: u64,
    /// Makes the call safe to repeat.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub claim_id: Option<String>,
    /// The new generation is above this one: at most 2^52.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub above: Option<u64>,
    /// Compare-and-set: refuse unless this is the generation; 0 for "no such
    /// lease yet".
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expected_generation: Option<Generation>,
    /// Refuse a takeover after a lapse once `attempt` has reached this.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_attempts: Option<u64>,
    /// What the work is, for whoever takes it over: at most 64 KiB of JSON.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub payload: Option<RawJson>,
    /// On whose behalf.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub principal: Option<String>,
    /// What to show of the holder's work: at most 1 KiB of JSON.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<RawJson>,
    /// How long to wait in line: 0 to 60,000.
    #[serde(default)]
    pub wait_ms: u64,
}

impl Acquire {
    /// The least that it takes.
    pub fn new(holder: HolderId, ttl_ms: u64) -> Self {
        Self {
            holder,
            ttl_ms,
            grace_ms: 0,
            claim_id: None,
            above: None,
            expected_generation: None,
            max_attempts: None,
            payload: None,
            principal: None,
            status: None,
            wait_ms: 0,
        }
    }
}

/// `POST /leases/{lease}/renew`.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Renew {
    /// Who holds it.
    pub holder: HolderId,
    /// The tenure's generation.
    pub generation: Generation,
    /// A new ttl; the last one, if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ttl_ms: Option<u64>,
    /// A new status; absent keeps the last one, null clears it.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "present"
    )]
    pub status: Option<Option<RawJson>>,
}

/// One of many renewals.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Renewal {
    /// Which lease.
    pub lease: LeaseName,
    /// Who holds it.
    pub holder: HolderId,
    /// The tenure's generation.
    pub generation: Generation,
    /// A new ttl; the last one, if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ttl_ms: Option<u64>,
    /// A new status; absent keeps the last one, null clears it.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "present"
    )]
    pub status: Option<Option<RawJson>>,
}

/// `POST /renewals`: 1 to 1,000, each lease once.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Renewals {
    /// The renewals, answered in this order.
    pub renewals: Vec<Renewal>,
}

/// `POST /leases/{lease}/release`.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Release {
    /// Who holds it.
    pub holder: HolderId,
    /// The tenure's generation.
    pub generation: Generation,
    /// Why, for the history.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// Who must stay away after a forced release.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum BarWhom {
    /// Nobody may acquire.
    Everyone,
    /// The deposed holder may not.
    Holder,
}

/// `POST /leases/{lease}/force-release`.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ForceRelease {
    /// The generation that the operator saw.
    pub expected_generation: Generation,
    /// Why.
    pub reason: String,
    /// Link or number of the incident.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub incident: Option<String>,
    /// Keep someone out, for `bar_ms`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bar: Option<BarWhom>,
    /// For how long.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bar_ms: Option<u64>,
    /// Only this holder may acquire, for `reserve_ms`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub successor: Option<HolderId>,
    /// For how long.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reserve_ms: Option<u64>,
}

/// `POST /leases/{lease}/step-down`.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StepDownRequest {
    /// The generation that the operator saw.
    pub expected_generation: Generation,
    /// Why.
    pub reason: String,
    /// Link or number of the incident.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub incident: Option<String>,
    /// How long the holder has before the server forces.
    pub deadline_ms: u64,
    /// Only this holder may acquire then, for `reserve_ms`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub successor: Option<HolderId>,
    /// For how long.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reserve_ms: Option<u64>,
}

/// `POST /leases/{lease}/cancel-step-down`, `/pause` and `/unpause`.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Reason {
    /// Why.
    pub reason: String,
    /// Link or number of the incident.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub incident: Option<String>,
}

/// `POST /leases/{lease}/protect` and `/unprotect`.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Protect {
    /// Why.
    pub reason: String,
}

/// `GET /leases/{lease}/check`.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CheckQuery {
    /// The generation to compare with.
    pub generation: Generation,
}

/// How a list of leases is ordered.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LeaseSort {
    /// By name, bytewise.
    #[default]
    Name,
    /// What asks for a look first.
    Attention,
    /// What expires next first.
    Expires,
    /// What changed hands last first.
    Changed,
}

/// `GET /leases`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LeaseQuery {
    /// Part of the lease's or the holder's name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub search: Option<String>,
    /// The name starts with this.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prefix: Option<String>,
    /// Only leases in this state.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state: Option<LeaseState>,
    /// Only this holder's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub holder: Option<String>,
    /// Only what asks for a look.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attention: Option<bool>,
    /// The order.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sort: Option<LeaseSort>,
    /// Leases in a page: 1 to 1,000.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u64>,
    /// Where the page begins.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
}

/// `GET /events`: as [`LeaseQuery`], and where to go on.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EventsQuery {
    /// Part of the lease's or the holder's name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub search: Option<String>,
    /// The name starts with this.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prefix: Option<String>,
    /// Only leases in this state.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state: Option<LeaseState>,
    /// Only this holder's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub holder: Option<String>,
    /// Only what asks for a look.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attention: Option<bool>,
    /// The order.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sort: Option<LeaseSort>,
    /// Leases in the snapshot: 1 to 1,000.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u64>,
    /// Where the page begins.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
    /// The `seq` after which to go on, as the header `Last-Event-ID`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<u64>,
    /// Which entries of the log are sent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub handovers: Option<EventHandovers>,
}

/// Which entries of the log a stream of events carries.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum EventHandovers {
    /// Every one.
    #[default]
    All,
    /// Those of leases with the `prefix` that was asked for, and those of no
    /// lease.
    Prefix,
    /// Of the leases on the page, and of each only the last: when it changed, and
    /// when it came onto the page. They have no event id, and are in no order.
    Page,
}

impl EventsQuery {
    /// The part that selects leases.
    pub fn leases(&self) -> LeaseQuery {
        LeaseQuery {
            search: self.search.clone(),
            prefix: self.prefix.clone(),
            state: self.state,
            holder: self.holder.clone(),
            attention: self.attention,
            sort: self.sort,
            limit: self.limit,
            cursor: self.cursor.clone(),
        }
    }
}

/// `POST /forget`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Forget {
    /// Leases that nobody touched for so long: at least 1,000.
    pub idle_ms: u64,
    /// Why, for the history.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// Which end of the history comes first.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Order {
    /// Newest first.
    #[default]
    Desc,
    /// Oldest first.
    Asc,
}

/// `GET /handovers`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HandoverQuery {
    /// Of this lease.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lease: Option<LeaseName>,
    /// Of leases whose name starts with this.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prefix: Option<String>,
    /// From or to this holder.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub holder: Option<String>,
    /// Of this kind.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub event: Option<HandoverEvent>,
    /// Asked by this actor.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub actor: Option<Actor>,
    /// Of this incident.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub incident: Option<String>,
    /// At this time or later.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<Timestamp>,
    /// Before this time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<Timestamp>,
    /// After this `seq`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<u64>,
    /// Newest or oldest first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub order: Option<Order>,
    /// Entries in a page: 1 to 1,000.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u64>,
    /// Where the page begins.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn renew_tells_an_absent_status_from_null() {
        let read =
            |text| serde_json::from_str::<Renew>(text).map(|r| r.status.map(|s| s.is_some()));
        assert_eq!(read(r#"{"holder":"a","generation":1}"#).ok(), Some(None));
        assert_eq!(
            read(r#"{"holder":"a","generation":1,"status":null}"#).ok(),
            Some(Some(false))
        );
        assert_eq!(
            read(r#"{"holder":"a","generation":1,"status":"x"}"#).ok(),
            Some(Some(true))
        );
        assert!(read(r#"{"holder":"a","generation":1,"stauts":"x"}"#).is_err());
    }

    #[test]
    fn a_payload_keeps_its_letters() {
        let text = r#"{"holder":"a","ttl_ms":1000,"payload":{"b": 1.50,  "a":[ ]}}"#;
        let acquire: Acquire = serde_json::from_str(text).expect("reads");
        assert_eq!(
            acquire.payload.expect("is there").get(),
            r#"{"b": 1.50,  "a":[ ]}"#
        );
    }
}
