//! The node of the peer says that its port has ended ([WIRE-12.7]).

use bcl_types::Cause;
use bcl_wire::Header;

use super::Connection;
use crate::common::Context;
use crate::counters::WhyNot;
use crate::upcalls::Upcalls;
use bcl_types::{Span, Time};

/// For so long what the process sent last may take, which the word of its end has overtaken.
const OVERTAKEN_FOR: Span = Span::from_ms(1);
/// For so long our interface program is waited for, which may have taken what we have not seen yet.
const TAKEN_BACK_FOR: Span = Span::from_ms(1_000);

/// What we were told.
#[derive(Debug, Clone, Copy)]
pub struct Death {
    cause: Cause,
    told_at: Time,
}

impl Connection {
    /// A GONE, which the peer's node has sealed with the key of the connection.
    #[cold]
    pub(super) fn on_gone<U: Upcalls>(&mut self, header: &Header, cx: &mut Context<'_, U>) {
        self.traffic.packets_in += 1;
        self.on_known(cx);
        if self.death.is_none() {
            self.death = Some(Death {
                cause: header.cause(),
                told_at: cx.now,
            });
            // Why makes no difference any more.
            self.give_back(WhyNot::Bypass, cx.common);
        }
    }

    /// When the peer is gone, if it has died.
    pub(super) fn death_at(&self) -> Option<Time> {
        let told_at = self.death?.told_at;
        Some(match self.is_entered() {
            true => told_at + TAKEN_BACK_FOR,
            false => told_at + OVERTAKEN_FOR,
        })
    }

    /// How it has died, if it is gone by now.
    pub(super) fn died(&self, now: Time) -> Option<Cause> {
        let is_gone = self.death_at()? <= now;
        self.death.filter(|_| is_gone).map(|death| death.cause)
    }
}
