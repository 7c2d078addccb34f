//! What the agent is asked for, in whose order it is done. Connections are entered into the interface program's tables, and
//! taken back ([MCP-1.5], [MCP-6.3]); nobody waits for that. Windows are: the program's thread does, and goes on meanwhile.

use std::collections::BTreeSet;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;
use std::time::{Duration, Instant};

use bcl_agent_client::message::{Answer, Connection, Request};
use bcl_agent_client::{AgentError, Key, Outcome, RequestQueue, Unanswered};
use bcl_proto::{ConnectionState, Endpoint, Span, Time, Upcalls};
use bcl_tier::AgentMemories;
use bcl_xdp::{Control, Ring};

use super::state::{outcomes, state};
use crate::clock::now_ns;

/// Until the agent is listened to again while an answer is awaited: that costs a system call.
const LISTEN_PAUSE: Span = Span::from_us(20);

/// What the agent is asked for, and has not done yet.
#[derive(Debug)]
pub struct Errands {
    agent: RequestQueue,
    listen_at: Time,
    /// Connections that are being taken back.
    returns: Vec<Return>,
    /// How long the agent may take to tell of one.
    dead_after: Span,
    /// Why the latest connection that was to be entered was not.
    trouble: Option<Arc<AgentError>>,
    /// Windows that are not offered any more, and that the agent has not removed yet.
    leaving: BTreeSet<u16>,
    memories: Arc<AgentMemories>,
    /// What the program waits for, and what has become of it.
    awaited: Option<Request>,
    answer: Option<Outcome>,
}

/// A connection that is being taken back.
#[derive(Debug)]
struct Return {
    id: u32,
    /// It is over if the agent has not answered by then.
    until: Time,
    /// How far the interface program has come with it, if that is known, and where the ring ended then.
    told: Option<(Option<ConnectionState>, u64)>,
}

impl Errands {
    pub fn new(agent: RequestQueue, dead_after: Span) -> Self {
        Self {
            agent,
            listen_at: Time(0),
            returns: Vec::new(),
            dead_after,
            trouble: None,
            leaving: BTreeSet::new(),
            memories: Arc::default(),
            awaited: None,
            answer: None,
        }
    }

    /// Asks for something that the program waits for; one thing at a time.
    pub fn ask_for_program(&mut self, request: Request, patience: Duration) {
        self.awaited = Some(request.clone());
        self.agent.ask_within(Instant::now(), patience, request);
        self.listen_at = Time(0);
    }

    pub fn next_answer(&mut self) -> Option<Outcome> {
        self.answer.take()
    }

    pub fn leave(&mut self, window: u16) {
        self.leaving.insert(window);
        let unbind = Request::Unbind { window };
        self.agent.ask_until_done(Instant::now(), unbind);
    }

    pub fn is_leaving(&self, window: u16) -> bool {
        self.leaving.contains(&window)
    }

    pub fn memories(&self) -> Arc<AgentMemories> {
        Arc::clone(&self.memories)
    }

    pub fn free(&mut self, memory: u32) {
        let free = Request::Free { memory };
        self.agent.ask_until_done(Instant::now(), free);
    }

    pub fn descriptor(&self) -> BorrowedFd<'_> {
        self.agent.as_fd()
    }

    pub fn trouble(&self) -> String {
        match &self.trouble {
            Some(error) => error.to_string(),
            None => "the agent has not entered the connection yet, or packets came past the program at the interface".to_owned(),
        }
    }

    #[inline]
    pub fn next_timeout(&self) -> Option<Time> {
        match self.agent.is_waiting() || !self.returns.is_empty() {
            true => self.next_timeout_of_any(),
            false => None,
        }
    }

    #[cold]
    fn next_timeout_of_any(&self) -> Option<Time> {
        let returns = self.returns.iter().map(|coming| coming.until);
        let agent = self.agent.next_timeout().map(|at| {
            let left = at.saturating_duration_since(Instant::now());
            Time(now_ns()) + Span(left.as_nanos() as u64)
        });
        returns.chain(agent).min()
    }

    /// Hears what the agent has done, and asks for what is to be done.
    #[inline]
    pub fn attend(
        &mut self,
        now: Time,
        ring: &Ring,
        control: &Control,
        endpoint: &mut Endpoint,
        up: &mut impl Upcalls,
    ) {
        if self.agent.is_waiting() && self.listen_at <= now {
            self.listen_at = now + LISTEN_PAUSE;
            self.hear(now, ring, control, endpoint, up);
        }
        if !self.returns.is_empty() && !endpoint.has_overdue() {
            self.take_back(now, ring, endpoint, up);
        }
        if endpoint.has_errands() {
            self.ask(now, control, endpoint, up);
        }
        while let Some(memory) = self.memories.next_to_free() {
            self.free(memory);
        }
    }

    #[cold]
    fn ask(
        &mut self,
        now: Time,
        control: &Control,
        endpoint: &mut Endpoint,
        up: &mut impl Upcalls,
    ) {
        let instant = Instant::now();
        while let Some(entering) = endpoint.next_to_enter(now, up) {
            control.give_back(entering.id, true);
            let connection = Connection {
                connection: entering.id,
                peer: entering.path.to,
                peer_connection: entering.peer_id,
                key_theirs: Key(entering.theirs),
                key_ours: Key(entering.ours),
                expected: entering.expected,
                outcomes: outcomes(&entering.outcomes),
            };
            self.agent.ask(instant, Request::Enter(connection));
        }
        while let Some((id, unheard)) = endpoint.next_to_take_back() {
            control.give_back(id, true);
            self.remove(instant, id, false, unheard);
            self.returns.push(Return {
                id,
                until: now + self.dead_after,
                told: None,
            });
        }
        while let Some(id) = endpoint.next_to_remove() {
            self.remove(instant, id, true, false);
        }
    }

    fn remove(&mut self, instant: Instant, connection: u32, ended: bool, unheard: bool) {
        let remove = Request::Remove {
            connection,
            ended,
            unheard,
        };
        self.agent.ask_until_done(instant, remove);
    }

    #[cold]
    fn hear(
        &mut self,
        now: Time,
        ring: &Ring,
        control: &Control,
        endpoint: &mut Endpoint,
        up: &mut impl Upcalls,
    ) {
        let instant = Instant::now();
        while let Some(outcome) = self.agent.poll(instant) {
            if self.awaited.as_ref() == Some(&outcome.request) {
                self.awaited = None;
                self.answer = Some(outcome);
                continue;
            }
            let Outcome {
                request, result, ..
            } = outcome;
            match request {
                Request::Enter(Connection { connection, .. }) => {
                    let result = result.map(drop);
                    self.on_entered(connection, result, now, control, endpoint, up);
                }
                Request::Remove { connection, .. } => self.on_removed(connection, result, ring),
                Request::Unbind { window } => drop(self.leaving.remove(&window)),
                _ => {}
            }
        }
    }

    fn on_entered(
        &mut self,
        id: u32,
        result: Result<(), Unanswered>,
        now: Time,
        control: &Control,
        endpoint: &mut Endpoint,
        up: &mut impl Upcalls,
    ) {
        match result {
            Ok(()) => {
                if endpoint.entered(now, id, up) {
                    control.give_back(id, false);
                }
                self.trouble = None;
            }
            Err(unanswered) => {
                self.trouble = Some(unanswered.error);
                if unanswered.may_be_done {
                    self.remove(Instant::now(), id, false, false);
                }
                endpoint.not_entered(now, id, up);
            }
        }
    }

    fn on_removed(&mut self, id: u32, result: Result<Answer, Unanswered>, ring: &Ring) {
        let mut returns = self.returns.iter_mut();
        let awaited = returns.find(|coming| coming.id == id && coming.told.is_none());
        if let Some(coming) = awaited {
            let told = match result {
                Ok(Answer::Removed { state: told }) => told.and_then(|told| state(&told)),
                _ => None,
            };
            coming.told = Some((told, ring.end()));
        }
    }

    /// Connections whose state is known, and of which nothing lies in the ring any more.
    #[cold]
    fn take_back(
        &mut self,
        now: Time,
        ring: &Ring,
        endpoint: &mut Endpoint,
        up: &mut impl Upcalls,
    ) {
        self.returns.retain(|coming| {
            let state = match &coming.told {
                Some((state, end)) if ring.has_passed(*end) => state.as_ref(),
                None if coming.until <= now => None,
                _ => return true,
            };
            endpoint.taken_back(now, coming.id, state, up);
            false
        });
    }
}
