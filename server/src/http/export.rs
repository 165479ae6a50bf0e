//! `GET /handovers/export`: the history as a file, streamed. The head of the
//! answer leaves when the log's end is known; what fails after that breaks the
//! connection, so that a cut can't be taken for the end.

use std::pin::Pin;

use axum::{
    body::{Body, Bytes},
    http::{HeaderName, HeaderValue, header},
    response::{IntoResponse, Response},
};
use baton_client::{ExportFormat, ExportQuery};
use futures_util::{Stream, StreamExt as _, stream};

use crate::export::{Export, ExportError};

use super::{answer::Answer, call::Call, parse, stream::no_longer_allowed};

/// The log's last `seq` when the export began, so that a reader knows how far it is.
const HEAD_SEQ: HeaderName = HeaderName::from_static("baton-head-seq");

/// `GET /handovers/export`.
pub async fn export(call: Call) -> Answer {
    let query: ExportQuery = call.query()?;
    parse::export_query(&query)?;
    call.exported("handovers", &query).await?;
    let format = query.format.unwrap_or_default();
    let export = Export::begin(call.site.store().reader(), &query).await?;
    Ok(answer(call, format, export))
}

fn answer(call: Call, format: ExportFormat, export: Export) -> Response {
    let seq = export.end().head.seq;
    let kind = match format {
        ExportFormat::Jsonl => "application/jsonl",
        ExportFormat::Csv => "text/csv; charset=utf-8; header=present",
        ExportFormat::Md => "text/markdown; charset=utf-8",
    };
    let mut response = Body::from_stream(pieces(call, export)).into_response();
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(HEAD_SEQ, HeaderValue::from(seq));
    let name = format!("attachment; filename=\"baton-handovers-{seq}.{format}\"");
    if let Ok(name) = HeaderValue::from_str(&name) {
        headers.insert(header::CONTENT_DISPOSITION, name);
    }
    response
}

/// Why a stream of pieces is cut.
#[derive(Debug, thiserror::Error)]
enum Cut {
    #[error(transparent)]
    Export(#[from] ExportError),
    #[error("the server stops")]
    Stop,
    #[error("who asked may not read any more")]
    NotAllowed,
}

/// The pieces of an export. It ends early, with an error, when the server stops or
/// the reader's token or session ends.
fn pieces(call: Call, export: Export) -> impl Stream<Item = Result<Bytes, Cut>> + Send + 'static {
    let stop = call.site.inner.stop.clone();
    let cut: Pin<Box<dyn Future<Output = Cut> + Send>> = Box::pin(async move {
        tokio::select! {
            () = stop.cancelled_owned() => Cut::Stop,
            () = no_longer_allowed(call) => Cut::NotAllowed,
        }
    });
    stream::unfold(Some((cut, export)), |state| async {
        let (mut cut, mut export) = state?;
        let piece = tokio::select! {
            biased;
            cut = &mut cut => Err(cut),
            piece = export.next() => piece?.map(Bytes::from).map_err(Cut::from),
        };
        match piece {
            Ok(piece) => Some((Ok(piece), Some((cut, export)))),
            Err(cut) => {
                tracing::warn!(error = %cut, seq = ?export.tally().last, "an export was cut");
                Some((Err(cut), None))
            }
        }
    })
    // Whoever sends it may ask once more after its end.
    .fuse()
}
