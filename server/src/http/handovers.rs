//! The calls about the history.

use axum::{Json, response::IntoResponse};
use baton_client::{Code, HandoverQuery};

use super::{
    answer::{Answer, Oops},
    call::Call,
    leases::Nothing,
    parse,
};

/// `GET /handovers`.
pub async fn handovers(call: Call) -> Answer {
    let query: HandoverQuery = call.query()?;
    parse::handover_query(&query)?;
    Ok(Json(call.site.store().handovers(&query).await?).into_response())
}

/// `GET /handovers/{seq}`.
pub async fn handover(call: Call) -> Answer {
    call.query::<Nothing>()?;
    let seq = call.seq()?;
    let entry = call.site.store().handover(seq).await?;
    let entry = entry.ok_or_else(|| {
        Oops::new(
            Code::NotFound,
            format!("there is no entry {seq} in the log"),
        )
    })?;
    Ok(Json(entry).into_response())
}
