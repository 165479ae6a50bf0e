//! How rows stand in the tables: the same columns, in the same order, on both
//! databases. Everything that is read back was written by the rules, so what
//! cannot be read is a damaged database and says so.

use baton_client::{
    Barred, Generation, Handover, HolderId, LeaseName, Paused, RawJson, Reserved, Timestamp,
};
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use sqlx::{Column, ColumnIndex, Decode, FromRow, Row, Type};

use crate::{
    chain::Head,
    rules::{Blocked, LastEnd, LeaseRow, PendingStepDown, Tenure, keeping::Seen},
};

use super::{backend::End, statement::Arg};

/// The columns of `leases`, in the order of [`lease_args`] and [`LeaseRecord`].
pub const LEASE_COLUMNS: &str = "name, generation, holder, token, claim_id, granted_at, \
    renewed_at, expires_at, ttl_ms, grace_ms, status, lapsed, last_end, attempt, principal, \
    protected, step_down, step_down_deadline, paused, barred, reserved, hands, sixth_hand_at, \
    changed_at, blocked, blocked_until";

/// How many they are; what else a statement selects follows them.
const LEASE_COLUMN_COUNT: usize = 26;

/// The columns of `handovers`, in the order of [`handover_args`].
pub const HANDOVER_COLUMNS: &str = "seq, at, lease, event, generation, holder, \
    previous_generation, previous_holder, held_from, held_until, reason, incident, actor, \
    actor_address, request_id, details, prev_hash, hash, claim_id";

/// A changed lease flaps from this many recent changes of hands on.
const FLAPPING_FROM: usize = baton_client::Lease::FLAPPING_FROM as usize;

/// What a column holds that no version of Baton wrote.
#[derive(Debug, thiserror::Error)]
#[error("the database holds `{value}` in {column}, which Baton did not write: {why}")]
pub struct Damaged {
    column: &'static str,
    value: String,
    why: String,
}

impl From<Damaged> for sqlx::Error {
    fn from(damaged: Damaged) -> Self {
        Self::Decode(Box::new(damaged))
    }
}

/// A row of `leases`, and its payload where that was joined.
#[derive(Debug)]
pub struct LeaseRecord {
    name: String,
    generation: i64,
    holder: Option<String>,
    token: Option<String>,
    claim_id: Option<String>,
    granted_at: Option<i64>,
    renewed_at: Option<i64>,
    expires_at: Option<i64>,
    ttl_ms: Option<i64>,
    grace_ms: Option<i64>,
    status: Option<String>,
    lapsed: bool,
    last_end: Option<String>,
    attempt: i64,
    principal: Option<String>,
    protected: bool,
    step_down: Option<String>,
    paused: Option<String>,
    barred: Option<String>,
    reserved: Option<String>,
    hands: String,
    changed_at: i64,
    blocked: Option<String>,
    blocked_until: Option<i64>,
    payload: Option<String>,
}

/// By place and not by name: a batch reads a thousand of them.
impl<'r, R: Row> FromRow<'r, R> for LeaseRecord
where
    usize: ColumnIndex<R>,
    String: Decode<'r, R::Database> + Type<R::Database>,
    i64: Decode<'r, R::Database> + Type<R::Database>,
    bool: Decode<'r, R::Database> + Type<R::Database>,
{
    fn from_row(row: &'r R) -> sqlx::Result<Self> {
        Ok(Self {
            name: row.try_get(0)?,
            generation: row.try_get(1)?,
            holder: row.try_get(2)?,
            token: row.try_get(3)?,
            claim_id: row.try_get(4)?,
            granted_at: row.try_get(5)?,
            renewed_at: row.try_get(6)?,
            expires_at: row.try_get(7)?,
            ttl_ms: row.try_get(8)?,
            grace_ms: row.try_get(9)?,
            status: row.try_get(10)?,
            lapsed: row.try_get(11)?,
            last_end: row.try_get(12)?,
            attempt: row.try_get(13)?,
            principal: row.try_get(14)?,
            protected: row.try_get(15)?,
            step_down: row.try_get(16)?,
            // 17 is the step-down's deadline, which is in it.
            paused: row.try_get(18)?,
            barred: row.try_get(19)?,
            reserved: row.try_get(20)?,
            hands: row.try_get(21)?,
            // 22 is one of the hands.
            changed_at: row.try_get(23)?,
            blocked: row.try_get(24)?,
            blocked_until: row.try_get(25)?,
            payload: match row.columns().get(LEASE_COLUMN_COUNT) {
                Some(column) if column.name() == "payload" => row.try_get(LEASE_COLUMN_COUNT)?,
                _ => None,
            },
        })
    }
}

/// How a step-down stands in its column.
#[derive(Serialize, Deserialize)]
struct StepDownColumn {
    at: Timestamp,
    deadline: Timestamp,
    actor: baton_client::Actor,
    reason: String,
    incident: Option<String>,
    successor: Option<HolderId>,
    reserve_ms: Option<u64>,
}

impl TryFrom<LeaseRecord> for LeaseRow {
    type Error = Damaged;

    fn try_from(record: LeaseRecord) -> Result<Self, Damaged> {
        let tenure = match record.holder {
            None => None,
            Some(holder) => Some(Tenure {
                holder: parse("leases.holder", holder)?,
                token: record.token.unwrap_or_default(),
                claim_id: record.claim_id,
                granted_at: time(record.granted_at.unwrap_or_default()),
                renewed_at: time(record.renewed_at.unwrap_or_default()),
                expires_at: time(record.expires_at.unwrap_or_default()),
                ttl_ms: record.ttl_ms.unwrap_or_default().unsigned_abs(),
                grace_ms: record.grace_ms.unwrap_or_default().unsigned_abs(),
                status: raw("leases.status", record.status)?,
                lapsed: record.lapsed,
            }),
        };
        let step_down: Option<StepDownColumn> = json("leases.step_down", record.step_down)?;
        let hands: Vec<i64> = match record.hands.as_str() {
            "[]" => Vec::new(),
            _ => json("leases.hands", Some(record.hands))?.unwrap_or_default(),
        };
        Ok(Self {
            name: parse("leases.name", record.name)?,
            generation: generation("leases.generation", record.generation)?,
            tenure,
            last_end: match record.last_end.as_deref() {
                None => None,
                Some("released") => Some(LastEnd::Released),
                Some("forced") => Some(LastEnd::Forced),
                Some(other) => return Err(damaged("leases.last_end", other, "unknown word")),
            },
            attempt: record.attempt.unsigned_abs(),
            principal: record.principal,
            payload: read_payload(record.payload)?,
            step_down: step_down.map(|asked| PendingStepDown {
                at: asked.at,
                deadline: asked.deadline,
                actor: asked.actor,
                reason: asked.reason,
                incident: asked.incident,
                successor: asked.successor.zip(asked.reserve_ms),
            }),
            paused: json::<Paused>("leases.paused", record.paused)?,
            barred: json::<Barred>("leases.barred", record.barred)?,
            reserved: json::<Reserved>("leases.reserved", record.reserved)?,
            protected: record.protected,
            hands: hands.into_iter().map(time).collect(),
            changed_at: time(record.changed_at),
            blocked: record
                .blocked
                .zip(record.blocked_until)
                .map(|(by, until)| Blocked {
                    by,
                    until: time(until),
                }),
        })
    }
}

/// The values of a row of `leases`, in the order of [`LEASE_COLUMNS`].
pub fn lease_args(row: &LeaseRow) -> Vec<Arg> {
    let tenure = row.tenure.as_ref();
    let int = |value: Option<u64>| Arg::Int(value.map(|value| value as i64));
    let at = |value: Option<Timestamp>| Arg::Int(value.map(Timestamp::micros));
    let step_down = row.step_down.as_ref().map(|asked| StepDownColumn {
        at: asked.at,
        deadline: asked.deadline,
        actor: asked.actor.clone(),
        reason: asked.reason.clone(),
        incident: asked.incident.clone(),
        successor: asked.successor.as_ref().map(|(holder, _)| holder.clone()),
        reserve_ms: asked.successor.as_ref().map(|(_, ms)| *ms),
    });
    let hands: Vec<i64> = row.hands.iter().map(|at| at.micros()).collect();
    let sixth = row.hands.len().checked_sub(FLAPPING_FROM);
    vec![
        Arg::text(&row.name),
        int(Some(row.generation.get())),
        Arg::Text(tenure.map(|tenure| tenure.holder.to_string())),
        Arg::Text(tenure.map(|tenure| tenure.token.clone())),
        Arg::Text(tenure.and_then(|tenure| tenure.claim_id.clone())),
        at(tenure.map(|tenure| tenure.granted_at)),
        at(tenure.map(|tenure| tenure.renewed_at)),
        at(tenure.map(|tenure| tenure.expires_at)),
        int(tenure.map(|tenure| tenure.ttl_ms)),
        int(tenure.map(|tenure| tenure.grace_ms)),
        Arg::Text(status_text(row)),
        Arg::Bool(tenure.is_some_and(|tenure| tenure.lapsed)),
        Arg::Text(row.last_end.map(|end| {
            match end {
                LastEnd::Released => "released",
                LastEnd::Forced => "forced",
            }
            .to_owned()
        })),
        int(Some(row.attempt)),
        Arg::Text(row.principal.clone()),
        Arg::Bool(row.protected),
        Arg::json(step_down.as_ref()),
        at(row.step_down.as_ref().map(|asked| asked.deadline)),
        Arg::json(row.paused.as_ref()),
        Arg::json(row.barred.as_ref()),
        Arg::json(row.reserved.as_ref()),
        Arg::json(Some(&hands)),
        at(sixth.map(|i| row.hands[i])),
        at(Some(row.changed_at)),
        Arg::Text(row.blocked.as_ref().map(|blocked| blocked.by.clone())),
        at(row.blocked.as_ref().map(|blocked| blocked.until)),
    ]
}

/// The status as it stands in its column.
fn status_text(row: &LeaseRow) -> Option<String> {
    let status = row.tenure.as_ref()?.status.as_ref()?;
    Some(status.get().to_owned())
}

/// A row of `handovers`.
#[derive(Debug, FromRow)]
pub struct HandoverRecord {
    seq: i64,
    at: i64,
    lease: Option<String>,
    event: String,
    generation: i64,
    holder: Option<String>,
    previous_generation: i64,
    previous_holder: Option<String>,
    held_from: Option<i64>,
    held_until: Option<i64>,
    reason: String,
    incident: Option<String>,
    actor: String,
    actor_address: Option<String>,
    request_id: Option<String>,
    details: String,
    prev_hash: String,
    hash: String,
}

impl TryFrom<HandoverRecord> for Handover {
    type Error = Damaged;

    fn try_from(record: HandoverRecord) -> Result<Self, Damaged> {
        let name = |lease| parse::<LeaseName>("handovers.lease", lease);
        let holder = |holder| parse::<HolderId>("handovers.holder", holder);
        Ok(Self {
            seq: record.seq.unsigned_abs(),
            at: time(record.at),
            lease: record.lease.map(name).transpose()?,
            event: parse("handovers.event", record.event)?,
            generation: generation("handovers.generation", record.generation)?,
            holder: record.holder.map(holder).transpose()?,
            previous_generation: generation(
                "handovers.previous_generation",
                record.previous_generation,
            )?,
            previous_holder: record.previous_holder.map(holder).transpose()?,
            held_from: record.held_from.map(time),
            held_until: record.held_until.map(time),
            reason: record.reason,
            incident: record.incident,
            actor: parse("handovers.actor", record.actor)?,
            actor_address: record.actor_address,
            request_id: record.request_id,
            details: json("handovers.details", Some(record.details))?.unwrap_or_default(),
            prev_hash: record.prev_hash,
            hash: record.hash,
        })
    }
}

/// The values of a row of `handovers`, in the order of [`HANDOVER_COLUMNS`].
pub fn handover_args(entry: &Handover) -> Vec<Arg> {
    let at = |value: Option<Timestamp>| Arg::Int(value.map(Timestamp::micros));
    let claim_id = entry.details.get("claim_id").and_then(|id| id.as_str());
    vec![
        Arg::Int(Some(entry.seq as i64)),
        at(Some(entry.at)),
        Arg::Text(entry.lease.as_ref().map(ToString::to_string)),
        Arg::text(entry.event),
        Arg::Int(Some(entry.generation.get() as i64)),
        Arg::Text(entry.holder.as_ref().map(ToString::to_string)),
        Arg::Int(Some(entry.previous_generation.get() as i64)),
        Arg::Text(entry.previous_holder.as_ref().map(ToString::to_string)),
        at(entry.held_from),
        at(entry.held_until),
        Arg::text(&entry.reason),
        Arg::Text(entry.incident.clone()),
        Arg::text(&entry.actor),
        Arg::Text(entry.actor_address.clone()),
        Arg::Text(entry.request_id.clone()),
        Arg::json(Some(&entry.details)),
        Arg::text(&entry.prev_hash),
        Arg::text(&entry.hash),
        Arg::Text(claim_id.map(ToOwned::to_owned)),
    ]
}

/// The row of `log_head`.
#[derive(Debug, FromRow)]
pub struct HeadRecord {
    seq: i64,
    at: i64,
    hash: String,
    floor: i64,
    behind_seq: Option<i64>,
    behind_hash: Option<String>,
    archived_seq: i64,
}

/// The columns of [`HeadRecord`].
pub const HEAD_COLUMNS: &str = "seq, at, hash, floor, behind_seq, behind_hash, archived_seq";

impl TryFrom<HeadRecord> for End {
    type Error = Damaged;

    fn try_from(record: HeadRecord) -> Result<Self, Damaged> {
        let behind = record.behind_seq.zip(record.behind_hash);
        Ok(Self {
            head: Head {
                seq: record.seq.unsigned_abs(),
                at: time(record.at),
                hash: record.hash,
            },
            floor: generation("log_head.floor", record.floor)?,
            behind: behind.map(|(seq, hash)| Seen {
                seq: seq.unsigned_abs(),
                hash,
            }),
            archived: record.archived_seq.unsigned_abs(),
        })
    }
}

/// An earlier grant to a claim.
#[derive(Debug, Clone, FromRow)]
pub struct ClaimRecord {
    /// Which lease.
    pub lease: String,
    /// What it was claimed by.
    pub claim_id: String,
    /// Who it was granted to.
    pub holder: Option<String>,
    /// Who asked.
    pub actor: String,
    /// What was granted.
    pub generation: i64,
}

/// Numbers of leases.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, FromRow)]
pub struct TotalsRecord {
    /// All.
    pub total: i64,
    /// Without a holder.
    pub free: i64,
    /// Past their expiry.
    pub lapsed: i64,
    /// Nobody can acquire.
    pub paused: i64,
    /// Changing hands again and again.
    pub flapping: i64,
}

/// Reads rows as what they stand for.
pub fn read_all<R, T: TryFrom<R, Error = Damaged>>(records: Vec<R>) -> sqlx::Result<Vec<T>> {
    let read: Result<_, Damaged> = records.into_iter().map(T::try_from).collect();
    Ok(read?)
}

/// Reads a payload.
pub fn read_payload(payload: Option<String>) -> Result<Option<RawJson>, Damaged> {
    raw("payloads.payload", payload)
}

/// Reads a column of lease names.
pub fn parse_names(names: Vec<String>) -> sqlx::Result<Vec<LeaseName>> {
    let read: Result<_, Damaged> = names
        .into_iter()
        .map(|name| parse("leases.name", name))
        .collect();
    Ok(read?)
}

fn time(micros: i64) -> Timestamp {
    Timestamp::from_micros(micros)
}

fn generation(column: &'static str, value: i64) -> Result<Generation, Damaged> {
    u64::try_from(value)
        .ok()
        .and_then(|value| Generation::try_from(value).ok())
        .ok_or_else(|| damaged(column, &value.to_string(), "not a generation"))
}

fn parse<T>(column: &'static str, value: String) -> Result<T, Damaged>
where
    T: std::str::FromStr,
    T::Err: ToString,
{
    value
        .parse()
        .map_err(|why: T::Err| damaged(column, &value, &why.to_string()))
}

fn json<T: DeserializeOwned>(
    column: &'static str,
    value: Option<String>,
) -> Result<Option<T>, Damaged> {
    let Some(value) = value else { return Ok(None) };
    serde_json::from_str(&value)
        .map(Some)
        .map_err(|why| damaged(column, &value, &why.to_string()))
}

fn raw(column: &'static str, value: Option<String>) -> Result<Option<RawJson>, Damaged> {
    let Some(value) = value else { return Ok(None) };
    serde_json::value::RawValue::from_string(value)
        .map(Some)
        .map_err(|why| damaged(column, "…", &why.to_string()))
}

fn damaged(column: &'static str, value: &str, why: &str) -> Damaged {
    Damaged {
        column,
        value: value.chars().take(80).collect(),
        why: why.to_owned(),
    }
}
