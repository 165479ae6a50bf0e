//! Passwords: what they must be like, and their slow hash. Hashing runs beside
//! the runtime and a few at a time, so that a storm of sign-ins cannot take the
//! processor away from renewals.

use std::{
    sync::{Arc, OnceLock},
    time::Duration,
};

use argon2::{Argon2, PasswordHasher as _, PasswordVerifier as _};
use tokio::{sync::Semaphore, task, time};

use super::PeopleError;

/// The shortest password.
pub const PASSWORD_CHARS_MIN: usize = 8;
/// The longest password.
pub const PASSWORD_CHARS_MAX: usize = 1_024;

/// How many hashes are computed at a time. Each takes 19 MiB and about 20 ms.
const PARALLEL: usize = 2;
/// How long somebody waits for a turn before being sent away.
const TURN_TIMEOUT: Duration = Duration::from_secs(5);

/// So many are signing in that this one has to come back later.
#[derive(Debug)]
pub(super) struct Crowded;

/// Hashes passwords and checks them.
#[derive(Debug, Clone)]
pub(super) struct Passwords {
    turns: Arc<Semaphore>,
}

impl Passwords {
    pub(super) fn new() -> Self {
        Self {
            turns: Arc::new(Semaphore::new(PARALLEL)),
        }
    }

    /// The hash of a new password, with a salt of its own.
    pub(super) async fn hash(&self, password: &str) -> Result<String, PeopleError> {
        check(password)?;
        let password = password.to_owned();
        self.in_turn(move || hash(&password))
            .await
            .map_err(|Crowded| PeopleError::Crowded)
    }

    /// Whether `password` is the one that `stored` was made of. Without a
    /// `stored` hash it is not, after just as long.
    pub(super) async fn verify(
        &self,
        password: &str,
        stored: Option<String>,
    ) -> Result<bool, Crowded> {
        let password = password.to_owned();
        self.in_turn(move || {
            // Made in any case: whoever is first must not wait longer for it.
            let nobodys = nobodys();
            let matches = Argon2::default()
                .verify_password(password.as_bytes(), stored.as_deref().unwrap_or(nobodys))
                .is_ok();
            matches && stored.is_some()
        })
        .await
    }

    async fn in_turn<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, Crowded> {
        let turn = time::timeout(TURN_TIMEOUT, self.turns.clone().acquire_owned()).await;
        let Ok(Ok(turn)) = turn else {
            return Err(Crowded);
        };
        let done = task::spawn_blocking(move || {
            // Kept until the work is done, even when nobody waits for it.
            let _turn = turn;
            work()
        });
        // Only a runtime that is shutting down does not do it.
        done.await.map_err(|_| Crowded)
    }
}

/// Whether people may have this password.
pub(super) fn check(password: &str) -> Result<(), PeopleError> {
    let length = password.chars().count();
    if (PASSWORD_CHARS_MIN..=PASSWORD_CHARS_MAX).contains(&length) {
        return Ok(());
    }
    Err(PeopleError::Invalid(format!(
        "a password has {PASSWORD_CHARS_MIN} to {PASSWORD_CHARS_MAX} characters, this one has {length}"
    )))
}

/// Argon2id with 19 MiB, two passes, one lane: what OWASP recommends, and what
/// the crate does by default.
fn hash(password: &str) -> String {
    Argon2::default()
        .hash_password(password.as_bytes())
        .expect("Argon2's own parameters are valid")
        .to_string()
}

/// The hash that is checked when there is no user, so that it takes as long.
fn nobodys() -> &'static str {
    static HASH: OnceLock<String> = OnceLock::new();
    HASH.get_or_init(|| hash("nobody has this password"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_password_is_recognised() {
        let passwords = Passwords::new();
        let stored = passwords.hash("correct horse").await.expect("it hashes");
        assert!(stored.starts_with("$argon2id$v=19$m=19456,t=2,p=1$"));
        let verify = async |password: &str, stored: Option<&str>| {
            passwords
                .verify(password, stored.map(str::to_owned))
                .await
                .expect("there is a turn")
        };
        assert!(verify("correct horse", Some(&stored)).await);
        assert!(!verify("wrong horse", Some(&stored)).await);
        assert!(!verify("nobody has this password", None).await);
        assert!(!verify("correct horse", Some("not a hash")).await);
    }

    #[test]
    fn passwords_have_a_length() {
        assert!(check("1234567").is_err());
        assert!(check("12345678").is_ok());
        assert!(check(&"🦊".repeat(1_024)).is_ok());
        assert!(check(&"🦊".repeat(1_025)).is_err());
    }
}
