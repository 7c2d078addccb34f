//! Which members of a group share a host: between hosts the first of each speaks for all, and all hear it ([COLL-3.5]).

use crate::error::Error;
use crate::group::{Call, Group};

/// So many hosts tell each other directly.
const EACH_HOST_MAX: usize = 8;

/// The hosts of a group, in the order of the ranks of their first members.
#[derive(Debug)]
pub struct Hosts {
    /// The ranks of each host's members, in order; the first speaks for them.
    ranks: Vec<Vec<usize>>,
}

impl Hosts {
    /// By which host each rank is on.
    pub fn new(hosts: &[u64]) -> Self {
        let mut ranks: Vec<Vec<usize>> = Vec::new();
        for (rank, host) in hosts.iter().enumerate() {
            let same = ranks.iter_mut().find(|ranks| hosts[ranks[0]] == *host);
            match same {
                Some(ranks) => ranks.push(rank),
                None => ranks.push(vec![rank]),
            }
        }
        Self { ranks }
    }

    pub fn number(&self) -> usize {
        self.ranks.len()
    }

    /// The ranks of the host that this one is on.
    fn beside(&self, rank: usize) -> &[usize] {
        let host = self.ranks.iter().find(|ranks| ranks.contains(&rank));
        host.map_or(&[], |ranks| ranks)
    }
}

/// Steps of a call that goes by hosts: to the first of a host; from that to all.
const TO_FIRST: u8 = 0;
const TO_ALL: u8 = 1;

impl Call<'_> {
    /// Each gets what each has, which is equally long: `use_it` gets it by rank, in no certain order.
    pub fn exchange_by_host(
        &self,
        hosts: &Hosts,
        own: &[u8],
        mut use_it: impl FnMut(usize, &[u8]),
    ) -> Result<(), Error> {
        let (rank, len_bytes) = (self.group.rank(), own.len());
        let ranks = hosts.beside(rank);
        match ranks {
            [first, others @ ..] if *first == rank => {
                let mut all = own.to_vec();
                for other in others {
                    self.receive_with(*other, TO_FIRST, len_bytes, |data| all.extend(data))?;
                }
                self.send_to_others(TO_ALL, &all)?;
                give_out(ranks, len_bytes, &all, &mut use_it);
            }
            [first, ..] => self.send(*first, TO_FIRST, own)?,
            [] => {}
        }
        for ranks in hosts.ranks.iter().filter(|ranks| ranks[0] != rank) {
            self.receive_with(ranks[0], TO_ALL, len_bytes * ranks.len(), |all| {
                give_out(ranks, len_bytes, all, &mut use_it);
            })?;
        }
        Ok(())
    }
}

fn give_out(ranks: &[usize], len_bytes: usize, all: &[u8], use_it: &mut impl FnMut(usize, &[u8])) {
    for (index, rank) in ranks.iter().enumerate() {
        use_it(*rank, &all[index * len_bytes..][..len_bytes]);
    }
}

impl Group {
    /// If it is on several, but not on many.
    pub(crate) fn few_hosts(&self) -> Result<Option<&Hosts>, Error> {
        let hosts = self.hosts()?;
        let are_few = (2..=EACH_HOST_MAX).contains(&hosts.number());
        Ok(are_few.then_some(hosts))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_are_found_in_the_order_of_ranks() {
        let hosts = Hosts::new(&[7, 0, 7, 9, 0]);
        assert_eq!(hosts.ranks, [vec![0, 2], vec![1, 4], vec![3]]);
        assert_eq!(Hosts::new(&[0, 0]).number(), 1);
    }
}
