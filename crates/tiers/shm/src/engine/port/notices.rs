//! News from the service thread: connections that are made or cannot be, peers that are gone, memory that was asked for.

use bcl_os::cancel;
use bcl_os::sync::bump;
use bcl_rings::Corrupt;
use bcl_tier::Upcalls;
use bcl_tier::page::Counter;
use bcl_types::{Address, Cause};

use super::{ShmPort, context, describe};
use crate::engine::incoming::{Context, Incoming};
use crate::engine::link::{Link, LinkId};
use crate::engine::outgoing::Outgoing;
use crate::engine::peer::Peer;
use crate::engine::rma::Requester;
use crate::service::Notice;

impl ShmPort {
    #[cold]
    pub(super) fn take_notices(&mut self, up: &mut impl Upcalls) -> bool {
        let _off = cancel::Off::new();
        let notices = self.shared.take_notices();
        let any = !notices.is_empty();
        for notice in notices {
            self.on_notice(notice, up);
        }
        any
    }

    fn on_notice(&mut self, notice: Notice, up: &mut impl Upcalls) {
        match notice {
            Notice::Connected {
                peer,
                link,
                initiated,
            } => self.on_connected(peer, *link, initiated, up),
            Notice::Failed { peer, error } => {
                if let Some(slot) = self.peers.find(peer) {
                    self.end(slot, Cause::Vanished, error, up);
                }
            }
            Notice::Gone { link, cause } => {
                if let Some(slot) = self.peers.slot_of_link(link) {
                    self.gone(slot, cause, up);
                }
            }
            Notice::Region {
                link,
                region,
                mapping,
            } => self.with_link(link, up, |peer, link, ctx, up| {
                peer.incoming
                    .on_region(link, peer.out, region, mapping, ctx, up);
                Ok(())
            }),
            Notice::Window {
                link,
                window,
                epoch,
                info,
            } => self.with_link(link, up, |peer, link, ctx, up| {
                peer.rma.on_window(window, epoch, info);
                peer.rma.push(link, peer.out, ctx, up)
            }),
            Notice::RmaDone { link, op, result } => self.with_link(link, up, |peer, _, ctx, up| {
                peer.rma.on_done(op, result, ctx, up);
                Ok(())
            }),
            Notice::RmaArrived {
                peer,
                window,
                offset,
                len_bytes,
            } => up.rma_arrived(peer, window, offset, len_bytes),
        }
    }

    fn with_link<U: Upcalls>(
        &mut self,
        id: LinkId,
        up: &mut U,
        act: impl FnOnce(&mut PeerParts<'_>, &mut Link, &Context<'_>, &mut U) -> Result<(), Corrupt>,
    ) {
        let Some(slot) = self.peers.slot_of_link(id) else {
            return;
        };
        let Some(peer) = self.peers.get_mut(slot) else {
            return;
        };
        let ctx = context!(self, slot, peer.address);
        let Some(link) = &mut peer.link else { return };
        let mut parts = PeerParts {
            out: &mut peer.out,
            incoming: &mut peer.incoming,
            rma: &mut peer.rma,
        };
        let result = act(&mut parts, link, &ctx, up).and_then(|()| peer.work(&ctx, up).map(drop));
        if result.is_err() {
            self.cut(slot, up);
        }
    }

    fn on_connected(
        &mut self,
        address: Address,
        link: Link,
        initiated: bool,
        up: &mut impl Upcalls,
    ) {
        // A port that talks to itself has both ends of a connection; it sends by the one it initiated.
        let to_self = address == self.port.address && !initiated;
        let slot = if to_self {
            self.peers.add(Peer::new(address), false)
        } else {
            self.peers
                .find(address)
                .unwrap_or_else(|| self.peers.add(Peer::new(address), true))
        };
        self.peers.connect(slot, link.id);
        let Some(peer) = self.peers.get_mut(slot) else {
            return;
        };
        let ctx = context!(self, slot, address);
        let link = peer.link.insert(link);
        if !to_self {
            up.peer_up(address, &describe(link, &peer.incoming));
        }
        let pushed = peer
            .rma
            .push(link, &mut peer.out, &ctx, up)
            .and_then(|()| peer.work(&ctx, up));
        if pushed.is_err() {
            self.cut(slot, up);
        }
    }

    /// The peer has gone. What it had published is taken first: it was sent, so it arrives ([SEM-7.4]).
    fn gone(&mut self, slot: u32, cause: Cause, up: &mut impl Upcalls) {
        if let Some(peer) = self.peers.get_mut(slot) {
            let ctx = context!(self, slot, peer.address);
            if peer.drain(&ctx, up).is_err() {
                bump(self.port.page.counter(Counter::ProtocolErrors), 1);
            }
        }
        self.end(slot, cause, cause.into(), up);
    }
}

/// A peer without its link, so that both can be borrowed at once.
struct PeerParts<'a> {
    out: &'a mut Outgoing,
    incoming: &'a mut Incoming,
    rma: &'a mut Requester,
}
