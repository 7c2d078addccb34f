//! What the protocol has to send, as the socket takes it: in batches of packets that go the same way.

use std::net::IpAddr;

use bcl_proto::{Endpoint, Payload, Time, Transmit};
use bcl_tier::Upcalls;
use bcl_udp::{Datagram, Manner, SendError};

use super::gathered::Gathered;
use super::{Engine, bridge};
use crate::lent::Lent;

/// Packets that go out with one system call.
const BATCH: usize = 64;

/// What the protocol has given and the socket has not taken.
#[derive(Debug)]
pub struct Unsent {
    packets: Vec<Transmit>,
    /// What those on their way to the socket carry that lies in several pieces.
    gathered: Gathered,
    /// The socket has said that datagrams to there are too long.
    too_long: Option<IpAddr>,
}

impl Default for Unsent {
    fn default() -> Self {
        Self {
            packets: Vec::with_capacity(BATCH),
            gathered: Gathered::default(),
            too_long: None,
        }
    }
}

impl Unsent {
    pub fn is_empty(&self) -> bool {
        self.packets.is_empty()
    }
}

impl Engine {
    /// Sends what the protocol has to send, as far as the socket has room.
    #[inline]
    pub fn flush(&mut self, now: Time, up: &mut impl Upcalls) {
        loop {
            let bridge = bridge!(self, up);
            while self.unsent.packets.len() < BATCH
                && let Some(transmit) = self.endpoint.poll_transmit(now, bridge)
            {
                self.unsent.packets.push(transmit);
                if self.endpoint.seems_quiet() {
                    // It leaves before that is found out for certain.
                    break;
                }
            }
            if self.unsent.is_empty() || !self.send_run() {
                return;
            }
            if let Some(ip) = self.unsent.too_long.take() {
                let bridge = bridge!(self, up);
                self.endpoint.on_route(now, ip, bridge);
            }
        }
    }

    /// Sends the first packets that go the same way; false if the socket has no room for them.
    fn send_run(&mut self) -> bool {
        let packets = &mut self.unsent.packets;
        let (path, manner) = (packets[0].path, manner_of(&packets[0]));
        let run = match packets[0].is_alone() {
            true => 1,
            false => packets
                .iter()
                .take_while(|transmit| (transmit.path, manner_of(transmit)) == (path, manner))
                .take_while(|transmit| !transmit.is_alone())
                .count(),
        };
        self.unsent.gathered.gather(&self.lent, &packets[..run]);
        let carried = Carried {
            endpoint: &self.endpoint,
            lent: &self.lent,
            gathered: &self.unsent.gathered,
        };
        let datagram = |transmit| carried.datagram(transmit);
        let sent = if run == 1 {
            let only = datagram(&packets[0]);
            self.udp.send(path.to, only.as_slice(), manner)
        } else {
            // What belongs to an operation that has ended meanwhile is left out.
            let batch: Vec<_> = packets[..run].iter().filter_map(datagram).collect();
            self.udp.send(path.to, &batch, manner)
        };
        match sent {
            Ok(sent) if sent < run => {
                let live = |transmit: &Transmit| carried.payload(transmit).is_some();
                let gone = leave_out(&packets[..run], sent, live);
                packets.drain(..gone);
                gone == run
            }
            Ok(_) => {
                packets.drain(..run);
                true
            }
            Err(SendError::Full { .. }) => false,
            Err(error) => {
                // Lost, as packets can be; the protocol sends them again and gives up in time.
                if let SendError::TooLarge { .. } = error {
                    self.unsent.too_long = Some(path.to.ip());
                }
                packets.drain(..run);
                true
            }
        }
    }
}

#[inline]
fn manner_of(transmit: &Transmit) -> Manner {
    match (transmit.may_be_cut, transmit.is_single) {
        (true, _) => Manner::Fragmentable,
        (false, true) => Manner::Singly,
        (false, false) => Manner::Together,
    }
}

/// How many packets are done with when `sent` live ones are: dead ones in front of and among them as well.
fn leave_out(run: &[Transmit], sent: usize, live: impl Fn(&Transmit) -> bool) -> usize {
    let mut left = sent;
    run.iter()
        .position(|transmit| {
            let is_live = live(transmit);
            let is_kept = is_live && left == 0;
            left -= usize::from(is_live && !is_kept);
            is_kept
        })
        .unwrap_or(run.len())
}

/// What packets carry, wherever it lies.
struct Carried<'a> {
    endpoint: &'a Endpoint,
    lent: &'a Lent,
    gathered: &'a Gathered,
}

impl<'a> Carried<'a> {
    /// `None` if it is no longer there.
    #[inline]
    fn payload(&self, transmit: &'a Transmit) -> Option<&'a [u8]> {
        match transmit.payload {
            Payload::Own(_) => self.endpoint.bytes(transmit),
            Payload::Lent {
                op,
                offset,
                len_bytes,
            } => {
                let part = self.lent.part(op, offset, len_bytes.into());
                part.or_else(|| self.gathered.get(op, offset))
            }
        }
    }

    /// A packet as the socket takes it; `None` if what it was to carry is no longer there.
    #[inline]
    fn datagram(&self, transmit: &'a Transmit) -> Option<Datagram<'a>> {
        let payload = self.payload(transmit)?;
        Some(Datagram {
            header: self.endpoint.seal(transmit, payload),
            payload: [payload, &[]],
        })
    }
}
