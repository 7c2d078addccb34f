//! Where packets come and go: a socket for all, one for what is sent to a multicast group, and, if there is one other host only, a socket for
//! that alone, by which the kernel looks up no routes.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use bcl_os::Fd;
use bcl_udp::{Socket, Train};

/// While there is a socket for the only other host, the others are looked at so seldom: each so many turns.
const SELDOM: u32 = 8;

/// All of a host.
pub struct Sockets {
    common: Watched,
    group: Option<Watched>,
    line: Option<Line>,
    turns: u32,
    /// Counts changes of which there are.
    pub changes: u32,
}

/// For one other host.
struct Line {
    to: Watched,
    peer: SocketAddr,
}

/// A socket, and what others wait at for what comes by it.
struct Watched {
    socket: Socket,
    watch: Arc<Fd>,
}

impl Watched {
    fn new(socket: Socket) -> io::Result<Self> {
        let watch = Fd::make(|| rustix::io::fcntl_dupfd_cloexec(&socket, 3))?;
        let watch = Arc::new(watch);
        Ok(Self { socket, watch })
    }
}

impl Sockets {
    pub fn new(common: Socket, group: Option<Socket>) -> io::Result<Self> {
        Ok(Self {
            common: Watched::new(common)?,
            group: group.map(Watched::new).transpose()?,
            line: None,
            turns: 0,
            changes: 0,
        })
    }

    /// What to wait at; by the first packets leave.
    pub fn watches(&self) -> Vec<Arc<Fd>> {
        let line = self.line.iter().map(|line| &line.to);
        let all = line.chain([&self.common]).chain(&self.group);
        all.map(|socket| Arc::clone(&socket.watch)).collect()
    }

    /// There is this other host only, or none or several.
    pub fn have_only(&mut self, peer: Option<SocketAddr>) {
        if self.line.as_ref().map(|line| line.peer) == peer {
            return;
        }
        self.changes += 1;
        if let Some(line) = self.line.take() {
            // What it has received is sent again.
            line.to.socket.retire();
        }
        self.line = peer.and_then(|peer| {
            let socket = Socket::connect_beside([&self.common.socket].into_iter(), peer).ok()?;
            let to = Watched::new(socket).ok()?;
            Some(Line { to, peer })
        });
    }

    /// Those to look at now for what has come.
    pub fn in_turn(&mut self) -> impl Iterator<Item = &mut Socket> {
        self.turns = self.turns.wrapping_add(1);
        let is_their_turn = self.line.is_none() || self.turns.is_multiple_of(SELDOM);
        let others = [&mut self.common].into_iter().chain(&mut self.group);
        let others = others.filter(move |_| is_their_turn);
        let line = self.line.iter_mut().map(|line| &mut line.to);
        line.chain(others).map(|watched| &mut watched.socket)
    }

    /// All, for what the network has said.
    pub fn all(&mut self) -> impl Iterator<Item = &mut Socket> {
        let line = self.line.iter_mut().map(|line| &mut line.to);
        let all = line.chain([&mut self.common]);
        all.map(|watched| &mut watched.socket)
    }

    /// To how many of them the packets have gone.
    pub fn send(&mut self, to: &[SocketAddr], train: &Train) -> usize {
        let line = self.line.as_mut().filter(|line| to == [line.peer]);
        let watched = line.map_or(&mut self.common, |line| &mut line.to);
        watched.socket.send_to_each(to, train)
    }
}
