//! The end of a connection.

use bcl_types::{Cause, OpError};

use super::{Connection, End};
use crate::common::Context;
use crate::upcalls::Upcalls;

impl Connection {
    /// All that was pending ends ([SEM-7.2]): first operations and messages, then the peer.
    pub fn end<U: Upcalls>(&mut self, end: End, cx: &mut Context<'_, U>) {
        let error = match end {
            End::Gone(cause) => cause.into(),
            End::Failed(error) => error,
            End::Left => OpError::Canceled,
        };
        let (peer, sender) = (self.peer, self.sender());
        self.outgoing.fail_all(peer, error, cx);
        self.requester.fail_all(peer, error, cx);
        self.inbox.fail_all(sender, error, cx);
        self.owner.clear();
        self.stash.clear(&mut cx.common.stash);
        self.drop_assembly(cx);
        if let Some(cut) = self.cut.take() {
            cx.common.copies.give_back(cut.name);
        }
        for (name, _) in self.unreliable.drain(..) {
            cx.common.copies.give_back(name);
        }
        match end {
            _ if self.is_mirror => {}
            End::Gone(cause) if self.is_up() => cx.up.peer_gone(peer, cause),
            _ => cx.up.peer_unreached(peer),
        }
        cx.common.past.add(&self.traffic);
    }

    /// The peer has taken leave, or has died: it is gone, unless the program has yet to hear of what arrived before
    /// ([SEM-7.4]).
    #[cold]
    pub(super) fn on_departed<U: Upcalls>(
        &mut self,
        cause: Cause,
        cx: &mut Context<'_, U>,
    ) -> Result<(), End> {
        if cx.common.is_closing || !cx.up.owes_arrivals() {
            return Err(End::Gone(cause));
        }
        self.departed = Some(cause);
        if !cx.common.departed.contains(&self.id) {
            cx.common.departed.push(self.id);
        }
        Ok(())
    }

    /// Lets go of memory that an idle connection does not need.
    pub fn rest(&mut self) {
        self.flights.shrink();
        self.stash.shrink();
    }
}

impl Connection {
    /// Whether this connection was made by the attempt with this nonce.
    pub fn has_nonce(&self, nonce: u64) -> bool {
        self.agreed.is_some_and(|agreed| agreed.nonce == nonce)
    }

    /// Whether this connection was made by the set-up with this token.
    pub fn is(&self, token: u64) -> bool {
        self.agreed.is_some_and(|agreed| agreed.token == token)
    }
}
