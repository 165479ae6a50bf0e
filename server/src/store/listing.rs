//! What selects, orders and pages lists: one piece of code builds the
//! condition, whoever asks.

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use baton_client::{
    Attention, Generation, Handover, HandoverQuery, LeaseName, LeaseQuery, LeaseSort, LeaseState,
    Order, Timestamp, limits::PAGE_DEFAULT,
};
use serde::{Deserialize, Serialize};

use crate::rules::{LeaseRow, view};

use super::{
    backend::Dialect,
    record::{HANDOVER_COLUMNS, LEASE_COLUMNS},
    statement::{Arg, Statement},
};

/// For how long a change of hands counts as recent, in microseconds.
const FLAPPING_WINDOW: i64 = 300_000_000;

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
    let mut statement = Statement::new("select ");
    statement
        .push(LEASE_COLUMNS)
        .push(" from leases where true");
    filter(&mut statement, query, now, dialect);
    let after = query.cursor.as_deref().map(read_lease_cursor).transpose()?;
    if after.as_ref().is_some_and(|cursor| cursor.sort != sort) {
        return Err(BadCursor);
    }
    match sort {
        LeaseSort::Name => {
            if let Some(after) = after {
                statement.push(" and name > ").bind(Arg::text(after.name));
            }
            statement.push(" order by name");
        }
        LeaseSort::Attention => keyset(&mut statement, Key::Attention(now), after, ">"),
        LeaseSort::Expires => keyset(&mut statement, Key::Expires, after, ">"),
        LeaseSort::Changed => keyset(&mut statement, Key::Changed, after, "<"),
    }
    statement
        .push(" limit ")
        .bind(Arg::Int(Some(page(query.limit) as i64 + 1)));
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

/// The entry that moved a lease on from a generation.
pub fn moved(lease: &LeaseName, from: Generation) -> Statement {
    let from = Arg::Int(Some(from.get() as i64));
    let mut statement = Statement::new("select ");
    statement
        .push(HANDOVER_COLUMNS)
        .push(" from handovers where lease = ");
    statement
        .bind(Arg::text(lease))
        .push(" and previous_generation = ");
    statement
        .bind(from.clone())
        .push(" and generation > ")
        .bind(from);
    statement.push(" order by seq limit 1");
    statement
}

/// One entry.
pub fn handover(seq: u64) -> Statement {
    let mut statement = Statement::new("select ");
    statement
        .push(HANDOVER_COLUMNS)
        .push(" from handovers where seq = ");
    statement.bind(Arg::Int(Some(seq as i64)));
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
    push_flapping(&mut statement, now);
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
    if query.attention == Some(true) {
        statement.push(" and ");
        push_attention(statement, now);
        statement.push(" < 4");
    }
}

fn push_prefix(statement: &mut Statement, column: &str, prefix: &str) {
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

fn push_flapping(statement: &mut Statement, now: Timestamp) {
    statement
        .push("sixth_hand_at > ")
        .bind(Arg::Int(Some(now.micros() - FLAPPING_WINDOW)));
}

/// 0 lapsed, 1 flapping, 2 blocked, 3 asked to step down, 4 nothing: as
/// `baton_client::Attention` has it.
fn push_attention(statement: &mut Statement, now: Timestamp) {
    statement.push("(case when ");
    push_lapsed(statement, now);
    statement.push(" then 0 when ");
    push_flapping(statement, now);
    statement.push(" then 1 when blocked_until > ");
    statement.bind(Arg::Int(Some(now.micros())));
    statement.push(" then 2 when step_down is not null then 3 else 4 end)");
}

/// A sort key that is a whole number.
#[derive(Clone, Copy)]
enum Key {
    Attention(Timestamp),
    Expires,
    Changed,
}

impl Key {
    fn push(self, statement: &mut Statement) {
        match self {
            Self::Attention(now) => push_attention(statement, now),
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
        LeaseSort::Attention => match view(last, now).attention() {
            Some(Attention::Lapsed) => 0,
            Some(Attention::Flapping) => 1,
            Some(Attention::Blocked) => 2,
            Some(Attention::SteppingDown) => 3,
            None => 4,
        },
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

/// The entries of a page, and one more if there are more.
pub fn handovers(query: &HandoverQuery) -> Result<Statement, BadCursor> {
    let mut statement = Statement::new("select ");
    statement
        .push(HANDOVER_COLUMNS)
        .push(" from handovers where true");
    handover_filter(&mut statement, query);
    let order = query.order.unwrap_or_default();
    if let Some(cursor) = &query.cursor {
        let seq = read_seq_cursor(cursor)?;
        statement.push(match order {
            Order::Desc => " and seq < ",
            Order::Asc => " and seq > ",
        });
        statement.bind(Arg::Int(Some(seq)));
    }
    statement.push(match order {
        Order::Desc => " order by seq desc limit ",
        Order::Asc => " order by seq limit ",
    });
    statement.bind(Arg::Int(Some(page(query.limit) as i64 + 1)));
    Ok(statement)
}

fn handover_filter(statement: &mut Statement, query: &HandoverQuery) {
    let mut equals = |column: &str, value: Option<String>| {
        if let Some(value) = value {
            statement
                .push(" and ")
                .push(column)
                .push(" = ")
                .bind(Arg::Text(Some(value)));
        }
    };
    equals("lease", query.lease.as_ref().map(ToString::to_string));
    equals("event", query.event.map(|event| event.to_string()));
    equals("actor", query.actor.as_ref().map(ToString::to_string));
    equals("incident", query.incident.clone());
    if let Some(prefix) = &query.prefix {
        push_prefix(statement, "lease", prefix);
    }
    if let Some(holder) = &query.holder {
        statement.push(" and (holder = ").bind(Arg::text(holder));
        statement
            .push(" or previous_holder = ")
            .bind(Arg::text(holder))
            .push(")");
    }
    let mut bound = |condition: &str, value: Option<i64>| {
        if value.is_some() {
            statement.push(condition).bind(Arg::Int(value));
        }
    };
    bound(" and at >= ", query.from.map(Timestamp::micros));
    bound(" and at < ", query.to.map(Timestamp::micros));
    bound(" and seq > ", query.after.map(|seq| seq as i64));
}

/// The cursor of the page after the one that ends with `last`.
pub fn handover_cursor(last: &Handover) -> String {
    URL_SAFE_NO_PAD.encode(last.seq.to_string())
}

fn read_seq_cursor(text: &str) -> Result<i64, BadCursor> {
    URL_SAFE_NO_PAD
        .decode(text)
        .ok()
        .and_then(|bytes| String::from_utf8(bytes).ok())
        .and_then(|text| text.parse().ok())
        .ok_or(BadCursor)
}

/// Cuts a page that was read with one item too many, and says whether there
/// is a next one.
pub fn cut<T>(items: &mut Vec<T>, limit: Option<u64>) -> bool {
    let page = page(limit) as usize;
    let more = items.len() > page;
    items.truncate(page);
    more
}
