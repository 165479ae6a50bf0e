//! A long history, written past the server and in its own form: the chain holds,
//! and the head is where it should be. The indexes are made afterwards, for that is
//! many times faster.

use std::path::Path;

use anyhow::{Context as _, Result};
use baton::{chain, database::Database};
use baton_client::{Actor, Generation, Handover, HandoverEvent, Timestamp};
use sqlx::{AssertSqlSafe, Connection as _, PgConnection};

/// When the history begins.
pub const BEGIN: i64 = 1_700_000_000_000_000;
/// One entry every so many microseconds.
pub const APART: i64 = 1_000_000;
/// Leases that take turns.
pub const LEASES: u64 = 5_000;
/// Holders that take turns.
pub const HOLDERS: u64 = 1_000;
/// Entries that are copied in at once.
const PIECE: u64 = 20_000;

/// So many entries.
pub struct Fill {
    /// How many.
    pub entries: u64,
}

/// Who has the turn at an entry.
pub fn lease(turn: u64) -> String {
    format!("fleet.worker-{}", turn % LEASES)
}

/// As [`lease`].
pub fn holder(turn: u64) -> String {
    format!("worker-{}@host-{}.example", turn % HOLDERS, turn % 17)
}

/// When an entry was written.
pub fn at(seq: u64) -> Timestamp {
    Timestamp::from_micros(BEGIN + seq as i64 * APART)
}

/// The entry with this `seq`: each lease is granted and released in turn, and now
/// and then forced.
fn entry(seq: u64, prev_hash: String) -> Result<Handover> {
    // Two entries a turn: a grant, and half a round later its end.
    let turn = (seq - 1) / 2 / LEASES * LEASES + (seq - 1) % LEASES;
    let ends = ((seq - 1) / LEASES) % 2 == 1;
    let round = (seq - 1) / (2 * LEASES);
    let generation = |number: u64| Generation::try_from(number).map_err(anyhow::Error::msg);
    let who = holder(turn).parse().ok();
    let granted = generation(2 * round + 1)?;
    let forced = ends && turn.is_multiple_of(50);
    let mut entry = Handover {
        seq,
        at: at(seq),
        lease: lease(turn).parse().ok(),
        event: match (ends, forced) {
            (false, _) => HandoverEvent::Granted,
            (true, false) => HandoverEvent::Released,
            (true, true) => HandoverEvent::Forced,
        },
        generation: if ends {
            generation(2 * round + 2)?
        } else {
            granted
        },
        holder: if ends { None } else { who.clone() },
        previous_generation: if ends {
            granted
        } else {
            generation(2 * round)?
        },
        previous_holder: if ends { who } else { None },
        held_from: ends.then(|| at(seq - LEASES)),
        held_until: ends.then(|| at(seq)),
        reason: match (ends, round) {
            (false, 0) => "first".into(),
            (false, _) => "after release".into(),
            (true, _) => format!("finished part {seq} of the nightly sweep over all regions"),
        },
        incident: forced.then(|| format!("INC-{}", seq / 1_000)),
        actor: if forced {
            Actor::User("ana".into())
        } else {
            Actor::Token("fleet".into())
        },
        actor_address: Some("192.0.2.17".into()),
        request_id: Some(format!("5f0c2a9b1d3e-{seq:x}")),
        details: Default::default(),
        prev_hash,
        hash: String::new(),
    };
    if !ends {
        entry.details.insert("attempt".into(), 0.into());
        entry.details.insert("ttl_ms".into(), 30_000.into());
    }
    entry.hash = chain::hash(&entry)?;
    Ok(entry)
}

/// The columns' values, in the order of the table.
fn values(entry: &Handover) -> [Option<String>; 19] {
    let text = |value: &dyn ToString| Some(value.to_string());
    [
        text(&entry.seq),
        text(&entry.at.micros()),
        entry.lease.as_ref().map(ToString::to_string),
        text(&entry.event),
        text(&entry.generation),
        entry.holder.as_ref().map(ToString::to_string),
        text(&entry.previous_generation),
        entry.previous_holder.as_ref().map(ToString::to_string),
        entry.held_from.map(|at| at.micros().to_string()),
        entry.held_until.map(|at| at.micros().to_string()),
        text(&entry.reason),
        entry.incident.clone(),
        text(&entry.actor),
        entry.actor_address.clone(),
        entry.request_id.clone(),
        text(&serde_json::json!(entry.details)),
        text(&entry.prev_hash),
        text(&entry.hash),
        None,
    ]
}

impl Fill {
    /// All entries, piece by piece, and the head.
    fn pieces(&self) -> impl Iterator<Item = Result<Vec<Handover>>> {
        let entries = self.entries;
        let (mut seq, mut hash) = (0, chain::GENESIS.to_owned());
        std::iter::from_fn(move || {
            let size = PIECE.min(entries - seq);
            if size == 0 {
                return None;
            }
            let piece = (0..size).map(|_| {
                seq += 1;
                let made = entry(seq, hash.clone())?;
                hash.clone_from(&made.hash);
                Ok(made)
            });
            Some(piece.collect())
        })
    }

    /// Fills a PostgreSQL database.
    pub async fn postgres(&self, address: &str) -> Result<()> {
        drop(Database::open(address).await?);
        let mut session = PgConnection::connect(address).await?;
        let indexes: Vec<(String, String)> = sqlx::query_as(
            "select indexname::text, indexdef::text from pg_indexes
            where tablename = 'handovers' and indexname <> 'handovers_pkey'",
        )
        .fetch_all(&mut session)
        .await?;
        for (name, _) in &indexes {
            let drop = format!("drop index {name}");
            sqlx::query(AssertSqlSafe(drop))
                .execute(&mut session)
                .await?;
        }
        let mut last = None;
        for piece in self.pieces() {
            let piece = piece?;
            let mut text = String::new();
            for entry in &piece {
                let row = values(entry).map(|value| value.unwrap_or_else(|| "\\N".into()));
                text.push_str(&row.join("\t"));
                text.push('\n');
            }
            let mut copy = session.copy_in_raw("copy handovers from stdin").await?;
            copy.send(text.as_bytes()).await?;
            copy.finish().await?;
            last = piece.into_iter().next_back();
        }
        for (_, define) in indexes {
            sqlx::query(AssertSqlSafe(define))
                .execute(&mut session)
                .await?;
        }
        let last = last.context("there is an entry")?;
        sqlx::query("update log_head set seq = $1, at = $2, hash = $3")
            .bind(last.seq as i64)
            .bind(last.at.micros())
            .bind(last.hash)
            .execute(&mut session)
            .await?;
        sqlx::query("vacuum analyze handovers")
            .execute(&mut session)
            .await?;
        Ok(session.close().await?)
    }

    /// Fills a SQLite file.
    pub async fn sqlite(&self, address: &str, file: &Path) -> Result<()> {
        let Database::Sqlite(opened) = Database::open(address).await? else {
            anyhow::bail!("{address} is no SQLite file");
        };
        opened.writer.close().await;
        opened.readers.close().await;
        let mut connection = rusqlite::Connection::open(file)?;
        connection.execute_batch("pragma synchronous = off; pragma cache_size = -500000")?;
        let indexes: Vec<(String, String)> = connection
            .prepare(
                "select name, sql from sqlite_master
                where type = 'index' and tbl_name = 'handovers' and sql is not null",
            )?
            .query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?
            .collect::<Result<_, _>>()?;
        for (name, _) in &indexes {
            connection.execute(&format!("drop index {name}"), [])?;
        }
        let mut last = None;
        for piece in self.pieces() {
            let piece = piece?;
            let transaction = connection.transaction()?;
            let places = vec!["?"; 19].join(", ");
            let mut insert =
                transaction.prepare(&format!("insert into handovers values ({places})"))?;
            for entry in &piece {
                // Columns of whole numbers take their texts as numbers.
                insert.execute(rusqlite::params_from_iter(values(entry)))?;
            }
            drop(insert);
            transaction.commit()?;
            last = piece.into_iter().next_back();
        }
        for (_, define) in indexes {
            connection.execute(&define, [])?;
        }
        let last = last.context("there is an entry")?;
        let (seq, at) = (last.seq as i64, last.at.micros());
        let head = "update log_head set seq = ?, at = ?, hash = ?";
        connection.execute(head, rusqlite::params![seq, at, last.hash])?;
        connection.execute_batch("pragma wal_checkpoint(truncate)")?;
        Ok(())
    }
}
