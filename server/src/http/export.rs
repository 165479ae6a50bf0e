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

use crate::export::Export;

use super::{answer::Answer, call::Call, parse};

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
    let pieces = stream::unfold(export, |mut export| async {
        let piece = export.next().await?;
        Some((piece.map(Bytes::from), export))
    });
    let name = format!("baton-handovers-{seq}.{format}");
    let mut response = file(call, kind, &name, pieces);
    let headers = response.headers_mut();
    headers.insert(HEAD_SEQ, HeaderValue::from(seq));
    response
}

/// Why a file is cut.
#[derive(Debug, thiserror::Error)]
enum Cut {
    #[error(transparent)]
    Read(Box<dyn std::error::Error + Send + Sync>),
    #[error("the server stops")]
    Stop,
    #[error("who asked may not read any more")]
    NotAllowed,
}

/// An answer that is a file, in pieces. It ends early, with an error, when the
/// server stops or the reader's token or session ends.
pub fn file<E: std::error::Error + Send + Sync + 'static>(
    call: Call,
    kind: &'static str,
    name: &str,
    pieces: impl Stream<Item = Result<Bytes, E>> + Send + 'static,
) -> Response {
    let mut response =
        Body::from_stream(while_allowed(call, name.to_owned(), pieces)).into_response();
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    let disposition = format!("attachment; filename=\"{name}\"");
    if let Ok(disposition) = HeaderValue::from_str(&disposition) {
        headers.insert(header::CONTENT_DISPOSITION, disposition);
    }
    response
}

fn while_allowed<E: std::error::Error + Send + Sync + 'static>(
    call: Call,
    name: String,
    pieces: impl Stream<Item = Result<Bytes, E>> + Send + 'static,
) -> impl Stream<Item = Result<Bytes, Cut>> + Send + 'static {
    let stop = call.site.inner.stop.clone();
    let cut: Pin<Box<dyn Future<Output = Cut> + Send>> = Box::pin(async move {
        tokio::select! {
            () = stop.cancelled_owned() => Cut::Stop,
            _ = call.no_longer_allowed() => Cut::NotAllowed,
        }
    });
    stream::unfold(Some((cut, name, Box::pin(pieces))), |state| async {
        let (mut cut, name, mut pieces) = state?;
        let piece = tokio::select! {
            biased;
            cut = &mut cut => Err(cut),
            piece = pieces.next() => piece?.map_err(|error| Cut::Read(Box::new(error))),
        };
        match piece {
            Ok(piece) => Some((Ok(piece), Some((cut, name, pieces)))),
            Err(cut) => {
                tracing::warn!(error = %cut, name, "an export was cut");
                Some((Err(cut), None))
            }
        }
    })
    // Whoever sends it may ask once more after its end.
    .fuse()
}
