//! The calls about keeping the store.

use axum::{Json, response::IntoResponse};
use baton_client::{Forget, limits::BODY_BYTES_MAX};

use super::{answer::Answer, call::Call, parse};

/// `POST /forget`.
pub async fn forget(mut call: Call) -> Answer {
    let wire: Forget = call.json(BODY_BYTES_MAX).await?;
    parse::forget(&wire)?;
    let asker = call.asker()?;
    let forgot = call.site.store().keeping().forget(&asker, &wire).await?;
    Ok(Json(forgot).into_response())
}
