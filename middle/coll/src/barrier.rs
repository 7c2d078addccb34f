//! Nobody goes on before all have come ([COLL-3.1]).

use crate::error::Error;
use crate::group::{Call, Group};
use crate::header::Kind;

/// Up to so many members one hears from all sooner than all exchange messages in rounds, each with half a round trip.
const ONE_HEARS_MAX: usize = 16;

/// How members wait for each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BarrierWay {
    /// Rank 0 hears from all, and posts for all: as in the paper, section 4.
    Coordinator,
    /// In each round, each tells one and hears from one, twice as far away as in the one before.
    Dissemination,
    /// The first of each host hears from all others of it, and posts for all.
    Hosts,
}

impl Group {
    /// Returns once all have called it.
    ///
    /// # Errors
    /// [`Error::Board`] if one of them has ended, and [`Error::Mismatch`].
    pub fn barrier(&self) -> Result<(), Error> {
        self.barrier_by(self.barrier_way()?)
    }

    /// The same in a certain way, which all say alike.
    ///
    /// # Errors
    /// As [`barrier`](Self::barrier).
    pub fn barrier_by(&self, way: BarrierWay) -> Result<(), Error> {
        self.call(Kind::Barrier, |call| match way {
            BarrierWay::Coordinator => call.coordinate(),
            BarrierWay::Dissemination => call.disseminate(),
            BarrierWay::Hosts => call.exchange_by_host(self.hosts()?, &[], |_, _| {}),
        })
    }

    /// Between hosts a post is a packet to all of them: few are better than many.
    fn barrier_way(&self) -> Result<BarrierWay, Error> {
        if self.size() <= 2 {
            return Ok(BarrierWay::Dissemination);
        }
        let is_large = self.size() > ONE_HEARS_MAX;
        Ok(match self.few_hosts()? {
            Some(_) => BarrierWay::Hosts,
            None if is_large && self.hosts()?.number() == 1 => BarrierWay::Dissemination,
            None => BarrierWay::Coordinator,
        })
    }
}

impl Call<'_> {
    fn coordinate(&self) -> Result<(), Error> {
        if self.group.rank() > 0 {
            self.send(0, 0, &[])?;
            return self.receive(0, 1, &mut []);
        }
        (1..self.group.size()).try_for_each(|other| self.receive(other, 0, &mut []))?;
        self.send_to_others(1, &[])
    }

    fn disseminate(&self) -> Result<(), Error> {
        let (rank, size) = (self.group.rank(), self.group.size());
        let mut apart = 1;
        for step in 0.. {
            if apart >= size {
                break;
            }
            self.send((rank + apart) % size, step, &[])?;
            self.receive((rank + size - apart) % size, step, &mut [])?;
            apart *= 2;
        }
        Ok(())
    }
}
