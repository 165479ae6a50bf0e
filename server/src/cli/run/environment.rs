//! What the command finds in its environment: which tenure it works under, and
//! not the token.

use std::ffi::OsString;

use tokio::process::Command;

/// Variables to set, and to take away.
#[derive(Debug, Clone, Default)]
pub struct Environment {
    variables: Vec<(&'static str, Option<OsString>)>,
}

impl Environment {
    /// Sets a variable, or with `None` takes it away.
    #[must_use]
    pub fn with(mut self, name: &'static str, value: Option<impl Into<OsString>>) -> Self {
        self.variables.push((name, value.map(Into::into)));
        self
    }

    /// Puts it before a program that is about to start.
    pub fn put(&self, command: &mut Command) {
        for (name, value) in &self.variables {
            match value {
                Some(value) => command.env(name, value),
                None => command.env_remove(name),
            };
        }
    }
}
