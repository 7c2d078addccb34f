//! Getting the region from those who are there, or making it ([REFLECT-2.2] to [REFLECT-2.4]).

use std::os::fd::AsFd;
use std::time::{Duration, Instant};

use bcl_node::{Seat, is_of_own_user, peer_credentials};
use bcl_os::Fd;
use bcl_os::ready::wait_for;
use rustix::io::Errno;

use super::host::Host;
use super::say::{Answer, Unheard, Wish, hear, say};
use crate::error::Error;
use crate::options::Geometry;
use crate::segment::Segment;

/// How long others have to hand the region over.
const PATIENCE: Duration = Duration::from_secs(5);

/// The region, as one of the others has it, or a new one.
pub fn obtain(host: &Host) -> Result<Segment, Error> {
    loop {
        let marked = with_others(host, |others| match others.is_empty() {
            true => host.bound().mark().map(|()| others),
            false => Ok(others),
        })?;
        if marked.is_empty() {
            return Ok(Segment::create(host.geometry())?);
        }
        let Some((segment, giver)) = ask(host, &marked)? else {
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
/// given it; `None` if none of them is there any more.
fn ask(host: &Host, others: &[Seat]) -> Result<Option<(Segment, Fd)>, Error> {
    let deadline = Instant::now() + PATIENCE;
    let mut asked = Vec::new();
    for other in others {
        asked.extend(call(host, *other)?.map(|sock| (*other, sock)));
    }
    while !asked.is_empty() {
        let mut still = Vec::new();
        for (other, sock) in asked {
            match hear::<Answer>(&sock) {
                Ok((Answer::Region(theirs), fds)) => {
                    return Ok(Some((adopt(host.geometry(), theirs, fds)?, sock)));
                }
                Err(Unheard::NotYet) => still.push((other, sock)),
                // It has gone, or is none of ours.
                Ok(_) | Err(Unheard::Over) => {}
            }
        }
        asked = still;
        let socks = asked.iter().map(|(_, sock)| sock.as_fd());
        let left = deadline.saturating_duration_since(Instant::now());
        let has_more = wait_for(socks, Some(left));
        let has_more = has_more.map_err(|errno| Error::system("waiting for the region", errno))?;
        if !asked.is_empty() && !has_more {
            let silent: Vec<_> = asked.iter().map(|(other, _)| *other).collect();
            return Err(no_answer(host.geometry(), &silent));
        }
    }
    Ok(None)
}

/// `None` if nobody is there any more.
fn call(host: &Host, other: Seat) -> Result<Option<Fd>, Error> {
    let connected = host.folder().connect_to_seat(other).or_else(|errno| {
        // More want to be let in than it lets wait: as one that does not answer it will be asked again.
        match errno {
            Errno::AGAIN => Ok(None),
            errno => Err(Error::system("asking another member for the region", errno)),
        }
    });
    let own_uid = rustix::process::geteuid().as_raw();
    let is_own =
        |sock: &Fd| peer_credentials(sock).is_ok_and(|peer| is_of_own_user(peer.uid, own_uid));
    let sock = connected?.filter(is_own);
    Ok(sock.filter(|sock| say(sock, &Wish::Region, &[]).is_ok()))
}

fn adopt(ours: &Geometry, theirs: Geometry, fds: Vec<Fd>) -> Result<Segment, Error> {
    if theirs != *ours {
        return Err(Error::Geometry {
            name: ours.name.clone(),
            members: theirs.members,
            len_bytes: theirs.len_bytes,
            own_members: ours.members,
            own_len_bytes: ours.len_bytes,
        });
    }
    let Some(fd) = fds.into_iter().next() else {
        let full = std::io::Error::from(Errno::MFILE);
        return Err(Error::system("receiving the region", full));
    };
    Ok(Segment::adopt(fd, ours)?)
}

fn no_answer(geometry: &Geometry, silent: &[Seat]) -> Error {
    let who: Vec<_> = silent.iter().map(|seat| seat.member.to_string()).collect();
    Error::NoAnswer {
        name: geometry.name.clone(),
        who: format!("member {}", who.join(", ")),
        waited: PATIENCE,
    }
}
