//! One connection to the API, as light as it can be: requests are bytes that
//! were made beforehand, and of an answer only what is needed is looked at. The
//! load generator shares its processors with what it measures.

use std::net::SocketAddr;

use anyhow::{Context as _, Result, bail, ensure};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
};

/// A keep-alive connection, one request at a time.
pub struct Connection {
    stream: TcpStream,
    buffer: Vec<u8>,
}

/// The answer to one request.
pub struct Answer<'a> {
    /// The status.
    pub status: u16,
    /// The body.
    pub body: &'a [u8],
}

impl Connection {
    /// Connects.
    pub async fn open(address: SocketAddr) -> Result<Self> {
        let stream = TcpStream::connect(address).await?;
        stream.set_nodelay(true)?;
        Ok(Self {
            stream,
            buffer: Vec::with_capacity(64 * 1024),
        })
    }

    /// Sends a request without waiting for its answer.
    pub async fn send(&mut self, request: &[u8]) -> Result<()> {
        Ok(self.stream.write_all(request).await?)
    }

    /// Sends a request and gives its answer.
    pub async fn call(&mut self, request: &[u8]) -> Result<Answer<'_>> {
        self.send(request).await?;
        self.answer().await
    }

    /// Sends a request whose answer must be 200; its body.
    pub async fn ok(&mut self, request: &[u8]) -> Result<&[u8]> {
        let answer = self.call(request).await?;
        answer.ok()
    }

    /// The answer to what was sent.
    pub async fn answer(&mut self) -> Result<Answer<'_>> {
        self.buffer.clear();
        let head = loop {
            self.fill().await?;
            if let Some(end) = find(&self.buffer, b"\r\n\r\n") {
                break end + 4;
            }
        };
        let (status, length) = read_head(&self.buffer[..head])?;
        while self.buffer.len() < head + length {
            self.fill().await?;
        }
        ensure!(
            self.buffer.len() == head + length,
            "more came than was asked"
        );
        Ok(Answer {
            status,
            body: &self.buffer[head..],
        })
    }

    /// Reads until the server ends the answer, and throws it away: an event
    /// stream.
    pub async fn drain(&mut self) -> Result<()> {
        loop {
            self.buffer.clear();
            self.fill().await?;
        }
    }

    async fn fill(&mut self) -> Result<()> {
        let read = self.stream.read_buf(&mut self.buffer).await?;
        ensure!(read > 0, "the server closed the connection");
        Ok(())
    }
}

impl<'a> Answer<'a> {
    /// The body of an answer that must be 200.
    pub fn ok(self) -> Result<&'a [u8]> {
        if self.status == 200 {
            return Ok(self.body);
        }
        let body = String::from_utf8_lossy(self.body);
        bail!("the server answered {}: {body}", self.status);
    }
}

/// The bytes of a request.
pub fn request(method: &str, path: &str, token: &str, body: &str) -> Vec<u8> {
    format!(
        "{method} /api/v1{path} HTTP/1.1\r\n\
         Host: 127.0.0.1\r\n\
         Authorization: Bearer {token}\r\n\
         Content-Type: application/json\r\n\
         Content-Length: {}\r\n\r\n{body}",
        body.len()
    )
    .into_bytes()
}

/// Status and length of the body.
fn read_head(head: &[u8]) -> Result<(u16, usize)> {
    let head = std::str::from_utf8(head)?;
    let mut lines = head.split("\r\n");
    let status = lines
        .next()
        .and_then(|line| line.split(' ').nth(1))
        .context("no status line")?;
    let length = lines
        .filter_map(|line| line.split_once(':'))
        .find(|(name, _)| name.eq_ignore_ascii_case("content-length"))
        .context("no length")?;
    Ok((status.parse()?, length.1.trim().parse()?))
}

/// Where `what` begins in `text`.
pub fn find(text: &[u8], what: &[u8]) -> Option<usize> {
    memchr::memmem::find(text, what)
}

/// How often `what` stands in `text`.
pub fn count(text: &[u8], what: &[u8]) -> usize {
    memchr::memmem::find_iter(text, what).count()
}

/// The whole number after `"name":`.
pub fn number(body: &[u8], name: &str) -> Result<u64> {
    let name = format!("\"{name}\":");
    let start = find(body, name.as_bytes()).context("the answer lacks a field")? + name.len();
    let digits = body[start..]
        .iter()
        .take_while(|byte| byte.is_ascii_digit());
    Ok(std::str::from_utf8(&body[start..start + digits.count()])?.parse()?)
}
