//! Who may do what, and who did it.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};

/// What somebody may do. Each role includes the ones before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// Look, and export.
    Viewer,
    /// Acquire, renew and release.
    Holder,
    /// Force a release, ask to step down, pause.
    Operator,
    /// Users, tokens and protection.
    Admin,
}

impl Role {
    /// The word for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Viewer => "viewer",
            Self::Holder => "holder",
            Self::Operator => "operator",
            Self::Admin => "admin",
        }
    }
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for Role {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        [Self::Viewer, Self::Holder, Self::Operator, Self::Admin]
            .into_iter()
            .find(|role| role.as_str() == text)
            .ok_or_else(|| format!("a role is viewer, holder, operator or admin, not `{text}`"))
    }
}

/// Who asked for something that stands in the log.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Actor {
    /// A person, by name.
    User(String),
    /// An API token, by name.
    Token(String),
    /// The server, for its own acts.
    Baton,
}

impl fmt::Display for Actor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::User(name) => write!(f, "user:{name}"),
            Self::Token(name) => write!(f, "token:{name}"),
            Self::Baton => f.write_str("baton"),
        }
    }
}

impl FromStr for Actor {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.split_once(':') {
            Some(("user", name)) => Ok(Self::User(name.to_owned())),
            Some(("token", name)) => Ok(Self::Token(name.to_owned())),
            None if text == "baton" => Ok(Self::Baton),
            _ => Err(format!(
                "an actor is user:NAME, token:NAME or baton, not `{text}`"
            )),
        }
    }
}

impl Serialize for Actor {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Actor {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(D::Error::custom)
    }
}
