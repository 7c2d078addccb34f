//! How much gets through: many senders, one receiver, for as long as somebody measures.

use crate::net::{HostSpec, LinkSpec};
use crate::party::Party;
use crate::{Mix, Plan, Traffic, World};

use super::Wrong;

/// A stream from each of some senders to one receiver.
#[derive(Debug, Clone, Copy)]
pub struct Streams {
    /// How many senders.
    pub senders: usize,
    /// What joins each of them to the switch.
    pub uplink: LinkSpec,
    /// What joins the receiver to the switch.
    pub downlink: LinkSpec,
    /// How long each message is.
    pub message_bytes: usize,
    /// How many messages each has under way.
    pub most_pending: usize,
    /// What they send.
    pub mix: Mix,
    /// Whether interface programs receive it, where a host has one.
    pub interfaces: bool,
}

/// What got through.
#[derive(Debug, Clone, PartialEq)]
pub struct Goodput {
    /// Payload delivered for each sender.
    pub bytes: Vec<u64>,
    /// In what time.
    pub span_ns: u64,
}

impl Goodput {
    /// Payload of all senders together.
    pub fn bits_per_second(&self) -> f64 {
        let bytes: u64 = self.bytes.iter().sum();
        bytes as f64 * 8e9 / self.span_ns as f64
    }

    /// Jain's index: 1 if all got the same, one over their number if one got all.
    pub fn fairness(&self) -> f64 {
        let sum: f64 = self.bytes.iter().map(|bytes| *bytes as f64).sum();
        let squares: f64 = self.bytes.iter().map(|bytes| (*bytes as f64).powi(2)).sum();
        if squares == 0.0 {
            return 0.0;
        }
        sum * sum / (squares * self.bytes.len() as f64)
    }
}

impl Streams {
    /// What `P` gets through, after `warm_up_ns`, in `span_ns`.
    pub fn measure<P: Party>(
        &self,
        seed: u64,
        warm_up_ns: u64,
        span_ns: u64,
    ) -> Result<Goodput, Box<Wrong>> {
        let mut world = World::<P>::new(self.plan(seed));
        world.advance(warm_up_ns)?;
        let before = world.delivered_bytes().to_vec();
        world.advance(warm_up_ns + span_ns)?;
        let after = world.delivered_bytes();
        let bytes = after
            .iter()
            .zip(before)
            .map(|(after, before)| after - before);
        Ok(Goodput {
            // The receiver is the first seat.
            bytes: bytes.skip(1).collect(),
            span_ns,
        })
    }

    /// A world of these streams, which never ends by itself.
    pub fn plan(&self, seed: u64) -> Plan {
        Plan {
            kind: "streams",
            seed,
            seats: 1 + self.senders,
            silent_peers: 0,
            host: HostSpec {
                inbox_bytes: 1 << 20,
                ..HostSpec::GOOD
            },
            uplink: self.uplink,
            downlink: self.downlink,
            datagram_bytes: 1472,
            trunk: None,
            traffic: Traffic {
                operations: u32::MAX,
                gap_ns: 1,
                most_pending: self.most_pending,
                mix: self.mix,
                shortest_bytes: self.message_bytes,
                longest_bytes: self.message_bytes,
                channels: 1,
                late_post_ns: 0,
                hold_ns: 0,
                nap_ns: 0,
                all_to_one: true,
                to_itself: false,
                cancels: false,
            },
            upsets: Vec::new(),
            stranger_gap_ns: None,
            two_jobs: false,
            interfaces: self.interfaces,
            own_keys: false,
            tagged: None,
            one_sided: false,
            dead_after_ns: 3_000_000_000,
        }
    }
}

#[test]
fn fairness_is_jains() {
    let of = |bytes: &[u64]| {
        let bytes = bytes.to_vec();
        Goodput { bytes, span_ns: 1 }.fairness()
    };
    assert_eq!(of(&[5, 5, 5, 5]), 1.0);
    assert_eq!(of(&[8, 0, 0, 0]), 0.25);
    assert_eq!(of(&[0, 0]), 0.0);
}
