//! Posts meet messages: first in, first out, on each normal channel ([SEM-4.2]).

use std::collections::VecDeque;

use bcl_tier::{MessageId, Target};

/// One normal channel.
#[derive(Debug, Default)]
struct Channel {
    /// Buffers that no message has met.
    posts: VecDeque<Target>,
    /// Messages that no buffer has met. At most one of the two is not empty.
    messages: VecDeque<MessageId>,
}

/// All normal channels of a port.
#[derive(Debug, Default)]
pub struct Matching {
    channels: Vec<Channel>,
    posted: usize,
}

impl Matching {
    /// Buffers that wait for messages.
    pub fn posted(&self) -> usize {
        self.posted
    }

    fn channel(&mut self, number: u16) -> &mut Channel {
        let index = usize::from(number);
        if index >= self.channels.len() {
            self.channels.resize_with(index + 1, Channel::default);
        }
        &mut self.channels[index]
    }

    /// A message came: the oldest buffer for it, or it waits.
    #[inline]
    pub fn arrive(&mut self, number: u16, message: MessageId) -> Option<Target> {
        let channel = self.channel(number);
        match channel.posts.pop_front() {
            Some(target) => {
                self.posted -= 1;
                Some(target)
            }
            None => {
                channel.messages.push_back(message);
                None
            }
        }
    }

    /// The oldest message that waits, if any.
    #[inline]
    pub fn next_message(&mut self, number: u16) -> Option<MessageId> {
        self.channel(number).messages.pop_front()
    }

    /// No message waits: the buffer does.
    #[inline]
    pub fn post(&mut self, number: u16, target: Target) {
        self.channel(number).posts.push_back(target);
        self.posted += 1;
    }

    /// A waiting message is gone.
    pub fn withdraw(&mut self, number: u16, message: MessageId) {
        self.channel(number)
            .messages
            .retain(|other| *other != message);
    }

    /// Takes back the oldest waiting buffer that `wanted` picks.
    pub fn cancel(&mut self, number: u16, wanted: impl Fn(&Target) -> bool) -> Option<Target> {
        let posts = &mut self.channel(number).posts;
        let target = posts
            .iter()
            .position(wanted)
            .and_then(|index| posts.remove(index))?;
        self.posted -= 1;
        Some(target)
    }
}
