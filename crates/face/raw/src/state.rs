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
    /// For each send among the events that failed, how many of the receive events are older: what failed is told of in its turn.
    failed_behind: VecDeque<usize>,
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
            failed_behind: VecDeque::new(),
            above: false,
        }
    }

    #[inline]
    pub fn pop(&mut self, which: Which) -> Option<Event> {
        let takes_send = match which {
            Which::Send => true,
            Which::Recv => false,
            Which::Any => self.recvs.is_empty() || self.failed_behind.front() == Some(&0),
        };
        let event = match takes_send {
            true => self.sends.pop_front(),
            false => self.recvs.pop_front(),
        };
        if self.ends > 0 {
            if let Some(event) = &event {
                self.note_taken(event, takes_send);
            }
        }
        event
    }

    #[cold]
    fn note_taken(&mut self, event: &Event, is_send: bool) {
        let is_end = is_end(event);
        self.ends -= usize::from(is_end);
        if is_send && is_end {
            self.failed_behind.pop_front();
        } else if !is_send {
            let behind = self.failed_behind.iter_mut();
            behind.for_each(|older| *older = older.saturating_sub(1));
        }
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
            if result.is_err() {
                self.ends += 1;
                self.failed_behind.push_back(self.recvs.len());
            }
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ops::Held;

    struct NoBuffers;

    impl Matcher for NoBuffers {
        fn arrived(&mut self, _: &Arrival) -> Option<Target> {
            None
        }

        fn withdrawn(&mut self, _: MessageId, _: u16) {}

        fn posted(&self) -> usize {
            0
        }
    }

    const LOST: Result<(), OpError> = Err(OpError::PeerGone(Cause::Restarted));

    /// Ends, and news of windows between them, with their numbers; taken as `which` says each time.
    fn told(which: impl Fn(u64) -> Which) -> Vec<u64> {
        let peer = Address {
            node: 1.into(),
            port: 1,
        };
        let mut state = State::new(0, NoBuffers);
        for (number, failed) in [(1, false), (3, true), (6, true), (8, false)] {
            let op = state.ops.insert(Op::new(number, Held::Nothing));
            state.rma_arrived(peer, 0, number - 1, 0);
            state.sent(peer, 0, op, 0, if failed { LOST } else { Ok(()) });
        }
        let mut numbers = Vec::new();
        while state.has_events() {
            numbers.extend(
                state
                    .pop(which(numbers.len() as u64))
                    .map(|event| match event {
                        Event::Sent { cookie, .. } => cookie,
                        Event::RmaArrived { offset, .. } => offset,
                        other => panic!("{other:?}"),
                    }),
            );
        }
        assert!(state.ends == 0 && state.failed_behind.is_empty());
        numbers
    }

    /// SEM-3.2
    #[test]
    fn what_failed_is_told_of_before_what_came_later() {
        assert_eq!(told(|_| Which::Any), [0, 2, 1, 3, 5, 6, 7, 8]);
        let receives_first = |taken| if taken < 4 { Which::Recv } else { Which::Any };
        assert_eq!(told(receives_first), [0, 2, 5, 7, 1, 3, 6, 8]);
        let sends_first = |taken| if taken < 3 { Which::Send } else { Which::Any };
        assert_eq!(told(sends_first), [1, 3, 6, 0, 2, 5, 7, 8]);
    }
}
