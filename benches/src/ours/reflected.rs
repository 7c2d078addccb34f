//! A number handed to and fro in a region that both processes write and see.

use std::path::Path;

use bcl_reflect::{Options, Region, Waited};

use crate::error::{Error, Result};
use crate::ours::player::Player;
use crate::ours::turns::{self, Game};

/// Each member's word has a cache line to itself.
const LINE_BYTES: u64 = 64;
const REGION_BYTES: u64 = 4096;

/// One-way time in us, at rank 0.
///
/// # Errors
/// When the region cannot be joined, or a number gets lost.
pub fn measure_us(player: &mut Player, folder: &Path, round_trips: usize) -> Result<f64> {
    let rank = player.rank as u16;
    let options = Options::new("bench", REGION_BYTES).members(2).member(rank);
    let region = options.folder(folder).join()?;
    player.begin()?;
    turns::measure_us(player, Hands { region, number: 0 }, round_trips)
}

struct Hands {
    region: Region,
    /// What goes to and fro.
    number: u64,
}

impl Game for Hands {
    fn turn(&mut self, player: &mut Player) -> Result<()> {
        self.number += 1;
        if player.rank == 0 {
            self.give()?;
            self.take()
        } else {
            self.take()?;
            self.give()
        }
    }
}

impl Hands {
    fn give(&self) -> Result<()> {
        let mine = u64::from(self.region.member()) * LINE_BYTES;
        Ok(self.region.write_word(mine, self.number)?)
    }

    fn take(&self) -> Result<()> {
        let theirs = u64::from(1 - self.region.member()) * LINE_BYTES;
        match self.region.wait(theirs, self.number - 1, None) {
            Ok(Waited::Changed(number)) if number == self.number => Ok(()),
            other => Err(Error::Unexpected {
                expected: "the next number",
                got: format!("{other:?}"),
            }),
        }
    }
}
