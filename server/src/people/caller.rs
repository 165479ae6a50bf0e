//! Who is asking, once their token or session has been recognised.

use baton_client::{Actor, Role};

/// Who is asking. Shared between the requests of one token, so that a request
/// copies no text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Caller {
    kind: Kind,
    /// What it may do; nothing, for a stranger where reading needs a sign-in.
    role: Option<Role>,
}

/// What kind of caller it is, and so how it came: people by a session's cookie,
/// programs by a bearer token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Kind {
    /// A person, signed in on the page.
    User {
        /// The row, for sessions.
        id: String,
        /// The name in the log.
        name: String,
    },
    /// A program with an API token.
    Token {
        /// The row; a rotated token keeps it.
        id: String,
        /// The name in the log, which tenures are bound to.
        name: String,
        /// What the names of leases that it changes start with; none: any.
        prefixes: Vec<String>,
    },
    /// Nobody has said who it is.
    Anonymous,
}

impl Caller {
    /// Somebody without token and session, who may read if `reading` says so.
    pub const fn anonymous(reading: bool) -> Self {
        Self {
            kind: Kind::Anonymous,
            role: if reading { Some(Role::Viewer) } else { None },
        }
    }

    /// A person.
    pub fn user(id: impl Into<String>, name: impl Into<String>, role: Role) -> Self {
        let (id, name) = (id.into(), name.into());
        Self {
            kind: Kind::User { id, name },
            role: Some(role),
        }
    }

    /// A program.
    pub fn token(
        id: impl Into<String>,
        name: impl Into<String>,
        role: Role,
        prefixes: Vec<String>,
    ) -> Self {
        Self {
            kind: Kind::Token {
                id: id.into(),
                name: name.into(),
                prefixes,
            },
            role: Some(role),
        }
    }

    /// What kind of caller it is.
    pub fn kind(&self) -> &Kind {
        &self.kind
    }

    /// What it may do; `None` for a stranger who may do nothing.
    pub fn role(&self) -> Option<Role> {
        self.role
    }

    /// The name of a person or a token.
    pub fn name(&self) -> Option<&str> {
        match &self.kind {
            Kind::User { name, .. } | Kind::Token { name, .. } => Some(name),
            Kind::Anonymous => None,
        }
    }

    /// Whether nobody has said who it is.
    pub fn is_anonymous(&self) -> bool {
        self.kind == Kind::Anonymous
    }

    /// Who it is in the log. `None` for strangers: they change nothing.
    pub fn actor(&self) -> Option<Actor> {
        match &self.kind {
            Kind::User { name, .. } => Some(Actor::User(name.clone())),
            Kind::Token { name, .. } => Some(Actor::Token(name.clone())),
            Kind::Anonymous => None,
        }
    }
}
