//! How much memory a port takes for each of its peers.
//!
//! It has had a first peer before the others come: what a process or a port pays once is not the price
//! of a peer.

use crate::error::Result;
use crate::ours::footprint::footprint_bytes;
use crate::ours::player::Player;

const SIZE_BYTES: usize = 8;

/// KiB for each of `peers` ports that have all exchanged `messages` with the port of rank 0. The peers
/// live in the process of rank 1.
///
/// # Errors
/// When a message is lost or the kernel does not tell the memory.
pub fn measure_kib(player: &mut Player, peers: usize, messages: usize) -> Result<f64> {
    if player.rank != 0 {
        return be_peers(player, peers, messages);
    }
    player.begin()?;
    answer(player, messages)?;
    footprint_bytes()?; // Takes memory itself, the first time.
    let before = footprint_bytes()?;
    tell_partner(player)?;
    answer(player, peers * messages)?;
    let after = footprint_bytes()?;
    tell_partner(player)?;
    Ok(after.saturating_sub(before) as f64 / 1024.0 / peers as f64)
}

fn answer(player: &mut Player, messages: usize) -> Result<()> {
    let mut message = [0; SIZE_BYTES];
    for _ in 0..messages {
        let from = player.receive(&mut message)?;
        player.send(from, &message)?;
    }
    Ok(())
}

/// No peer comes before the first measurement, and none goes before the second.
fn tell_partner(player: &mut Player) -> Result<()> {
    player.send(player.address_of(1), &[])
}

/// The port of rank 1 is the first peer, its twins are the others.
fn be_peers(player: &mut Player, peers: usize, messages: usize) -> Result<f64> {
    let mut twins = Vec::new();
    for rank in 2..peers + 2 {
        twins.push(player.twin(rank)?);
    }
    player.begin()?;
    for _ in 0..messages {
        ask(player)?;
    }
    player.receive(&mut [])?;
    for _ in 0..messages {
        for twin in &mut twins {
            ask(twin)?;
        }
    }
    player.receive(&mut [])?;
    Ok(0.0)
}

fn ask(player: &mut Player) -> Result<()> {
    let mut message = [0; SIZE_BYTES];
    player.send(player.address_of(0), &message)?;
    player.receive(&mut message).map(drop)
}
