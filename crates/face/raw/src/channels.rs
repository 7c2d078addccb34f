//! Posts meet messages: first in, first out, on each normal channel ([SEM-4.2]).

use std::collections::VecDeque;

use bcl_tier::{Arrival, MessageId, Target};

use crate::matcher::Matcher;

/// One normal channel.
#[derive(Debug, Default)]
struct Channel {
    /// Buffers that no message has met.
    posts: VecDeque<Target>,
    /// Messages that no buffer has met. At most one of the two is not empty.
    messages: VecDeque<Arrival>,
}

/// All normal channels of a port.
#[derive(Debug, Default)]
pub struct Channels {
    channels: Vec<Channel>,
    posted: usize,
}

impl Channels {
    fn channel(&mut self, number: u16) -> &mut Channel {
        let index = usize::from(number);
        if index >= self.channels.len() {
            self.channels.resize_with(index + 1, Channel::default);
        }
        &mut self.channels[index]
    }

    /// The oldest message that waits, if any.
    #[inline]
    pub(crate) fn next_message(&mut self, number: u16) -> Option<Arrival> {
        self.channel(number).messages.pop_front()
    }

    /// No message waits: the buffer does.
    #[inline]
    pub(crate) fn post(&mut self, number: u16, target: Target) {
        self.channel(number).posts.push_back(target);
        self.posted += 1;
    }

    /// Takes back the oldest waiting buffer that `wanted` picks.
    pub(crate) fn cancel(
        &mut self,
        number: u16,
        wanted: impl Fn(&Target) -> bool,
    ) -> Option<Target> {
        let posts = &mut self.channel(number).posts;
        let target = posts
            .iter()
            .position(wanted)
            .and_then(|index| posts.remove(index))?;
        self.posted -= 1;
        Some(target)
    }
}

impl Matcher for Channels {
    #[inline]
    fn arrived(&mut self, arrival: &Arrival) -> Option<Target> {
        let channel = self.channel(arrival.channel);
        match channel.posts.pop_front() {
            Some(target) => {
                self.posted -= 1;
                Some(target)
            }
            None => {
                channel.messages.push_back(*arrival);
                None
            }
        }
    }

    fn withdrawn(&mut self, message: MessageId, channel: u16) {
        let messages = &mut self.channel(channel).messages;
        messages.retain(|waiting| waiting.message != message);
    }

    fn posted(&self) -> usize {
        self.posted
    }
}
