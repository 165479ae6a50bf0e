//! What selects entries: one piece of code builds the condition.

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use baton_client::{AccessEntry, AccessQuery, Order, Timestamp, limits::PAGE_DEFAULT};

use crate::store::{Arg, BadCursor, Statement};

use super::entry::COLUMNS;

/// The entries of a page, and one more if there are more.
pub fn page(query: &AccessQuery) -> Result<Statement, BadCursor> {
    let order = query.order.unwrap_or_default();
    let mut statement = filtered(query);
    if let Some(cursor) = &query.cursor {
        statement.push(match order {
            Order::Desc => " and seq < ",
            Order::Asc => " and seq > ",
        });
        statement.bind(Arg::Int(Some(read_cursor(cursor)?)));
    }
    ordered(&mut statement, order, limit(query) + 1);
    Ok(statement)
}

/// At most `limit` entries that match, oldest first, of those after one `seq` and
/// up to another.
pub fn stretch(query: &AccessQuery, after: u64, upto: u64, limit: u64) -> Statement {
    let mut statement = filtered(query);
    for (condition, seq) in [(" and seq > ", after), (" and seq <= ", upto)] {
        statement.push(condition).bind(Arg::Int(Some(seq as i64)));
    }
    ordered(&mut statement, Order::Asc, limit);
    statement
}

/// Cuts a page that was read with one entry too many, and gives the cursor of the
/// next one.
pub fn cut(items: &mut Vec<AccessEntry>, query: &AccessQuery) -> Option<String> {
    let limit = limit(query) as usize;
    let more = items.len() > limit;
    items.truncate(limit);
    let last = items.last().filter(|_| more)?;
    Some(URL_SAFE_NO_PAD.encode(last.seq.to_string()))
}

fn limit(query: &AccessQuery) -> u64 {
    query.limit.unwrap_or(PAGE_DEFAULT)
}

fn ordered(statement: &mut Statement, order: Order, limit: u64) {
    statement.push(match order {
        Order::Desc => " order by seq desc limit ",
        Order::Asc => " order by seq limit ",
    });
    statement.bind(Arg::Int(Some(limit as i64)));
}

fn filtered(query: &AccessQuery) -> Statement {
    let mut statement = Statement::new("select ");
    statement.push(COLUMNS).push(" from access_log where true");
    let equals = [
        (" and event = ", query.event.map(|event| event.to_string())),
        (
            " and actor = ",
            query.actor.as_ref().map(ToString::to_string),
        ),
        (" and actor_address = ", query.address.clone()),
        (" and subject = ", query.subject.clone()),
    ];
    for (condition, value) in equals {
        if value.is_some() {
            statement.push(condition).bind(Arg::Text(value));
        }
    }
    let bounds = [
        (" and at >= ", query.from.map(Timestamp::micros)),
        (" and at < ", query.to.map(Timestamp::micros)),
        (" and seq > ", query.after.map(|seq| seq as i64)),
    ];
    for (condition, value) in bounds {
        if value.is_some() {
            statement.push(condition).bind(Arg::Int(value));
        }
    }
    statement
}

fn read_cursor(text: &str) -> Result<i64, BadCursor> {
    URL_SAFE_NO_PAD
        .decode(text)
        .ok()
        .and_then(|bytes| String::from_utf8(bytes).ok())
        .and_then(|text| text.parse().ok())
        .ok_or(BadCursor)
}
