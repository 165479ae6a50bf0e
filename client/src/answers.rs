//! What is answered, besides a lease or an entry of its own.

use serde::{Deserialize, Serialize};

use crate::{Generation, Handover, Lease, LeaseName, Problem, Timestamp};

/// A page of leases.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct LeasePage {
    /// The leases, in the order that was asked for.
    pub items: Vec<Lease>,
    /// The next page's cursor; `None` on the last.
    pub next: Option<String>,
    /// The database time that this is true for.
    pub now: Timestamp,
}

/// A page of the history.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct HandoverPage {
    /// The entries, in the order that was asked for.
    pub items: Vec<Handover>,
    /// The next page's cursor; `None` on the last.
    pub next: Option<String>,
    /// The database time that this is true for.
    pub now: Timestamp,
}

/// Whether a generation is current.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Checked {
    /// Which lease.
    pub lease: LeaseName,
    /// The generation that was asked about.
    pub generation: Generation,
    /// There is a holder, and it has this generation.
    pub current: bool,
    /// The database time that this is true for.
    pub now: Timestamp,
}

/// What one step of forgetting did: the answer of `POST /forget`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Forgot {
    /// How many leases are gone: at most 1,000.
    pub forgotten: u64,
    /// What the generation of a lease that springs into being starts above.
    pub floor: Generation,
    /// There may be more: ask again.
    pub more: bool,
}

/// The answer of `POST /renewals`.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Renewed {
    /// One for each renewal, in its order.
    pub results: Vec<RenewalResult>,
    /// The database time of the answer.
    pub now: Timestamp,
}

/// The answer to one of many renewals. `status` says which body it is.
#[derive(Debug, Clone, Serialize)]
#[serde(untagged)]
pub enum RenewalResult {
    /// It was renewed.
    Done {
        /// Which lease.
        lease: LeaseName,
        /// Always 200.
        status: u16,
        /// The lease.
        body: Box<Lease>,
    },
    /// It was refused.
    Refused {
        /// Which lease.
        lease: LeaseName,
        /// As in [`Problem::status`].
        status: u16,
        /// Why.
        body: Box<Problem>,
    },
}

impl<'de> Deserialize<'de> for RenewalResult {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        use serde::de::Error as _;

        #[derive(Deserialize)]
        struct Any {
            lease: LeaseName,
            status: u16,
            body: crate::RawJson,
        }
        let Any {
            lease,
            status,
            body,
        } = Any::deserialize(deserializer)?;
        let body = body.get();
        if status == 200 {
            serde_json::from_str(body).map(|body| Self::Done {
                lease,
                status,
                body,
            })
        } else {
            serde_json::from_str(body).map(|body| Self::Refused {
                lease,
                status,
                body,
            })
        }
        .map_err(D::Error::custom)
    }
}

/// The first thing that a reader of `GET /events` gets.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Snapshot {
    /// The leases that match, as `GET /leases` gives them.
    pub items: Vec<Lease>,
    /// The database time that this is true for.
    pub now: Timestamp,
    /// The log's last `seq` at that time.
    pub seq: u64,
}

/// A sign of life from `GET /events`, at least every five seconds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TimeEvent {
    /// The database time.
    pub now: Timestamp,
    /// The log's last `seq` at that time.
    pub seq: u64,
}

/// What `GET /events` sends.
#[derive(Debug, Clone)]
pub enum Event {
    /// Continuing was not possible: forget what was before, a snapshot follows.
    Reset,
    /// Where things stand.
    Snapshot(Snapshot),
    /// An entry of the log.
    Handover(Box<Handover>),
    /// A lease that changed.
    Lease(Box<Lease>),
    /// A lease that no longer matches the filter.
    Gone(LeaseName),
    /// A sign of life.
    Time(TimeEvent),
}

impl Event {
    /// Reads an event by its name and data. `None` for a name that this
    /// version does not know, which is to be passed over.
    ///
    /// # Errors
    /// The data is not what the name promises.
    pub fn read(name: &str, data: &str) -> Result<Option<Self>, serde_json::Error> {
        #[derive(Deserialize)]
        struct Gone {
            lease: LeaseName,
            #[serde(default)]
            gone: bool,
        }
        Ok(Some(match name {
            "reset" => Self::Reset,
            "snapshot" => Self::Snapshot(serde_json::from_str(data)?),
            "handover" => Self::Handover(serde_json::from_str(data)?),
            "lease" => {
                let gone: Gone = serde_json::from_str(data)?;
                if gone.gone {
                    Self::Gone(gone.lease)
                } else {
                    Self::Lease(serde_json::from_str(data)?)
                }
            }
            "time" => Self::Time(serde_json::from_str(data)?),
            _ => return Ok(None),
        }))
    }
}
