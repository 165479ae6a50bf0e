//! How often somebody may get a password wrong: ten times in five minutes for
//! each account and for each address. Kept in memory, by each server for itself.
//!
//! Strangers who use an account's attempts up must not lock its owner out in the
//! middle of an incident: from an address that it signed in from before, only
//! the address's own limit counts.

use std::{
    collections::{HashMap, HashSet, VecDeque},
    net::IpAddr,
    sync::{Mutex, PoisonError},
    time::{Duration, Instant},
};

/// Wrong passwords allowed within [`WINDOW`].
const FAILURES_MAX: usize = 10;
/// How long a wrong password counts.
const WINDOW: Duration = Duration::from_secs(5 * 60);
/// Above this many remembered accounts and addresses, old ones are looked for
/// and forgotten.
const REMEMBERED: usize = 4_096;

/// Recent attempts.
#[derive(Debug, Default)]
pub(super) struct Attempts {
    recent: Mutex<HashMap<Key, VecDeque<Instant>>>,
    /// Accounts and the addresses that they signed in from.
    familiar: Mutex<HashSet<[Key; 2]>>,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Key {
    Account(String),
    /// An IPv6 address counts by its /64, which is what one subscriber has.
    Address(IpAddr),
}

impl Attempts {
    /// Counts an attempt before its outcome is known, so that attempts side by
    /// side cannot exceed the limit; [`Self::succeeded`] and [`Self::not_decided`]
    /// take it back.
    ///
    /// # Errors
    /// There were too many; it says how long to wait.
    pub(super) fn begin(
        &self,
        account: &str,
        address: IpAddr,
        now: Instant,
    ) -> Result<(), Duration> {
        let mut recent = self.recent.lock().unwrap_or_else(PoisonError::into_inner);
        if recent.len() > REMEMBERED {
            recent.retain(|_, times| times.back().is_some_and(|last| now - *last < WINDOW));
        }
        let keys = keys(account, address);
        let familiar = self.familiar.lock().unwrap_or_else(PoisonError::into_inner);
        let counted = if familiar.contains(&keys) {
            &keys[1..]
        } else {
            &keys[..]
        };
        let wait = counted.iter().filter_map(|key| {
            let times = recent.get_mut(key)?;
            while times.front().is_some_and(|first| now - *first >= WINDOW) {
                times.pop_front();
            }
            let first = times.front().filter(|_| times.len() >= FAILURES_MAX)?;
            Some(WINDOW.saturating_sub(now - *first))
        });
        if let Some(wait) = wait.max() {
            return Err(wait);
        }
        for key in keys {
            recent.entry(key).or_default().push_back(now);
        }
        Ok(())
    }

    /// The attempt was right: it does not count, nor do earlier ones at the same
    /// account. The address's earlier ones still do, or an own account would let
    /// somebody try others for ever.
    pub(super) fn succeeded(&self, account: &str, address: IpAddr) {
        let mut recent = self.recent.lock().unwrap_or_else(PoisonError::into_inner);
        let keys = keys(account, address);
        recent.remove(&keys[0]);
        take_back(&mut recent, &keys[1]);
        let mut familiar = self.familiar.lock().unwrap_or_else(PoisonError::into_inner);
        if familiar.len() >= REMEMBERED {
            familiar.clear();
        }
        familiar.insert(keys);
    }

    /// The password was not even looked at: the attempt does not count.
    pub(super) fn not_decided(&self, account: &str, address: IpAddr) {
        let mut recent = self.recent.lock().unwrap_or_else(PoisonError::into_inner);
        for key in keys(account, address) {
            take_back(&mut recent, &key);
        }
    }
}

fn take_back(recent: &mut HashMap<Key, VecDeque<Instant>>, key: &Key) {
    if let Some(times) = recent.get_mut(key) {
        times.pop_back();
        if times.is_empty() {
            recent.remove(key);
        }
    }
}

fn keys(account: &str, address: IpAddr) -> [Key; 2] {
    // Names are shorter; whatever is longer is nobody's, and not worth keeping.
    let account = account.chars().take(64).collect();
    let address = match address.to_canonical() {
        IpAddr::V6(v6) => {
            let network = u128::from(v6) >> 64 << 64;
            IpAddr::V6(network.into())
        }
        v4 @ IpAddr::V4(_) => v4,
    };
    [Key::Account(account), Key::Address(address)]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(text: &str) -> IpAddr {
        text.parse().expect("an address")
    }

    #[test]
    fn ten_wrong_passwords_are_enough_for_one_account() {
        let attempts = Attempts::default();
        let start = Instant::now();
        for i in 0..10 {
            let from = address(&format!("192.0.2.{i}"));
            assert!(attempts.begin("ana", from, start).is_ok());
        }
        let elsewhere = address("192.0.2.99");
        let minute = Duration::from_secs(60);
        assert_eq!(
            attempts.begin("ana", elsewhere, start + minute),
            Err(4 * minute)
        );
        assert!(attempts.begin("ben", elsewhere, start + minute).is_ok());
        assert!(attempts.begin("ana", elsewhere, start + WINDOW).is_ok());
    }

    #[test]
    fn strangers_do_not_lock_anybody_out_of_where_they_signed_in() {
        let attempts = Attempts::default();
        let (now, home) = (Instant::now(), address("192.0.2.200"));
        assert!(attempts.begin("ana", home, now).is_ok());
        attempts.succeeded("ana", home);
        for i in 0..10 {
            let from = address(&format!("192.0.2.{i}"));
            assert!(attempts.begin("ana", from, now).is_ok());
        }
        assert!(attempts.begin("ana", address("192.0.2.99"), now).is_err());
        assert!(attempts.begin("ana", home, now).is_ok());
    }

    #[test]
    fn ten_wrong_passwords_are_enough_for_one_network() {
        let attempts = Attempts::default();
        let now = Instant::now();
        for i in 0..10 {
            let from = address(&format!("2001:db8::{i}"));
            assert!(attempts.begin(&format!("user {i}"), from, now).is_ok());
        }
        let same = address("2001:db8::ffff:1");
        assert!(attempts.begin("ana", same, now).is_err());
        let other = address("2001:db8:0:1::1");
        assert!(attempts.begin("ana", other, now).is_ok());
    }

    #[test]
    fn what_was_not_decided_does_not_count() {
        let attempts = Attempts::default();
        let (now, from) = (Instant::now(), address("192.0.2.1"));
        for _ in 0..50 {
            assert!(attempts.begin("ana", from, now).is_ok());
            attempts.not_decided("ana", from);
        }
    }

    #[test]
    fn right_passwords_do_not_count() {
        let attempts = Attempts::default();
        let (now, from) = (Instant::now(), address("192.0.2.1"));
        for _ in 0..50 {
            assert!(attempts.begin("ana", from, now).is_ok());
            attempts.succeeded("ana", from);
        }
        // One's own account does not buy tries at others'.
        for i in 0..10 {
            assert!(attempts.begin(&format!("user {i}"), from, now).is_ok());
            if attempts.begin("ana", from, now).is_ok() {
                attempts.succeeded("ana", from);
            }
        }
        assert!(attempts.begin("ben", from, now).is_err());
    }
}
