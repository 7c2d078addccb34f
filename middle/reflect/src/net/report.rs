//! What there is to tell people of a region between hosts.

use std::net::SocketAddr;

use bcl_mirror::HostId;
use bcl_os::sync::{AtomicU64, Ordering};
use bcl_types::Time;

use super::begin::FAN_OUT;
use super::now;
use super::places::Places;
use super::shared::HOSTS_MAX;
use crate::seat::ReportedNetwork;
use crate::segment::Segment;

/// Other hosts, as they were written down.
pub fn hosts(segment: &Segment) -> Vec<(HostId, SocketAddr)> {
    let number = segment.common().hosts.load(Ordering::Acquire) as usize;
    let lines = (0..number.min(HOSTS_MAX)).map(|index| segment.host_line(index));
    lines.filter_map(|line| line.load()).collect()
}

/// Where a host is, `None` if it is this one.
pub fn place_of(host: u64, hosts: &[(HostId, SocketAddr)]) -> Option<String> {
    let known = hosts.iter().find(|(id, _)| id.0 == host);
    let place = known.map(|(_, address)| address.ip().to_string());
    (host != 0).then(|| place.unwrap_or_else(|| "a host that has gone".into()))
}

/// See [`ReportedMember::behind_bytes`](crate::ReportedMember::behind_bytes).
pub fn behind_bytes(segment: &Segment, member: u16) -> u64 {
    let book = segment.book(member);
    let load = |word: &AtomicU64| word.load(Ordering::Relaxed);
    let kept = book.kept.load();
    match kept.is_ours {
        // Nobody else has the region: nobody is behind.
        true => load(&book.written.head).saturating_sub(load(&book.answered.floor)),
        false => load(&book.answered.known_head).saturating_sub(kept.have),
    }
}

fn way(others: usize, hearers: usize) -> String {
    match others.saturating_sub(hearers) {
        _ if others == 0 => "there is nobody to send to".into(),
        0 => format!("IP multicast brings a packet to all {others}"),
        rest if hearers > 0 => format!(
            "IP multicast brings a packet to {hearers} of {others}, one system call sends it to the other {rest}"
        ),
        _ if others <= FAN_OUT => format!("one system call sends a packet to all {others}"),
        _ => {
            format!("one system call sends a packet to {FAN_OUT} of {others}, and they pass it on")
        }
    }
}

/// All but the members.
pub fn network(
    segment: &Segment,
    places: &Places,
    hosts: &[(HostId, SocketAddr)],
) -> ReportedNetwork {
    let common = segment.common();
    let turned_at = Time(common.turned_at_ns.load(Ordering::Relaxed));
    let packets = common.packets.each_ref();
    let [sent, again, passed_on, refused] = packets.map(|word| word.load(Ordering::Relaxed));
    ReportedNetwork {
        address: places.own.to_string(),
        others: hosts
            .iter()
            .map(|(_, address)| address.to_string())
            .collect(),
        kept_by: (common.keeper.load(Ordering::Relaxed) >> 32) as u32,
        ran_before_ms: now().since(turned_at).as_ms().into(),
        is_fetched: common.fetches.load(Ordering::Relaxed) != 0,
        way: way(hosts.len(), common.hearers.load(Ordering::Relaxed) as usize),
        hearers: common.hearers.load(Ordering::Relaxed),
        packets_sent: sent,
        packets_sent_again: again,
        packets_passed_on: passed_on,
        packets_refused: refused,
    }
}
