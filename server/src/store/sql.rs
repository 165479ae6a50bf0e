//! SQL that both databases understand, letter by letter.

use baton_client::Handover;

use crate::{chain::Head, rules::LeaseRow};

use super::{
    record::{HANDOVER_COLUMNS, LEASE_COLUMNS, handover_args, lease_args},
    statement::{Arg, Statement},
};

/// Earlier grants to the claim `$2` on the lease `$1`.
pub const CLAIMS: &str = "select holder, actor, generation from handovers \
    where lease = $1 and claim_id = $2 and event = 'granted' order by seq";

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
