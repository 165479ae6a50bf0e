//! The watcher's end of the socket, which is its standard input, and how the
//! command's own standard input comes through it: as a file descriptor beside
//! the first byte. So there is no descriptor that the command could inherit by
//! mistake.

use std::{
    io::{self, IoSlice, IoSliceMut},
    mem::MaybeUninit,
    os::{
        fd::{AsFd, BorrowedFd, OwnedFd},
        unix::net::UnixStream as StdStream,
    },
};

use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, recvmsg, sendmsg,
};
use tokio::{
    io::{AsyncBufReadExt as _, BufReader, Lines},
    net::{
        UnixStream,
        unix::{OwnedReadHalf, OwnedWriteHalf},
    },
};

use super::Order;

/// What came in.
#[derive(Debug)]
pub enum Heard {
    Order(Order),
    /// A line that is no order.
    Nonsense,
}

/// Orders, one after another.
#[derive(Debug)]
pub struct Inbox {
    lines: Option<Lines<BufReader<OwnedReadHalf>>>,
}

impl Inbox {
    /// The next order; `None`, once, when `baton run` is gone. From then on
    /// nothing comes any more. May be dropped and called again.
    pub async fn next(&mut self) -> Option<Heard> {
        let Some(lines) = &mut self.lines else {
            return std::future::pending().await;
        };
        match lines.next_line().await {
            Ok(Some(line)) => Some(line.parse().map_or(Heard::Nonsense, Heard::Order)),
            Ok(None) | Err(_) => {
                self.lines = None;
                None
            }
        }
    }
}

/// Sends the command's standard input. The socket is a new one, so this does
/// not wait.
pub fn send_stdin(socket: &StdStream, stdin: BorrowedFd<'_>) -> io::Result<()> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut beside = SendAncillaryBuffer::new(&mut space);
    let descriptors = [stdin];
    beside.push(SendAncillaryMessage::ScmRights(&descriptors));
    sendmsg(
        socket,
        &[IoSlice::new(b"\n")],
        &mut beside,
        SendFlags::empty(),
    )?;
    Ok(())
}

/// Receives the command's standard input, and opens the socket for the rest.
pub async fn open() -> io::Result<(OwnedFd, Inbox, OwnedWriteHalf)> {
    let socket = StdStream::from(io::stdin().as_fd().try_clone_to_owned()?);
    let stdin = receive_stdin(&socket)?;
    socket.set_nonblocking(true)?;
    let (reader, writer) = UnixStream::from_std(socket)?.into_split();
    let lines = Some(BufReader::new(reader).lines());
    Ok((stdin, Inbox { lines }, writer))
}

fn receive_stdin(socket: &StdStream) -> io::Result<OwnedFd> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut beside = RecvAncillaryBuffer::new(&mut space);
    let mut byte = [0];
    recvmsg(
        socket,
        &mut [IoSliceMut::new(&mut byte)],
        &mut beside,
        RecvFlags::CMSG_CLOEXEC,
    )?;
    beside
        .drain()
        .find_map(|message| match message {
            RecvAncillaryMessage::ScmRights(mut descriptors) => descriptors.next(),
            _ => None,
        })
        .ok_or_else(|| io::Error::other("it was given no standard input"))
}
