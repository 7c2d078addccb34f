//! A crowd: pairs of processes play ping-pong, more of them than there are cores.

use std::time::{Duration, Instant};

use crate::error::Result;
use crate::ours::player::Player;

const SIZE_BYTES: usize = 8;

/// Thousand messages a second that this process sends, for `duration`.
///
/// # Errors
/// When a message is lost.
pub fn measure_k_per_s(player: &mut Player, duration: Duration) -> Result<f64> {
    player.begin()?;
    let begin = Instant::now();
    let messages = play(player, begin + duration)?;
    Ok(messages as f64 / 1e3 / begin.elapsed().as_secs_f64())
}

/// The even rank decides when the time is over, and says so in the last message.
fn play(player: &mut Player, end: Instant) -> Result<u64> {
    let partner = player.address_of(player.rank ^ 1);
    let mut outgoing = [0; SIZE_BYTES];
    let mut incoming = [0; SIZE_BYTES];
    let mut messages = 0;
    while outgoing[0] == 0 {
        if player.rank.is_multiple_of(2) {
            outgoing[0] = u8::from(Instant::now() >= end);
            player.send(partner, &outgoing)?;
            player.receive(&mut incoming)?;
        } else {
            player.receive(&mut incoming)?;
            outgoing = incoming;
            player.send(partner, &outgoing)?;
        }
        messages += 1;
    }
    Ok(messages)
}
