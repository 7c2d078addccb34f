//! Somebody on the network who has heard everything and knows no key.

use std::collections::HashSet;

use bcl_types::Random;

use crate::World;
use crate::net::{Datagram, Life};
use crate::party::Party;

use super::seat::host;
use super::turns::Turn;

/// A stranger at work.
pub(super) struct Stranger {
    gap_ns: u64,
    random: Random,
    /// What was played back before, to hosts that ran.
    played: HashSet<Vec<u8>>,
}

impl Stranger {
    pub(super) fn new(gap_ns: u64, random: Random) -> Self {
        Self {
            gap_ns,
            random,
            played: HashSet::new(),
        }
    }

    /// Makes something out of what was heard.
    fn forge(&mut self, heard: &[Datagram]) -> Option<Datagram> {
        let random = &mut self.random;
        let mut forged = heard.get(random.index(heard.len().max(1)))?.clone();
        let other = random.pick(heard);
        match random.below(8) {
            // Played back as it was: perhaps from before a restart.
            0..=2 => {}
            // Under another name, or to somebody else.
            3 => forged.from = other.from,
            4 => forged.to = other.to,
            // One field changed: the type, a sequence number, an acknowledgement, a reason.
            5 => {
                let at = random.index(forged.bytes.len().clamp(1, 64));
                if let Some(byte) = forged.bytes.get_mut(at) {
                    *byte = random.next_u64() as u8;
                }
            }
            // The header of one with the rest of another.
            6 => {
                let cut = forged.bytes.len().min(other.bytes.len()).min(64);
                forged.bytes[..cut].copy_from_slice(&other.bytes[..cut]);
            }
            // Noise that begins well.
            _ => {
                let keep = random.index(forged.bytes.len().max(1));
                let noise = random.bytes(forged.bytes.len() - keep.min(forged.bytes.len()));
                forged.bytes.truncate(keep);
                forged.bytes.extend(noise);
            }
        }
        Some(forged)
    }
}

impl<P: Party> World<P> {
    /// The stranger does his worst, and will be back while there is anybody to disturb.
    pub(super) fn strange(&mut self) {
        let is_over = self.is_over();
        let Some(stranger) = &mut self.stranger else {
            return;
        };
        if let Some(forged) = stranger.forge(self.net.recorded()) {
            let mut recorded = self.net.recorded().iter();
            let whole = recorded.find(|heard| heard.bytes == forged.bytes);
            let seat_at = |address| self.seats.iter().position(|seat| seat.address == address);
            // Whose it was, and not under whose name it is played back.
            let from = whole.and_then(|whole| seat_at(whole.from));
            if let Some((from, to)) = from.zip(seat_at(forged.to)) {
                let is_heard = self.net.life(host(to)) == Life::Running;
                if !stranger.played.contains(&forged.bytes) {
                    // It may have been lost when it was sent: then nothing tells it from one that was under way for long.
                    self.seats[to].held_back_ns.insert(from, self.now_ns);
                }
                if is_heard {
                    stranger.played.insert(forged.bytes.clone());
                }
            }
            self.net.inject(self.now_ns, forged);
        }
        if !is_over {
            let delay_ns = stranger.random.between(1, 2 * stranger.gap_ns);
            self.schedule.add(self.now_ns + delay_ns, Turn::Stranger);
        }
    }
}
