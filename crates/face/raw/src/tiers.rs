//! The tiers of a port behind one face: shared memory for peers of its node, the network for those of others.

use std::sync::Arc;
use std::time::Duration;

use bcl_os::cancel;
use bcl_tier::page::{Counter, Page};
use bcl_tier::{LinkInfo, MessageId, RmaOp, Shared, Source, SystemHandle, Target, Tier};
use bcl_tier_net::{Interception, NetPort, Wish as NetWish, free_numbers};
use bcl_tier_shm::{Config, ShmPort};
use bcl_types::{Access, Address, NodeId, OpId, SYSTEM_MAX};
use bcl_wire::udp_port;

use crate::bed::Bed;
use crate::error::Error;
use crate::options::Device;
use crate::state::State;

/// See the module.
#[derive(Debug)]
pub struct Tiers {
    shm: ShmPort,
    net: Option<NetPort>,
    bed: Bed,
    /// Peers of the own node are reached through the network tier too.
    is_net_only: bool,
}

/// Which tiers a port is to have.
#[derive(Debug)]
pub struct Wish {
    pub device: Device,
    pub dead_after: Duration,
    /// Whether the job has a key of its own, and not the one of its user, which is no secret.
    pub has_key: bool,
}

/// Assigned numbers that are passed over because somebody has taken their UDP port that was free a moment ago.
const PASSED_OVER_MAX: usize = 16;

impl Tiers {
    /// Opens a port on all tiers that it can have.
    pub fn open(config: &Config, wish: &Wish) -> Result<Self, Error> {
        let wants_net = match wish.device {
            Device::Shm => false,
            Device::Udp | Device::Xdp => true,
            // Without a network the node is the loopback address, and there is nobody else to reach.
            Device::Auto => {
                let has_udp_port = |number| udp_port::of_port(number).is_some();
                wish.has_key
                    && config.node != NodeId::LOOPBACK
                    && config.number.is_none_or(has_udp_port)
            }
        };
        let (shm, net) = match wants_net {
            false => (ShmPort::open(config, |_| true)?, None),
            true => open_both(config, wish)?,
        };
        let station = net.as_ref().map(NetPort::station);
        Ok(Self {
            bed: Bed::new(Arc::clone(shm.shared()), station),
            shm,
            net,
            is_net_only: matches!(wish.device, Device::Udp | Device::Xdp),
        })
    }

    pub fn shared(&self) -> &Arc<Shared> {
        self.shm.shared()
    }

    pub fn page(&self) -> &Page {
        self.shm.page()
    }

    /// What a thread needs to sleep until something comes.
    pub fn bed(&self) -> &Bed {
        &self.bed
    }

    /// The network tier, if this peer is reached by it. For what makes contact: the route is kept until a tier says that
    /// the peer is gone or was not reached.
    #[inline]
    fn net_for(&mut self, peer: Address, up: &mut State) -> Option<&mut NetPort> {
        let tier = match self.route(peer, up) {
            Some(tier) => tier,
            None => {
                let tier = self.decide(peer);
                up.routes.keep(peer, tier);
                tier
            }
        };
        self.net.as_mut().filter(|_| tier == Tier::Net)
    }

    /// The tier that reaches a peer, if that has been decided. Nothing is to be decided but for peers of other nodes.
    #[inline]
    fn route(&self, peer: Address, up: &mut State) -> Option<Tier> {
        let own = self.shm.shared().address;
        if self.net.is_none() || peer == own {
            Some(Tier::Shm)
        } else if self.is_net_only {
            Some(Tier::Net)
        } else if peer.node == own.node {
            Some(Tier::Shm)
        } else {
            up.routes.find(peer)
        }
    }

    /// Which tier reaches a peer that may be elsewhere: shared memory if the peer is in its folder, unless packets of the
    /// peer have come already.
    #[cold]
    fn decide(&mut self, peer: Address) -> Tier {
        let _off = cancel::Off::new();
        let comes_by_packets = || self.net.as_ref().is_some_and(|net| net.knows(peer));
        match self.shm.knows(peer) || (!comes_by_packets() && self.shm.finds(peer)) {
            true => Tier::Shm,
            false => Tier::Net,
        }
    }

    #[inline]
    pub fn send_system(
        &mut self,
        to: Address,
        data: &[u8],
        up: &mut State,
        name: impl FnOnce(&mut State) -> OpId,
    ) -> bool {
        match self.net_for(to, up) {
            Some(net) => net.send_system(to, data, up, name),
            None => self.shm.send_system(to, data, up, name),
        }
    }

    /// Longest unreliable message that this peer can be sent now.
    pub fn unreliable_max(&mut self, to: Address, up: &mut State) -> usize {
        // To ask is no contact: no tier would say that the peer was not reached, so that nothing is kept.
        let tier = self.route(to, up).unwrap_or_else(|| self.decide(to));
        let net = self.net.as_mut().filter(|_| tier == Tier::Net);
        net.map_or(SYSTEM_MAX, |net| net.unreliable_max(to, up))
    }

    /// Sends an unreliable message. False if it was dropped; the error is the longest that this peer can be sent now.
    #[inline]
    pub fn send_unreliable(
        &mut self,
        to: Address,
        data: &[u8],
        up: &mut State,
    ) -> Result<bool, usize> {
        let had_route = self.route(to, up).is_some();
        let sent = match self.net_for(to, up) {
            Some(net) => net.send_unreliable(to, data, up),
            None if data.len() > SYSTEM_MAX => Err(SYSTEM_MAX),
            None => Ok(self.shm.send_unreliable(to, data, up)),
        };
        if sent.is_err() && !had_route {
            // Nothing was sent, so that there was no contact.
            up.routes.forget(to);
        }
        sent
    }

    #[inline]
    pub fn send_normal(
        &mut self,
        to: Address,
        channel: u16,
        source: Source,
        op: OpId,
        up: &mut State,
    ) {
        match self.net_for(to, up) {
            Some(net) => net.send_normal(to, channel, source, op, up),
            None => self.shm.send_normal(to, channel, source, op, up),
        }
    }

    #[inline]
    pub fn rma(&mut self, peer: Address, op: RmaOp, up: &mut State) {
        match self.net_for(peer, up) {
            Some(net) => net.rma(peer, op, up),
            None => self.shm.rma(peer, op, up),
        }
    }

    /// Binds memory to an open channel; false if there is some already, or no such channel.
    ///
    /// # Safety
    /// The memory stays valid until it is unbound; peers read and write it meanwhile.
    pub unsafe fn bind(
        &self,
        window: u16,
        start: *mut u8,
        len_bytes: usize,
        access: Access,
    ) -> bool {
        let shared = self.shared();
        let mut windows = shared.windows();
        // SAFETY: the caller vouches for the memory.
        unsafe { windows.bind(&shared.page, window, start, len_bytes, access) }
    }

    /// Ends a window; false if nothing is bound there. No thread acts on the memory for a peer after this.
    pub fn unbind(&self, window: u16) -> bool {
        let shared = self.shared();
        shared.windows().unbind(&shared.page, window)
    }

    /// A buffer was posted for a message that waits. False if the message has gone meanwhile.
    pub fn accept(&mut self, message: MessageId, target: Target, up: &mut State) -> bool {
        match (message.tier, &mut self.net) {
            (Tier::Shm, _) => self.shm.accept(message, target, up),
            (Tier::Net, Some(net)) => net.accept(message, target, up),
            (Tier::Net, None) => false,
        }
    }

    /// Gives a system message back. False if it was given back before.
    #[inline]
    pub fn release(&mut self, message: &SystemHandle) -> bool {
        match (message.tier, &mut self.net) {
            (Tier::Shm, _) => self.shm.release(message),
            (Tier::Net, Some(net)) => net.release(message),
            (Tier::Net, None) => false,
        }
    }

    /// One round over all tiers.
    #[inline]
    pub fn poll(&mut self, up: &mut State) {
        self.shm.poll(up);
        if let Some(net) = &mut self.net {
            net.poll(up);
        }
    }

    /// Falls asleep in the eyes of the peers. False if there was something to do after all.
    pub fn arm(&mut self, up: &mut State) -> bool {
        if !self.shm.arm(up) {
            return false;
        }
        if self.net.as_mut().is_some_and(|net| !net.arm(up)) {
            self.disarm();
            return false;
        }
        true
    }

    pub fn is_armed(&self) -> bool {
        self.shm.is_armed()
    }

    pub fn disarm(&mut self) {
        self.shm.disarm();
        if let Some(net) = &mut self.net {
            net.disarm();
        }
    }

    pub fn count(&self, counter: Counter) {
        self.shm.count(counter);
    }

    pub fn links(&self) -> Vec<(Address, LinkInfo)> {
        let mut links = self.shm.links();
        links.extend(self.net.iter().flat_map(NetPort::links));
        links
    }

    /// Writes the queue depths into the page, where `bcl stat` reads them.
    pub fn publish_depths(&self) {
        self.shm.publish_depths();
        if let Some(net) = &self.net {
            net.publish();
        }
    }

    /// Gives everything back. What was sent to other nodes is seen through first, for at most `linger`.
    pub fn close(&mut self, linger: Duration) {
        if let Some(net) = &mut self.net {
            net.close(linger);
        }
        self.shm.close();
    }
}

/// Opens a port on both tiers, or on shared memory alone if that was all that could be had and was not asked for.
fn open_both(config: &Config, wish: &Wish) -> Result<(ShmPort, Option<NetPort>), Error> {
    let net_wish = NetWish {
        dead_after: wish.dead_after,
        interception: match wish.device {
            Device::Auto => Interception::IfPossible,
            Device::Xdp => Interception::Always,
            Device::Udp | Device::Shm => Interception::Never,
        },
    };
    let is_free = free_numbers();
    // They are held until the next has been found.
    let mut passed_over = Vec::new();
    let (mut shm, net) = loop {
        let shm = ShmPort::open(config, &is_free)?;
        let net = NetPort::open(shm.shared(), &config.key, net_wish);
        let may_try_another = config.number.is_none() && passed_over.len() < PASSED_OVER_MAX;
        match net {
            Err(error) if error.is_in_use() && may_try_another => passed_over.push(shm),
            net => break (shm, net),
        }
    };
    passed_over.iter_mut().for_each(ShmPort::close);
    match net.map_err(Error::from) {
        Ok(net) => Ok((shm, Some(net))),
        // A node number that is no address of this machine reaches its own node all the same.
        Err(Error::Configuration(_)) if wish.device == Device::Auto => Ok((shm, None)),
        Err(error) => {
            shm.close();
            Err(error)
        }
    }
}
