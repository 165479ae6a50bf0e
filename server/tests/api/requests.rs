//! A client that sends what it is told, letter by letter, and nothing else: no
//! path is made tidy, no header is added but Host, Content-Length and Connection.

use std::{fmt, time::Duration};

use serde_json::Value;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
    time::timeout,
};

/// No answer takes longer, but for acquires that wait.
const PATIENCE: Duration = Duration::from_secs(60);

/// A request.
#[derive(Clone)]
pub struct Request {
    pub method: String,
    pub path: Vec<u8>,
    pub headers: Vec<(String, Vec<u8>)>,
    pub body: Option<Vec<u8>>,
}

/// What came back.
pub struct Response {
    pub status: u16,
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
}

impl Request {
    pub fn new(method: &str, path: impl AsRef<[u8]>) -> Self {
        Self {
            method: method.to_owned(),
            path: path.as_ref().to_owned(),
            headers: Vec::new(),
            body: None,
        }
    }

    pub fn get(path: impl AsRef<[u8]>) -> Self {
        Self::new("GET", path)
    }

    /// A call with a JSON body.
    pub fn post(path: impl AsRef<[u8]>, body: &Value) -> Self {
        Self::post_text(path, body.to_string())
    }

    /// A call whose body says that it is JSON.
    pub fn post_text(path: impl AsRef<[u8]>, body: impl Into<Vec<u8>>) -> Self {
        Self::new("POST", path)
            .header("Content-Type", "application/json")
            .body(body)
    }

    /// A form, as a page sends it.
    pub fn form(path: impl AsRef<[u8]>, fields: &[(&str, &str)]) -> Self {
        let body = form_urlencoded::Serializer::new(String::new())
            .extend_pairs(fields)
            .finish();
        Self::new("POST", path)
            .header("Content-Type", "application/x-www-form-urlencoded")
            .body(body)
    }

    pub fn header(mut self, name: &str, value: impl AsRef<[u8]>) -> Self {
        self.headers
            .push((name.to_owned(), value.as_ref().to_owned()));
        self
    }

    pub fn without(mut self, name: &str) -> Self {
        self.headers
            .retain(|(header, _)| !header.eq_ignore_ascii_case(name));
        self
    }

    pub fn body(mut self, body: impl Into<Vec<u8>>) -> Self {
        self.body = Some(body.into());
        self
    }

    pub fn token(self, token: &str) -> Self {
        self.header("Authorization", format!("Bearer {token}"))
    }

    pub fn cookie(self, cookie: &str) -> Self {
        self.header("Cookie", cookie)
    }

    /// As it goes over the wire.
    pub fn bytes(&self, host: &str) -> Vec<u8> {
        let mut bytes = Vec::new();
        let mut put = |part: &[u8]| bytes.extend_from_slice(part);
        put(self.method.as_bytes());
        put(b" ");
        put(&self.path);
        put(b" HTTP/1.1\r\n");
        let has = |name: &str| {
            let mut names = self.headers.iter().map(|(name, _)| name);
            names.any(|header| header.eq_ignore_ascii_case(name))
        };
        if !has("Host") {
            put(format!("Host: {host}\r\n").as_bytes());
        }
        if !has("Connection") {
            put(b"Connection: close\r\n");
        }
        if let Some(body) = &self.body
            && !has("Content-Length")
            && !has("Transfer-Encoding")
        {
            put(format!("Content-Length: {}\r\n", body.len()).as_bytes());
        }
        for (name, value) in &self.headers {
            put(name.as_bytes());
            put(b": ");
            put(value);
            put(b"\r\n");
        }
        put(b"\r\n");
        put(self.body.as_deref().unwrap_or_default());
        bytes
    }

    /// Sends it on a connection of its own. Of an event stream, only the head is
    /// read.
    pub async fn send(&self, host: &str) -> Response {
        let sent = async {
            let stream = TcpStream::connect(host).await?;
            let (mut read, mut write) = stream.into_split();
            let bytes = self.bytes(host);
            // Side by side: the answer may come before the body is sent.
            let writing = tokio::spawn(async move {
                let written = write.write_all(&bytes).await;
                (write, written)
            });
            let answer = read_answer(&mut read).await;
            drop(writing.await);
            answer
        };
        timeout(PATIENCE, sent)
            .await
            .unwrap_or_else(|_| panic!("{self:?} is not answered"))
            .unwrap_or_else(|error| panic!("{self:?}: {error}"))
    }
}

impl fmt::Debug for Request {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = String::from_utf8_lossy(&self.path);
        write!(f, "{} {path}", self.method)?;
        let body = self.body.as_deref().unwrap_or_default();
        let start = &body[..body.len().min(300)];
        write!(f, " {}", String::from_utf8_lossy(start))
    }
}

async fn read_answer(read: &mut (impl tokio::io::AsyncRead + Unpin)) -> std::io::Result<Response> {
    let mut bytes = Vec::new();
    loop {
        let head = bytes.windows(4).position(|four| four == b"\r\n\r\n");
        if let Some(head) = head
            && bytes[..head]
                .windows(17)
                .any(|text| text.eq_ignore_ascii_case(b"text/event-stream"))
        {
            break;
        }
        if read.read_buf(&mut bytes).await? == 0 {
            break;
        }
    }
    Ok(Response::read(&bytes))
}

impl Response {
    fn read(bytes: &[u8]) -> Self {
        let end = bytes
            .windows(4)
            .position(|four| four == b"\r\n\r\n")
            .unwrap_or_else(|| panic!("no answer: {:?}", String::from_utf8_lossy(bytes)));
        let head = String::from_utf8_lossy(&bytes[..end]);
        let mut lines = head.split("\r\n");
        let status = lines.next().and_then(|line| line.split(' ').nth(1));
        let headers = lines
            .filter_map(|line| line.split_once(": "))
            .map(|(name, value)| (name.to_ascii_lowercase(), value.to_owned()))
            .collect();
        let mut response = Self {
            status: status
                .and_then(|status| status.parse().ok())
                .expect("an answer has a status"),
            headers,
            body: bytes[end + 4..].to_vec(),
        };
        if response.status == 100 {
            return Self::read(&response.body);
        }
        if response.header("transfer-encoding") == Some("chunked") {
            response.body = join_chunks(&response.body);
        }
        response
    }

    pub fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(header, _)| header == name);
        found.map(|(_, value)| value.as_str())
    }

    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    /// The body as JSON.
    #[track_caller]
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body)
            .unwrap_or_else(|error| panic!("{error}: {} {}", self.status, self.text()))
    }

    /// The body of a call that succeeded.
    #[track_caller]
    pub fn ok(&self) -> Value {
        assert_eq!(self.status, 200, "{}", self.text());
        self.json()
    }

    /// The problem, which has this status and code and all that problems have.
    #[track_caller]
    pub fn problem(&self, status: u16, code: &str) -> Value {
        assert_eq!(self.status, status, "{}", self.text());
        let kind = self.header("content-type");
        assert_eq!(kind, Some("application/problem+json"));
        let problem = self.json();
        assert_eq!(problem["code"], code, "{problem}");
        assert_eq!(problem["status"], status, "{problem}");
        assert_eq!(problem["type"], "about:blank", "{problem}");
        let id = problem["request_id"].as_str().expect("it has an id");
        assert_eq!(self.header("x-request-id"), Some(id));
        for text in ["title", "detail"] {
            let text = problem[text].as_str().unwrap_or_default();
            assert!(!text.is_empty(), "{problem}");
        }
        problem
    }
}

/// The text of a chunked body; what is cut off is left out.
fn join_chunks(mut bytes: &[u8]) -> Vec<u8> {
    let mut joined = Vec::new();
    while let Some(line) = bytes.windows(2).position(|two| two == b"\r\n") {
        let size = std::str::from_utf8(&bytes[..line]).unwrap_or_default();
        let size = usize::from_str_radix(size, 16).expect("a chunk has a size");
        let rest = &bytes[line + 2..];
        if size == 0 || rest.len() < size + 2 {
            break;
        }
        joined.extend_from_slice(&rest[..size]);
        bytes = &rest[size + 2..];
    }
    joined
}
