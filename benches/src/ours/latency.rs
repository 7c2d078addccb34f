//! Ping-pong of messages: small ones on the system channel, others on a normal channel.

use bcl::{Address, Buffer, Event, SYSTEM_MAX, Which};

use crate::error::Result;
use crate::ours::player::{Player, unexpected};
use crate::ours::strace;
use crate::ours::turns::{self, Game};
use crate::payload;

const CHANNEL: u16 = 1;

/// One-way time in us of messages of `size_bytes`, at rank 0.
///
/// # Errors
/// When a message is lost or spoilt.
pub fn measure_us(player: &mut Player, size_bytes: usize, round_trips: usize) -> Result<f64> {
    player.begin()?;
    if size_bytes <= SYSTEM_MAX {
        turns::measure_us(player, Small::new(size_bytes), round_trips)
    } else {
        let large = Large::new(player, size_bytes)?;
        turns::measure_us(player, large, round_trips)
    }
}

/// A ping-pong of 8 bytes between two marks for [`strace`].
///
/// # Errors
/// When a message is lost or spoilt.
pub fn mark_ping_pong(player: &mut Player, round_trips: usize) -> Result<f64> {
    player.begin()?;
    let mut game = Small::new(8);
    turns::warm_up(player, &mut game, round_trips)?;
    strace::mark();
    for _ in 0..round_trips {
        game.turn(player)?;
    }
    strace::mark();
    Ok(0.0)
}

fn partner(player: &Player) -> Address {
    player.address_of(1 - player.rank)
}

/// On the system channel, copied out of the pool as the others copy out of theirs.
struct Small {
    outgoing: Vec<u8>,
    incoming: Vec<u8>,
    was_checked: bool,
}

impl Small {
    fn new(size_bytes: usize) -> Self {
        Self {
            outgoing: payload::make(size_bytes),
            incoming: vec![0; size_bytes],
            was_checked: false,
        }
    }

    #[inline]
    fn receive(&mut self, player: &mut Player) -> Result<()> {
        player.receive(&mut self.incoming)?;
        if !self.was_checked {
            payload::check(&self.incoming)?;
            self.was_checked = true;
        }
        Ok(())
    }
}

impl Game for Small {
    #[inline]
    fn turn(&mut self, player: &mut Player) -> Result<()> {
        let partner = partner(player);
        if player.rank == 0 {
            player.send(partner, &self.outgoing)?;
            self.receive(player)?;
        } else {
            self.receive(player)?;
            player.send(partner, &self.outgoing)?;
        }
        Ok(())
    }
}

/// On a normal channel, from ordinary memory to ordinary memory. Each buffer is either here or with BCL.
struct Large {
    outgoing: Option<Buffer>,
    incoming: Option<Buffer>,
    was_checked: bool,
}

impl Large {
    fn new(player: &mut Player, size_bytes: usize) -> Result<Self> {
        player.port.post(CHANNEL, vec![0; size_bytes], 0)?;
        Ok(Self {
            outgoing: Some(payload::make(size_bytes).into()),
            incoming: None,
            was_checked: false,
        })
    }

    fn send(&mut self, player: &mut Player) -> Result<()> {
        while self.outgoing.is_none() {
            self.take_event(player)?;
        }
        if let Some(buffer) = self.outgoing.take() {
            player.port.send(partner(player), CHANNEL, buffer, 0)?;
        }
        Ok(())
    }

    /// Receives a message and posts its buffer for the next one, which comes only after our answer.
    fn receive(&mut self, player: &mut Player) -> Result<()> {
        while self.incoming.is_none() {
            self.take_event(player)?;
        }
        if let Some(buffer) = self.incoming.take() {
            if !self.was_checked {
                payload::check(buffer.as_slice())?;
                self.was_checked = true;
            }
            player.port.post(CHANNEL, buffer, 0)?;
        }
        Ok(())
    }

    fn take_event(&mut self, player: &mut Player) -> Result<()> {
        match player.next(Which::Any)? {
            Event::Sent { result, buffer, .. } => {
                result?;
                self.outgoing = buffer;
            }
            Event::Received { result, buffer, .. } => {
                result?;
                self.incoming = buffer;
            }
            other => return Err(unexpected("a message on a normal channel", &other)),
        }
        Ok(())
    }
}

impl Game for Large {
    fn turn(&mut self, player: &mut Player) -> Result<()> {
        if player.rank == 0 {
            self.send(player)?;
            self.receive(player)
        } else {
            self.receive(player)?;
            self.send(player)
        }
    }
}
