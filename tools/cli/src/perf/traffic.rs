//! Messages of one size between the two processes, whatever the channel.

use super::arguments::{Channel, Options};
use super::endpoint::Endpoint;
use super::normal::Normal;
use super::payload::Check;
use super::system::System;
use crate::failure::Result;

/// Messages of one size, by one of the channels. Each end calls it in the order of its partner's calls; numbers go up
/// by one from 0.
pub trait Traffic {
    /// Sends message `number`, as soon as there is room.
    fn send(&mut self, end: &mut Endpoint, number: u64, check: Check) -> Result<()>;
    /// Waits for a message and checks it; `number` messages have come before.
    fn receive(&mut self, end: &mut Endpoint, number: u64, check: Check) -> Result<()>;
    /// Waits until everything sent has left, and takes back what was posted.
    fn finish(self, end: &mut Endpoint) -> Result<()>;
}

/// Something to do with traffic of a kind that is chosen at run time, compiled for each of the kinds.
pub trait WithTraffic {
    type Output;
    fn run<T: Traffic>(self, end: &mut Endpoint, traffic: T) -> Result<Self::Output>;
}

/// What one end needs for a size.
#[derive(Debug, Clone, Copy)]
pub struct Need {
    pub size: usize,
    /// Messages this end may have under way.
    pub sends: usize,
    /// Messages this end is ready for.
    pub posts: usize,
}

/// Prepares the traffic and does something with it.
pub fn with_traffic<W: WithTraffic>(
    options: &Options,
    need: Need,
    end: &mut Endpoint,
    work: W,
) -> Result<W::Output> {
    match channel(options, need.size) {
        Channel::System => work.run(end, System::new(need.size)),
        _ => {
            let traffic = Normal::new(end, need, options.buffers)?;
            work.run(end, traffic)
        }
    }
}

/// The channel that messages of a size take.
pub fn channel(options: &Options, size: usize) -> Channel {
    match options.channel {
        Channel::Auto if size <= bcl::SYSTEM_MAX => Channel::System,
        Channel::Auto => Channel::Normal,
        chosen => chosen,
    }
}
