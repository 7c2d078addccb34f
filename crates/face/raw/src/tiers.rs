//! The tiers of a port behind one face: a near one for peers of its node, and perhaps a far one for those of others.

use std::sync::Arc;
use std::time::Duration;

use bcl_os::cancel;
use bcl_tier::{
    Depths, LinkInfo, MessageId, NormalSend, RmaOp, Shared, SystemHandle, Target, Tier, Upcalls,
    WindowMemory,
};
use bcl_types::{Access, Address, Device, OpId};

use crate::bed::Bed;
use crate::routes::Routes;

/// The tiers of a port, of which one reaches each peer: its route is decided at first contact, and kept until a tier says
/// that the peer is gone or was not reached.
#[derive(Debug)]
pub struct Tiers<N, F> {
    near: N,
    far: Option<F>,
    shared: Arc<Shared>,
    bed: Bed,
    /// Peers of the own node are reached by the far tier too.
    is_far_only: bool,
}

/// The books of a port, in which the routes are kept.
pub trait Books: Upcalls {
    /// Which tier reaches which peer.
    fn routes(&mut self) -> &mut Routes;
}

impl<N: Tier, F: Tier> Tiers<N, F> {
    /// Of an open port. `is_far_only`: peers of the own node are reached by the far tier too.
    pub fn new(shared: Arc<Shared>, near: N, far: Option<F>, is_far_only: bool) -> Self {
        let wait_sets = [near.wait_set(), far.as_ref().and_then(Tier::wait_set)];
        Self {
            bed: Bed::new(Arc::clone(&shared), wait_sets.into_iter().flatten().next()),
            shared,
            near,
            far,
            is_far_only,
        }
    }

    /// What the tiers share.
    pub fn shared(&self) -> &Arc<Shared> {
        &self.shared
    }

    /// What a thread needs to sleep until something comes.
    pub fn bed(&self) -> &Bed {
        &self.bed
    }

    /// The far tier, if this peer is reached by it. For what makes contact.
    #[inline]
    fn far_for(&mut self, peer: Address, up: &mut impl Books) -> Option<&mut F> {
        let is_far = match self.route(peer, up) {
            Some(is_far) => is_far,
            None => {
                let is_far = self.decide(peer);
                up.routes().keep(peer, is_far);
                is_far
            }
        };
        self.far.as_mut().filter(|_| is_far)
    }

    /// Whether the far tier reaches a peer, if that has been decided. Nothing is to be decided but for peers of other nodes.
    #[inline]
    fn route(&self, peer: Address, up: &mut impl Books) -> Option<bool> {
        let own = self.shared.address;
        if self.far.is_none() || peer == own {
            Some(false)
        } else if self.is_far_only {
            Some(true)
        } else if peer.node == own.node {
            Some(false)
        } else {
            up.routes().find(peer)
        }
    }

    /// Whether the far tier reaches a peer that may be elsewhere: not if the peer is in the socket folder, unless packets of
    /// the peer have come already.
    #[cold]
    fn decide(&mut self, peer: Address) -> bool {
        let _off = cancel::Off::new();
        let Self { near, far, .. } = self;
        let mut comes_from_afar = || far.as_mut().is_some_and(|far| far.knows(peer));
        !(near.knows(peer) || (!comes_from_afar() && near.finds(peer)))
    }

    /// Longest system message that this peer takes now.
    pub fn system_max(&mut self, to: Address, up: &mut impl Books) -> usize {
        let is_far = self.route(to, up) == Some(true);
        match self.far.as_mut().filter(|_| is_far) {
            Some(far) => far.system_max(to, up),
            None => self.near.system_max(to, up),
        }
    }

    #[inline]
    pub fn send_system<U: Books>(
        &mut self,
        to: Address,
        data: &[u8],
        immediate: u64,
        up: &mut U,
        name: impl FnOnce(&mut U) -> OpId,
    ) -> bool {
        match self.far_for(to, up) {
            Some(far) => far.send_system(to, data, immediate, up, name),
            None => self.near.send_system(to, data, immediate, up, name),
        }
    }

    /// Longest unreliable message that this peer can be sent now.
    pub fn unreliable_max(&mut self, to: Address, up: &mut impl Books) -> usize {
        // To ask is no contact: no tier would say that the peer was not reached, so that nothing is kept.
        let is_far = self.route(to, up).unwrap_or_else(|| self.decide(to));
        match self.far.as_mut().filter(|_| is_far) {
            Some(far) => far.unreliable_max(to, up),
            None => self.near.unreliable_max(to, up),
        }
    }

    /// Sends an unreliable message. False if it was dropped; the error is the longest that this peer can be sent now.
    #[inline]
    pub fn send_unreliable(
        &mut self,
        to: Address,
        data: &[u8],
        up: &mut impl Books,
    ) -> Result<bool, usize> {
        let had_route = self.route(to, up).is_some();
        let sent = match self.far_for(to, up) {
            Some(far) => far.send_unreliable(to, data, up),
            None => self.near.send_unreliable(to, data, up),
        };
        if sent.is_err() && !had_route {
            // Nothing was sent, so that there was no contact.
            up.routes().forget(to);
        }
        sent
    }

    #[inline]
    pub fn send_normal(&mut self, to: Address, send: NormalSend, up: &mut impl Books) {
        match self.far_for(to, up) {
            Some(far) => far.send_normal(to, send, up),
            None => self.near.send_normal(to, send, up),
        }
    }

    /// Takes back the oldest send that `wanted` picks and that has not begun. All tiers are asked: the send is where the
    /// route was when it was made.
    pub fn cancel_send<U: Upcalls>(
        &mut self,
        to: Address,
        up: &mut U,
        wanted: impl Fn(&U, OpId) -> bool,
    ) -> bool {
        let Self { near, far, .. } = self;
        near.cancel_send(to, up, &wanted)
            || far
                .as_mut()
                .is_some_and(|far| far.cancel_send(to, up, &wanted))
    }

    #[inline]
    pub fn rma(&mut self, peer: Address, op: RmaOp, up: &mut impl Books) {
        match self.far_for(peer, up) {
            Some(far) => far.rma(peer, op, up),
            None => self.near.rma(peer, op, up),
        }
    }

    /// Memory is about to be bound to a window.
    pub fn bind(
        &mut self,
        window: u16,
        memory: &WindowMemory,
        access: Access,
        up: &mut impl Upcalls,
    ) {
        self.near.bind(window, memory, access, up);
        if let Some(far) = &mut self.far {
            far.bind(window, memory, access, up);
        }
    }

    /// Memory was unbound from a window: when this returns nobody acts on it for a peer.
    pub fn unbind(&mut self, window: u16, up: &mut impl Upcalls) {
        self.near.unbind(window, up);
        if let Some(far) = &mut self.far {
            far.unbind(window, up);
        }
    }

    /// A buffer was posted for a message that waits. False if the message has gone meanwhile.
    pub fn accept(&mut self, message: MessageId, target: Target, up: &mut impl Upcalls) -> bool {
        match (message.device, &mut self.far) {
            (Device::Shm, _) => self.near.accept(message, target, up),
            (Device::Udp | Device::Xdp, Some(far)) => far.accept(message, target, up),
            (Device::Udp | Device::Xdp, None) => false,
        }
    }

    /// Gives a system message back. False if it was given back before.
    #[inline]
    pub fn release(&mut self, message: &SystemHandle) -> bool {
        match (message.device, &mut self.far) {
            (Device::Shm, _) => self.near.release(message),
            (Device::Udp | Device::Xdp, Some(far)) => far.release(message),
            (Device::Udp | Device::Xdp, None) => false,
        }
    }

    /// One round over all tiers.
    #[inline]
    pub fn poll(&mut self, up: &mut impl Upcalls) {
        self.near.poll(up);
        if let Some(far) = &mut self.far {
            far.poll(up);
        }
    }

    /// Falls asleep in the eyes of the peers. False if there was something to do after all.
    pub fn arm(&mut self, up: &mut impl Upcalls) -> bool {
        if !self.near.arm(up) {
            return false;
        }
        if self.far.as_mut().is_some_and(|far| !far.arm(up)) {
            self.disarm();
            return false;
        }
        true
    }

    pub fn is_armed(&self) -> bool {
        self.near.is_armed()
    }

    pub fn disarm(&mut self) {
        self.near.disarm();
        if let Some(far) = &mut self.far {
            far.disarm();
        }
    }

    pub fn links(&self) -> Vec<(Address, LinkInfo)> {
        let mut links = self.near.links();
        links.extend(self.far.iter().flat_map(Tier::links));
        links
    }

    /// Writes the queue depths into the page, where `bcl stat` reads them.
    pub fn publish(&self) {
        let mut depths = Depths::default();
        self.near.publish(&mut depths);
        if let Some(far) = &self.far {
            far.publish(&mut depths);
        }
        depths.store(&self.shared.page);
    }

    /// Gives everything back. What was sent to other nodes is seen through first, for at most `linger`.
    pub fn close(&mut self, linger: Duration) {
        if let Some(far) = &mut self.far {
            far.close(linger);
        }
        self.near.close(linger);
    }
}

#[cfg(test)]
mod tests;
