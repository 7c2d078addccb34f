//! One peer of a port: its connection if there is one, and everything under way with it.

use bcl_os::sync::Ordering;
use bcl_rings::Corrupt;
use bcl_tier::Upcalls;
use bcl_types::{Address, Cause, OpError};

use super::incoming::{Context, Incoming};
use super::link::Link;
use super::message::{Kind, Message};
use super::outgoing::Outgoing;
use super::rma::Requester;

/// Cells taken from one peer before the next gets its turn.
const CELLS_PER_TURN: u32 = 32;
/// Empty polls between two looks at the return line while cells bring the news anyway: a look takes the line
/// from the peer, which slows the peer's next message down.
const POLLS_PER_LOOK_MAX: u32 = 256;
/// The same in one-way traffic, where only looking brings news.
const POLLS_PER_LOOK_MIN: u32 = 8;
/// Empty polls between two attempts to send what waits for room. Each looks at the return line too.
const POLLS_PER_RETRY: u32 = 4;

/// A peer, connected or to be.
#[derive(Debug)]
pub struct Peer {
    pub address: Address,
    pub link: Option<Link>,
    pub out: Outgoing,
    pub incoming: Incoming,
    pub rma: Requester,
    /// Gone, and kept only until the program has released its messages.
    pub gone: bool,
    /// Going: what it had published is taken even if the event queue is full, for there is no later.
    pub draining: bool,
    idle_polls: u32,
    /// Between the two bounds: shorter with each look that brought news, long again with the next cell.
    polls_per_look: u32,
}

impl Peer {
    pub fn new(address: Address) -> Self {
        Self {
            address,
            link: None,
            out: Outgoing::default(),
            incoming: Incoming::new(),
            rma: Requester::default(),
            gone: false,
            draining: false,
            idle_polls: 0,
            polls_per_look: POLLS_PER_LOOK_MAX,
        }
    }

    /// Operations that have not completed.
    pub fn pending(&self) -> usize {
        self.out.pending() + self.rma.pending()
    }

    /// Takes what has arrived and sends what can be sent. Returns whether anything moved.
    #[inline]
    pub fn poll(&mut self, ctx: &Context<'_>, up: &mut impl Upcalls) -> Result<bool, Corrupt> {
        let Some(link) = &mut self.link else {
            return Ok(false);
        };
        let mut moved = false;
        for _ in 0..CELLS_PER_TURN {
            if up.is_full() && !self.draining {
                break;
            }
            let Some(words) = link.pair.cells_in.take() else {
                break;
            };
            let message = Message::decode(&words)?;
            Self::on_message(link, &mut self.out, &mut self.incoming, &message, ctx, up)?;
            moved = true;
        }
        if moved {
            self.idle_polls = 0;
            self.polls_per_look = POLLS_PER_LOOK_MAX;
            link.pair.cells_in.give_back();
            self.incoming.publish(link, &self.out);
            link.after_returns(ctx.counters);
        } else {
            self.idle_polls += 1;
            if self.incoming.inbox.give_back(&mut link.pair) {
                link.after_returns(ctx.counters);
            }
        }
        if self.is_time_to_work(moved) {
            moved |= self.work(ctx, up)?;
        }
        Ok(moved)
    }

    #[inline]
    fn is_time_to_work(&self, moved: bool) -> bool {
        let retry = moved || self.idle_polls.is_multiple_of(POLLS_PER_RETRY);
        (self.out.has_work() && retry)
            || self.incoming.is_copying()
            || self.incoming.awaits_stream()
            || self.idle_polls >= self.polls_per_look
    }

    fn on_message(
        link: &mut Link,
        out: &mut Outgoing,
        incoming: &mut Incoming,
        message: &Message,
        ctx: &Context<'_>,
        up: &mut impl Upcalls,
    ) -> Result<(), Corrupt> {
        match message.kind {
            Kind::System => incoming.on_system(link, message, ctx, up)?,
            Kind::Eager => incoming.on_eager(link, out, message, ctx, up)?,
            Kind::Rts => incoming.on_rts(link, out, message, ctx, up)?,
            Kind::Data => incoming.on_data(link, out, message, ctx, up)?,
            Kind::Cts => out.on_cts(message.args, link, ctx.stages)?,
            Kind::Unreadable => incoming.on_unreadable(out, message.args[0] as u32, ctx, up)?,
            Kind::Defer => out.on_defer(message.args[0] as u32)?,
            Kind::Fin => {
                let [number, status, detail, ..] = message.args;
                out.on_fin(number as u32, status, detail, up, ctx.from, ctx.counters)?;
            }
            Kind::Notice => {
                up.rma_arrived(ctx.from, message.channel, message.args[0], message.args[1])
            }
        }
        out.on_handled(message.handled, up, ctx.from, ctx.counters)
    }

    /// The slower part of a poll: queued sends, large copies, the peer's return line.
    pub fn work(&mut self, ctx: &Context<'_>, up: &mut impl Upcalls) -> Result<bool, Corrupt> {
        let Some(link) = &mut self.link else {
            return Ok(false);
        };
        self.idle_polls = 0;
        self.out.streaming.look(link)?;
        let mut moved = self.incoming.progress(link, &mut self.out, ctx, up);
        let took = self.out.awaits_handling()
            && Self::check_returns(link, &mut self.out, &mut self.incoming, ctx, up)?;
        if took {
            moved = true;
            self.polls_per_look = (self.polls_per_look / 2).max(POLLS_PER_LOOK_MIN);
        }
        if self.out.has_work() && self.out.push(link, self.incoming.handled(), up, ctx)? {
            moved = true;
            link.after_cells(ctx.counters);
        }
        if self.incoming.publish(link, &self.out) || took {
            link.after_returns(ctx.counters);
        }
        Ok(moved)
    }

    /// Completes what the peer's return line says is handled, after taking the cells published before it:
    /// one of them may say that a message was put off instead ([SHM-4.4]).
    fn check_returns(
        link: &mut Link,
        out: &mut Outgoing,
        incoming: &mut Incoming,
        ctx: &Context<'_>,
        up: &mut impl Upcalls,
    ) -> Result<bool, Corrupt> {
        let Some(handled) = out.check_handled(link)? else {
            return Ok(false);
        };
        // A ring full of cells is all that can have been there; a peer that goes on sending is not waited for.
        for _ in 0..link.pair.cells_in.capacity() {
            if up.is_full() {
                return Ok(true);
            }
            let Some(words) = link.pair.cells_in.receive() else {
                break;
            };
            let message = Message::decode(&words)?;
            Self::on_message(link, out, incoming, &message, ctx, up)?;
        }
        out.on_handled(handled, up, ctx.from, ctx.counters)?;
        Ok(true)
    }

    /// Before sleeping: what the peer should wake us for besides cells. Whether that is more than before.
    pub fn wish(&self) -> bool {
        let Some(link) = &self.link else {
            return false;
        };
        let wish = u32::from(self.out.has_work() || self.out.awaits_handling());
        let word = &link.pair.my_wishes().returns;
        let changes = word.load(Ordering::Relaxed) != wish;
        if changes {
            word.store(wish, Ordering::Relaxed);
        }
        changes && wish != 0
    }

    /// Takes what the peer had published before it went, however full the event queue is. A ring's worth at
    /// most: a process that only pretends to be gone could write for ever.
    pub fn drain(&mut self, ctx: &Context<'_>, up: &mut impl Upcalls) -> Result<(), Corrupt> {
        let Some(link) = &self.link else {
            return Ok(());
        };
        let capacity = link.pair.cells_in.capacity();
        // Read before the cells, of which one may say that a message was put off ([SHM-4.4]).
        let handled = self.out.check_handled(link)?;
        self.draining = true;
        for _ in 0..=capacity / u64::from(CELLS_PER_TURN) {
            if !self.poll(ctx, up)? {
                break;
            }
        }
        match handled {
            Some(handled) => self.out.on_handled(handled, up, ctx.from, ctx.counters),
            None => Ok(()),
        }
    }

    /// Fails everything that is under way.
    pub fn on_gone(
        &mut self,
        cause: Cause,
        error: OpError,
        ctx: &Context<'_>,
        up: &mut impl Upcalls,
    ) {
        self.rma.fail_all(error, self.address, up);
        let link_id = self.link.as_ref().map_or(0, |link| link.id);
        self.incoming.fail_all(cause, link_id, ctx, up);
        self.out.fail_all(error, up, self.address);
    }
}
