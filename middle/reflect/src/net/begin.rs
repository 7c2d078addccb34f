//! A process begins to keep a region: with a socket, and with what the one before has written down.

use std::sync::Arc;

use bcl_mirror::{Before, Config, Geometry, HostId, Mirror};
use bcl_os::sync::Ordering;
use bcl_types::Span;
use bcl_udp::{BindError, Socket, mtu};

use super::group;
use super::local::Locals;
use super::memory::KeptMemory;
use super::now;
use super::places::{Places, candidates, ports_of};
use super::round::Round;
use super::shared::log_bytes;
use super::sockets::Sockets;
use crate::error::Error;
use crate::life::Life;
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

/// Gets a socket, and goes on where the process before has ended.
pub fn begin(host: &Host, segment: &Arc<Segment>) -> Result<Round, Error> {
    let Some(places) = host.places() else {
        return Err(Error::InvalidArgument("a region of this host only".into()));
    };
    let region = host.seat().region;
    let members = host.geometry().members;
    let name = &host.geometry().name;
    let socket = bind(places, region).map_err(|source| Error::Socket {
        name: name.clone(),
        source,
    })?;
    let group = match places.has_group {
        true => group::join(&socket, places, region).ok(),
        false => None,
    };
    let mut seed = [0; 8];
    bcl_os::random(&mut seed).map_err(|source| Error::system("getting random numbers", source))?;
    let others = places.others.iter();
    let geometry = Geometry {
        members,
        region_bytes: host.geometry().len_bytes,
        log_bytes: log_bytes(members),
    };
    let config = Config {
        host: HostId(segment.common().host.load(Ordering::Relaxed)),
        geometry,
        secret: host.secret().of_packets(),
        places: others.map(|ip| candidates(*ip, region)).collect(),
        group: group.as_ref().map(Socket::local_address),
        payload_bytes: payload_bytes(&socket, places),
        fan_out: FAN_OUT,
        patience: PATIENCE,
        seed: u64::from_ne_bytes(seed),
    };
    // Those of the process before.
    segment.common().attending.store(0, Ordering::Relaxed);
    let memory = KeptMemory::new(Arc::clone(segment), geometry);
    let logs: Vec<_> = (0..members)
        .map(|member| segment.book(member).kept.load())
        .collect();
    let (locals, ended) = Locals::find(segment, &logs, now());
    let hosts = super::report::hosts(segment);
    let before = Before { logs, ended, hosts };
    forget_the_lost(segment, &before);
    let mirror = Mirror::resume(config, now(), &before, &memory);
    let sockets =
        Sockets::new(socket, group).map_err(|source| Error::system("watching a socket", source))?;
    Ok(Round::new(memory, mirror, locals, sockets))
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
    payload_in(smallest)
}

/// How long a payload can be in a datagram of that length, or is anyway.
pub fn payload_in(datagram_bytes: usize) -> usize {
    let fits = datagram_bytes.saturating_sub(HEADER_BYTES) / 8 * 8;
    fits.clamp(PAYLOAD_MIN, PAYLOAD_MAX)
}

/// Those whose host nobody has written down are on none.
fn forget_the_lost(segment: &Segment, before: &Before) {
    let is_known = |host: u64| before.hosts.iter().any(|(known, _)| known.0 == host);
    for member in 0..segment.members() {
        let (state, _) = segment.member(member);
        let host = segment.host_of(member);
        if state.life == Life::There && host != 0 && !is_known(host) {
            segment.hear_of(member, host, state.ended(bcl_types::Cause::Vanished));
        }
    }
}
