//! What selects entries of the log: one piece of code builds the condition, for
//! pages, exports and whatever an auditor asks. Times become places in the log,
//! for they never fall along it: so every filter is a walk along one index, from
//! where the answer begins.

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use baton_client::{Generation, HandoverQuery, HolderId, LeaseName, Order, Timestamp};

use super::{
    listing::{BadCursor, page, push_prefix},
    record::HANDOVER_COLUMNS,
    statement::{Arg, Statement},
};

/// A stretch of the log, by `seq`.
#[derive(Debug, Clone, Copy, Default)]
struct Stretch {
    /// What comes after this one.
    after: Option<i64>,
    /// Up to and with this one.
    upto: Option<i64>,
}

/// The entries of a page, and one more if there are more.
pub fn handovers(query: &HandoverQuery) -> Result<Statement, BadCursor> {
    let order = query.order.unwrap_or_default();
    let cursor = query.cursor.as_deref().map(read_seq_cursor).transpose()?;
    let stretch = match order {
        Order::Desc => Stretch {
            after: None,
            upto: cursor.map(|seq| seq - 1),
        },
        Order::Asc => Stretch {
            after: cursor,
            upto: None,
        },
    };
    Ok(select(query, stretch, order, page(query.limit) + 1))
}

/// The last entry of each of these leases.
pub fn last_of<'a>(leases: impl Iterator<Item = &'a LeaseName>) -> Statement {
    let mut statement = Statement::new("select ");
    // One step down the index for each lease, however long its history is.
    statement.push(HANDOVER_COLUMNS).push(
        " from handovers where seq in (select (select max(seq) from handovers where lease = name) \
         from leases where name in (",
    );
    for (i, lease) in leases.enumerate() {
        statement.push(if i == 0 { "" } else { ", " });
        statement.bind(Arg::text(lease));
    }
    statement.push("))");
    statement
}

/// At most `limit` entries that match, oldest first, of those after one `seq` and
/// up to another. How much is read is bounded by that distance.
pub fn stretch(query: &HandoverQuery, after: u64, upto: u64, limit: u64) -> Statement {
    let stretch = Stretch {
        after: Some(after as i64),
        upto: Some(upto as i64),
    };
    select(query, stretch, Order::Asc, limit)
}

/// At most `limit` entries that match, newest first, up to and with a `seq`.
pub fn newest(query: &HandoverQuery, upto: u64, limit: u64) -> Statement {
    let stretch = Stretch {
        after: None,
        upto: Some(upto as i64),
    };
    select(query, stretch, Order::Desc, limit)
}

fn select(query: &HandoverQuery, stretch: Stretch, order: Order, limit: u64) -> Statement {
    let limit = Arg::Int(Some(limit as i64));
    let ordered = match order {
        Order::Desc => " order by seq desc limit ",
        Order::Asc => " order by seq limit ",
    };
    let mut statement = Statement::new("select ");
    statement
        .push(HANDOVER_COLUMNS)
        .push(" from handovers where ");
    match &query.holder {
        None => {
            statement.push("true");
            filter(&mut statement, query, stretch);
        }
        // Either side has an index, and no index has both: the page is among the
        // first of each.
        Some(holder) => {
            let sides = [("seq in (", "holder"), (" union ", "previous_holder")];
            for (open, column) in sides {
                statement
                    .push(open)
                    .push("select seq from (select seq from handovers where ")
                    .push(column)
                    .push(" = ")
                    .bind(Arg::text(holder));
                filter(&mut statement, query, stretch);
                statement
                    .push(ordered)
                    .bind(limit.clone())
                    .push(") as side");
            }
            statement.push(")");
        }
    }
    statement.push(ordered).bind(limit);
    statement
}

fn filter(statement: &mut Statement, query: &HandoverQuery, stretch: Stretch) {
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
    let mut bound = |condition: &str, value: Option<i64>, end: &str| {
        if value.is_some() {
            statement.push(condition).bind(Arg::Int(value)).push(end);
        }
    };
    bound(
        " and seq >= (select seq from handovers where at >= ",
        query.from.map(Timestamp::micros),
        " order by at, seq limit 1)",
    );
    bound(
        " and seq <= (select seq from handovers where at < ",
        query.to.map(Timestamp::micros),
        " order by at desc, seq desc limit 1)",
    );
    bound(" and seq > ", query.after.map(|seq| seq as i64), "");
    bound(" and seq > ", stretch.after, "");
    bound(" and seq <= ", stretch.upto, "");
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

/// What happened to a tenure after its grant, and what ended it, after a `seq`.
pub fn of_tenure(lease: &LeaseName, generation: Generation, after: u64, limit: u64) -> Statement {
    let mut statement = Statement::new("select ");
    statement
        .push(HANDOVER_COLUMNS)
        .push(" from handovers where lease = ")
        .bind(Arg::text(lease))
        .push(" and previous_generation = ")
        .bind(Arg::Int(Some(generation.get() as i64)))
        .push(" and seq > ")
        .bind(Arg::Int(Some(after as i64)))
        .push(" order by seq limit ")
        .bind(Arg::Int(Some(limit as i64)));
    statement
}

/// As [`of_tenure`], of many at once.
pub fn of_tenures<'a>(tenures: impl Iterator<Item = (&'a LeaseName, Generation)>) -> Statement {
    let mut statement = Statement::new("select ");
    statement
        .push(HANDOVER_COLUMNS)
        .push(" from handovers where (lease, previous_generation) in (values ");
    statement.rows(tenures.map(|(lease, generation)| {
        let generation = Arg::Int(Some(generation.get() as i64));
        vec![Arg::text(lease), generation]
    }));
    statement.push(") order by seq");
    statement
}

/// The entries that tell how a holder's tenures went that were open at a time.
pub fn open_at(holder: &HolderId, time: Timestamp) -> Statement {
    let time = Arg::Int(Some(time.micros()));
    let mut statement = Statement::new("select ");
    statement
        .push(HANDOVER_COLUMNS)
        .push(" from handovers where previous_holder = ")
        .bind(Arg::text(holder))
        .push(" and held_until > ")
        .bind(time.clone())
        .push(" and held_from < ")
        .bind(time)
        .push(" order by lease, seq");
    statement
}

/// The grants of a holder, of those after one `seq` and before another, from before
/// a time, that nothing on the same lease had ended by the other.
pub fn open_between(holder: &HolderId, time: Timestamp, after: u64, before: u64) -> Statement {
    let before = Arg::Int(Some(before as i64));
    let mut statement = Statement::new("select ");
    statement
        .push(HANDOVER_COLUMNS)
        .push(" from handovers as begun where holder = ")
        .bind(Arg::text(holder))
        .push(" and event = 'granted' and seq > ")
        .bind(Arg::Int(Some(after as i64)))
        .push(" and seq < ")
        .bind(before.clone())
        .push(" and at < ")
        .bind(Arg::Int(Some(time.micros())))
        .push(
            " and not exists (select 1 from handovers as ended where ended.lease = begun.lease \
             and ended.seq > begun.seq and ended.event in ('granted', 'released', 'forced') \
             and ended.seq < ",
        )
        .bind(before)
        .push(") order by lease");
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

/// The cursor of the page after the one that ends with this entry.
pub fn seq_cursor(seq: u64) -> String {
    URL_SAFE_NO_PAD.encode(seq.to_string())
}

/// The `seq` in a cursor.
pub fn read_seq_cursor(text: &str) -> Result<i64, BadCursor> {
    URL_SAFE_NO_PAD
        .decode(text)
        .ok()
        .and_then(|bytes| String::from_utf8(bytes).ok())
        .and_then(|text| text.parse().ok())
        .filter(|seq| *seq > 0)
        .ok_or(BadCursor)
}
