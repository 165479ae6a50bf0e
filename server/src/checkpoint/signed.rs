//! A checkpoint that can be shown to others: signed, so that whoever keeps it can
//! say whose it is.

use baton_client::Timestamp;
use ring::signature::{ED25519, UnparsedPublicKey};
use serde::{Deserialize, Serialize};

use crate::chain::{self, CanonicalError, Head};

use super::Key;

/// Where the log ended at some time, signed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Checkpoint {
    /// The last entry's `seq`; 0 if there was none.
    pub seq: u64,
    /// The last entry's hash.
    pub hash: String,
    /// The database's time when it was taken.
    pub at: Timestamp,
    /// The public key, in lower-case hex.
    pub key: String,
    /// The Ed25519 signature, in lower-case hex, of the RFC 8785 form of all the
    /// fields above.
    pub signature: String,
}

/// What is signed.
#[derive(Serialize)]
struct Signed<'a> {
    seq: u64,
    hash: &'a str,
    at: Timestamp,
    key: &'a str,
}

impl Checkpoint {
    /// Signs where the log ends.
    ///
    /// # Errors
    /// It has no canonical form.
    pub fn sign(head: &Head, at: Timestamp, key: &Key) -> Result<Self, CanonicalError> {
        let mut checkpoint = Self {
            seq: head.seq,
            hash: head.hash.clone(),
            at,
            key: key.public(),
            signature: String::new(),
        };
        checkpoint.signature = key.sign(&checkpoint.form()?);
        Ok(checkpoint)
    }

    /// Whether its signature is that of its fields, made with the key it names.
    pub fn is_signed(&self) -> bool {
        let (Ok(form), Ok(key), Ok(signature)) = (
            self.form(),
            hex::decode(&self.key),
            hex::decode(&self.signature),
        ) else {
            return false;
        };
        UnparsedPublicKey::new(&ED25519, key)
            .verify(&form, &signature)
            .is_ok()
    }

    fn form(&self) -> Result<Vec<u8>, CanonicalError> {
        chain::canonical(&Signed {
            seq: self.seq,
            hash: &self.hash,
            at: self.at,
            key: &self.key,
        })
    }

    /// As it stands on a line, without the line's end.
    ///
    /// # Errors
    /// It has no canonical form.
    pub fn line(&self) -> Result<String, CanonicalError> {
        let form = chain::canonical(self)?;
        Ok(String::from_utf8_lossy(&form).into_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whatever_is_changed_breaks_the_signature() {
        let folder = tempfile::tempdir().expect("a folder");
        let (key, _) = Key::open(&folder.path().join("key")).expect("it can be made");
        let (other, _) = Key::open(&folder.path().join("other")).expect("it can be made");
        let at = Timestamp::from_micros(1_795_918_447_000_001);
        let signed = Checkpoint::sign(&Head::genesis(), at, &key).expect("has a form");
        assert!(signed.is_signed());
        let line = signed.line().expect("has a form");
        let read: Checkpoint = serde_json::from_str(&line).expect("can be read");
        assert_eq!(read, signed);
        let forged = |change: fn(&mut Checkpoint, &Key)| {
            let mut forged = signed.clone();
            change(&mut forged, &other);
            forged.is_signed()
        };
        assert!(!forged(|forged, _| forged.seq = 1));
        assert!(!forged(|forged, _| forged.hash.replace_range(..1, "1")));
        assert!(!forged(|forged, _| forged.at = forged.at.plus_ms(1)));
        assert!(!forged(|forged, other| forged.key = other.public()));
        assert!(!forged(|forged, _| forged
            .signature
            .replace_range(..2, "zz")));
        assert!(!forged(|forged, _| forged.signature.clear()));
    }
}
