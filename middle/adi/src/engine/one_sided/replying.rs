//! Answers to a peer, in the order of its requests: at once if there is room, else later. That something was written is said
//! of several at a time.

use bcl_raw::slab::Id;
use bcl_types::Refusal;

use crate::carrier::Carrier;
use crate::engine::Engine;
use crate::engine::sending::QUEUED_MAX;
use crate::engine::tasks::{Progress, progress};
use crate::error::Error;
use crate::header::one_sided::OneSided as Said;
use crate::header::{Comes, Kind};
use crate::matching::PeerNumber;
use crate::memory::Memory;
use crate::peers::Task;

/// An answer that has not left.
#[derive(Debug)]
pub enum Reply {
    /// So many requests are done.
    Done(u32),
    Value(Box<[u8]>),
    /// The body of that name follows.
    Body(Id),
    Refused(Refusal),
    /// The peer's body of that name gets no memory.
    Unwanted(u64, Refusal),
}

impl Engine {
    /// Puts an answer behind those that wait.
    pub(super) fn owe(&mut self, to: PeerNumber, reply: Reply) {
        let replies = &mut self.peers[to].replies;
        match (replies.back_mut(), &reply) {
            (Some(Reply::Done(count)), Reply::Done(more)) => *count += more,
            _ => replies.push_back(reply),
        }
        self.wait_for_room(to);
    }

    /// Answers with bytes, of which a copy is made if there is no room.
    ///
    /// # Safety
    /// The memory can be read; it is short.
    pub(super) unsafe fn reply_with<C: Carrier>(
        &mut self,
        carrier: &mut C,
        to: PeerNumber,
        value: &Memory,
    ) -> Result<(), Error> {
        self.reply(carrier, to)?;
        let peer = &self.peers[to];
        if peer.replies.is_empty() && peer.queued < QUEUED_MAX {
            let kind = Kind::OneSided(Said::Value);
            // SAFETY: by the contract.
            let said = unsafe { self.say(carrier, to, kind, 0, Some(value)) };
            if progress(said)? == Progress::Done {
                return Ok(());
            }
        }
        let mut copy = vec![0; value.len_bytes()].into_boxed_slice();
        // SAFETY: by the contract.
        unsafe { value.gather(&mut copy) };
        self.owe(to, Reply::Value(copy));
        Ok(())
    }

    /// Says what there is to be said, as far as there is room.
    pub(in crate::engine) fn reply<C: Carrier>(
        &mut self,
        carrier: &mut C,
        to: PeerNumber,
    ) -> Result<(), Error> {
        loop {
            let peer = &self.peers[to];
            let Some(reply) = peer.replies.front() else {
                return Ok(());
            };
            if peer.queued >= QUEUED_MAX {
                return Ok(());
            }
            let (said, value, body) = match reply {
                Reply::Done(count) => {
                    let count = u64::from(*count);
                    (Said::Done { count }, None, None)
                }
                Reply::Value(bytes) => {
                    let value = Memory::to_read(bytes.as_ptr(), bytes.len());
                    (Said::Value, Some(value), None)
                }
                Reply::Refused(why) => (Said::Refused { why: *why }, None, None),
                Reply::Unwanted(name, why) => {
                    let (name, why) = (*name, *why);
                    (Said::Unwanted { name, why }, None, None)
                }
                Reply::Body(name) => {
                    // It is there: it ends with the peer, whose answers have ended then.
                    let body = self.outgoing.get(*name).map(|body| {
                        let len_bytes = body.memory.len_bytes() as u64;
                        (len_bytes, body.comes)
                    });
                    let (name, (len_bytes, comes)) = (*name, body.unwrap_or((0, Comes::AsBody)));
                    let said = Said::Body {
                        len_bytes,
                        name,
                        comes,
                    };
                    (said, None, (comes == Comes::Unasked).then_some(name))
                }
            };
            // SAFETY: a value lies with the answer, which stays there.
            let said = unsafe { self.say(carrier, to, Kind::OneSided(said), 0, value.as_ref()) };
            if progress(said)? == Progress::Later {
                return Ok(());
            }
            self.peers[to].replies.pop_front();
            if let Some(name) = body {
                self.attempt(carrier, to, Task::Answer(name))?;
            }
        }
    }
}
