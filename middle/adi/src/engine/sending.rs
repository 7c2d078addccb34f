//! Sending: whole if the receiver has given credit for it, else announced.

use bcl_raw::Error as PortError;
use bcl_raw::slab::Id;
use bcl_types::{Address, OpError, Refusal};

use super::{Completion, Ended, Engine};
use crate::carrier::Carrier;
use crate::credit::charge;
use crate::error::Error;
use crate::header::{
    Comes, EAGER_MAX, Envelope, HEADER_MAX, INJECT_MAX, Kind, LONG_EAGER_MAX, SPACES,
};
use crate::matching::PeerNumber;
use crate::memory::Memory;
use crate::peers::Task;
use crate::regions::Place;

/// System messages that may wait to leave for one peer: more would take the port's room from others.
pub(super) const QUEUED_MAX: u32 = 64;
/// Bodies that may be under way to one peer which it has not asked for.
pub(super) const UNASKED_MAX: u32 = 32;
/// Messages that may be announced and not gone, over all peers.
pub(super) const OUTGOING_MAX: usize = 1 << 20;
/// Bytes kept of what programs need not keep, over all peers.
const KEPT_MAX: usize = 64 << 20;

/// A message to be sent.
#[derive(Debug, Clone)]
pub struct Send {
    /// To whom.
    pub to: Address,
    /// In which space.
    pub space: u8,
    /// Its tag.
    pub tag: u64,
    /// Completion data.
    pub data: Option<u64>,
    /// Where it lies.
    pub memory: Memory,
    /// Comes back with the completion.
    pub context: u64,
    /// As well: a few bits of the caller's own.
    pub mark: u8,
    /// When it is complete.
    pub when: When,
    /// No completion is wanted but of a failure.
    pub quiet: bool,
}

/// When a send is complete ([ADI-1.5]).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum When {
    /// At once: the memory may be used again when the call returns. For messages of at most [`INJECT_MAX`] bytes.
    Injected,
    /// Once the memory may be used again.
    Reusable,
    /// Once the message is in the receiver's memory.
    Delivered,
}

/// A message that was announced.
#[derive(Debug)]
pub(super) struct Outgoing {
    pub to: PeerNumber,
    /// In which life of the peer.
    pub life: u32,
    pub comes: Comes,
    /// When it is pushed, among others, if nobody asks for it before.
    pub turn: Option<u64>,
    /// The receiver has said whether it wants it.
    pub is_asked: bool,
    /// The carrier has it.
    pub is_leaving: bool,
    pub memory: Memory,
    /// What the memory is, if it is not the program's.
    pub kept: Option<Box<[u8]>>,
    pub purpose: Purpose,
    pub quiet: bool,
    pub context: u64,
    pub mark: u8,
}

/// What is sent.
#[derive(Debug)]
pub(super) enum Purpose {
    /// A message. If it is kept, its send is complete.
    Message { space: u8, tag: u64 },
    /// What goes into a peer's memory.
    Put(Fate),
    /// What a peer has asked for, of our memory.
    Serve { _place: Place },
}

/// What has become of something for a peer's memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fate {
    /// Nothing yet.
    Open,
    /// The peer has said why not.
    Refused(Refusal),
    /// The peer had no memory for it, and will say why.
    HadNoMemory,
}

impl Engine {
    /// Sends a message.
    ///
    /// # Safety
    /// The memory can be read, and stays as it is until the completion.
    #[inline]
    pub unsafe fn send<C: Carrier>(&mut self, carrier: &mut C, send: Send) -> Result<(), Error> {
        check_space(send.space)?;
        let to = self.peers.number_of(send.to);
        let peer = &mut self.peers[to];
        if let Some(error) = peer.fault.or(peer.untold.take()) {
            return Err(Error::Lost { to: send.to, error });
        }
        if peer.queued >= QUEUED_MAX {
            return Err(Error::Again { to: send.to });
        }
        let len_bytes = send.memory.len_bytes();
        check_injected(send.when == When::Injected, len_bytes)?;
        let goes_whole = match send.when {
            When::Delivered => false,
            When::Reusable | When::Injected if len_bytes > EAGER_MAX => {
                len_bytes <= LONG_EAGER_MAX && len_bytes + HEADER_MAX <= carrier.system_max(send.to)
            }
            When::Reusable | When::Injected => true,
        };
        let peer = &mut self.peers[to];
        if goes_whole {
            let charge = charge(len_bytes);
            // What there is credit for goes first to what was sent before.
            if peer.held.is_empty() && peer.credit.spend(charge) {
                // SAFETY: by the contract.
                let left = unsafe { self.send_eager(carrier, to, &send) };
                if left.is_err() {
                    self.peers[to].credit.unspend(charge);
                }
                return left;
            }
        }
        // SAFETY: by the contract.
        unsafe { self.announce(carrier, to, send) }
    }

    /// # Safety
    /// The memory can be read.
    #[inline]
    unsafe fn send_eager<C: Carrier>(
        &mut self,
        carrier: &mut C,
        to: PeerNumber,
        send: &Send,
    ) -> Result<(), Error> {
        let kind = Kind::Eager(envelope(send));
        // SAFETY: by the contract.
        unsafe { self.say(carrier, to, kind, send.tag, Some(&send.memory)) }
            .map_err(|error| again(error, send.to))?;
        self.sent(send, Ok(()));
        Ok(())
    }

    /// # Safety
    /// The memory can be read, and stays as it is until the completion.
    unsafe fn announce<C: Carrier>(
        &mut self,
        carrier: &mut C,
        to: PeerNumber,
        send: Send,
    ) -> Result<(), Error> {
        let len_bytes = send.memory.len_bytes();
        let is_short = len_bytes <= EAGER_MAX && send.when != When::Delivered;
        let is_injected = send.when == When::Injected;
        let keeps = (is_short || is_injected) && self.can_keep(len_bytes);
        if self.outgoing.len() >= OUTGOING_MAX || is_injected && !keeps {
            return Err(Error::Again { to: send.to });
        }
        let comes = match is_short {
            true => Comes::AsData,
            false => self.how_bodies_come(carrier, to),
        };
        let name = self.outgoing.insert(Outgoing {
            to,
            life: self.peers[to].life,
            comes,
            turn: None,
            is_asked: false,
            is_leaving: false,
            memory: send.memory.clone(),
            kept: None,
            purpose: Purpose::Message {
                space: send.space,
                tag: send.tag,
            },
            quiet: send.quiet,
            context: send.context,
            mark: send.mark,
        });
        let kind = Kind::Rts {
            envelope: envelope(&send),
            len_bytes: len_bytes as u64,
            name,
            comes,
        };
        // SAFETY: nothing is read.
        if let Err(error) = unsafe { self.say(carrier, to, kind, send.tag, None) } {
            self.outgoing.remove(name);
            return Err(again(error, send.to));
        }
        if is_short {
            self.hold(to, name);
        }
        if keeps {
            // SAFETY: by the contract.
            unsafe { self.keep(name) };
            self.sent(&send, Ok(()));
        }
        self.announced_body(carrier, to, name, comes)
    }

    /// Whether a body to that peer may follow unasked.
    pub(super) fn how_bodies_come<C: Carrier>(&self, carrier: &C, to: PeerNumber) -> Comes {
        match self.peers[to].unasked < UNASKED_MAX && self.unasked < carrier.unasked_max() {
            true => Comes::Unasked,
            false => Comes::AsBody,
        }
    }

    /// It was announced that it comes so.
    pub(super) fn announced_body<C: Carrier>(
        &mut self,
        carrier: &mut C,
        to: PeerNumber,
        name: Id,
        comes: Comes,
    ) -> Result<(), Error> {
        if comes == Comes::Unasked {
            self.count_unasked(to);
            self.attempt(carrier, to, Task::Answer(name))?;
        }
        Ok(())
    }

    pub(super) fn count_unasked(&mut self, to: PeerNumber) {
        self.peers[to].unasked += 1;
        self.unasked += 1;
    }

    /// Whether there is room for a copy.
    pub(super) fn can_keep(&self, len_bytes: usize) -> bool {
        self.kept_bytes + len_bytes <= KEPT_MAX
    }

    /// Makes a copy of what was announced, which takes the place of the program's memory.
    ///
    /// # Safety
    /// The memory can be read.
    pub(super) unsafe fn keep(&mut self, name: Id) {
        let Some(outgoing) = self.outgoing.get_mut(name) else {
            return;
        };
        let mut copy = vec![0; outgoing.memory.len_bytes()].into_boxed_slice();
        // SAFETY: by the contract.
        unsafe { outgoing.memory.gather(&mut copy) };
        outgoing.memory = Memory::to_read(copy.as_ptr(), copy.len());
        self.kept += 1;
        self.kept_bytes += copy.len();
        outgoing.kept = Some(copy);
    }

    /// A send has ended for the program.
    #[inline]
    fn sent(&mut self, send: &Send, result: Result<(), OpError>) {
        if send.quiet && result.is_ok() {
            return;
        }
        self.completions.push_back(Completion {
            space: send.space,
            tag: send.tag,
            len_bytes: send.memory.len_bytes() as u64,
            result,
            ..Completion::new(Ended::Send, send.to, (send.context, send.mark))
        });
    }
}

#[inline]
fn envelope(send: &Send) -> Envelope {
    Envelope {
        space: send.space,
        data: send.data,
    }
}

/// Whether so much can be copied before a call returns.
#[inline]
pub(super) fn check_injected(is_injected: bool, len_bytes: usize) -> Result<(), Error> {
    if !is_injected || len_bytes <= INJECT_MAX {
        return Ok(());
    }
    Err(Error::InvalidArgument(format!(
        "{len_bytes} bytes to be sent before the call returns: that can be at most {INJECT_MAX}"
    )))
}

#[inline]
pub(super) fn check_space(space: u8) -> Result<(), Error> {
    if usize::from(space) < SPACES {
        return Ok(());
    }
    Err(Error::InvalidArgument(format!(
        "space {space}: they are numbered 0 to {}",
        SPACES - 1
    )))
}

/// A port without room is a reason to come again.
pub(super) fn again(error: PortError, to: Address) -> Error {
    match error {
        PortError::QueueFull { .. } => Error::Again { to },
        error => Error::Port(error),
    }
}
