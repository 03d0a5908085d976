//! Passes the standard input of a program from crewdeck to its supervisor, over the socket between them.
//!
//! The file descriptor is attached to one byte, which is sent and received before the request. The request is read
//! without asking for file descriptors, and a read of that kind would close the descriptor.

use std::io::{self, IoSlice};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;

use rustix::net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags, sendmsg};

/// Sends `stdin` as the first message of `socket`.
///
/// # Errors
/// Fails if the socket does not accept the message.
pub fn send(socket: &UnixStream, stdin: &OwnedFd) -> io::Result<()> {
    let fds = [stdin.as_fd()];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    if !control.push(SendAncillaryMessage::ScmRights(&fds)) {
        return Err(io::Error::other("no space for a file descriptor"));
    }
    sendmsg(
        socket,
        &[IoSlice::new(&[0])],
        &mut control,
        SendFlags::empty(),
    )?;
    Ok(())
}

/// Receives the standard input that [`send`] has sent. Blocks until a message arrives. Must be called before anything
/// else is read from `socket`.
///
/// # Errors
/// Fails if the socket cannot be read, or its first message contains no file descriptor.
#[cfg(target_os = "linux")]
pub fn receive(socket: &UnixStream) -> io::Result<OwnedFd> {
    use rustix::net::{RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, recvmsg};

    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    recvmsg(
        socket,
        &mut [io::IoSliceMut::new(&mut [0])],
        &mut control,
        RecvFlags::CMSG_CLOEXEC,
    )?;
    let received = control.drain().find_map(|message| match message {
        RecvAncillaryMessage::ScmRights(mut fds) => fds.next(),
        _ => None,
    });
    received.ok_or_else(|| io::Error::other("crewdeck passed no standard input"))
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::io::{Read, Write};

    use super::*;

    #[test]
    fn passed_pipe_reads_what_the_other_end_writes() {
        let (ours, theirs) = UnixStream::pair().unwrap();
        let (reader, mut writer) = io::pipe().unwrap();
        send(&ours, &reader.into()).unwrap();
        (&ours).write_all(b"request").unwrap();
        let mut stdin = std::fs::File::from(receive(&theirs).unwrap());
        writer.write_all(b"hello").unwrap();
        drop((writer, ours));
        let (mut text, mut rest) = (String::new(), String::new());
        stdin.read_to_string(&mut text).unwrap();
        (&theirs).read_to_string(&mut rest).unwrap();
        assert_eq!((text.as_str(), rest.as_str()), ("hello", "request"));
    }

    #[test]
    fn message_without_a_pipe_is_an_error() {
        let (ours, theirs) = UnixStream::pair().unwrap();
        (&ours).write_all(b"x").unwrap();
        assert!(receive(&theirs).is_err());
    }
}
