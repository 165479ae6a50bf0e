//! Secrets that Baton makes: API tokens, session cookies, a first password. Only
//! their digests are ever stored, and none of them shows in a log.

use std::fmt;

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use sha2::{Digest as _, Sha256};

/// What every API token starts with.
pub const TOKEN_PREFIX: &str = "baton_";
/// How many characters follow at least: 22 of base64url are 128 bits.
pub const TOKEN_CHARS_MIN: usize = 22;

/// The SHA-256 of a secret. A secret of 128 random bits needs no slower hash.
pub(super) type Digest = [u8; 32];

/// Something to be shown once, or kept in a cookie, and never logged.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// The text itself, for the one who may have it.
    pub fn reveal(&self) -> &str {
        &self.0
    }

    /// A new API token.
    pub(super) fn token() -> Self {
        Self(format!("{TOKEN_PREFIX}{}", random_text()))
    }

    /// A new session's secret.
    pub(super) fn session() -> Self {
        Self(random_text())
    }

    /// A new password that people can copy by hand: 100 random bits in four
    /// groups, of characters that look different from each other.
    pub(super) fn password() -> Self {
        const ALPHABET: &[u8; 32] = b"abcdefghijkmnpqrstuvwxyz23456789";
        let random: [u8; 20] = random_bytes();
        let letters = random.map(|byte| char::from(ALPHABET[usize::from(byte % 32)]));
        let groups: Vec<String> = letters.chunks(5).map(String::from_iter).collect();
        Self(groups.join("-"))
    }

    pub(super) fn digest(&self) -> Digest {
        digest(&self.0)
    }
}

impl From<String> for Secret {
    fn from(text: String) -> Self {
        Self(text)
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(…)")
    }
}

/// Whether `text` could be an API token.
pub(super) fn is_token(text: &str) -> bool {
    text.strip_prefix(TOKEN_PREFIX).is_some_and(|rest| {
        (TOKEN_CHARS_MIN..=256).contains(&rest.len())
            && rest
                .bytes()
                .all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_')
    })
}

pub(super) fn digest(text: &str) -> Digest {
    Sha256::digest(text.as_bytes()).into()
}

/// An identity for a row, unique without asking anybody.
pub(super) fn new_id() -> String {
    hex::encode(random_bytes::<16>())
}

/// 256 random bits.
fn random_text() -> String {
    URL_SAFE_NO_PAD.encode(random_bytes::<32>())
}

/// From the operating system.
///
/// # Panics
/// The system has no randomness to give; nothing safe can be done then.
fn random_bytes<const N: usize>() -> [u8; N] {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes).expect("the operating system gives random bytes");
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_differ_and_do_not_show() {
        let (one, other) = (Secret::token(), Secret::token());
        assert_ne!(one, other);
        assert!(is_token(one.reveal()));
        assert!(!format!("{one:?}").contains(&one.reveal()[6..]));
        assert_ne!(Secret::password(), Secret::password());
        assert_eq!(Secret::password().reveal().len(), 23);
    }

    #[test]
    fn tokens_are_recognised() {
        assert!(is_token("baton_0123456789abcdefABCDE-_"));
        for bad in [
            "",
            "baton_",
            "baton_short",
            "0123456789abcdefghijklmnop",
            "baton_0123456789 abcdefABCDE-",
        ] {
            assert!(!is_token(bad), "{bad}");
        }
    }
}
