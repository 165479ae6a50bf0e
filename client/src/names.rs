//! Names and numbers that must not be mixed up, each parsed once at the edge.

use std::{borrow::Borrow, fmt, str::FromStr, sync::Arc};

use serde::{
    Deserialize, Deserializer, Serialize, Serializer,
    de::{self, Visitor},
};

use crate::limits::{HOLDER_CHARS_MAX, LEASE_NAME_CHARS_MAX, NUMBER_MAX};

/// Why a text is not a name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct NameError(String);

/// What a lease is called: 1–200 of `A–Z a–z 0–9 . _ : @ -`, the first one
/// alphanumeric. Ordered by bytes. Cheap to clone.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LeaseName(Arc<str>);

impl LeaseName {
    /// The name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether every character may stand in a lease name. A prefix is made of
    /// these too, but may be empty or start with any of them.
    pub fn allows(text: &str) -> bool {
        text.bytes()
            .all(|b| b.is_ascii_alphanumeric() || b"._:@-".contains(&b))
    }
}

impl FromStr for LeaseName {
    type Err = NameError;

    fn from_str(text: &str) -> Result<Self, NameError> {
        if text.is_empty() || text.len() > LEASE_NAME_CHARS_MAX {
            return Err(NameError(format!(
                "a lease name has 1 to {LEASE_NAME_CHARS_MAX} characters, this one has {}",
                text.chars().count()
            )));
        }
        if !Self::allows(text) {
            return Err(NameError(
                "a lease name is made of A–Z a–z 0–9 . _ : @ - only".into(),
            ));
        }
        if !text.as_bytes()[0].is_ascii_alphanumeric() {
            return Err(NameError(
                "a lease name starts with a letter or a digit".into(),
            ));
        }
        Ok(Self(text.into()))
    }
}

/// Who holds a lease: 1–255 printable characters. Evidence, not authority: make
/// it unique per process. Cheap to clone.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct HolderId(Arc<str>);

impl HolderId {
    /// The holder as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for HolderId {
    type Err = NameError;

    fn from_str(text: &str) -> Result<Self, NameError> {
        let length = text.chars().count();
        if length == 0 || length > HOLDER_CHARS_MAX {
            return Err(NameError(format!(
                "a holder has 1 to {HOLDER_CHARS_MAX} characters, this one has {length}"
            )));
        }
        if text.chars().any(char::is_control) {
            return Err(NameError("a holder has no control characters".into()));
        }
        if text.trim().is_empty() {
            return Err(NameError("a holder is more than blanks".into()));
        }
        Ok(Self(text.into()))
    }
}

macro_rules! text_name {
    ($name:ident) => {
        impl TryFrom<String> for $name {
            type Error = NameError;
            fn try_from(text: String) -> Result<Self, NameError> {
                text.parse()
            }
        }
        // Not by way of a `String`, which would be copied.
        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                struct Text;
                impl Visitor<'_> for Text {
                    type Value = $name;
                    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                        f.write_str("a string")
                    }
                    fn visit_str<E: de::Error>(self, text: &str) -> Result<$name, E> {
                        text.parse().map_err(E::custom)
                    }
                }
                deserializer.deserialize_str(Text)
            }
        }
        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(&self.0)
            }
        }
        impl From<$name> for String {
            fn from(name: $name) -> Self {
                (*name.0).to_owned()
            }
        }
        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }
        impl AsRef<str> for $name {
            fn as_ref(&self) -> &str {
                &self.0
            }
        }
        impl Borrow<str> for $name {
            fn borrow(&self) -> &str {
                &self.0
            }
        }
    };
}

text_name!(LeaseName);
text_name!(HolderId);

/// The fencing token of a lease: at most 2^53 − 1, grows on every change of
/// hands and never on a renewal. 0 stands for "no grant yet".
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(try_from = "u64", into = "u64")]
pub struct Generation(u64);

impl Generation {
    /// Before the first grant.
    pub const ZERO: Self = Self(0);

    /// The number.
    pub fn get(self) -> u64 {
        self.0
    }

    /// The one after this; `None` at the end of the range.
    pub fn next(self) -> Option<Self> {
        Self::try_from(self.0 + 1).ok()
    }
}

impl TryFrom<u64> for Generation {
    type Error = NameError;

    fn try_from(number: u64) -> Result<Self, NameError> {
        if number > NUMBER_MAX {
            return Err(NameError(format!(
                "a generation is at most {NUMBER_MAX}, not {number}"
            )));
        }
        Ok(Self(number))
    }
}

impl From<Generation> for u64 {
    fn from(generation: Generation) -> Self {
        generation.0
    }
}

impl FromStr for Generation {
    type Err = NameError;

    fn from_str(text: &str) -> Result<Self, NameError> {
        let number: u64 = text
            .parse()
            .map_err(|_| NameError(format!("a generation is a whole number, not `{text}`")))?;
        Self::try_from(number)
    }
}

impl fmt::Display for Generation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lease_names_are_checked() {
        for good in ["a", "fleet.manager", "0:x@y-z_", &"a".repeat(200)] {
            assert!(good.parse::<LeaseName>().is_ok(), "{good} is a lease name");
        }
        for bad in ["", ".a", "-a", "a b", "a/b", "ä", "a\0", &"a".repeat(201)] {
            assert!(
                bad.parse::<LeaseName>().is_err(),
                "{bad:?} is no lease name"
            );
        }
    }

    #[test]
    fn holders_are_printable_and_counted_in_scalars() {
        assert!("🦊".repeat(255).parse::<HolderId>().is_ok());
        for bad in ["", "   ", "a\nb", "a\0b", "\u{85}", &"🦊".repeat(256)] {
            assert!(bad.parse::<HolderId>().is_err(), "{bad:?} is no holder");
        }
    }

    #[test]
    fn generations_stay_exact_in_json() {
        assert!(serde_json::from_str::<Generation>("9007199254740991").is_ok());
        for bad in ["9007199254740992", "-1", "1.5", "\"1\""] {
            assert!(serde_json::from_str::<Generation>(bad).is_err(), "{bad}");
        }
    }
}
