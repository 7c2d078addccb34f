//! Descriptors that travel beside datagrams.

use std::fs::File;
use std::io::{IoSlice, Read, Write};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

use bcl_node::fdpass::{FdPassError, MAX_FDS, recv, send};
use rustix::io::{FdFlags, fcntl_getfd};
use rustix::net::{
    AddressFamily, SendAncillaryBuffer, SendAncillaryMessage, SendFlags, SocketFlags, SocketType,
    sendmsg, socketpair,
};
use rustix::pipe::{PipeFlags, pipe_with};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

mod common;

fn pair() -> (OwnedFd, OwnedFd) {
    socketpair(
        AddressFamily::UNIX,
        SocketType::SEQPACKET,
        SocketFlags::CLOEXEC,
        None,
    )
    .unwrap()
}

/// The write end is to be passed; once no copy of it is left, the read end says so.
struct Witness {
    read_end: File,
    write_end: File,
}

impl Witness {
    fn new() -> Witness {
        let (read_end, write_end) = pipe_with(PipeFlags::CLOEXEC).unwrap();
        Witness {
            read_end: read_end.into(),
            write_end: write_end.into(),
        }
    }

    fn fds(&self, count: usize) -> Vec<BorrowedFd<'_>> {
        vec![self.write_end.as_fd(); count]
    }

    /// Reads to the end of the pipe, which would hang if a descriptor had leaked.
    fn content(self) -> Vec<u8> {
        let Witness {
            mut read_end,
            write_end,
        } = self;
        drop(write_end);
        let mut content = Vec::new();
        read_end.read_to_end(&mut content).unwrap();
        content
    }
}

#[test]
fn data_and_descriptors_arrive_together() {
    let (a, b) = pair();
    let witness = Witness::new();
    send(&a, b"hello", &witness.fds(MAX_FDS)).unwrap();
    let mut buffer = [0; 16];
    let received = recv(&b, &mut buffer).unwrap();
    assert_eq!(&buffer[..received.len_bytes], b"hello");
    assert_eq!(received.fds.len(), MAX_FDS);
    for fd in received.fds {
        assert!(fcntl_getfd(&fd).unwrap().contains(FdFlags::CLOEXEC));
        File::from(std::os::fd::OwnedFd::from(fd))
            .write_all(b"x")
            .unwrap();
    }
    assert_eq!(witness.content(), [b'x'; MAX_FDS]);
}

#[test]
fn datagrams_keep_their_bounds() {
    let (a, b) = pair();
    send(&a, b"one", &[]).unwrap();
    send(&a, b"three", &[]).unwrap();
    let mut buffer = [0; 16];
    assert_eq!(recv(&b, &mut buffer).unwrap().len_bytes, 3);
    assert_eq!(recv(&b, &mut buffer).unwrap().len_bytes, 5);
}

#[test]
fn an_empty_socket_does_not_block() {
    let (_a, b) = pair();
    assert!(matches!(
        recv(&b, &mut [0; 4]),
        Err(FdPassError::WouldBlock)
    ));
}

#[test]
fn a_full_socket_does_not_block() {
    let (a, _b) = pair();
    let result = (0..1_000_000).find_map(|_| send(&a, &[0; 512], &[]).err());
    assert!(matches!(result, Some(FdPassError::WouldBlock)));
}

#[test]
fn a_closed_peer_is_told() {
    let (a, b) = pair();
    drop(b);
    assert!(matches!(send(&a, b"x", &[]), Err(FdPassError::Closed)));
    assert_eq!(recv(&a, &mut [0; 4]).unwrap().len_bytes, 0);
}

#[test]
fn what_cannot_be_sent_is_refused() {
    let (a, _b) = pair();
    let witness = Witness::new();
    assert!(matches!(
        send(&a, b"", &[]),
        Err(FdPassError::Unsendable { .. })
    ));
    assert!(matches!(
        send(&a, b"x", &witness.fds(MAX_FDS + 1)),
        Err(FdPassError::Unsendable { fds: 9, .. })
    ));
}

#[test]
fn too_long_a_datagram_is_an_error_and_leaks_nothing() {
    let (a, b) = pair();
    let witness = Witness::new();
    send(&a, b"hello", &witness.fds(2)).unwrap();
    assert!(matches!(
        recv(&b, &mut [0; 4]),
        Err(FdPassError::TooLong { room_bytes: 4 })
    ));
    assert!(witness.content().is_empty());
}

#[test]
fn too_many_descriptors_are_an_error_and_leak_nothing() {
    for count in [MAX_FDS + 1, MAX_FDS + 2, 100] {
        let (a, b) = pair();
        let witness = Witness::new();
        let fds = witness.fds(count);
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(100))];
        let mut control = SendAncillaryBuffer::new(&mut space);
        assert!(control.push(SendAncillaryMessage::ScmRights(&fds)));
        sendmsg(&a, &[IoSlice::new(b"x")], &mut control, SendFlags::empty()).unwrap();
        let result = recv(&b, &mut [0; 4]);
        assert!(
            matches!(result, Err(FdPassError::TooManyFds)),
            "{count}: {result:?}"
        );
        assert!(witness.content().is_empty());
    }
}

#[test]
fn a_full_descriptor_table_is_an_error_and_leaks_nothing() {
    let child = common::child("a_child_without_descriptors", "run")
        .status()
        .unwrap();
    assert!(child.success());
}

/// Not a test of its own, see [`common::child`]: the limit holds for a whole process.
#[test]
fn a_child_without_descriptors() {
    if common::role().is_none() {
        return;
    }
    let (a, b) = pair();
    let witness = Witness::new();
    send(&a, b"x", &witness.fds(3)).unwrap();
    let highest = pipe_with(PipeFlags::CLOEXEC).unwrap();
    let before = getrlimit(Resource::Nofile);
    let lowest_free = highest.1.as_raw_fd() as u64 + 1;
    setrlimit(
        Resource::Nofile,
        Rlimit {
            current: Some(lowest_free),
            ..before
        },
    )
    .unwrap();
    assert!(matches!(
        recv(&b, &mut [0; 4]),
        Err(FdPassError::NoDescriptors)
    ));
    setrlimit(Resource::Nofile, before).unwrap();
    assert!(witness.content().is_empty());
}
