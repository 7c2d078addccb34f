//! When the kernels of other hosts have what a member posts. Where hosts share the processors of one machine, their processes see it only
//! once they get one.

use std::net::IpAddr;
use std::time::Duration;

use bcl_mirror::Traffic;
use rustix::time::{ClockId, clock_gettime};

use super::crew::{Hosts, INTERFACE};
use crate::failure::Result;
use crate::trace::frame::Datagram;
use crate::trace::live::Live;

/// An ear at the interface of each member but the one that posts.
pub struct Taps {
    taps: Vec<Live>,
    /// Where that is.
    from: IpAddr,
}

impl Taps {
    pub fn open(hosts: &Hosts) -> Result<Self> {
        let others = hosts.hosts.iter().skip(1);
        let taps: Result<Vec<Live>> = others
            .map(|host| host.within(|| Live::open(Some(INTERFACE))))
            .collect();
        let mut taps = Self {
            taps: taps?,
            from: hosts.addresses[0],
        };
        // The kernel notes times once somebody has asked for one.
        taps.last_after(usize::MAX, Duration::ZERO)?;
        Ok(taps)
    }

    /// How long after `begin` the last of the first `readers` others had its first packet with writes; nothing if one had none. Whatever has
    /// come is forgotten then.
    pub fn last_after(&mut self, readers: usize, begin: Duration) -> Result<Option<Duration>> {
        let mut last = Some(Duration::ZERO);
        for (index, tap) in self.taps.iter_mut().enumerate() {
            let mut first = None;
            while let Some((time, packet)) = tap.next_that_came()? {
                let after = time.checked_sub(begin);
                first = first.or(after.filter(|_| has_writes(packet, self.from)));
            }
            if index < readers {
                last = last.zip(first).map(|(last, first)| last.max(first));
            }
        }
        Ok(last)
    }
}

fn has_writes(packet: &[u8], from: IpAddr) -> bool {
    Datagram::of_ip(packet).is_some_and(|datagram| {
        let traffic = Traffic::of(datagram.payload);
        datagram.source.ip() == from && traffic == Some(Traffic::Writes)
    })
}

/// By the clock that packets are marked with.
pub fn now() -> Duration {
    let now = clock_gettime(ClockId::Realtime);
    Duration::new(now.tv_sec.unsigned_abs(), now.tv_nsec as u32)
}
