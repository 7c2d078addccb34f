//! What the process that keeps a region does: it sends what members of its host write, puts what others write into the region, and
//! sees who comes and goes.

use std::os::fd::AsFd;
use std::sync::Arc;
use std::time::Duration;

use bcl_mirror::{Before, Config, Event, Geometry, HostId, Mirror, Outgoing};
use bcl_os::fence;
use bcl_os::sync::{AtomicU32, Ordering};
use bcl_types::{Span, Time};
use bcl_udp::{BindError, Buffers, Socket, Trouble, mtu};
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::keeping::DRAIN;
use super::local::{Locals, state_of};
use super::memory::KeptMemory;
use super::now;
use super::places::{Places, candidates, ports_of};
use super::shared::log_bytes;
use crate::error::Error;
use crate::life::{Life, State};
use crate::seat::Host;
use crate::segment::Segment;

/// To how many others a host sends by itself.
pub const FAN_OUT: usize = 16;
/// How long others are looked for.
const PATIENCE: Span = Span::from_ms(1000);
/// Header of a packet.
const HEADER_BYTES: usize = 64;
/// Payloads that a header can have behind it.
const PAYLOAD_MIN: usize = 1032;
const PAYLOAD_MAX: usize = 8896;
/// So many batches are taken in before others have their turn.
const BATCHES: usize = 64;
/// How often is looked for what takes others a while.
const LOOK: Span = Span::from_ms(1);
/// Where the kernel gives no fence for others, what is written may be noticed so late.
const UNFENCED: Span = Span::from_ms(10);

/// How often people are told anew how it goes.
const TOLD: Span = Span::from_ms(100);

/// Values of the word that says whether to stop.
pub const STOP_AT_ONCE: u32 = 1;
pub const STOP_AND_DRAIN: u32 = 2;

/// Who keeps a region.
pub struct Keeper {
    segment: Arc<Segment>,
    socket: Socket,
    config: Config,
}

impl Keeper {
    /// Gets a socket.
    pub fn open(host: &Host, segment: Arc<Segment>) -> Result<Self, Error> {
        let Some(places) = host.places() else {
            return Err(Error::InvalidArgument("a region of this host only".into()));
        };
        let region = host.seat().region;
        let name = &host.geometry().name;
        let socket = bind(places, region).map_err(|source| Error::Socket {
            name: name.clone(),
            source,
        })?;
        let payload_bytes = payload_bytes(&socket, places);
        let mut seed = [0; 8];
        bcl_os::random(&mut seed)
            .map_err(|source| Error::system("getting random numbers", source))?;
        let members = host.geometry().members;
        let config = Config {
            host: HostId(segment.common().host.load(Ordering::Relaxed)),
            geometry: Geometry {
                members,
                region_bytes: host.geometry().len_bytes,
                log_bytes: log_bytes(members),
            },
            secret: host.secret().of_packets(),
            places: places
                .others
                .iter()
                .map(|ip| candidates(*ip, region))
                .collect(),
            payload_bytes,
            fan_out: FAN_OUT,
            patience: PATIENCE,
            seed: u64::from_ne_bytes(seed),
        };
        Ok(Self {
            segment,
            socket,
            config,
        })
    }

    /// Keeps the region until it is to stop.
    pub fn run(self, stop: &AtomicU32) {
        let Self {
            segment,
            socket,
            config,
        } = self;
        let members = config.geometry.members;
        let memory = KeptMemory::new(&segment, members);
        let (locals, ended) = Locals::find(&segment, members, now());
        let before = before(&segment, members, ended);
        forget_the_lost(&segment, members, &before);
        let mirror = Mirror::resume(config, now(), &before, &memory);
        let round = Round {
            segment: &segment,
            memory: &memory,
            members,
            mirror,
            locals,
            socket,
            buffers: Buffers::new(),
            out: Outgoing::default(),
            unsent: 0,
            told_at: Time(0),
        };
        round.run(stop);
    }
}

fn bind(places: &Places, region: u64) -> Result<Socket, BindError> {
    let mut result = None;
    for port in ports_of(region) {
        match Socket::bind(places.own, port) {
            Err(BindError::InUse { address }) => result = Some(BindError::InUse { address }),
            bound => return bound,
        }
    }
    match result {
        Some(error) => Err(error),
        None => Socket::bind(places.own, 0),
    }
}

/// What goes into a datagram that all ways take, as far as the kernel knows them.
fn payload_bytes(socket: &Socket, places: &Places) -> usize {
    let known = places.others.iter().filter_map(|other| {
        let mtu = mtu::kernel_mtu(places.own, *other).ok()?;
        Some(mtu::largest_datagram_bytes(mtu, *other))
    });
    let smallest = known.min().unwrap_or(HEADER_BYTES + PAYLOAD_MIN);
    if smallest < HEADER_BYTES + PAYLOAD_MIN {
        socket.permit_fragments(true);
    }
    let fits = smallest.saturating_sub(HEADER_BYTES) / 8 * 8;
    fits.clamp(PAYLOAD_MIN, PAYLOAD_MAX)
}

fn before(segment: &Segment, members: u16, ended: Vec<bcl_mirror::Ended>) -> Before {
    Before {
        logs: (0..members)
            .map(|member| segment.book(member).kept.load())
            .collect(),
        ended,
        hosts: super::report::hosts(segment),
    }
}

/// Those whose host nobody has written down are on none.
fn forget_the_lost(segment: &Segment, members: u16, before: &Before) {
    let is_known = |host: u64| before.hosts.iter().any(|(known, _)| known.0 == host);
    for member in 0..members {
        let (state, _) = segment.member(member);
        let host = segment.host_of(member);
        if state.life == Life::There && host != 0 && !is_known(host) {
            segment.hear_of(member, host, state.ended(bcl_types::Cause::Vanished));
        }
    }
}

/// All that is needed to go on.
struct Round<'a> {
    segment: &'a Segment,
    memory: &'a KeptMemory<'a>,
    members: u16,
    mirror: Mirror,
    locals: Locals,
    socket: Socket,
    buffers: Buffers,
    out: Outgoing,
    /// To so many of its addresses the last packet has still to go.
    unsent: usize,
    told_at: Time,
}

impl Round<'_> {
    fn run(mut self, stop: &AtomicU32) {
        let mut drained_by = None;
        loop {
            let now = now();
            self.segment
                .common()
                .turned_at_ns
                .store(now.0, Ordering::Relaxed);
            self.receive();
            self.locals
                .look(&mut self.mirror, self.memory, self.segment, now);
            if self.mirror.next_timeout() <= now {
                self.mirror.on_timeout(now, self.memory);
            }
            self.hear();
            self.transmit();
            self.locals
                .tell_who_has(&self.mirror, self.memory, self.segment);
            if now.since(self.told_at) >= TOLD {
                self.told_at = now;
                self.tell_people();
            }
            match stop.load(Ordering::Acquire) {
                0 => {}
                STOP_AND_DRAIN => {
                    let by = *drained_by
                        .get_or_insert_with(|| now + Span::from_ms(DRAIN.as_millis() as u64));
                    if self.mirror.is_sent() || now >= by {
                        self.mirror.leave(now);
                        self.transmit();
                        return;
                    }
                }
                _ => return,
            }
            self.sleep();
        }
    }

    fn receive(&mut self) {
        for _ in 0..BATCHES {
            // What fails here is said again, or nothing comes by this socket any more, and the host is missed.
            let Ok(Some(received)) = self.socket.receive(&mut self.buffers) else {
                break;
            };
            let (now, from) = (now(), received.from());
            for datagram in received {
                self.mirror.handle(now, from, datagram, self.memory);
            }
        }
        while let Some(report) = self.socket.next_report() {
            if let Trouble::TooLarge { mtu } = report.trouble {
                let largest = mtu::largest_datagram_bytes(mtu, report.to.ip());
                let fits = largest.saturating_sub(HEADER_BYTES) / 8 * 8;
                self.mirror.limit_payload(fits.max(PAYLOAD_MIN));
            }
        }
    }

    /// Writes down what has happened.
    fn hear(&mut self) {
        while let Some(event) = self.mirror.poll_event() {
            let common = self.segment.common();
            match event {
                Event::HostCame(_) | Event::HostGone(_) => {}
                Event::MemberCame {
                    member,
                    host,
                    epoch,
                } => {
                    let (joined, life) = ((epoch >> 32) as u32, Life::There);
                    self.segment.hear_of(member, host.0, State { joined, life });
                }
                Event::MemberGone {
                    member,
                    epoch,
                    ended,
                } => {
                    let after = state_of(epoch, ended);
                    let (state, _) = self.segment.member(member);
                    let is_known = state.joined == after.joined && state.life != Life::There;
                    if !is_known {
                        let host = self.segment.host_of(member);
                        self.segment.hear_of(member, host.max(1), after);
                    }
                }
                Event::Usurped { member, .. } => self.locals.is_usurped(self.segment, member),
                Event::FetchesAnew => common.fetches.store(1, Ordering::Relaxed),
                Event::IsWhole => common.fetches.store(0, Ordering::Relaxed),
                Event::Refused(theirs) => {
                    common
                        .refused_bytes
                        .store(theirs.region_bytes, Ordering::Relaxed);
                    common
                        .refused_members
                        .store(theirs.members.into(), Ordering::Release);
                }
            }
        }
    }

    fn tell_people(&self) {
        let counts = self.mirror.counts();
        let packets = [
            counts.sent,
            counts.repaired,
            counts.relayed,
            counts.forged + counts.foreign,
        ];
        for (word, count) in self.segment.common().packets.iter().zip(packets) {
            word.store(count, Ordering::Relaxed);
        }
        for member in 0..self.members {
            let answered = &self.segment.book(member).answered;
            let head = self.mirror.head(member);
            answered.known_head.store(head, Ordering::Relaxed);
        }
    }

    /// Sends all there is, as far as the kernel takes it.
    fn transmit(&mut self) {
        loop {
            let first = self.out.to.len() - self.unsent;
            let gone = self
                .socket
                .send_to_each(&self.out.to[first..], &self.out.bytes);
            self.unsent -= gone;
            if self.unsent > 0 {
                return;
            }
            if !self.mirror.poll_transmit(now(), self.memory, &mut self.out) {
                self.out.to.clear();
                return;
            }
            self.unsent = self.out.to.len();
        }
    }

    /// Until something is to be done.
    fn sleep(&mut self) {
        let common = self.segment.common();
        common.is_asleep.store(1, Ordering::Relaxed);
        let is_fenced = fence::heavy();
        if !is_fenced {
            self.segment.have_all_fence();
        }
        // What was written before somebody could see that it sleeps.
        self.transmit();
        let mut until = self.mirror.next_timeout();
        if self.locals.has_requests(self.segment) {
            until = now();
        } else if self.locals.is_waiting() {
            until = until.min(now() + LOOK);
        }
        if !is_fenced {
            until = until.min(now() + UNFENCED);
        }
        self.wait_until(until);
        common.is_asleep.store(0, Ordering::Relaxed);
        if let Some(bell) = self.segment.bell() {
            let _ = rustix::io::read(bell, &mut [0; 8]);
        }
    }

    fn wait_until(&self, until: Time) {
        let Some(bell) = self.segment.bell() else {
            return;
        };
        let wanted = match self.unsent {
            0 => PollFlags::IN,
            _ => PollFlags::IN | PollFlags::OUT,
        };
        let mut fds = [
            PollFd::from_borrowed_fd(self.socket.as_fd(), wanted),
            PollFd::from_borrowed_fd(bell, PollFlags::IN),
        ];
        let left = Duration::from_nanos(until.since(now()).0);
        let timeout = Timespec::try_from(left).ok();
        if poll(&mut fds, timeout.as_ref()).is_err() {
            // Interrupted, or the kernel is short of memory.
            std::thread::yield_now();
        }
    }
}
