//! Getting the region from those who are there, or making it ([REFLECT-2.2] to [REFLECT-2.4]).

use std::io;
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

use bcl_node::{Seat, is_of_own_user, peer_credentials};
use bcl_os::Fd;
use bcl_os::ready::wait_for;
use rustix::io::Errno;

use super::host::Host;
use super::proof::{self, Nonces, Role};
use super::say::{Answer, Unheard, Wish, hear, say};
use crate::error::Error;
use crate::options::Geometry;
use crate::segment::Segment;

/// How long others have to hand the region over.
const PATIENCE: Duration = Duration::from_secs(5);
/// Before those are asked again who have hung up.
const PAUSE: Duration = Duration::from_millis(1);

/// The region, as one of the others has it, or a new one.
pub fn obtain(host: &Host) -> Result<Segment, Error> {
    let deadline = Instant::now() + PATIENCE;
    loop {
        let marked = with_others(host, |others| match others.is_empty() {
            true => host.bound().mark().map(|()| others),
            false => Ok(others),
        })?;
        if marked.is_empty() {
            return Ok(Segment::create(host.geometry())?);
        }
        let Some((segment, giver)) = ask(host, &marked, deadline)? else {
            if Instant::now() >= deadline {
                return Err(no_answer(host.geometry(), &marked));
            }
            std::thread::sleep(PAUSE);
            continue;
        };
        let is_the_one = with_others(host, |others| {
            let lives = matches!(hear::<Answer>(&giver), Err(Unheard::NotYet));
            let is_the_one = lives || others.is_empty();
            if is_the_one {
                host.bound().mark()?;
            }
            Ok(is_the_one)
        })?;
        if is_the_one {
            return Ok(segment);
        }
    }
}

/// Decides under the folder's lock, with those of the others before it who have the region.
fn with_others<R>(
    host: &Host,
    decide: impl FnOnce(Vec<Seat>) -> Result<R, Errno>,
) -> Result<R, Error> {
    let own = host.seat();
    let decided = host.folder().with_marked_seats(own.region, |mut marked| {
        marked.retain(|seat| *seat != own);
        decide(marked)
    })?;
    decided.map_err(|errno| Error::system("marking the seat of a region's member", errno))
}

/// Asks all at once, so that one that is stopped keeps nobody from answering. With the region comes the connection to who has
/// given it; `None` if none of them is there any more, or knows the key.
fn ask(host: &Host, others: &[Seat], deadline: Instant) -> Result<Option<(Segment, Fd)>, Error> {
    let mut asked = Vec::new();
    for other in others {
        asked.extend(Asked::call(host, *other)?);
    }
    while !asked.is_empty() {
        let mut still = Vec::new();
        for one in asked {
            match hear::<Answer>(&one.sock) {
                Ok((Answer::Challenge { nonce, proof }, _)) => {
                    still.extend(one.prove(host, nonce, &proof));
                }
                Ok((Answer::Region(theirs), fds)) if one.has_proved => {
                    return Ok(Some((adopt(host.geometry(), theirs, fds)?, one.sock)));
                }
                Err(Unheard::NotYet) => still.push(one),
                // It has gone, or is none of ours.
                Ok(_) | Err(Unheard::Over) => {}
            }
        }
        asked = still;
        let socks = asked.iter().map(|one| one.sock.as_fd());
        let left = deadline.saturating_duration_since(Instant::now());
        let has_more = wait_for(socks, Some(left));
        let has_more = has_more.map_err(|errno| Error::system("waiting for the region", errno))?;
        if !asked.is_empty() && !has_more {
            let silent: Vec<_> = asked.iter().map(|one| one.seat).collect();
            return Err(no_answer(host.geometry(), &silent));
        }
    }
    Ok(None)
}

/// One of those who are asked.
struct Asked {
    seat: Seat,
    sock: Fd,
    nonce: String,
    /// And this process too, to it.
    has_proved: bool,
}

impl Asked {
    /// `None` if nobody is there any more.
    fn call(host: &Host, seat: Seat) -> Result<Option<Self>, Error> {
        let failed =
            |source: io::Error| Error::system("asking another member for the region", source);
        let connected = host.folder().connect_to_seat(seat).or_else(|errno| {
            // More want to be let in than it lets wait: to be asked again.
            match errno {
                Errno::AGAIN => Ok(None),
                errno => Err(failed(errno.into())),
            }
        });
        let own_uid = rustix::process::geteuid().as_raw();
        let is_own =
            |sock: &Fd| peer_credentials(sock).is_ok_and(|peer| is_of_own_user(peer.uid, own_uid));
        let nonce = proof::nonce().map_err(failed)?;
        let wish = Wish::Region {
            nonce: nonce.clone(),
        };
        let sock = connected?.filter(|sock| is_own(sock) && say(sock, &wish, &[]).is_ok());
        Ok(sock.map(|sock| Self {
            seat,
            sock,
            nonce,
            has_proved: false,
        }))
    }

    /// `None` if it does not know the key, or has gone.
    fn prove(self, host: &Host, nonce: String, said: &str) -> Option<Self> {
        let nonces = Nonces {
            asker: self.nonce.clone(),
            host: nonce,
        };
        if !host.secret().is_proved(Role::Host, &nonces, said) {
            return None;
        }
        let proof = host.secret().proof(Role::Asker, &nonces);
        say(&self.sock, &Wish::Proved { proof }, &[]).ok()?;
        Some(Self {
            has_proved: true,
            ..self
        })
    }
}

fn adopt(ours: &Geometry, theirs: Geometry, fds: Vec<Fd>) -> Result<Segment, Error> {
    if theirs != *ours {
        return Err(ours.differs_from(&theirs));
    }
    let mut fds = fds.into_iter();
    let (fd, bell) = (fds.next(), fds.next());
    let Some(fd) = fd.filter(|_| bell.is_some() == ours.is_networked) else {
        let full = std::io::Error::from(Errno::MFILE);
        return Err(Error::system("receiving the region", full));
    };
    Ok(Segment::adopt(fd, bell, ours)?)
}

fn no_answer(geometry: &Geometry, silent: &[Seat]) -> Error {
    let who: Vec<_> = silent.iter().map(|seat| seat.member.to_string()).collect();
    Error::NoAnswer {
        name: geometry.name.clone(),
        who: format!("member {}", who.join(", ")),
        waited: PATIENCE,
    }
}
