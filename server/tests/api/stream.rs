//! A reader of server-sent events that shows every one of them.

use std::time::Duration;

use serde_json::Value;
use tokio::{
    io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader},
    net::TcpStream,
    time::timeout,
};

use crate::requests::Request;

/// How long the next event may take: `time` comes every five seconds.
const PATIENCE: Duration = Duration::from_secs(20);

/// One event.
#[derive(Debug)]
pub struct Event {
    pub name: String,
    pub id: Option<u64>,
    pub data: Value,
}

/// An open stream.
pub struct Stream {
    lines: BufReader<TcpStream>,
    pub head: Vec<String>,
}

impl Stream {
    /// Opens it; the answer is a stream.
    pub async fn open(host: &str, request: &Request) -> Self {
        let mut stream = TcpStream::connect(host).await.expect("it listens");
        stream
            .write_all(&request.bytes(host))
            .await
            .expect("it listens");
        let mut lines = BufReader::new(stream);
        let mut head = Vec::new();
        loop {
            let mut line = String::new();
            let read = timeout(PATIENCE, lines.read_line(&mut line)).await;
            read.expect("it answers").expect("it answers");
            let line = line.trim_end().to_owned();
            if line.is_empty() {
                break;
            }
            head.push(line.to_ascii_lowercase());
        }
        assert!(head[0].contains(" 200 "), "{head:?}");
        Self { lines, head }
    }

    /// The next line of the body; `None` at its end. Events are sent whole, so
    /// lines that are not theirs are the sizes of chunks.
    async fn line(&mut self) -> Option<String> {
        let mut line = String::new();
        let read = timeout(PATIENCE, self.lines.read_line(&mut line)).await;
        // Cut off is an end, too.
        match read.expect("something is sent") {
            Ok(0) | Err(_) => None,
            Ok(_) => Some(line.trim_end_matches(['\r', '\n']).to_owned()),
        }
    }

    /// The next event; `None` when the stream has ended.
    pub async fn next(&mut self) -> Option<Event> {
        let (mut name, mut id, mut data) = (None, None, None);
        loop {
            let line = self.line().await?;
            match line.split_once(": ") {
                Some(("event", value)) => name = Some(value.to_owned()),
                Some(("id", value)) => id = value.parse().ok(),
                Some(("data", value)) => data = serde_json::from_str(value).ok(),
                _ if line.is_empty() && name.is_some() => {
                    return Some(Event {
                        name: name.expect("it has a name"),
                        id,
                        data: data.expect("it has data"),
                    });
                }
                _ => {}
            }
        }
    }

    /// The next event that is no sign of life.
    pub async fn news(&mut self) -> Event {
        self.first(|event| event.name != "time", "news").await
    }

    /// The next event of this name; others are passed over.
    pub async fn until(&mut self, name: &str) -> Event {
        self.first(|event| event.name == name, name).await
    }

    async fn first(&mut self, is_it: impl Fn(&Event) -> bool, what: &str) -> Event {
        let found = timeout(PATIENCE, async {
            loop {
                let event = self.next().await.expect("the stream goes on");
                if is_it(&event) {
                    return event;
                }
            }
        });
        found.await.unwrap_or_else(|_| panic!("no {what} comes"))
    }

    /// Reads until the stream ends.
    pub async fn end(&mut self) {
        while self.next().await.is_some() {}
    }
}
