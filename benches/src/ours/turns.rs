//! Two processes that take turns, of which rank 0 keeps the time.

use crate::batches::{self, try_one_way_us};
use crate::error::Result;
use crate::ours::player::Player;

/// What two processes do in turn.
pub trait Game {
    /// A round trip as this rank sees it: rank 0 gives and takes back, rank 1 takes and gives.
    fn turn(&mut self, player: &mut Player) -> Result<()>;
}

/// One-way time in us, at rank 0, after some round trips that do not count.
///
/// # Errors
/// Those of the game.
pub fn measure_us(player: &mut Player, mut game: impl Game, round_trips: usize) -> Result<f64> {
    warm_up(player, &mut game, round_trips / 10 + 1)?;
    if player.rank == 0 {
        return try_one_way_us(round_trips, || game.turn(player));
    }
    for _ in 0..batches::whole(round_trips) {
        game.turn(player)?;
    }
    Ok(0.0)
}

/// Round trips that do not count.
///
/// # Errors
/// Those of the game.
pub fn warm_up(player: &mut Player, game: &mut impl Game, round_trips: usize) -> Result<()> {
    for _ in 0..round_trips {
        game.turn(player)?;
    }
    Ok(())
}
