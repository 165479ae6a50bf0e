//! `GET /events`: what changes, as server-sent events.

use std::convert::Infallible;

use axum::{
    http::{HeaderMap, HeaderValue, header},
    response::{IntoResponse, Response, Sse, sse},
};
use baton_client::EventsQuery;
use futures_util::{Stream, StreamExt};
use tokio_stream::wrappers::ReceiverStream;

use crate::store::events::Sent;

use super::{
    answer::{Answer, Oops},
    call::Call,
    parse,
};

/// `GET /events`.
pub async fn events(call: Call) -> Answer {
    let query: EventsQuery = call.query()?;
    parse::events_query(&query)?;
    // A browser that comes back sends the header; it is newer than the query.
    let after = last_event_id(&call.headers)?.or(query.after);
    let hub = call.site.store().hub().clone();
    let sent = hub
        .subscribe(query.leases(), query.handovers.unwrap_or_default(), after)
        .await?;
    let events = ReceiverStream::new(sent)
        .map(event)
        .take_until(async move { call.no_longer_allowed().await });
    Ok(answer(events))
}

/// What a reader who comes back has seen. What cannot be read is refused: going
/// on from now would leave a gap that nobody notices.
fn last_event_id(headers: &HeaderMap) -> Result<Option<u64>, Oops> {
    let Some(value) = headers.get("last-event-id") else {
        return Ok(None);
    };
    let seq = value.to_str().ok().and_then(parse::whole_number);
    seq.map(Some)
        .ok_or_else(|| Oops::field("Last-Event-ID", "is a whole number, at most 2^53 − 1"))
}

fn event(sent: Sent) -> Result<sse::Event, Infallible> {
    let event = sse::Event::default().event(sent.name).data(sent.data);
    Ok(match sent.id {
        Some(id) => event.id(id.to_string()),
        None => event,
    })
}

fn answer(events: impl Stream<Item = Result<sse::Event, Infallible>> + Send + 'static) -> Response {
    let mut response = Sse::new(events).into_response();
    let headers = response.headers_mut();
    headers.insert(
        header::CACHE_CONTROL,
        HeaderValue::from_static("no-cache, no-transform"),
    );
    // Proxies that know this header send each event on at once.
    headers.insert("x-accel-buffering", HeaderValue::from_static("no"));
    response
}
