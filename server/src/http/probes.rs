//! What monitors ask.

use axum::{
    http::header,
    response::{IntoResponse, Response},
};

use super::{
    answer::{Answer, Oops},
    call::Call,
    openapi,
};

/// `GET /healthz`: the process is alive.
pub async fn healthz(_: Call) -> Answer {
    Ok(plain("alive\n"))
}

/// `GET /readyz`: the database answers.
pub async fn readyz(call: Call) -> Answer {
    if call.site.inner.stop.is_cancelled() {
        return Err(Oops::from(crate::store::StoreError::Unavailable(
            baton_client::Outcome::NotDone,
        )));
    }
    call.site.store().now().await?;
    Ok(plain("ready\n"))
}

/// `GET /metrics`.
pub async fn metrics(call: Call) -> Answer {
    call.site.store().measure();
    Ok((
        [(header::CONTENT_TYPE, "text/plain; version=0.0.4")],
        call.site.inner.metrics.render(),
    )
        .into_response())
}

/// `GET /api/v1/openapi.json`.
pub async fn openapi(call: Call) -> Answer {
    let document = openapi::document(&call.site.inner.address);
    Ok(axum::Json(document).into_response())
}

fn plain(text: &'static str) -> Response {
    ([(header::CONTENT_TYPE, "text/plain; charset=utf-8")], text).into_response()
}
