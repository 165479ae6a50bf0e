//! SQL with its values beside it. Text is only ever made of pieces that stand in
//! this program; what people send is always a value. A placeholder is a `?`, as
//! SQLite writes it; PostgreSQL gets them numbered. (SQLite takes numbers too, but
//! looks for each of them through all of them.)

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
    /// Bytes or null.
    Bytes(Option<Vec<u8>>),
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
    /// The values, in the order of the placeholders.
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

    /// A statement whose text is whole, with the values of its placeholders.
    pub fn with(sql: &str, args: impl IntoIterator<Item = Arg>) -> Self {
        Self {
            sql: sql.to_owned(),
            args: args.into_iter().collect(),
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
        self.sql.push('?');
        self
    }

    /// Adds `(?, ?, …), (…), …`.
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

    /// The text as PostgreSQL takes it, with `$1`, `$2` … for the placeholders.
    pub fn numbered(&self) -> String {
        let mut text = String::with_capacity(self.sql.len() + 4 * self.args.len());
        for (i, piece) in self.sql.split('?').enumerate() {
            if i > 0 {
                text.push('$');
                text.push_str(&i.to_string());
            }
            text.push_str(piece);
        }
        text
    }
}

/// Binds a statement's values to a query of either database.
macro_rules! bind_all {
    ($query:expr, $args:expr) => {{
        let mut query = $query;
        for arg in $args {
            query = match arg {
                $crate::store::Arg::Int(value) => query.bind(value),
                $crate::store::Arg::Text(value) => query.bind(value),
                $crate::store::Arg::Bool(value) => query.bind(value),
                $crate::store::Arg::Bytes(value) => query.bind(value),
            };
        }
        query
    }};
}
pub(crate) use bind_all;
