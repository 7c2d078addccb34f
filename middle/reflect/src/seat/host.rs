//! Answering those who come to a member's seat.

use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;
use std::time::Duration;

use bcl_node::{Bound, Folder, Seat, is_of_own_user, peer_credentials, watch};
use bcl_os::Fd;
use bcl_os::bell::Bell;
use bcl_os::ready::{is_readable, wait_for};
use rustix::io::Errno;
use rustix::net::SocketFlags;

use super::proof::{self, Nonces, Role, Secret};
use super::report::Report;
use super::say::{Answer, Unheard, Wish, hear, say};
use super::watching::Watch;
use crate::error::Error;
use crate::net::keeping::Keeping;
use crate::net::places::Places;
use crate::options::{Geometry, Joining};
use crate::segment::Segment;

/// Connections beside those of the members: who asks something and goes.
const STRANGERS_MAX: usize = 64;
/// How often is looked whether the member to be watched is the one that is watched, should nobody have said so.
const ROUND: Duration = Duration::from_secs(1);
/// After a failure of the kernel's that may go on.
const PAUSE: Duration = Duration::from_millis(10);

/// A member's seat.
pub struct Host {
    folder: Folder,
    bound: Bound<Seat>,
    seat: Seat,
    geometry: Geometry,
    segment: Option<Arc<Segment>>,
    bell: Arc<Bell>,
    secret: Secret,
    places: Option<Places>,
    guests: Vec<Guest>,
}

/// Somebody of the same user.
struct Guest {
    sock: Fd,
    /// What it has to prove that it knows the key with.
    challenged: Option<Nonces>,
}

impl Host {
    /// Takes the seat.
    pub fn open(joining: Joining, bell: Arc<Bell>) -> Result<Self, Error> {
        let Joining {
            geometry,
            seat,
            folder,
            secret,
            places,
        } = joining;
        let Some(bound) = folder.bind_seat(seat)? else {
            return Err(Error::Taken {
                name: geometry.name,
                member: seat.member,
                place: String::new(),
            });
        };
        Ok(Self {
            folder,
            bound,
            seat,
            geometry,
            segment: None,
            bell,
            secret,
            places,
            guests: Vec::new(),
        })
    }

    pub fn folder(&self) -> &Folder {
        &self.folder
    }

    pub fn bound(&self) -> &Bound<Seat> {
        &self.bound
    }

    pub fn secret(&self) -> &Secret {
        &self.secret
    }

    pub fn seat(&self) -> Seat {
        self.seat
    }

    /// The seat of another.
    pub fn seat_of(&self, member: u16) -> Seat {
        Seat {
            member,
            ..self.seat
        }
    }

    pub fn geometry(&self) -> &Geometry {
        &self.geometry
    }

    /// From now on it can be handed over.
    pub fn has(&mut self, segment: Arc<Segment>) {
        self.segment = Some(segment);
    }

    /// Where hosts are, if there are others.
    pub fn places(&self) -> Option<&Places> {
        self.places.as_ref()
    }

    /// Watches and answers until there is something to do, and does it. False: the program has left.
    pub fn turn(&mut self, watch: &mut Watch, keeping: &mut Keeping) -> bool {
        watch.look(self);
        if let (Some(_), Some(segment)) = (&self.places, &self.segment) {
            // Should it fail, for want of a socket: again in a second.
            let _ = keeping.look(self, segment);
        }
        self.answer(&watch.descriptors(), ROUND);
        !is_readable(self.bell.as_fd())
    }

    /// The program has left.
    pub fn end(&self, keeping: Keeping) {
        if let Some(segment) = &self.segment {
            keeping.end(segment);
        }
    }

    /// Answers whoever has come, once something has, or one of the others has something, or the time is over.
    fn answer(&mut self, others: &[BorrowedFd<'_>], timeout: Duration) {
        let own = [self.bell.as_fd(), self.bound.listener()];
        let guests = self.guests.iter().map(|guest| guest.sock.as_fd());
        let all = own.into_iter().chain(guests).chain(others.iter().copied());
        match wait_for(all, Some(timeout)) {
            Ok(true) => {}
            Ok(false) => return,
            // The kernel is short of memory: not to be asked at once again.
            Err(_) => return std::thread::sleep(PAUSE),
        }
        self.serve_guests();
        self.let_in();
    }

    fn let_in(&mut self) {
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        loop {
            let accept = || rustix::net::accept_with(self.bound.listener(), flags);
            match Fd::make(accept) {
                Ok(sock) if self.is_welcome(&sock) => self.guests.push(Guest {
                    sock,
                    challenged: None,
                }),
                Ok(_) => {}
                Err(Errno::AGAIN) => return,
                // It stays readable: no descriptor is left, perhaps.
                Err(_) => return std::thread::sleep(PAUSE),
            }
        }
    }

    fn is_welcome(&self, sock: &Fd) -> bool {
        let own_uid = rustix::process::geteuid().as_raw();
        let is_own = peer_credentials(sock).is_ok_and(|peer| is_of_own_user(peer.uid, own_uid));
        is_own && self.guests.len() < usize::from(self.geometry.members) + STRANGERS_MAX
    }

    fn serve_guests(&mut self) {
        let mut guests = std::mem::take(&mut self.guests);
        guests.retain_mut(|guest| self.serve(guest));
        self.guests.append(&mut guests);
    }

    /// Whether the guest stays.
    fn serve(&self, guest: &mut Guest) -> bool {
        match hear::<Wish>(&guest.sock) {
            Ok((wish, _)) => self.grant(guest, wish),
            Err(Unheard::NotYet) => true,
            Err(Unheard::Over) => false,
        }
    }

    fn grant(&self, guest: &mut Guest, wish: Wish) -> bool {
        let sock = &guest.sock;
        let said = match (wish, &self.segment) {
            // As always when something has come.
            (Wish::Look, _) => return true,
            (Wish::Watch, _) => {
                let pidfd = watch::own_pidfd().ok().flatten();
                let beside: Vec<_> = pidfd.iter().map(AsFd::as_fd).collect();
                say(sock, &Answer::Watched, &beside)
            }
            (Wish::Region { nonce }, Some(_)) => {
                let Ok(host) = proof::nonce() else {
                    return false;
                };
                let nonces = Nonces { asker: nonce, host };
                let challenge = Answer::Challenge {
                    nonce: nonces.host.clone(),
                    proof: self.secret.proof(Role::Host, &nonces),
                };
                let said = say(sock, &challenge, &[]);
                guest.challenged = Some(nonces);
                said
            }
            (Wish::Proved { proof }, Some(segment)) => {
                let challenged = guest.challenged.take();
                let is_proved =
                    |nonces: &Nonces| self.secret.is_proved(Role::Asker, nonces, &proof);
                if !challenged.as_ref().is_some_and(is_proved) {
                    return false;
                }
                let region = Answer::Region(self.geometry.clone());
                say(sock, &region, &segment.descriptors())
            }
            (Wish::Report, Some(segment)) => {
                let report = Report::of(&self.geometry, segment, self.places.as_ref());
                say(sock, &Answer::Report(report), &[])
            }
            // Who is not marked is not asked, and the report can wait.
            (Wish::Region { .. } | Wish::Proved { .. } | Wish::Report, None) => return false,
        };
        said.is_ok()
    }
}
