//! A crowd of streams: more processes than cores, the even ranks sending to the odd ones.

use std::time::{Duration, Instant};

use bcl::{Buffer, Event, Which};

use crate::error::Result;
use crate::ours::player::{Player, unexpected};
use crate::ours::stream::CHANNEL;
use crate::payload;

/// MB/s that this process sends for `duration` and its partner has received; 0 at the partner.
///
/// # Errors
/// When a message is lost.
pub fn measure_mb_per_s(
    player: &mut Player,
    size_bytes: usize,
    in_flight: usize,
    duration: Duration,
) -> Result<f64> {
    let buffers = vec![payload::make(size_bytes); in_flight];
    player.begin()?;
    if player.rank % 2 == 1 {
        receive(player, buffers)?;
        return Ok(0.0);
    }
    let begin = Instant::now();
    let messages = send(player, buffers, begin + duration)?;
    let elapsed = begin.elapsed();
    let partner = player.address_of(player.rank ^ 1);
    player.send(partner, &[])?;
    Ok((size_bytes * messages) as f64 / 1e6 / elapsed.as_secs_f64())
}

/// Sends until `end`, and says how many messages the partner has taken.
fn send(player: &mut Player, buffers: Vec<Vec<u8>>, end: Instant) -> Result<usize> {
    let partner = player.address_of(player.rank ^ 1);
    let mut under_way = buffers.len();
    for buffer in buffers {
        player.port.send(partner, CHANNEL, buffer, 0)?;
    }
    let mut messages = 0;
    while under_way > 0 {
        let (result, buffer) = match player.next(Which::Send)? {
            Event::Sent { result, buffer, .. } => (result, buffer),
            other => return Err(unexpected("the completion of a send", &other)),
        };
        result?;
        messages += 1;
        under_way -= 1;
        if let Some(buffer) = buffer.filter(|_| Instant::now() < end) {
            player.port.send(partner, CHANNEL, buffer, 0)?;
            under_way += 1;
        }
    }
    Ok(messages)
}

/// Receives until the partner says that it was all.
fn receive(player: &mut Player, buffers: Vec<Vec<u8>>) -> Result<()> {
    let post = |player: &mut Player, buffer: Buffer| player.port.post(CHANNEL, buffer, 0);
    for buffer in buffers {
        post(player, buffer.into())?;
    }
    loop {
        match player.next(Which::Any)? {
            Event::Received { result, buffer, .. } => {
                result?;
                if let Some(buffer) = buffer {
                    post(player, buffer)?;
                }
            }
            Event::Message(message) => return Ok(player.port.release(message)?),
            other => return Err(unexpected("a message on a normal channel", &other)),
        }
    }
}
