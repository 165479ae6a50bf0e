//! The live feed, `GET /events`, event by event. It ends when the connection
//! does; to reconnect, and when, is the caller's.

use std::{fmt, time::Duration};

use eventsource_stream::Eventsource as _;
use futures_util::{StreamExt as _, stream::BoxStream};

use super::error::{self, CallError};
use crate::Event;

/// The server gives a sign of life at least every 5 s; three missed ones mean
/// that the connection is dead, even if nobody said so.
const SILENCE_MAX: Duration = Duration::from_secs(15);

/// An event as it was sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RawEvent {
    /// Its name: `snapshot`, `handover`, `lease`, `time` or `reset`.
    pub name: String,
    /// Its data: JSON.
    pub data: String,
    /// Its id, the `seq` to go on after, if it has one of its own or had one
    /// before it.
    pub seq: Option<u64>,
}

/// An open event stream.
pub struct EventStream {
    address: String,
    events: BoxStream<'static, Result<eventsource_stream::Event, CallError>>,
    last_seq: Option<u64>,
    over: bool,
}

impl fmt::Debug for EventStream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EventStream")
            .field("address", &self.address)
            .field("last_seq", &self.last_seq)
            .finish_non_exhaustive()
    }
}

impl EventStream {
    pub(super) fn new(address: String, answer: reqwest::Response, after: Option<u64>) -> Self {
        let told = address.clone();
        let events = answer
            .bytes_stream()
            .eventsource()
            .map(move |event| event.map_err(|source| error::stream_broken(&told, source)))
            .boxed();
        Self {
            address,
            events,
            last_seq: after,
            over: false,
        }
    }

    /// The `seq` after which to go on with another stream.
    pub fn last_seq(&self) -> Option<u64> {
        self.last_seq
    }

    /// The next event that this version knows. `None` when the server ended the
    /// stream; after an error there is nothing more. Safe to cancel.
    pub async fn next(&mut self) -> Option<Result<Event, CallError>> {
        loop {
            let raw = match self.next_raw().await? {
                Ok(raw) => raw,
                Err(broken) => return Some(Err(broken)),
            };
            match Event::read(&raw.name, &raw.data) {
                Ok(Some(event)) => return Some(Ok(event)),
                Ok(None) => {}
                Err(source) => {
                    self.over = true;
                    return Some(Err(error::stream_broken(&self.address, source)));
                }
            }
        }
    }

    /// As [`EventStream::next`], as it was sent.
    pub async fn next_raw(&mut self) -> Option<Result<RawEvent, CallError>> {
        if self.over {
            return None;
        }
        let next = match tokio::time::timeout(SILENCE_MAX, self.events.next()).await {
            Ok(next) => next,
            Err(_) => Some(Err(error::silent(&self.address, SILENCE_MAX))),
        };
        match next {
            Some(Ok(event)) => {
                if let Ok(seq) = event.id.parse() {
                    self.last_seq = Some(seq);
                }
                Some(Ok(RawEvent {
                    name: event.event,
                    data: event.data,
                    seq: self.last_seq,
                }))
            }
            Some(Err(broken)) => {
                self.over = true;
                Some(Err(broken))
            }
            None => {
                self.over = true;
                None
            }
        }
    }
}
