//! Beginning a one-sided operation.

use bcl_types::{Address, OpError};

use super::{REQUESTS_MAX, Request};
use crate::atomics::Atomic;
use crate::carrier::Carrier;
use crate::completion::{Completion, Ended};
use crate::engine::Engine;
use crate::engine::sending::{
    Fate, OUTGOING_MAX, Outgoing, Purpose, QUEUED_MAX, again, check_injected,
};
use crate::error::Error;
use crate::header::Kind;
use crate::header::one_sided::{At, OneSided as Said, SHORT_MAX};
use crate::matching::PeerNumber;
use crate::memory::Memory;

/// An operation on the exposed memory of a peer.
#[derive(Debug, Clone)]
pub struct OneSided {
    /// Whose memory.
    pub to: Address,
    /// Which region.
    pub key: u64,
    /// Where in the region, as its owner calls it.
    pub address: u64,
    /// What to do there.
    pub what: What,
    /// Comes back with the completion.
    pub context: u64,
    /// As well: a few bits of the caller's own.
    pub mark: u8,
    /// No completion is wanted but of a failure.
    pub quiet: bool,
    /// Memory that is only read, of [`INJECT_MAX`](crate::INJECT_MAX) bytes at most, may be used again when the call returns, whatever is done.
    pub injects: bool,
}

/// What is done.
#[derive(Debug, Clone)]
pub enum What {
    /// Writes. Of at most [`SHORT_MAX`] bytes the memory may be used again when the call returns.
    Put {
        /// What is written.
        memory: Memory,
        /// The owner gets a completion with these data.
        data: Option<u64>,
    },
    /// Reads.
    Get {
        /// Where it goes.
        memory: Memory,
    },
    /// Changes elements, [`SHORT_MAX`] bytes of them and of what is sent along at most. Memory that is only read may be used
    /// again when the call returns.
    Atomic {
        /// How.
        atomic: Atomic,
        /// So many.
        count: u32,
        /// Their operands, if the function has one.
        operands: Memory,
        /// What they are compared with, if it compares.
        compared: Memory,
        /// Where what was there goes, if that is wanted.
        found: Option<Memory>,
    },
}

impl Engine {
    /// Begins a one-sided operation. Its completion tells that it has been done.
    ///
    /// # Safety
    /// The memory can be read, or written, and nobody else touches it until the completion, or for as long as [`What`] says.
    pub unsafe fn one_sided<C: Carrier>(
        &mut self,
        carrier: &mut C,
        asked: OneSided,
    ) -> Result<(), Error> {
        let to = self.peers.number_of(asked.to);
        let peer = &self.peers[to];
        if let Some(fault) = peer.fault {
            self.one_sided_failed(&asked, fault);
            return Ok(());
        }
        let is_full =
            peer.queued >= QUEUED_MAX || peer.requests.len() + peer.bodies as usize >= REQUESTS_MAX;
        if is_full {
            return Err(Error::Again { to: asked.to });
        }
        let at = At {
            key: asked.key,
            address: asked.address,
        };
        match &asked.what {
            What::Put { memory, .. } if memory.len_bytes() > SHORT_MAX => {
                // SAFETY: by the contract.
                unsafe { self.write(carrier, to, at, &asked, memory.clone()) }
            }
            What::Put { memory, data } => {
                let said = Said::Put { at, data: *data };
                // SAFETY: by the contract; it is short.
                unsafe { self.request(carrier, to, &asked, said, Some(memory)) }
            }
            What::Get { memory } => {
                let len_bytes = memory.len_bytes() as u64;
                // SAFETY: nothing is read.
                unsafe { self.request(carrier, to, &asked, Said::Get { at, len_bytes }, None) }
            }
            What::Atomic { .. } => {
                // SAFETY: by the contract.
                unsafe { self.change(carrier, to, at, &asked) }
            }
        }
    }

    /// # Safety
    /// What is to be said can be read, and is short.
    unsafe fn request<C: Carrier>(
        &mut self,
        carrier: &mut C,
        to: PeerNumber,
        asked: &OneSided,
        said: Said,
        payload: Option<&Memory>,
    ) -> Result<(), Error> {
        // SAFETY: by the contract.
        unsafe { self.say(carrier, to, Kind::OneSided(said), 0, payload) }
            .map_err(|error| again(error, asked.to))?;
        self.peers[to].requests.push_back(request_of(asked));
        self.requests += 1;
        Ok(())
    }

    /// # Safety
    /// What is to be sent can be read.
    unsafe fn change<C: Carrier>(
        &mut self,
        carrier: &mut C,
        to: PeerNumber,
        at: At,
        asked: &OneSided,
    ) -> Result<(), Error> {
        let What::Atomic {
            atomic,
            count,
            operands,
            compared,
            found,
        } = &asked.what
        else {
            return Ok(());
        };
        let function = atomic.function();
        let len_bytes = *count as usize * atomic.datum().size_bytes();
        let sent_bytes = atomic.sent_bytes(*count as usize);
        let is_wrong = |memory: &Memory| memory.len_bytes() != len_bytes;
        if function.has_operand() && is_wrong(operands)
            || function.compares() && is_wrong(compared)
            || found.as_ref().is_some_and(is_wrong)
        {
            return Err(Error::InvalidArgument(format!(
                "{count} elements are {len_bytes} bytes, and all memory of an atomic operation is as long"
            )));
        }
        if sent_bytes.max(len_bytes) > SHORT_MAX {
            return Err(Error::InvalidArgument(format!(
                "an atomic operation of {count} elements, for which {sent_bytes} bytes are sent and {len_bytes} may come back: there can be at most {SHORT_MAX} of each"
            )));
        }
        let mut payload = std::mem::take(&mut self.elements);
        payload.resize(sent_bytes, 0);
        let (first, second) =
            payload.split_at_mut(if function.has_operand() { len_bytes } else { 0 });
        // SAFETY: by the contract; they are as long.
        unsafe {
            operands.gather(first);
            compared.gather(second);
        }
        let said = Said::Atomic {
            at,
            atomic: *atomic,
            count: *count,
            fetches: found.is_some(),
        };
        let memory = Memory::to_read(payload.as_ptr(), payload.len());
        // SAFETY: it is here, and short.
        let asked = unsafe { self.request(carrier, to, asked, said, Some(&memory)) };
        self.elements = payload;
        asked
    }

    /// Writes what is long, as a body.
    ///
    /// # Safety
    /// The memory can be read, and stays as it is until the completion.
    unsafe fn write<C: Carrier>(
        &mut self,
        carrier: &mut C,
        to: PeerNumber,
        at: At,
        asked: &OneSided,
        memory: Memory,
    ) -> Result<(), Error> {
        let len_bytes = memory.len_bytes();
        check_injected(asked.injects, len_bytes)?;
        if self.outgoing.len() >= OUTGOING_MAX || asked.injects && !self.can_keep(len_bytes) {
            return Err(Error::Again { to: asked.to });
        }
        let data = match asked.what {
            What::Put { data, .. } => data,
            _ => None,
        };
        let comes = self.how_bodies_come(carrier, to);
        let name = self.outgoing.insert(Outgoing {
            to,
            life: self.peers[to].life,
            comes,
            purpose: Purpose::Put(Fate::Open),
            turn: None,
            is_asked: false,
            is_leaving: false,
            memory,
            kept: None,
            quiet: asked.quiet,
            context: asked.context,
            mark: asked.mark,
        });
        let said = Said::Write {
            at,
            data,
            len_bytes: len_bytes as u64,
            name,
            comes,
        };
        // SAFETY: nothing is read.
        if let Err(error) = unsafe { self.say(carrier, to, Kind::OneSided(said), 0, None) } {
            self.outgoing.remove(name);
            return Err(again(error, asked.to));
        }
        if asked.injects {
            // SAFETY: by the contract.
            unsafe { self.keep(name) };
        }
        self.peers[to].bodies += 1;
        self.announced_body(carrier, to, name, comes)
    }

    fn one_sided_failed(&mut self, asked: &OneSided, error: OpError) {
        self.request_ended(asked.to, &request_of(asked), Err(error));
    }

    /// One is done, or will not be.
    pub(in crate::engine) fn request_ended(
        &mut self,
        peer: Address,
        request: &Request,
        result: Result<(), OpError>,
    ) {
        if request.quiet && result.is_ok() {
            return;
        }
        self.completions.push_back(Completion {
            len_bytes: request.len_bytes,
            result,
            ..Completion::new(request.kind, peer, (request.context, request.mark))
        });
    }
}

fn request_of(asked: &OneSided) -> Request {
    let (kind, memory, len_bytes) = match &asked.what {
        What::Put { memory, .. } => (Ended::Put, None, memory.len_bytes()),
        What::Get { memory } => (Ended::Get, Some(memory.clone()), memory.len_bytes()),
        What::Atomic {
            atomic,
            count,
            found,
            ..
        } => {
            let len_bytes = *count as usize * atomic.datum().size_bytes();
            (Ended::Atomic, found.clone(), len_bytes)
        }
    };
    Request {
        kind,
        memory,
        len_bytes: len_bytes as u64,
        context: asked.context,
        mark: asked.mark,
        quiet: asked.quiet,
    }
}
