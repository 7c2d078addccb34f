//! The kernel's news of interfaces.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::io::Errno;
use rustix::net::netlink::SocketAddrNetlink;
use rustix::net::{AddressFamily, RecvFlags, SocketFlags, SocketType, bind, recv, socket_with};

/// Interfaces that come, go and change: RTMGRP_LINK.
const LINKS: u32 = 1;
/// What is taken before it is looked what has become of the interfaces.
const AT_ONCE: usize = 1000;

/// A socket that the kernel says something to whenever an interface comes, goes or changes.
pub(super) struct LinkNews(OwnedFd);

impl LinkNews {
    pub fn listen() -> io::Result<Self> {
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let socket = socket_with(AddressFamily::NETLINK, SocketType::RAW, flags, None)?;
        bind(&socket, &SocketAddrNetlink::new(0, LINKS))?;
        Ok(Self(socket))
    }

    /// Takes what was said. What it is does not matter: who has lost some of it has to look for himself as well.
    pub fn drain(&self) {
        let mut unread = [0; 64];
        for _ in 0..AT_ONCE {
            if recv(&self.0, &mut unread, RecvFlags::TRUNC) == Err(Errno::AGAIN) {
                return;
            }
        }
    }
}

impl AsFd for LinkNews {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

#[test]
fn an_interface_that_comes_is_news() {
    use bcl_netns::{Host, unless_refused};
    let Some(host) = unless_refused(Host::new()) else {
        return;
    };
    host.within(|| {
        let news = LinkNews::listen().unwrap();
        let mut byte = [0];
        let mut say = || recv(&news.0, &mut byte, RecvFlags::PEEK).map(|(len, _)| len > 0);
        assert_eq!(say(), Err(Errno::AGAIN));
        host.run("ip link add link0 type veth peer name link1")
            .unwrap();
        assert_eq!(say(), Ok(true));
        news.drain();
        assert_eq!(say(), Err(Errno::AGAIN));
    });
}
