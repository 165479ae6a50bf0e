//! SQL with its values beside it. Both databases number their placeholders
//! `$1`, `$2` …, so one text serves both wherever their dialects agree. Text
//! is only ever made of pieces that stand in this program; what people send
//! is always a value.

use serde::Serialize;

/// A value for a placeholder.
#[derive(Debug, Clone, PartialEq)]
pub enum Arg {
    /// A whole number or null.
    Int(Option<i64>),
    /// Text or null.
    Text(Option<String>),
    /// A truth value.
    Bool(bool),
}

impl Arg {
    /// Text.
    pub fn text(value: impl ToString) -> Self {
        Self::Text(Some(value.to_string()))
    }

    /// JSON as text, or null.
    pub fn json(value: Option<&impl Serialize>) -> Self {
        // Only maps with keys that are not text fail, and none has such keys.
        Self::Text(value.and_then(|value| serde_json::to_string(value).ok()))
    }
}

/// SQL text and the values of its placeholders.
#[derive(Debug, Clone, Default)]
pub struct Statement {
    /// The text.
    pub sql: String,
    /// The values, `$1` first.
    pub args: Vec<Arg>,
}

impl Statement {
    /// A statement that begins like this.
    pub fn new(sql: &str) -> Self {
        Self {
            sql: sql.to_owned(),
            args: Vec::new(),
        }
    }

    /// Adds a piece of this program's text.
    pub fn push(&mut self, sql: &str) -> &mut Self {
        self.sql.push_str(sql);
        self
    }

    /// Adds a placeholder for a value.
    pub fn bind(&mut self, arg: Arg) -> &mut Self {
        self.args.push(arg);
        self.sql.push('$');
        self.sql.push_str(&self.args.len().to_string());
        self
    }

    /// Adds `($1, $2, …), (…), …`.
    pub fn rows(&mut self, rows: impl IntoIterator<Item = Vec<Arg>>) -> &mut Self {
        for (i, row) in rows.into_iter().enumerate() {
            self.push(if i == 0 { "(" } else { ", (" });
            for (j, arg) in row.into_iter().enumerate() {
                if j > 0 {
                    self.push(", ");
                }
                self.bind(arg);
            }
            self.push(")");
        }
        self
    }
}

/// Binds a statement's values to a query of either database.
macro_rules! bind_all {
    ($query:expr, $args:expr) => {{
        let mut query = $query;
        for arg in $args {
            query = match arg {
                $crate::store::statement::Arg::Int(value) => query.bind(value),
                $crate::store::statement::Arg::Text(value) => query.bind(value),
                $crate::store::statement::Arg::Bool(value) => query.bind(value),
            };
        }
        query
    }};
}
pub(super) use bind_all;
