//! A member's place, where others of the node find it, and the thread that sits there ([REFLECT-2], [REFLECT-5]).
//!
//! Read on with [`say`], what members say to each other; [`proof`], that they may; [`host`], answering; [`joining`], getting the
//! region from others; [`watching`], who has ended; [`report`], for people.

mod host;
mod joining;
mod proof;
mod report;
mod say;
mod watching;

use std::sync::Arc;
use std::thread::JoinHandle;

use bcl_os::bell::{self, Bell};
use bcl_os::without_signals;
use bcl_types::Cause;

use crate::error::Error;
use crate::life::{Life, State};
use crate::net::desk::Desk;
use crate::net::keeping::Keeping;
use crate::net::wish;
use crate::options::Joining;
use crate::segment::Segment;
use watching::Watch;

pub use host::Host;
pub use proof::Secret;
pub use report::{Report, ReportedMember, ReportedNetwork, reports};

/// A member of a region, and its thread.
#[derive(Debug)]
pub struct Seated {
    bell: Arc<Bell>,
    thread: JoinHandle<()>,
    /// That all members share.
    pub segment: Arc<Segment>,
    member: u16,
    /// What it was entered as.
    state: State,
    /// If other hosts have the region.
    pub desk: Option<Arc<Desk>>,
}

impl Seated {
    /// Takes the seat, gets the region or makes it, and enters this process as a member.
    pub fn take(joining: Joining) -> Result<Self, Error> {
        let member = joining.seat.member;
        let bell = Bell::new().map_err(|errno| Error::system("making a pipe", errno))?;
        let bell = Arc::new(bell);
        let mut host = Host::open(joining, Arc::clone(&bell))?;
        let segment = Arc::new(joining::obtain(&host)?);
        host.has(Arc::clone(&segment));
        let must_fence = !bcl_os::fence::register();
        let mut keeping = Keeping::default();
        let desk = host.places().map(|_| Arc::clone(&keeping.desk));
        let joined = match host.places() {
            None => segment.member(member).0.joined.wrapping_add(1),
            Some(_) => {
                let joined = keeping
                    .look(&host, &segment)
                    .and_then(|()| wish::become_member(&host, &segment, &mut keeping));
                match joined {
                    Ok(joined) => joined,
                    Err(error) => {
                        keeping.end(&segment);
                        return Err(error);
                    }
                }
            }
        };
        let life = Life::There;
        let state = State { joined, life };
        segment.enter(member, state, must_fence);
        let mut watch = Watch::new(Arc::clone(&segment));
        watch.tell_predecessor(&host);
        let body = move || {
            while host.turn(&mut watch, &mut keeping) {}
            host.end(keeping);
        };
        let thread = without_signals("bcl-reflect", body).map_err(|source| {
            segment.leave(member, state, state.ended(Cause::Closed));
            Error::system("starting the thread of a region", source)
        })?;
        Ok(Self {
            bell,
            thread,
            segment,
            member,
            state,
            desk,
        })
    }

    /// As what this process is the member: how often somebody has joined as it.
    pub fn joined(&self) -> u32 {
        self.state.joined
    }

    /// Leaves: the others know from the segment, and then hear that the thread has gone.
    pub fn rise(self) {
        let left = self.state.ended(Cause::Closed);
        self.segment.leave(self.member, self.state, left);
        bell::ring(self.bell.ringer());
        let _ = self.thread.join();
    }
}
