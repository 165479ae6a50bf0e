//! What selects entries: one piece of code builds the condition.

use baton_client::{AccessEntry, AccessQuery, Order, Timestamp};

use crate::store::{self, Arg, BadCursor, Statement, read_seq_cursor, seq_cursor};

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
        statement.bind(Arg::Int(Some(read_seq_cursor(cursor)?)));
    }
    ordered(&mut statement, order, store::page(query.limit) + 1);
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
    let more = store::cut(items, query.limit);
    let last = items.last().filter(|_| more)?;
    Some(seq_cursor(last.seq))
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
