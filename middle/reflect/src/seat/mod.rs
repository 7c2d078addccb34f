//! A member's place, where others of the node find it, and the thread that sits there ([REFLECT-2], [REFLECT-5]).
//!
//! Read on with [`say`], what members say to each other; [`proof`], that they may; [`host`], answering; [`joining`], getting the region from others;
//! [`watching`], who has ended; [`report`], for people.

mod host;
mod joining;
mod proof;
mod report;
mod say;
mod watching;

use std::sync::Arc;
use std::sync::mpsc::sync_channel;
use std::thread::JoinHandle;

use bcl_os::bell::{self, Bell};
use bcl_os::without_signals;
use bcl_types::Cause;

use crate::error::Error;
use crate::life::{Life, State};
use crate::options::Joining;
use crate::segment::Segment;
use host::Host;
use watching::Watch;

pub use proof::Secret;
pub use report::{Report, ReportedMember, reports};

/// A member of a region, and its thread.
#[derive(Debug)]
pub struct Seated {
    bell: Arc<Bell>,
    thread: JoinHandle<()>,
    segment: Arc<Segment>,
    member: u16,
    /// What it was entered as.
    state: State,
}

impl Seated {
    /// Takes the seat, gets the region or makes it, and enters this process as a member.
    pub fn take(joining: Joining) -> Result<(Self, Arc<Segment>), Error> {
        let member = joining.seat.member;
        let bell = Bell::new().map_err(|errno| Error::system("making a pipe", errno))?;
        let bell = Arc::new(bell);
        let host = Host::open(joining, Arc::clone(&bell))?;
        let (tell, told) = sync_channel(1);
        // All of it on the thread, which also answers who asks meanwhile.
        let body = move || serve(host, |joined| drop(tell.send(joined)));
        let thread = without_signals("bcl-reflect", body)
            .map_err(|source| Error::system("starting the thread of a region", source))?;
        let joined = told.recv().unwrap_or_else(|_| {
            let died = std::io::Error::other("it has died: please report it with what stderr says");
            Err(Error::system("the thread of a region", died))
        });
        match joined {
            Ok((segment, state)) => {
                let seated = Self {
                    bell,
                    thread,
                    segment: Arc::clone(&segment),
                    member,
                    state,
                };
                Ok((seated, segment))
            }
            Err(error) => {
                let _ = thread.join();
                Err(error)
            }
        }
    }

    /// Leaves: the others know from the segment, and then hear that the thread has gone.
    pub fn rise(self) {
        let left = self.state.ended(Cause::Closed);
        self.segment.leave(self.member, self.state, left);
        bell::ring(self.bell.ringer());
        let _ = self.thread.join();
    }
}

type Joined = Result<(Arc<Segment>, State), Error>;

/// The thread.
fn serve(mut host: Host, tell: impl FnOnce(Joined)) {
    let segment = match joining::obtain(&host) {
        Ok(segment) => Arc::new(segment),
        Err(error) => {
            // The seat is free before who was to have it hears that it has not.
            drop(host);
            return tell(Err(error));
        }
    };
    host.has(Arc::clone(&segment));
    let before = segment.member(host.seat().member).0;
    let state = State {
        joined: before.joined.wrapping_add(1),
        life: Life::There,
    };
    let must_fence = !bcl_os::fence::register();
    segment.enter(host.seat().member, state, must_fence);
    let mut watch = Watch::new(Arc::clone(&segment));
    watch.tell_predecessor(&host);
    tell(Ok((segment, state)));
    while host.turn(&mut watch) {}
}
