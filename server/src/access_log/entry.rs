//! Entries before and after they have their place, and how they stand in rows.

use baton_client::{AccessEntry, AccessEvent, Actor, Timestamp};
use serde_json::{Map, Value};
use sha2::{Digest as _, Sha256};
use sqlx::FromRow;

use crate::{
    chain::{CanonicalError, canonical},
    rules::Asker,
    store::{Arg, Statement},
};

/// The columns, in the order of [`AccessRecord`] and [`insert`].
pub const COLUMNS: &str = "seq, at, event, actor, actor_address, request_id, subject, details, \
    prev_hash, hash";

/// All of an entry but its place.
#[derive(Debug, Clone, PartialEq)]
pub struct Draft {
    /// What happened.
    pub event: AccessEvent,
    /// Who did it, or tried to.
    pub actor: Option<Actor>,
    /// From where.
    pub address: Option<String>,
    /// The server's id of the request.
    pub request_id: Option<String>,
    /// Whom or what it is about.
    pub subject: Option<String>,
    /// Fixed keys per event.
    pub details: Map<String, Value>,
}

impl Draft {
    /// Something that somebody did.
    pub fn new(event: AccessEvent, asker: &Asker, subject: Option<&str>, details: Value) -> Self {
        Self {
            event,
            actor: Some(asker.actor.clone()),
            address: asker.address.clone(),
            request_id: asker.request_id.clone(),
            subject: subject.map(ToOwned::to_owned),
            details: match details {
                Value::Object(details) => details,
                _ => Map::new(),
            },
        }
    }
}

/// The end of the chain, which the next entry follows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tip {
    /// The last entry's `seq`; 0 before the first.
    pub seq: u64,
    /// The last entry's time.
    pub at: Timestamp,
    /// The last entry's hash.
    pub hash: String,
}

impl Tip {
    /// Gives `draft` the next place in the chain, and moves the end there.
    ///
    /// # Errors
    /// The entry has no canonical form.
    pub fn seal(&mut self, draft: &Draft, now: Timestamp) -> Result<AccessEntry, CanonicalError> {
        let mut entry = AccessEntry {
            seq: self.seq + 1,
            at: now.max(self.at),
            event: draft.event,
            actor: draft.actor.clone(),
            actor_address: draft.address.clone(),
            request_id: draft.request_id.clone(),
            subject: draft.subject.clone(),
            details: draft.details.clone(),
            prev_hash: self.hash.clone(),
            hash: String::new(),
        };
        entry.hash = hash(&entry)?;
        self.seq = entry.seq;
        self.at = entry.at;
        self.hash.clone_from(&entry.hash);
        Ok(entry)
    }
}

/// The hash that an entry must carry: SHA-256, in lower-case hex, over the RFC
/// 8785 form of all its fields but `hash`.
///
/// # Errors
/// The entry has no canonical form.
pub fn hash(entry: &AccessEntry) -> Result<String, CanonicalError> {
    let mut value = serde_json::to_value(entry)?;
    if let Some(fields) = value.as_object_mut() {
        fields.remove("hash");
    }
    Ok(hex::encode(Sha256::digest(canonical(&value)?)))
}

/// The row of `access_head`.
#[derive(Debug, FromRow)]
pub struct TipRecord {
    seq: i64,
    at: i64,
    hash: String,
}

impl From<TipRecord> for Tip {
    fn from(record: TipRecord) -> Self {
        Self {
            seq: record.seq.unsigned_abs(),
            at: Timestamp::from_micros(record.at),
            hash: record.hash,
        }
    }
}

/// A row of `access_log`.
#[derive(Debug, FromRow)]
pub struct AccessRecord {
    seq: i64,
    at: i64,
    event: String,
    actor: Option<String>,
    actor_address: Option<String>,
    request_id: Option<String>,
    subject: Option<String>,
    details: String,
    prev_hash: String,
    hash: String,
}

/// What a column holds that no version of Baton wrote.
fn damaged(why: impl std::fmt::Display) -> sqlx::Error {
    sqlx::Error::Decode(format!("the access log holds what Baton did not write: {why}").into())
}

impl TryFrom<AccessRecord> for AccessEntry {
    type Error = sqlx::Error;

    fn try_from(record: AccessRecord) -> sqlx::Result<Self> {
        let actor = record.actor.map(|actor| actor.parse()).transpose();
        Ok(Self {
            seq: record.seq.unsigned_abs(),
            at: Timestamp::from_micros(record.at),
            event: record.event.parse().map_err(damaged)?,
            actor: actor.map_err(damaged)?,
            actor_address: record.actor_address,
            request_id: record.request_id,
            subject: record.subject,
            details: serde_json::from_str(&record.details).map_err(damaged)?,
            prev_hash: record.prev_hash,
            hash: record.hash,
        })
    }
}

/// Seals drafts onto the end, and says what to write.
///
/// # Errors
/// One has no canonical form.
pub fn sealed(
    tip: &mut Tip,
    drafts: &[Draft],
    now: Timestamp,
) -> sqlx::Result<(Statement, Statement)> {
    let sealed: Result<Vec<AccessEntry>, _> =
        drafts.iter().map(|draft| tip.seal(draft, now)).collect();
    let entries = sealed.map_err(|why| sqlx::Error::Encode(Box::new(why)))?;
    Ok((insert(&entries), move_tip(tip)))
}

fn insert(entries: &[AccessEntry]) -> Statement {
    let mut insert = Statement::new("insert into access_log (");
    insert.push(COLUMNS).push(") values ");
    insert.rows(entries.iter().map(|entry| {
        vec![
            Arg::Int(Some(entry.seq as i64)),
            Arg::Int(Some(entry.at.micros())),
            Arg::text(entry.event),
            Arg::Text(entry.actor.as_ref().map(ToString::to_string)),
            Arg::Text(entry.actor_address.clone()),
            Arg::Text(entry.request_id.clone()),
            Arg::Text(entry.subject.clone()),
            Arg::json(Some(&entry.details)),
            Arg::text(&entry.prev_hash),
            Arg::text(&entry.hash),
        ]
    }));
    insert
}

fn move_tip(tip: &Tip) -> Statement {
    let mut update = Statement::new("update access_head set seq = ");
    update.bind(Arg::Int(Some(tip.seq as i64)));
    update.push(", at = ").bind(Arg::Int(Some(tip.at.micros())));
    update.push(", hash = ").bind(Arg::text(&tip.hash));
    update
}
