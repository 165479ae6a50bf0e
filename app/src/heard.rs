//! What the event stream says, as far as pages need it.

use baton_client::{Lease, LeaseName, Timestamp};
use serde::{Deserialize, Serialize};

use crate::entry::Entry;

/// Where things stand, at the beginning of a stream.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Standing {
    /// The leases that match.
    pub items: Vec<Lease>,
    /// The database time that this is true for.
    pub now: Timestamp,
    /// The log's last `seq` at that time.
    pub seq: u64,
}

/// An event.
#[derive(Debug, Clone)]
pub enum Heard {
    /// Going on was not possible; a snapshot follows.
    Reset,
    /// Where things stand.
    Standing(Standing),
    /// The log grew by this entry.
    Logged(Box<Entry>),
    /// A lease that changed.
    Lease(Box<Lease>),
    /// A lease that no longer matches.
    Gone(LeaseName),
    /// A sign of life: the database time and the log's last `seq`.
    Time(Timestamp, u64),
}

/// What a lease and a sign of life are told apart by.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Sketch {
    lease: Option<LeaseName>,
    gone: bool,
    now: Option<Timestamp>,
    seq: u64,
}

impl Heard {
    /// Reads an event by its name and data. `None` for what this version does
    /// not know, which is to be passed over.
    pub fn read(name: &str, data: &str) -> Option<Self> {
        match name {
            "reset" => return Some(Self::Reset),
            "snapshot" => return serde_json::from_str(data).ok().map(Self::Standing),
            "handover" => return serde_json::from_str(data).ok().map(Self::Logged),
            _ => {}
        }
        let sketch: Sketch = serde_json::from_str(data).ok()?;
        match name {
            "lease" if sketch.gone => sketch.lease.map(Self::Gone),
            "lease" => serde_json::from_str(data).ok().map(Self::Lease),
            "time" => Some(Self::Time(sketch.now?, sketch.seq)),
            _ => None,
        }
    }

    /// The database time that this tells, if what it says is true now.
    pub fn now(&self) -> Option<Timestamp> {
        match self {
            Self::Standing(standing) => Some(standing.now),
            Self::Lease(lease) => Some(lease.now),
            Self::Time(now, _) => Some(*now),
            Self::Logged(_) | Self::Gone(_) | Self::Reset => None,
        }
    }

    /// The `seq` after which a stream would have to go on.
    pub fn seq(&self) -> Option<u64> {
        match self {
            Self::Standing(standing) => Some(standing.seq),
            Self::Logged(entry) => Some(entry.seq),
            Self::Time(_, seq) => Some(*seq),
            Self::Lease(_) | Self::Gone(_) | Self::Reset => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::countdown::tests::held;

    #[test]
    fn every_event_is_told_by_its_name() {
        let lease = held("a");
        let text = serde_json::to_string(&lease).expect("JSON");
        let read = |name, data: &str| Heard::read(name, data);
        assert!(
            matches!(read("lease", &text), Some(Heard::Lease(found)) if found.lease == lease.lease)
        );
        assert!(
            matches!(read("lease", r#"{"lease":"a","gone":true}"#), Some(Heard::Gone(name)) if name == lease.lease)
        );
        assert!(matches!(read("reset", "{}"), Some(Heard::Reset)));
        assert!(matches!(
            read("time", r#"{"now":"2026-11-29T02:14:07.000000Z","seq":7}"#),
            Some(Heard::Time(now, 7)) if now == lease.now
        ));
        let entry = r#"{"seq":8,"at":"2026-11-29T02:14:07Z","lease":null,"event":"archived",
            "generation":0,"holder":null,"previous_generation":0,"previous_holder":null,
            "held_from":null,"held_until":null,"reason":"cut","incident":null,"actor":"baton",
            "details":{"more":[1]},"hash":"00"}"#;
        assert_eq!(
            read("handover", entry).and_then(|heard| heard.seq()),
            Some(8)
        );
        let snapshot = format!(r#"{{"items":[{text}],"now":"2026-11-29T02:14:07Z","seq":9}}"#);
        let heard = read("snapshot", &snapshot).expect("a snapshot");
        assert_eq!((heard.seq(), heard.now()), (Some(9), Some(lease.now)));
    }

    #[test]
    fn what_cannot_be_read_is_passed_over() {
        assert!(Heard::read("later", "{}").is_none());
        assert!(Heard::read("lease", "{").is_none());
        assert!(Heard::read("time", "{}").is_none());
    }
}
