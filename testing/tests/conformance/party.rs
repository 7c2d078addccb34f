//! Endpoints of the middle layer in one thread, which looks at them in turn.

use std::time::{Duration, Instant};

use bcl_adi::{Completion, Ended, Endpoint};
use bcl_testing::{Fixture, World};

/// An endpoint and what has ended on it.
pub struct Party {
    pub endpoint: Endpoint,
    pub ended: Vec<Completion>,
    /// Which way it looks next.
    takes_one: bool,
}

impl std::ops::Deref for Party {
    type Target = Endpoint;
    fn deref(&self) -> &Endpoint {
        &self.endpoint
    }
}

impl std::ops::DerefMut for Party {
    fn deref_mut(&mut self) -> &mut Endpoint {
        &mut self.endpoint
    }
}

impl Party {
    /// In turn in both ways that there are.
    pub fn look(&mut self) {
        self.takes_one = !self.takes_one;
        match self.takes_one {
            true => self.ended.extend(self.endpoint.poll().unwrap()),
            false => {
                let Self {
                    endpoint, ended, ..
                } = self;
                endpoint
                    .look(|| 3, |completion| ended.push(*completion))
                    .unwrap();
            }
        }
    }
}

/// Polls all of them in turn until the one at that place has so many completions of that kind, and takes so many.
pub fn completions(
    parties: &mut [&mut Party],
    at: usize,
    kind: Ended,
    count: usize,
) -> Vec<Completion> {
    let start = Instant::now();
    loop {
        let ended = &mut parties[at].ended;
        if ended.iter().filter(|ended| ended.kind == kind).count() >= count {
            let mut missing = count;
            let (found, left) = ended.drain(..).partition(|ended| {
                let is_taken = ended.kind == kind && missing > 0;
                missing -= usize::from(is_taken);
                is_taken
            });
            *ended = left;
            return found;
        }
        let so_far = parties[at].ended.len();
        assert!(
            start.elapsed() < Duration::from_secs(60),
            "{so_far} of {count}"
        );
        parties.iter_mut().for_each(|party| party.look());
    }
}

pub fn open<F: Fixture>(world: &World<F>) -> Party {
    Party {
        endpoint: Endpoint::open(world.raw_options()).unwrap(),
        ended: Vec::new(),
        takes_one: false,
    }
}
