//! The port's books: matching, operations and event queues. Everything the tier reports ends here.

use std::collections::VecDeque;

use bcl_os::sync::bump;
use bcl_tier::page::{Counter, Page};
use bcl_tier::{Arrival, LinkInfo, MessageId, SystemHandle, Target, Upcalls};
use bcl_types::{Address, Cause, OpError, OpId};

use crate::event::{Event, SystemMessage, Which};
use crate::matcher::Matcher;
use crate::ops::{Op, Ops};
use crate::routes::Routes;
use crate::tiers::Books;

/// Cookie of operations whose success is not worth an event; their failure is ([SEM-3.4]).
pub const QUIET: u64 = u64::MAX;
/// Receive events kept for the program; beyond that arrivals stay where they are.
const RECV_MAX: usize = 4096;

/// Everything that a port knows of operations, messages and peers.
#[derive(Debug)]
pub struct State<M> {
    /// Number of the port in this process, never reused.
    pub port: u64,
    pub matcher: M,
    pub ops: Ops,
    pub routes: Routes,
    pub sends: VecDeque<Event>,
    pub recvs: VecDeque<Event>,
    /// Operations and completions that failed, for the counter.
    pub failed: u64,
    /// Events in the queues that tell of the end of a peer, or of a send that failed.
    pub ends: usize,
    /// What is above the port has events of its own for those who watch it.
    pub above: bool,
}

impl<M: Matcher> State<M> {
    /// Those of a port with this number.
    pub fn new(port: u64, matcher: M) -> Self {
        Self {
            port,
            matcher,
            ops: Ops::default(),
            routes: Routes::default(),
            sends: VecDeque::new(),
            recvs: VecDeque::new(),
            failed: 0,
            ends: 0,
            above: false,
        }
    }

    #[inline]
    pub fn pop(&mut self, which: Which) -> Option<Event> {
        let event = match which {
            Which::Send => self.sends.pop_front(),
            Which::Recv => self.recvs.pop_front(),
            Which::Any if self.recvs.is_empty() => self.sends.pop_front(),
            Which::Any => self.recvs.pop_front(),
        };
        if self.ends > 0 {
            self.ends -= usize::from(event.as_ref().is_some_and(is_end));
        }
        event
    }

    #[inline]
    pub fn has(&self, which: Which) -> bool {
        match which {
            Which::Send => !self.sends.is_empty(),
            Which::Recv => !self.recvs.is_empty(),
            Which::Any => !self.sends.is_empty() || !self.recvs.is_empty(),
        }
    }

    pub fn has_events(&self) -> bool {
        self.has(Which::Any) || self.above
    }

    /// Whether operations are under way besides posts that no message has met.
    pub fn expects_completions(&self) -> bool {
        self.ops.len() > self.matcher.posted()
    }

    /// A send that needs nothing remembered has completed at once.
    #[inline]
    pub fn sent_at_once(&mut self, to: Address, cookie: u64, len_bytes: u64) {
        if cookie != QUIET {
            self.sends.push_back(Event::Sent {
                cookie,
                to,
                channel: 0,
                len_bytes,
                result: Ok(()),
                buffer: None,
            });
        }
    }

    /// Takes the failures seen since the last time into the page.
    pub fn report_failures(&mut self, page: &Page) {
        bump(
            page.counter(Counter::Failed),
            std::mem::take(&mut self.failed),
        );
    }

    /// A posted buffer has met a message, with which its sender has given this along.
    #[inline]
    pub fn note_immediate(&mut self, op: OpId, immediate: u64) {
        if let Some(op) = self.ops.get_mut(op) {
            op.immediate = immediate;
        }
    }

    fn end(&mut self, op: OpId, result: &Result<(), OpError>) -> Option<Op> {
        self.failed += u64::from(result.is_err());
        let op = self.ops.remove(op)?;
        (op.cookie != QUIET || result.is_err() || op.has_buffer()).then_some(op)
    }
}

impl<M: Matcher> Books for State<M> {
    #[inline]
    fn routes(&mut self) -> &mut Routes {
        &mut self.routes
    }
}

impl<M: Matcher> Upcalls for State<M> {
    fn is_full(&self) -> bool {
        self.recvs.len() >= RECV_MAX
    }

    #[inline]
    fn system(&mut self, from: Address, handle: SystemHandle) {
        self.recvs.push_back(Event::Message(SystemMessage {
            from,
            handle,
            port: self.port,
        }));
    }

    #[inline]
    fn arrived(&mut self, arrival: &Arrival) -> Option<Target> {
        let target = self.matcher.arrived(arrival)?;
        self.note_immediate(target.op, arrival.immediate);
        Some(target)
    }

    fn withdrawn(&mut self, message: MessageId, channel: u16) {
        self.matcher.withdrawn(message, channel);
    }

    #[inline]
    fn received(
        &mut self,
        from: Address,
        channel: u16,
        op: OpId,
        len_bytes: u64,
        result: Result<(), OpError>,
    ) {
        self.failed += u64::from(result.is_err());
        if let Some(Op {
            cookie,
            held,
            immediate,
        }) = self.ops.remove(op)
        {
            self.recvs.push_back(Event::Received {
                cookie,
                from,
                channel,
                len_bytes,
                immediate,
                result,
                buffer: held.into_buffer(),
            });
        }
    }

    #[inline]
    fn sent(
        &mut self,
        to: Address,
        channel: u16,
        op: OpId,
        len_bytes: u64,
        result: Result<(), OpError>,
    ) {
        if let Some(Op { cookie, held, .. }) = self.end(op, &result) {
            self.ends += usize::from(result.is_err());
            self.sends.push_back(Event::Sent {
                cookie,
                to,
                channel,
                len_bytes,
                result,
                buffer: held.into_buffer(),
            });
        }
    }

    #[inline]
    fn rma_done(
        &mut self,
        peer: Address,
        window: u16,
        op: OpId,
        value: u64,
        result: Result<(), OpError>,
    ) {
        if let Some(Op { cookie, held, .. }) = self.end(op, &result) {
            self.sends.push_back(Event::RmaDone {
                cookie,
                peer,
                window,
                value,
                result,
                buffer: held.into_buffer(),
            });
        }
    }

    fn rma_arrived(&mut self, from: Address, window: u16, offset: u64, len_bytes: u64) {
        self.recvs.push_back(Event::RmaArrived {
            from,
            window,
            offset,
            len_bytes,
        });
    }

    fn peer_up(&mut self, peer: Address, info: &LinkInfo) {
        self.recvs.push_back(Event::PeerUp {
            peer,
            device: info.device,
            copy: info.copy.clone(),
        });
    }

    fn peer_gone(&mut self, peer: Address, cause: Cause) {
        self.routes.forget(peer);
        self.ends += 1;
        self.recvs.push_back(Event::PeerGone { peer, cause });
    }

    fn peer_unreached(&mut self, peer: Address) {
        self.routes.forget(peer);
    }
}

fn is_end(event: &Event) -> bool {
    matches!(
        event,
        Event::PeerGone { .. } | Event::Sent { result: Err(_), .. }
    )
}
