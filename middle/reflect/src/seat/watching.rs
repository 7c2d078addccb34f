//! Whoever is there is watched by one other, which writes down how it ends ([REFLECT-5.1]).

use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;
use std::time::Duration;

use bcl_node::watch::PeerProcess;
use bcl_os::Fd;
use bcl_types::Cause;

use super::host::Host;
use super::say::{Answer, Unheard, Wish, hear, say};
use crate::life::State;
use crate::segment::Segment;

/// How long one that has hung up may seem to live.
const PAUSE: Duration = Duration::from_millis(10);

/// Whom a member watches.
pub struct Watch {
    segment: Arc<Segment>,
    watched: Option<Watched>,
}

struct Watched {
    member: u16,
    /// As what it has joined.
    state: State,
    sock: Fd,
    process: PeerProcess,
}

impl Watch {
    pub fn new(segment: Arc<Segment>) -> Self {
        let watched = None;
        Self { segment, watched }
    }

    /// This member is new: whoever comes before it has to watch it.
    pub fn tell_predecessor(&self, host: &Host) {
        let own = usize::from(host.seat().member);
        let there = self.there(own);
        if let Some((member, _)) = there.last() {
            let seat = host.seat_of(*member);
            // Should it miss that, it looks by itself once a second.
            if let Ok(Some(sock)) = host.folder().connect_to_seat(seat) {
                let _ = say(sock, &Wish::Look, &[]);
            }
        }
    }

    /// What is readable when there is something to look at.
    pub fn descriptors(&self) -> Vec<BorrowedFd<'_>> {
        let Some(Watched { sock, process, .. }) = &self.watched else {
            return Vec::new();
        };
        [sock.as_fd()].into_iter().chain(process.as_fd()).collect()
    }

    /// Sees to it that the next member that is there is watched, and writes down who has ended.
    pub fn look(&mut self, host: &Host) {
        if self.watched.as_mut().is_some_and(Watched::has_hung_up)
            && let Some(watched) = self.watched.take()
        {
            self.bury_if_dead(host, &watched);
        }
        let own = usize::from(host.seat().member);
        for (member, state) in self.there(own) {
            let is_it = |watched: &Watched| watched.member == member && watched.state == state;
            if self.watched.as_ref().is_some_and(is_it) {
                return;
            }
            match Watched::call(host, member, state) {
                Ok(Some(watched)) => {
                    self.watched = Some(watched);
                    return;
                }
                Ok(None) => self.bury(host, member, state, Cause::Vanished),
                // A shortage of descriptors, perhaps: again in a second.
                Err(_) => return,
            }
        }
        self.watched = None;
    }

    /// Who is on this host beside this member: those after it, then those before it.
    fn there(&self, own: usize) -> Vec<(u16, State)> {
        let all = 0..self.segment.members();
        let here = all.filter_map(|member| Some((member, self.segment.state_here(member)?)));
        let (mut before, mut after) = (Vec::new(), Vec::new());
        for (member, state) in here {
            match usize::from(member).cmp(&own) {
                std::cmp::Ordering::Less => before.push((member, state)),
                std::cmp::Ordering::Equal => {}
                std::cmp::Ordering::Greater => after.push((member, state)),
            }
        }
        after.append(&mut before);
        after
    }

    /// It has hung up, as the dead do, and those who have left, or who had no room for one more connection.
    fn bury_if_dead(&self, host: &Host, watched: &Watched) {
        let Watched { member, state, .. } = *watched;
        let seat = host.seat_of(member);
        let is_there = || self.segment.member(member).0 == state;
        let sits_there = || !matches!(host.folder().connect_to_seat(seat), Ok(None));
        // Of one that dies, descriptors close one after the other.
        let lives = || {
            sits_there() && {
                std::thread::sleep(PAUSE);
                sits_there()
            }
        };
        if is_there() && !lives() {
            self.bury(host, member, state, watched.process.cause().into());
        }
    }

    fn bury(&self, host: &Host, member: u16, state: State, cause: Cause) {
        self.segment.leave(member, state, state.ended(cause));
        let seat = host.seat_of(member);
        // Should it fail: whoever comes next removes the name.
        let _ = host.folder().sweep_one(seat);
    }
}

impl Watched {
    /// `None` if nobody sits there.
    fn call(host: &Host, member: u16, state: State) -> std::io::Result<Option<Self>> {
        let seat = host.seat_of(member);
        let Some(sock) = host.folder().connect_to_seat(seat)? else {
            return Ok(None);
        };
        let process = PeerProcess::open(&sock, None)?;
        // Should it not hear: it has hung up.
        let _ = say(&sock, &Wish::Watch, &[]);
        Ok(Some(Self {
            member,
            state,
            sock,
            process,
        }))
    }

    fn has_hung_up(&mut self) -> bool {
        match hear::<Answer>(&self.sock) {
            Ok((_, fds)) => {
                // On older kernels only the process itself can say which it is.
                let pidfd = fds.into_iter().next();
                if let (None, Ok(process)) =
                    (self.process.as_fd(), PeerProcess::open(&self.sock, pidfd))
                {
                    self.process = process;
                }
                false
            }
            Err(Unheard::NotYet) => self.process.has_exited(),
            Err(Unheard::Over) => true,
        }
    }
}
