//! What comes on the system channel: messages, whole or announced, and answers.

use bcl_types::{Address, OpError};

use super::Engine;
use super::meeting::{Lies, Message, Slot, Whereabouts};
use super::multi::cut;
use super::sending::{Outgoing, Purpose};
use crate::carrier::Carrier;
use crate::credit::charge;
use crate::error::Error;
use crate::header::{Comes, Envelope, Header, Kind};
use crate::matching::PeerNumber;
use crate::peers::Task;

/// What a peer has sent that no endpoint sends: it is believed nothing more.
pub(super) struct Wrong;

impl Engine {
    /// A message has come on the system channel, and lies where it came until this returns.
    #[inline]
    pub fn arrived<C: Carrier>(
        &mut self,
        carrier: &mut C,
        from: Address,
        tag: u64,
        bytes: &[u8],
    ) -> Result<(), Error> {
        let from = self.peers.number_of(from);
        if self.peers[from].fault.is_some() {
            return Ok(());
        }
        let understood = match Header::parse(bytes) {
            Some((header, payload)) => self.understand(carrier, from, tag, header, payload)?,
            None => Err(Wrong),
        };
        if understood.is_err() {
            self.peers[from].fault = Some(OpError::Protocol);
            return self.end_peer(carrier, from, OpError::Protocol);
        }
        self.push_held(carrier, from)
    }

    #[inline]
    fn understand<C: Carrier>(
        &mut self,
        carrier: &mut C,
        from: PeerNumber,
        tag: u64,
        header: Header,
        payload: &[u8],
    ) -> Result<Result<(), Wrong>, Error> {
        let peer = &mut self.peers[from];
        if !peer.credit.raise(header.limit) {
            return Ok(Err(Wrong));
        }
        match header.kind {
            Kind::Eager(envelope) => {
                if !peer.grant.receive(charge(payload.len())) {
                    return Ok(Err(Wrong));
                }
                self.eager(carrier, from, tag, envelope, payload)?;
            }
            Kind::Rts {
                envelope,
                len_bytes,
                name,
                comes,
            } => return self.announced(carrier, from, tag, envelope, len_bytes, (name, comes)),
            Kind::Cts { name, wanted } => return self.asked(carrier, from, name, wanted),
            Kind::Data { name, asked } => {
                return self.data(carrier, from, (name, asked), payload);
            }
            Kind::Credit => {}
            Kind::OneSided(said) => return self.one_sided_said(carrier, from, said, payload),
        }
        Ok(Ok(()))
    }

    #[inline]
    fn eager<C: Carrier>(
        &mut self,
        carrier: &mut C,
        from: PeerNumber,
        tag: u64,
        envelope: Envelope,
        payload: &[u8],
    ) -> Result<(), Error> {
        let life = self.peers[from].life;
        if let Some(slot) = self.meet(from, tag, envelope, payload.len() as u64) {
            self.place(from, tag, envelope, slot, payload);
            return self.consume(carrier, from, life, payload.len());
        }
        let message = Message {
            envelope,
            len_bytes: payload.len() as u64,
            lies: Lies::Here(payload.into(), life),
        };
        let space = &mut self.spaces[usize::from(envelope.space)];
        space.unexpected.add(from, tag, message);
        Ok(())
    }

    fn announced<C: Carrier>(
        &mut self,
        carrier: &mut C,
        from: PeerNumber,
        tag: u64,
        envelope: Envelope,
        len_bytes: u64,
        (name, comes): (u64, Comes),
    ) -> Result<Result<(), Wrong>, Error> {
        if self.announced.contains_key(&(from, name)) {
            return Ok(Err(Wrong));
        }
        if let Some(slot) = self.meet(from, tag, envelope, len_bytes) {
            let comes = (name, comes);
            let slot = Some(slot);
            return self
                .fetch(carrier, from, tag, envelope, len_bytes, comes, slot)
                .map(Ok);
        }
        let message = Message {
            envelope,
            len_bytes,
            lies: Lies::There(name, comes),
        };
        let space = &mut self.spaces[usize::from(envelope.space)];
        let id = space.unexpected.add(from, tag, message);
        let at = Whereabouts::Unexpected(envelope.space, id);
        self.note(from, (name, comes), at);
        Ok(Ok(()))
    }

    /// The memory of the oldest receive that wants the message.
    #[inline]
    fn meet(
        &mut self,
        from: PeerNumber,
        tag: u64,
        envelope: Envelope,
        len_bytes: u64,
    ) -> Option<Slot> {
        let posted = &mut self.spaces[usize::from(envelope.space)].posted;
        let id = posted.first(from, tag)?;
        let in_order = &mut self.peers[from].in_order;
        let (slot, takes_more) = cut(&mut self.multis, posted.get(id)?, len_bytes, in_order);
        if !takes_more {
            posted.remove(id);
        }
        Some(slot)
    }

    /// The peer wants a message that was announced to it, or wants it not.
    fn asked<C: Carrier>(
        &mut self,
        carrier: &mut C,
        from: PeerNumber,
        name: u64,
        wanted: bool,
    ) -> Result<Result<(), Wrong>, Error> {
        if self.outgoing.get(name).is_none() {
            // It has been pushed meanwhile.
            return Ok(Ok(()));
        }
        let is_right = |outgoing: &&mut Outgoing| {
            outgoing.to == from && outgoing.comes != Comes::Unasked && !outgoing.is_asked
                // What is not one of the program's messages is always wanted, or its refusal has another form.
                && (wanted || matches!(outgoing.purpose, Purpose::Message { .. }))
        };
        let Some(outgoing) = self.outgoing.get_mut(name).filter(is_right) else {
            return Ok(Err(Wrong));
        };
        outgoing.is_asked = true;
        let turn = outgoing.turn;
        self.hold_no_more(from, turn);
        if wanted {
            self.attempt(carrier, from, Task::Answer(name))?;
        } else {
            self.end_outgoing(name, Ok(()));
        }
        Ok(Ok(()))
    }
}
