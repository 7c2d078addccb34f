//! Messages one way on a normal channel, from ordinary memory to ordinary memory.

use std::time::Instant;

use bcl::{Buffer, Event, Which};

use crate::error::Result;
use crate::ours::player::{Player, unexpected};
use crate::payload;

/// Which channel they take.
pub const CHANNEL: u16 = 1;

/// MB/s of messages of `size_bytes`, at rank 0, until the receiver has them all. Each in flight has a buffer of its own.
///
/// # Errors
/// When a message is lost or spoilt.
pub fn measure_mb_per_s(
    player: &mut Player,
    size_bytes: usize,
    in_flight: usize,
    messages: usize,
) -> Result<f64> {
    let buffers: Vec<Buffer> = (0..in_flight)
        .map(|_| match player.rank {
            0 => payload::make(size_bytes).into(),
            _ => vec![0; size_bytes].into(),
        })
        .collect();
    player.begin()?;
    let warm_up = messages / 10 + in_flight;
    if player.rank != 0 {
        let buffers = receive(player, buffers, warm_up)?;
        for buffer in &buffers {
            payload::check(buffer.as_slice())?;
        }
        receive(player, buffers, messages)?;
        return Ok(0.0);
    }
    let buffers = send(player, buffers, warm_up)?;
    let begin = Instant::now();
    send(player, buffers, messages)?;
    Ok((size_bytes * messages) as f64 / 1e6 / begin.elapsed().as_secs_f64())
}

/// Sends `messages` and returns the buffers once the receiver says that it has everything.
fn send(player: &mut Player, mut free: Vec<Buffer>, messages: usize) -> Result<Vec<Buffer>> {
    let receiver = player.address_of(1);
    let (in_flight, mut to_send) = (free.len(), messages);
    while to_send > 0 || free.len() < in_flight {
        for buffer in free.drain(..free.len().min(to_send)) {
            player.port.send(receiver, CHANNEL, buffer, 0)?;
            to_send -= 1;
        }
        match player.next(Which::Send)? {
            Event::Sent { result, buffer, .. } => {
                result?;
                free.extend(buffer);
            }
            other => return Err(unexpected("the completion of a send", &other)),
        }
    }
    player.receive(&mut [])?;
    Ok(free)
}

/// Receives `messages`, says so, and returns the buffers.
fn receive(player: &mut Player, mut free: Vec<Buffer>, messages: usize) -> Result<Vec<Buffer>> {
    let (in_flight, mut to_post) = (free.len(), messages);
    while to_post > 0 || free.len() < in_flight {
        for buffer in free.drain(..free.len().min(to_post)) {
            player.port.post(CHANNEL, buffer, 0)?;
            to_post -= 1;
        }
        match player.next(Which::Recv)? {
            Event::Received { result, buffer, .. } => {
                result?;
                free.extend(buffer);
            }
            other => return Err(unexpected("a message on a normal channel", &other)),
        }
    }
    player.send(player.address_of(0), &[])?;
    Ok(free)
}
