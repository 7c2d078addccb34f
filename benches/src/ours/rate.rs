//! 8-byte messages one way as fast as they go.

use std::time::Instant;

use crate::error::Result;
use crate::ours::player::Player;
use crate::payload;

const SIZE_BYTES: usize = 8;

/// Million messages a second, at rank 0, until the receiver has them all.
///
/// # Errors
/// When a message is lost or spoilt.
pub fn measure_m_per_s(player: &mut Player, messages: usize) -> Result<f64> {
    player.begin()?;
    let warm_up = messages / 10 + 1;
    if player.rank != 0 {
        payload::check(&receive(player, warm_up)?)?;
        receive(player, messages)?;
        return Ok(0.0);
    }
    send(player, warm_up)?;
    let begin = Instant::now();
    send(player, messages)?;
    Ok(messages as f64 / 1e6 / begin.elapsed().as_secs_f64())
}

fn send(player: &mut Player, messages: usize) -> Result<()> {
    let message = payload::make(SIZE_BYTES);
    let receiver = player.address_of(1);
    for _ in 0..messages {
        player.send(receiver, &message)?;
    }
    player.receive(&mut []).map(drop)
}

/// The last message; the sender is told that all have arrived.
fn receive(player: &mut Player, messages: usize) -> Result<[u8; SIZE_BYTES]> {
    let mut message = [0; SIZE_BYTES];
    for _ in 0..messages {
        player.receive(&mut message)?;
    }
    player.send(player.address_of(0), &[])?;
    Ok(message)
}
