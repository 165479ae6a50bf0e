//! What selects, orders and pages leases: one piece of code builds the
//! condition, whoever asks. The log's is in [`super::history`].

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use baton_client::{LeaseName, LeaseQuery, LeaseSort, LeaseState, Timestamp, limits::PAGE_DEFAULT};
use serde::{Deserialize, Serialize};

use crate::rules::LeaseRow;

use super::{
    attention,
    backend::Dialect,
    record::LEASE_COLUMNS,
    statement::{Arg, Statement},
};

/// Where a page begins: after this row of the page before.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct LeaseCursor {
    sort: LeaseSort,
    key: i64,
    name: String,
}

/// A cursor that no page of this list gave out.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the cursor does not belong to this list; take `next` of a page with the same sort")]
pub struct BadCursor;

/// The leases of a page, and one more if there are more.
pub fn leases(
    query: &LeaseQuery,
    now: Timestamp,
    dialect: Dialect,
) -> Result<Statement, BadCursor> {
    let sort = query.sort.unwrap_or_default();
    let after = query.cursor.as_deref().map(read_lease_cursor).transpose()?;
    if after.as_ref().is_some_and(|cursor| cursor.sort != sort) {
        return Err(BadCursor);
    }
    let key = match sort {
        LeaseSort::Attention => return by_attention(query, now, dialect, after),
        LeaseSort::Name => None,
        LeaseSort::Expires => Some((Key::Expires, ">")),
        LeaseSort::Changed => Some((Key::Changed, "<")),
    };
    let mut statement = Statement::new("select ");
    statement
        .push(LEASE_COLUMNS)
        .push(" from leases where true");
    filter(&mut statement, query, now, dialect);
    if query.attention == Some(true) {
        statement.push(" and (");
        attention::any(&mut statement, now);
        statement.push(")");
    }
    match key {
        Some((key, past)) => keyset(&mut statement, key, after, past),
        None => {
            if let Some(after) = after {
                statement.push(" and name > ").bind(Arg::text(after.name));
            }
            statement.push(" order by name");
        }
    }
    statement
        .push(" limit ")
        .bind(Arg::Int(Some(page(query.limit) as i64 + 1)));
    Ok(statement)
}

/// The leases of a page in the order of [`attention`]: for each rank so many as
/// a page has, and of these again so many.
fn by_attention(
    query: &LeaseQuery,
    now: Timestamp,
    dialect: Dialect,
    after: Option<LeaseCursor>,
) -> Result<Statement, BadCursor> {
    let limit = Arg::Int(Some(page(query.limit) as i64 + 1));
    let ranks = match query.attention {
        Some(true) => attention::LAPSED..attention::CALM,
        _ => attention::LAPSED..attention::CALM + 1,
    };
    let from = after.as_ref().map_or(ranks.start, |after| after.key);
    // A cursor can be made up.
    if !ranks.contains(&from) {
        return Err(BadCursor);
    }
    let mut statement = Statement::new("select ");
    statement.push(LEASE_COLUMNS).push(" from (");
    for rank in from..ranks.end {
        statement
            .push(if rank == from { "" } else { " union all " })
            .push("select * from (select ")
            .bind(Arg::Int(Some(rank)))
            .push(" as rank, ")
            .push(LEASE_COLUMNS)
            .push(" from leases where ");
        attention::ranks(&mut statement, rank, now);
        filter(&mut statement, query, now, dialect);
        if let Some(after) = after.as_ref().filter(|after| after.key == rank) {
            statement.push(" and name > ").bind(Arg::text(&after.name));
        }
        statement
            .push(" order by ")
            .push(attention::by_name(rank))
            .push(" limit ")
            .bind(limit.clone())
            .push(") as ranked");
    }
    statement
        .push(") as leases order by rank, name limit ")
        .bind(limit);
    Ok(statement)
}

/// One lease with its payload.
pub fn lease(name: &LeaseName) -> Statement {
    let mut statement = Statement::new("select ");
    statement.push(LEASE_COLUMNS);
    statement.push(", payload from leases left join payloads on lease = name where name = ");
    statement.bind(Arg::text(name));
    statement
}

/// How many leases match, in all and by what stands out.
pub fn totals(now: Timestamp) -> Statement {
    let mut statement = Statement::new("select count(*) as total, ");
    statement.push("coalesce(sum(case when holder is null then 1 else 0 end), 0) as free, ");
    statement.push("coalesce(sum(case when ");
    push_lapsed(&mut statement, now);
    statement.push(" then 1 else 0 end), 0) as lapsed, ");
    statement.push("coalesce(sum(case when paused is not null then 1 else 0 end), 0) as paused, ");
    statement.push("coalesce(sum(case when ");
    attention::flapping(&mut statement, now);
    statement.push(" then 1 else 0 end), 0) as flapping from leases");
    statement
}

fn filter(statement: &mut Statement, query: &LeaseQuery, now: Timestamp, dialect: Dialect) {
    if let Some(search) = &query.search {
        for (open, column) in [(" and (", "name"), (" or ", "coalesce(holder, '')")] {
            statement.push(open).push(dialect.position);
            statement.push("(").push(column).push(", ");
            statement.bind(Arg::text(search)).push(") > 0");
        }
        statement.push(")");
    }
    if let Some(prefix) = &query.prefix {
        push_prefix(statement, "name", prefix);
    }
    if let Some(holder) = &query.holder {
        statement.push(" and holder = ").bind(Arg::text(holder));
    }
    match query.state {
        None => {}
        Some(LeaseState::Free) => {
            statement.push(" and holder is null");
        }
        Some(LeaseState::Held) => {
            statement.push(" and expires_at > ");
            statement.bind(Arg::Int(Some(now.micros())));
        }
        Some(LeaseState::Lapsed) => {
            statement.push(" and ");
            push_lapsed(statement, now);
        }
    }
}

/// Adds that a column starts with a prefix.
pub fn push_prefix(statement: &mut Statement, column: &str, prefix: &str) {
    statement
        .push(" and ")
        .push(column)
        .push(" >= ")
        .bind(Arg::text(prefix));
    // Prefixes are ASCII, so the next text that does not start with one is the
    // prefix with its last byte raised.
    let mut end = prefix.as_bytes().to_vec();
    if let Some(last) = end.last_mut() {
        *last += 1;
        let end = String::from_utf8_lossy(&end).into_owned();
        statement
            .push(" and ")
            .push(column)
            .push(" < ")
            .bind(Arg::Text(Some(end)));
    }
}

fn push_lapsed(statement: &mut Statement, now: Timestamp) {
    statement
        .push("expires_at <= ")
        .bind(Arg::Int(Some(now.micros())));
}

/// A sort key that is a whole number.
#[derive(Clone, Copy)]
enum Key {
    Expires,
    Changed,
}

impl Key {
    fn push(self, statement: &mut Statement) {
        match self {
            Self::Expires => {
                statement.push("coalesce(expires_at, 9223372036854775807)");
            }
            Self::Changed => {
                statement.push("changed_at");
            }
        }
    }
}

/// Orders by `key` and then by name, and begins after the cursor.
fn keyset(statement: &mut Statement, key: Key, after: Option<LeaseCursor>, past: &str) {
    if let Some(after) = after {
        statement.push(" and (");
        key.push(statement);
        statement
            .push(" ")
            .push(past)
            .push(" ")
            .bind(Arg::Int(Some(after.key)));
        statement.push(" or (");
        key.push(statement);
        statement.push(" = ").bind(Arg::Int(Some(after.key)));
        statement
            .push(" and name > ")
            .bind(Arg::text(after.name))
            .push("))");
    }
    statement.push(" order by ");
    key.push(statement);
    statement.push(if past == "<" { " desc, name" } else { ", name" });
}

/// The cursor of the page after the one that ends with `last`.
pub fn lease_cursor(query: &LeaseQuery, last: &LeaseRow, now: Timestamp) -> String {
    let sort = query.sort.unwrap_or_default();
    let key = match sort {
        LeaseSort::Name => 0,
        LeaseSort::Attention => attention::rank(last, now),
        LeaseSort::Expires => last
            .tenure
            .as_ref()
            .map_or(i64::MAX, |tenure| tenure.expires_at.micros()),
        LeaseSort::Changed => last.changed_at.micros(),
    };
    let cursor = LeaseCursor {
        sort,
        key,
        name: last.name.to_string(),
    };
    URL_SAFE_NO_PAD.encode(serde_json::to_vec(&cursor).unwrap_or_default())
}

fn read_lease_cursor(text: &str) -> Result<LeaseCursor, BadCursor> {
    let bytes = URL_SAFE_NO_PAD.decode(text).map_err(|_| BadCursor)?;
    let cursor: LeaseCursor = serde_json::from_slice(&bytes).map_err(|_| BadCursor)?;
    // What a database could not even compare was not given out by us.
    if cursor.name.contains('\0') {
        return Err(BadCursor);
    }
    Ok(cursor)
}

/// How many items a page has.
pub fn page(limit: Option<u64>) -> u64 {
    limit.unwrap_or(PAGE_DEFAULT)
}

/// Cuts a page that was read with one item too many, and says whether there
/// is a next one.
pub fn cut<T>(items: &mut Vec<T>, limit: Option<u64>) -> bool {
    let page = page(limit) as usize;
    let more = items.len() > page;
    items.truncate(page);
    more
}
