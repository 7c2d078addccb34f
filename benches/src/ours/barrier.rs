//! A barrier by recursive doubling, as MPI libraries have it: in each step everyone exchanges a message with the one whose
//! number differs in the next bit; after log2 of their number everyone knows of everyone.

use std::time::Instant;

use crate::error::Result;
use crate::ours::player::{Player, rank_of};

/// Time of a barrier in us, at rank 0.
///
/// # Errors
/// When a message is lost.
pub fn measure_us(player: &mut Player, barriers: usize) -> Result<f64> {
    player.begin()?;
    let mut barrier = Barrier::new(player);
    for _ in 0..barriers / 10 + 1 {
        barrier.pass()?;
    }
    let begin = Instant::now();
    for _ in 0..barriers {
        barrier.pass()?;
    }
    let us = begin.elapsed().as_secs_f64() * 1e6 / barriers as f64;
    Ok(if player.rank == 0 { us } else { 0.0 })
}

struct Barrier<'a> {
    player: &'a mut Player,
    passed: u64,
    /// Messages that came from each rank; some are a barrier ahead.
    heard_from: Vec<u64>,
}

impl<'a> Barrier<'a> {
    fn new(player: &'a mut Player) -> Self {
        debug_assert!(player.ranks.is_power_of_two());
        Self {
            passed: 0,
            heard_from: vec![0; player.ranks],
            player,
        }
    }

    fn pass(&mut self) -> Result<()> {
        let (rank, ranks) = (self.player.rank, self.player.ranks);
        self.passed += 1;
        let mut distance = 1;
        while distance < ranks {
            let partner = rank ^ distance;
            self.player.send(self.player.address_of(partner), &[])?;
            self.hear_from(partner)?;
            distance *= 2;
        }
        Ok(())
    }

    fn hear_from(&mut self, rank: usize) -> Result<()> {
        while self.heard_from[rank] < self.passed {
            let teller = self.player.receive(&mut [])?;
            self.heard_from[rank_of(teller)] += 1;
        }
        Ok(())
    }
}
