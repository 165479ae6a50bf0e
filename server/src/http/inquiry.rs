//! The calls of an auditor: who held what, when.

use axum::{Json, response::IntoResponse};
use baton_client::{AtQuery, ReportQuery, TenureQuery, Timestamp, Verification};

use crate::store::{Store, StoreError};

use super::{
    answer::{Answer, Oops},
    call::Call,
    leases::Nothing,
    parse,
};

/// `GET /leases/{lease}/at`.
pub async fn at(call: Call) -> Answer {
    let AtQuery { time } = call.query()?;
    let lease = call.lease()?;
    if time > call.site.store().now().await? {
        return Err(Oops::field("time", "is not in the future"));
    }
    let reader = call.site.store().reader();
    if let Some(begins) = reader.begins().await?.filter(|begins| time < *begins) {
        return Err(archived("time", begins));
    }
    let held = reader.held_at(&lease, time).await?;
    let held = held.ok_or_else(|| Oops::unknown_lease(&lease))?;
    Ok(Json(held).into_response())
}

/// `GET /leases/{lease}/report`.
pub async fn report(call: Call) -> Answer {
    let query: ReportQuery = call.query()?;
    parse::report_query(&query)?;
    let lease = call.lease()?;
    if query.from > call.site.store().now().await? {
        return Err(Oops::field("from", "is not in the future"));
    }
    let reader = call.site.store().reader();
    if let Some(begins) = reader.begins().await?.filter(|begins| query.to <= *begins) {
        return Err(archived("to", begins));
    }
    let report = reader.report(&lease, &query).await?;
    let report = report.ok_or_else(|| Oops::unknown_lease(&lease))?;
    Ok(Json(report).into_response())
}

/// A time that only a file knows of.
fn archived(field: &str, begins: Timestamp) -> Oops {
    let why = format!("is not before {begins}: what came before was archived, ask the file");
    Oops::field(field, why)
}

/// `GET /verification`.
pub async fn verified(call: Call) -> Answer {
    call.query::<Nothing>()?;
    let answer = verification(call.site.store()).await?;
    Ok(Json(answer).into_response())
}

/// How far the server has verified the chain.
pub async fn verification(store: &Store) -> Result<Verification, StoreError> {
    let (verified, end) = store.verified().await?;
    Ok(Verification {
        holds: verified.findings.is_empty(),
        verified_seq: verified.seq,
        verified_at: verified.at,
        head_seq: end.head.seq,
        findings: verified.findings.iter().map(Into::into).collect(),
        now: end.now,
    })
}

/// `GET /tenures`.
pub async fn tenures(call: Call) -> Answer {
    let query: TenureQuery = call.query()?;
    parse::tenure_query(&query)?;
    Ok(Json(call.site.store().reader().tenures(&query).await?).into_response())
}
