//! What is counted instead of written each time: sign-ins that failed, and
//! refusals of somebody who is refused again and again. Written a minute after
//! the first. In memory only: a server that is killed loses its last minute.

use std::{
    collections::{BTreeSet, HashMap},
    net::IpAddr,
    time::{Duration, Instant},
};

use baton_client::{AccessEvent, Actor};
use serde_json::json;

use super::Draft;

/// How long is counted before it is written.
const WINDOW: Duration = Duration::from_secs(60);
/// Refusals of one asker that are written one by one, within a window.
const ONE_BY_ONE: u64 = 20;
/// Addresses that are told apart; beyond, strangers are one.
const ADDRESSES_MAX: usize = 1_000;
/// Accounts that are named in one entry.
const ACCOUNTS_MAX: usize = 20;

/// Sign-ins that failed from one address.
#[derive(Debug)]
struct Failed {
    since: Instant,
    count: u64,
    accounts: BTreeSet<String>,
}

/// Refusals of one asker.
#[derive(Debug)]
struct Refused {
    since: Instant,
    written: u64,
    more: u64,
    last: Draft,
}

/// All that is counted.
#[derive(Debug, Default)]
pub struct Counted {
    /// By address; `None` for all that are too many.
    failed: HashMap<Option<IpAddr>, Failed>,
    refused: HashMap<(Option<Actor>, Option<String>), Refused>,
}

impl Counted {
    /// Counts a sign-in that failed.
    pub fn failed(&mut self, address: IpAddr, known: Option<&str>, now: Instant) {
        let address = address.to_canonical();
        let mut key = Some(address);
        if self.failed.len() >= ADDRESSES_MAX && !self.failed.contains_key(&key) {
            key = None;
        }
        let failed = self.failed.entry(key).or_insert_with(|| Failed {
            since: now,
            count: 0,
            accounts: BTreeSet::new(),
        });
        failed.count += 1;
        if failed.accounts.len() < ACCOUNTS_MAX
            && let Some(account) = known
        {
            failed.accounts.insert(account.to_owned());
        }
    }

    /// Gives back the refusal if it is to be written by itself, and counts it
    /// otherwise.
    pub fn refused(&mut self, draft: Draft, now: Instant) -> Option<Draft> {
        let key = (draft.actor.clone(), draft.address.clone());
        let refused = self.refused.entry(key).or_insert_with(|| Refused {
            since: now,
            written: 0,
            more: 0,
            last: draft.clone(),
        });
        if refused.written < ONE_BY_ONE {
            refused.written += 1;
            return Some(draft);
        }
        refused.more += 1;
        refused.last = draft;
        None
    }

    /// What was counted in windows that are over.
    pub fn due(&mut self, now: Instant) -> Vec<Draft> {
        self.take(|since| now.saturating_duration_since(since) >= WINDOW)
    }

    /// All that was counted.
    pub fn all(&mut self) -> Vec<Draft> {
        self.take(|_| true)
    }

    fn take(&mut self, is_over: impl Fn(Instant) -> bool) -> Vec<Draft> {
        let failed = self.failed.extract_if(|_, failed| is_over(failed.since));
        let mut drafts: Vec<Draft> = failed
            .map(|(address, failed)| failed.draft(address))
            .collect();
        let refused = self.refused.extract_if(|_, refused| is_over(refused.since));
        drafts.extend(refused.filter_map(|(_, refused)| refused.draft()));
        drafts
    }
}

impl Failed {
    fn draft(self, address: Option<IpAddr>) -> Draft {
        let accounts: Vec<String> = self.accounts.into_iter().collect();
        let details = json!({
            // Names have no line breaks in them.
            "accounts": accounts.join("\n"),
            "count": self.count,
        });
        Draft {
            event: AccessEvent::SignInFailed,
            actor: None,
            address: address.map(|address| address.to_string()),
            request_id: None,
            subject: None,
            details: details.as_object().cloned().unwrap_or_default(),
        }
    }
}

impl Refused {
    /// The refusals that were only counted, in the words of the last.
    fn draft(self) -> Option<Draft> {
        let mut draft = self.last;
        draft.details.insert("count".into(), self.more.into());
        (self.more > 0).then_some(draft)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(text: &str) -> IpAddr {
        text.parse().expect("an address")
    }

    fn refusal(lease: &str) -> Draft {
        let asker = crate::rules::Asker {
            actor: Actor::Token("ci".into()),
            address: Some("192.0.2.1".into()),
            request_id: None,
        };
        Draft::new(
            AccessEvent::Refused,
            &asker,
            Some(lease),
            json!({ "count": 1 }),
        )
    }

    #[test]
    fn failed_sign_ins_become_one_entry_an_address_and_minute() {
        let mut counted = Counted::default();
        let start = Instant::now();
        for i in 0..100 {
            counted.failed(address("192.0.2.1"), Some("ana"), start);
            counted.failed(address("192.0.2.2"), None, start + Duration::from_secs(i));
        }
        assert!(counted.due(start + Duration::from_secs(59)).is_empty());
        let due = counted.due(start + WINDOW);
        assert_eq!(due.len(), 2);
        for draft in &due {
            assert_eq!(draft.details["count"], 100);
            let ana = draft.address.as_deref() == Some("192.0.2.1");
            assert_eq!(draft.details["accounts"], if ana { "ana" } else { "" });
        }
        assert!(counted.all().is_empty(), "it was taken");
    }

    #[test]
    fn what_strangers_can_make_is_bounded() {
        let mut counted = Counted::default();
        let now = Instant::now();
        for i in 0..50_000u32 {
            let from = IpAddr::from(i.to_be_bytes());
            counted.failed(from, Some(&format!("user-{i}")), now);
        }
        let all = counted.all();
        assert_eq!(all.len(), ADDRESSES_MAX + 1);
        let counts = all
            .iter()
            .filter_map(|draft| draft.details["count"].as_u64());
        assert_eq!(counts.sum::<u64>(), 50_000, "none is left out");
    }

    #[test]
    fn refusals_are_written_one_by_one_until_they_are_many() {
        let mut counted = Counted::default();
        let now = Instant::now();
        let written = (0..100)
            .filter(|i| {
                counted
                    .refused(refusal(&format!("lease-{i}")), now)
                    .is_some()
            })
            .count() as u64;
        assert_eq!(written, ONE_BY_ONE);
        let due = counted.due(now + WINDOW);
        assert_eq!(due.len(), 1);
        assert_eq!(due[0].details["count"], 100 - ONE_BY_ONE);
        assert_eq!(due[0].subject.as_deref(), Some("lease-99"));
        // A new minute begins anew, and few leave nothing to sum up.
        assert!(counted.refused(refusal("a"), now).is_some());
        assert!(counted.all().is_empty());
    }
}
