//! One direction of a cable with the queue before it.

use bcl_types::Random;

use super::fate::Fate;
use super::faults::{Faults, flip};
use super::host::Datagram;

/// What surrounds a datagram on Ethernet: preamble, header, check and gap, IPv4 and UDP headers.
const OVERHEAD_BYTES: u64 = 66;

/// What a link can do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LinkSpec {
    /// How many bits it takes in a second.
    pub bits_per_second: u64,
    /// How long a bit is under way.
    pub propagation_ns: u64,
    /// How much may wait before it; what comes beyond is dropped.
    pub queue_bytes: u64,
    /// Longer datagrams vanish without a word.
    pub longest_bytes: usize,
    /// But those that may be cut are, and come through.
    pub cuts: bool,
    /// What it does wrong.
    pub faults: Faults,
}

impl LinkSpec {
    /// 10 Gbit/s, 5 us, 256 KiB before it and no faults: a good link of today.
    pub const GOOD: Self = Self {
        bits_per_second: 10_000_000_000,
        propagation_ns: 5_000,
        queue_bytes: 256 << 10,
        longest_bytes: usize::MAX,
        cuts: false,
        faults: Faults {
            loss: super::Rate::NEVER,
            bursts: None,
            duplicate: super::Rate::NEVER,
            corrupt: super::Rate::NEVER,
            truncate: super::Rate::NEVER,
            reorder: super::Rate::NEVER,
            reorder_by_ns: 0,
            jitter_ns: 0,
        },
    };

    /// The same link with `faults`.
    pub fn with_faults(self, faults: Faults) -> Self {
        Self { faults, ..self }
    }
}

/// A link at work.
#[derive(Debug)]
pub(super) struct Link {
    pub(super) spec: LinkSpec,
    pub(super) is_up: bool,
    /// When the last byte that waits will have left.
    free_at_ns: u64,
    /// No packet that keeps the order arrives before this.
    last_arrival_ns: u64,
    /// Until when everything is lost.
    burst_until_ns: u64,
}

impl Link {
    pub(super) fn new(spec: LinkSpec) -> Self {
        Self {
            spec,
            is_up: true,
            free_at_ns: 0,
            last_arrival_ns: 0,
            burst_until_ns: 0,
        }
    }

    /// How much waits before the link.
    pub(super) fn backlog_bytes(&self, now_ns: u64) -> u64 {
        let ns = u128::from(self.free_at_ns.saturating_sub(now_ns));
        (ns * u128::from(self.spec.bits_per_second) / 8_000_000_000) as u64
    }

    /// When no more than `backlog_bytes` will wait.
    pub(super) fn drained_to_ns(&self, backlog_bytes: u64) -> u64 {
        self.free_at_ns
            .saturating_sub(self.transmission_ns(backlog_bytes))
    }

    /// A datagram comes to the link: when it reaches the other end, or why it does not.
    pub(super) fn carry(
        &mut self,
        now_ns: u64,
        datagram: &Datagram,
        random: &mut Random,
    ) -> Result<u64, Fate> {
        if !self.is_up {
            return Err(Fate::LinkDown);
        }
        let is_cut = self.spec.cuts && datagram.may_be_cut;
        if datagram.bytes.len() > self.spec.longest_bytes && !is_cut {
            return Err(Fate::TooLong);
        }
        let len_bytes = datagram.bytes.len() as u64 + OVERHEAD_BYTES;
        if self.backlog_bytes(now_ns) + len_bytes > self.spec.queue_bytes {
            return Err(Fate::QueueFull);
        }
        self.free_at_ns = self.free_at_ns.max(now_ns) + self.transmission_ns(len_bytes);
        if let Some(fate) = self.loses(now_ns, random) {
            return Err(fate);
        }
        let jitter_ns = match self.spec.faults.jitter_ns {
            0 => 0,
            most_ns => random.below(most_ns),
        };
        let arrival_ns = self.free_at_ns + self.spec.propagation_ns + jitter_ns;
        self.last_arrival_ns = self.last_arrival_ns.max(arrival_ns);
        Ok(self.last_arrival_ns)
    }

    /// Whether this packet is held back, and until when.
    pub(super) fn holds_back(&self, arrival_ns: u64, random: &mut Random) -> Option<u64> {
        let faults = &self.spec.faults;
        let strikes = faults.reorder_by_ns > 0 && faults.reorder.strikes(random);
        strikes.then(|| arrival_ns + random.between(1, faults.reorder_by_ns))
    }

    /// Damages `bytes` if chance will have it so, and says how.
    pub(super) fn damage(&self, bytes: &mut Vec<u8>, random: &mut Random) -> Option<Fate> {
        if self.spec.faults.corrupt.strikes(random) {
            flip(bytes, random);
            return Some(Fate::Corrupted);
        }
        if self.spec.faults.truncate.strikes(random) && !bytes.is_empty() {
            bytes.truncate(random.index(bytes.len()));
            return Some(Fate::Truncated);
        }
        None
    }

    fn loses(&mut self, now_ns: u64, random: &mut Random) -> Option<Fate> {
        if let Some(bursts) = self.spec.faults.bursts {
            if now_ns >= self.burst_until_ns && bursts.begin.strikes(random) {
                self.burst_until_ns = now_ns + random.between(1, bursts.longest_ns);
            }
            if now_ns < self.burst_until_ns {
                return Some(Fate::LostInBurst);
            }
        }
        self.spec.faults.loss.strikes(random).then_some(Fate::Lost)
    }

    fn transmission_ns(&self, len_bytes: u64) -> u64 {
        let bits_ns = u128::from(len_bytes) * 8_000_000_000;
        bits_ns.div_ceil(u128::from(self.spec.bits_per_second)) as u64
    }
}

#[test]
fn a_link_takes_its_time_and_drops_what_does_not_fit() {
    let mut random = Random::new(1);
    let mut link = Link::new(LinkSpec {
        bits_per_second: 8_000_000_000,
        propagation_ns: 10_000,
        queue_bytes: 3_000,
        ..LinkSpec::GOOD
    });
    let datagram = datagram(1_000 - OVERHEAD_BYTES as usize);
    let mut carry = |now_ns| link.carry(now_ns, &datagram, &mut random);
    assert_eq!(carry(0), Ok(11_000));
    assert_eq!(carry(0), Ok(12_000));
    assert_eq!(carry(0), Ok(13_000));
    assert_eq!(carry(0), Err(Fate::QueueFull));
    assert_eq!(carry(1_000), Ok(14_000));
    assert_eq!(link.backlog_bytes(2_000), 2_000);
    assert_eq!(link.drained_to_ns(1_000), 3_000);
    link.is_up = false;
    assert_eq!(
        link.carry(9_000, &datagram, &mut random),
        Err(Fate::LinkDown)
    );
}

#[test]
fn what_is_too_long_comes_through_only_if_it_may_be_cut_and_is() {
    let mut random = Random::new(2);
    for (cuts, may_be_cut) in [(false, false), (false, true), (true, false), (true, true)] {
        let mut link = Link::new(LinkSpec {
            longest_bytes: 500,
            cuts,
            ..LinkSpec::GOOD
        });
        let datagram = Datagram {
            may_be_cut,
            ..datagram(501)
        };
        let carried = link.carry(0, &datagram, &mut random);
        assert_eq!(carried.is_ok(), cuts && may_be_cut);
    }
}

#[cfg(test)]
fn datagram(len_bytes: usize) -> Datagram {
    let nobody = std::net::SocketAddr::from(([10, 0, 0, 1], 1));
    Datagram::new(nobody, nobody, vec![0; len_bytes])
}

#[test]
fn jitter_keeps_the_order() {
    let mut random = Random::new(3);
    let mut link = Link::new(LinkSpec::GOOD.with_faults(Faults {
        jitter_ns: 100_000,
        ..Faults::default()
    }));
    let mut last_ns = 0;
    let datagram = datagram(64);
    for now_ns in 0..100 {
        let arrival_ns = link.carry(now_ns, &datagram, &mut random);
        let arrival_ns = arrival_ns.expect("there is room");
        assert!(arrival_ns >= last_ns);
        last_ns = arrival_ns;
    }
    assert!(last_ns > 50_000);
}
