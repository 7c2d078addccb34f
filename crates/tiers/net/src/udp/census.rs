//! Who most packets come from or go to, of any number of peers, with room for a few (Misra and Gries, "Finding repeated elements", 1982).

use std::net::SocketAddr;

/// Finds all that have more than a third.
const CANDIDATES: usize = 2;

/// What peers have that nothing else counts.
#[derive(Debug, Default)]
pub struct Census {
    candidates: [Option<Candidate>; CANDIDATES],
}

#[derive(Debug, Clone, Copy)]
struct Candidate {
    address: SocketAddr,
    votes: u32,
}

impl Census {
    #[inline]
    pub fn count(&mut self, peer: SocketAddr) {
        let mut known = self.candidates.iter_mut().flatten();
        if let Some(known) = known.find(|candidate| candidate.address == peer) {
            known.votes += 1;
        } else {
            self.count_new(peer);
        }
    }

    fn count_new(&mut self, address: SocketAddr) {
        let mut places = self.candidates.iter_mut();
        if let Some(free) = places.find(|place| place.is_none()) {
            *free = Some(Candidate { address, votes: 1 });
            return;
        }
        for place in &mut self.candidates {
            *place = place.and_then(|candidate| {
                let votes = candidate.votes - 1;
                (votes > 0).then_some(Candidate { votes, ..candidate })
            });
        }
    }

    /// Who has most, and how much at least; begins anew.
    pub fn take_first(&mut self) -> Option<(SocketAddr, u32)> {
        let candidates = std::mem::take(self).candidates;
        let first = candidates.into_iter().flatten();
        let first = first.max_by_key(|candidate| candidate.votes)?;
        Some((first.address, first.votes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn sender(number: u8) -> SocketAddr {
        SocketAddr::from(([10, 0, 0, number], 20_001))
    }

    proptest! {
        #[test]
        fn it_finds_who_sends_more_than_half_and_claims_no_more_than_was_sent(
            others in prop::collection::vec(0..40_u8, 0..100),
            order in any::<u64>(),
        ) {
            let mut all: Vec<u8> = others.clone();
            for at in 0..=others.len() {
                let place = (order as usize).wrapping_mul(at + 1) % (all.len() + 1);
                all.insert(place, 200);
            }
            let mut census = Census::default();
            all.iter().for_each(|number| census.count(sender(*number)));
            let (first, votes) = census.take_first().unwrap();
            prop_assert_eq!(first, sender(200));
            prop_assert!(votes as usize <= others.len() + 1);
            prop_assert!(census.take_first().is_none());
        }
    }
}
