//! SQL that both databases understand, letter by letter.

use baton_client::{Generation, Handover, LeaseName, Timestamp};

use crate::{
    chain::Head,
    rules::{LeaseRow, keeping::Seen},
};

use super::{
    record::{HANDOVER_COLUMNS, LEASE_COLUMNS, handover_args, lease_args},
    statement::{Arg, Statement},
};

/// How many values one claim takes: a statement about one stays prepared, those
/// about more are of any length.
pub const CLAIM_ARGS: usize = 2;

/// Earlier grants to claims on leases. SQLite reads tables that are joined so in the
/// order in which they stand, and each claim finds its grants by an index.
pub fn claims(asked: &[(LeaseName, String)]) -> Statement {
    let mut select = Statement::new("with asked (lease, claim_id) as (values ");
    select.rows(
        asked
            .iter()
            .map(|(lease, claim_id)| vec![Arg::text(lease), Arg::text(claim_id)]),
    );
    select.push(
        ") select handovers.lease, handovers.claim_id, handovers.holder, actor, generation \
        from asked cross join handovers \
        where handovers.lease = asked.lease and handovers.claim_id = asked.claim_id \
        and event = 'granted' order by seq",
    );
    select
}

/// Inserts leases, or writes them whole over what is there.
pub fn save_leases(rows: &[&LeaseRow]) -> Statement {
    let mut upsert = Statement::new("insert into leases (");
    upsert.push(LEASE_COLUMNS).push(") values ");
    upsert.rows(rows.iter().map(|row| lease_args(row)));
    upsert.push(" on conflict (name) do update set ");
    for (i, column) in LEASE_COLUMNS.split(", ").skip(1).enumerate() {
        upsert.push(if i == 0 { "" } else { ", " });
        upsert.push(column).push(" = excluded.").push(column);
    }
    upsert
}

/// Writes a lease's payload, or that it has none.
pub fn save_payload(row: &LeaseRow) -> Statement {
    match &row.payload {
        Some(payload) => {
            let mut upsert = Statement::new("insert into payloads (lease, payload) values ");
            upsert.rows([vec![Arg::text(&row.name), Arg::text(payload.get())]]);
            upsert.push(" on conflict (lease) do update set payload = excluded.payload");
            upsert
        }
        None => {
            let mut delete = Statement::new("delete from payloads where lease = ");
            delete.bind(Arg::text(&row.name));
            delete
        }
    }
}

/// Adds entries to the log.
pub fn append_handovers(entries: &[Handover]) -> Statement {
    let mut insert = Statement::new("insert into handovers (");
    insert.push(HANDOVER_COLUMNS).push(") values ");
    insert.rows(entries.iter().map(handover_args));
    insert
}

/// An entry of the log that no log has.
pub fn below_the_first() -> Statement {
    let mut select = Statement::new("select ");
    select.push(HANDOVER_COLUMNS);
    select.push(" from handovers where seq < 1 limit 1");
    select
}

/// Moves the log's end.
pub fn move_head(head: &Head) -> Statement {
    let mut update = Statement::new("update log_head set seq = ");
    update.bind(Arg::Int(Some(head.seq as i64)));
    update
        .push(", at = ")
        .bind(Arg::Int(Some(head.at.micros())));
    update.push(", hash = ").bind(Arg::text(&head.hash));
    update
}

/// Moves the floor of new generations.
pub fn move_floor(floor: Generation) -> Statement {
    let mut update = Statement::new("update log_head set floor = ");
    update.bind(Arg::Int(Some(floor.get() as i64)));
    update
}

/// Notes the checkpoint that is ahead of the log, or that there is none.
pub fn note_behind(behind: Option<&Seen>) -> Statement {
    let mut update = Statement::new("update log_head set behind_seq = ");
    update.bind(Arg::Int(behind.map(|seen| seen.seq as i64)));
    update
        .push(", behind_hash = ")
        .bind(Arg::Text(behind.map(|seen| seen.hash.clone())));
    update
}

/// Drops the payloads of leases.
pub fn drop_payloads(names: &[LeaseName]) -> Statement {
    delete_named("delete from payloads where lease in (", names)
}

/// Drops leases. Their payloads are gone before.
pub fn drop_leases(names: &[LeaseName]) -> Statement {
    delete_named("delete from leases where name in (", names)
}

fn delete_named(start: &str, names: &[LeaseName]) -> Statement {
    let mut delete = Statement::new(start);
    for (i, name) in names.iter().enumerate() {
        delete.push(if i == 0 { "" } else { ", " });
        delete.bind(Arg::text(name));
    }
    delete.push(")");
    delete
}

/// The leases after `after` by name, as many as fit one step.
pub fn leases_after(after: Option<&LeaseName>, limit: usize) -> Statement {
    let mut select = Statement::new("select ");
    select
        .push(LEASE_COLUMNS)
        .push(" from leases where name > ");
    select.bind(Arg::text(after.map_or("", LeaseName::as_str)));
    select.push(" order by name limit ");
    select.bind(Arg::Int(Some(limit as i64)));
    select
}

/// Leases that may have been idle since `since`, in the order of their last
/// change, after the one that is given by its change and name.
pub fn idle_leases(
    since: Timestamp,
    after: Option<&(Timestamp, LeaseName)>,
    limit: usize,
) -> Statement {
    let micros = |at: Timestamp| Arg::Int(Some(at.micros()));
    let mut select = Statement::new("select ");
    select
        .push(LEASE_COLUMNS)
        .push(" from leases where changed_at <= ")
        .bind(micros(since));
    // What only a while would tell is left to the rules.
    select.push(" and (holder is null or lapsed) and paused is null and not protected");
    if let Some((changed_at, name)) = after {
        select
            .push(" and (changed_at, name) > (")
            .bind(micros(*changed_at));
        select.push(", ").bind(Arg::text(name)).push(")");
    }
    select.push(" order by changed_at, name limit ");
    select.bind(Arg::Int(Some(limit as i64)));
    select
}

/// Notes up to where the log was archived.
pub fn note_archived(seq: u64) -> Statement {
    let mut update = Statement::new("update log_head set archived_seq = ");
    update.bind(Arg::Int(Some(seq as i64)));
    update
}

/// The last entry from before a time.
pub fn last_before(at: Timestamp) -> Statement {
    let mut select = Statement::new("select ");
    select
        .push(HANDOVER_COLUMNS)
        .push(" from handovers where at < ");
    select.bind(Arg::Int(Some(at.micros())));
    select.push(" order by at desc, seq desc limit 1");
    select
}
