//! An interface program in front of a port, and the agent that enters connections for it.
//!
//! By itself the agent does at once what it is asked for. In a world it has whims: it takes its time, and sometimes says
//! no. Windows come and go meanwhile, connections are given back: all by the seed. Memory lies where the endpoint has
//! it, and is lent to the interface program while that has a packet.

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::sync::Arc;

use bcl_layout::control::{GRANTS, Grant};
use bcl_layout::tables;
use bcl_mcp_model::{Verdict, Window};
use bcl_proto::{ConnectionState, Endpoint, Entering, Time, Told};
use bcl_types::{Cause, Random};
use bcl_wire::{CheckKey, End, Flags, Header, JobKeys, Kind, gone_packet};

use super::memory::Memory;
use crate::party::Interception;

/// Windows of buffers that messages are placed into directly come from this number on.
const FIRST_BUFFER: u16 = 1000;

/// What peers may do with windows, beside that the program may hear of it.
const ACCESS: u32 = tables::Window::GET | tables::Window::PUT | tables::Window::ATOMIC;
const NOTIFY: u32 = tables::Window::NOTIFY;

/// What the agent has been asked for, and when it does it.
#[derive(Debug)]
struct Asked {
    at_ns: u64,
    what: AgentTask,
}

#[derive(Debug, Clone)]
enum AgentTask {
    Enter(Entering),
    Return(u32),
    Remove(u32),
}

/// What the agent has done.
#[derive(Debug)]
enum Answer {
    Entered(u32),
    NotEntered(u32),
    /// It has ended before it said whether it has done it.
    Unknown(u32),
    Returned(u32, Option<ConnectionState>),
}

/// The interface program of one port, and its agent.
pub struct Front {
    /// The interface program.
    pub port: bcl_mcp_model::ModelPort,
    /// Whether connections are entered at all.
    pub has_agent: bool,
    /// Connections that were entered.
    pub entered: Vec<u32>,
    /// Connections that the agent knows.
    known: Vec<Entering>,
    /// The driver of the network card loses what the interface program answers.
    pub loses_answers: bool,
    /// It is not in the driver.
    pub takes_singly: bool,
    /// It takes streams, whatever the socket would do.
    pub keeps_streams: bool,
    /// Puts of which the endpoint has performed the beginning and not the end, by connection and slot.
    begun: BTreeSet<(u32, u16)>,
    is_closing: bool,
    asked: Vec<Asked>,
    answers: Vec<Answer>,
    whims: Option<Whims>,
}

/// What a world has its agents and programs do.
struct Whims {
    random: Random,
    /// How long the agent takes at most.
    agent_ns: u64,
    grants_messages: bool,
    /// One record of so many is a reason to give its connection back.
    gives_back_one_in: u64,
}

impl Front {
    /// In front of the port with this number; its ring has room for so many bytes, a power of two.
    pub fn new(number: u16, job_key: &[u8; 32], ring_bytes: usize) -> Self {
        let job = Arc::new(JobKeys::derive(job_key));
        Self {
            port: bcl_mcp_model::ModelPort::new(number, job, ring_bytes),
            has_agent: true,
            entered: Vec::new(),
            known: Vec::new(),
            loses_answers: false,
            takes_singly: false,
            keeps_streams: false,
            begun: BTreeSet::new(),
            is_closing: false,
            asked: Vec::new(),
            answers: Vec::new(),
            whims: None,
        }
    }

    /// Whether a record is to tell of each long put that begins.
    pub(super) fn tell_puts(&mut self, tell: bool) {
        self.port.control.tell_puts = tell;
    }

    pub(super) fn with_whims(number: u16, job_key: &[u8; 32], mut random: Random) -> Self {
        let ring_bytes = *random.pick(&[64 << 10, 256 << 10, 1 << 20]);
        let mut front = Self::new(number, job_key, ring_bytes);
        front.port.can_lengthen = !random.one_in(4);
        // Drawn beside the others, whose order the worlds with a name depend on.
        let mut fate = random.clone();
        front.loses_answers = fate.one_in(8);
        front.takes_singly = fate.one_in(2);
        front.keeps_streams = fate.one_in(4);
        front.whims = Some(Whims {
            agent_ns: *random.pick(&[1_000, 50_000, 2_000_000]),
            grants_messages: random.one_in(2),
            gives_back_one_in: *random.pick(&[u64::MAX, 1_000, 50]),
            random,
        });
        front
    }

    /// How much its ring has room for.
    pub fn ring_bytes(&self) -> usize {
        self.port.ring.capacity_bytes()
    }

    /// A whim that comes once in so many times.
    fn fancies(&mut self, times: u64) -> bool {
        let whims = self.whims.as_mut();
        whims.is_some_and(|whims| whims.random.one_in(times))
    }

    /// A datagram has come to the host.
    pub(super) fn intercept(
        &mut self,
        now_ns: u64,
        memory: &mut Memory,
        from: SocketAddr,
        bytes: &[u8],
    ) -> Interception {
        self.let_agent_work(now_ns);
        let SocketAddr::V4(from) = from else {
            return Interception::Pass;
        };
        if self.fancies(100) {
            self.enter_or_remove_window(memory);
        }
        self.lend(memory);
        let interception = match self.port.handle(from, bytes) {
            Verdict::Pass => Interception::Pass,
            Verdict::Drop => Interception::Taken(None),
            Verdict::Reply(_) if self.loses_answers => Interception::Taken(None),
            Verdict::Reply(bytes) => Interception::Taken(Some(bytes.to_vec())),
        };
        self.take_home(memory);
        interception
    }

    /// The port is about to close: nobody is served from its windows any more.
    pub(super) fn close(&mut self) {
        self.is_closing = true;
        self.port.control.offer(super::WINDOW, false);
    }

    fn enter_or_remove_window(&mut self, memory: &Memory) {
        let number = super::WINDOW;
        let Some(bytes) = memory.windows.get(&number).filter(|_| !self.is_closing) else {
            return;
        };
        // A put that has begun would fail, as it does when its owner takes the memory away.
        let mut known = self
            .entered
            .iter()
            .filter_map(|id| self.port.connection(*id));
        let is_busy = known.any(|state| {
            let mut begun = state.outcomes.iter().flatten();
            begun.any(|outcome| outcome.is_ours && !outcome.is_done)
        });
        if !is_busy && self.port.remove_window(number).is_none() && !self.is_the_programs_turn() {
            let window = Window {
                memory: Vec::new(),
                len_bytes: bytes.len() as u64,
                access: ACCESS | if self.fancies(2) { NOTIFY } else { 0 },
            };
            self.port.enter_window(number, window);
            self.port.control.offer(number, true);
        }
    }

    /// Whether something for the program to perform lies in the ring, or is going to as the rest of a put that it has
    /// begun: that comes before what the interface program would perform from now on ([MCP-4.5]).
    fn is_the_programs_turn(&mut self) -> bool {
        self.begun
            .retain(|(connection, _)| self.port.connection(*connection).is_some());
        !self.begun.is_empty() || self.port.ring.next_record().is_some()
    }

    /// Memory of windows and granted buffers goes to the interface program, or back.
    fn lend(&mut self, memory: &mut Memory) {
        for (number, bytes) in &mut memory.windows {
            if let Some(window) = self.port.window(*number) {
                std::mem::swap(&mut window.memory, bytes);
            }
        }
        for slot in 0..GRANTS {
            let buffer = memory.granted[slot].and_then(|granted| memory.lent.get_mut(&granted.op));
            if let Some((window, buffer)) = self.port.window(FIRST_BUFFER + slot as u16).zip(buffer)
            {
                std::mem::swap(&mut window.memory, buffer);
            }
        }
    }

    fn take_home(&mut self, memory: &mut Memory) {
        self.lend(memory);
    }

    pub(super) fn has_records(&mut self) -> bool {
        self.port.ring.next_record().is_some()
    }

    /// Hands one record to the endpoint; false if there was none, or no room for it.
    pub(super) fn handle_record(
        &mut self,
        now_ns: u64,
        endpoint: &mut Endpoint,
        memory: &mut Memory,
    ) -> bool {
        if endpoint.catch_up(Time(now_ns), memory) == Told::NoRoom {
            return false;
        }
        let Some(record) = self.port.ring.next_record() else {
            return false;
        };
        let header = bcl_wire::parse_header(record.header).ok();
        let is_placed = record.is_placed;
        let told = endpoint.handle_record(Time(now_ns), &record, memory);
        if told == Told::Taken {
            self.port.ring.release();
            if let Some(header) = header.filter(|header| header.kind == Kind::Put && !is_placed) {
                self.note_put(&header);
            }
        }
        let times = self.whims.as_ref().map(|whims| whims.gives_back_one_in);
        if let Some((header, times)) = header.zip(times)
            && self.fancies(times)
        {
            endpoint.give_back(header.to_connection);
        }
        told == Told::Taken
    }

    /// The endpoint has performed a piece of a put.
    fn note_put(&mut self, header: &Header) {
        let put = (header.to_connection, header.slot);
        match header.flags.contains(Flags::LAST) {
            true => self.begun.remove(&put),
            false => self.begun.insert(put),
        };
    }

    /// After whatever has happened to the endpoint.
    pub(super) fn manage(&mut self, now_ns: u64, endpoint: &mut Endpoint, memory: &mut Memory) {
        loop {
            self.let_agent_work(now_ns);
            self.hear_agent(now_ns, endpoint, memory);
            self.ask_for_all(now_ns, endpoint, memory);
            if self.next_timeout_ns().is_none_or(|at_ns| at_ns > now_ns) {
                break;
            }
        }
        self.port.control.refuse_system = endpoint.refuse_system(memory);
        self.port.control.refuse_early = endpoint.refuse_early();
        self.publish_grants(memory);
    }

    fn hear_agent(&mut self, now_ns: u64, endpoint: &mut Endpoint, memory: &mut Memory) {
        let is_empty = self.port.ring.next_record().is_none();
        self.port.control.sleeps = is_empty;
        let has_all = is_empty && !endpoint.has_overdue();
        for answer in std::mem::take(&mut self.answers) {
            match answer {
                Answer::Entered(id) => {
                    if endpoint.entered(Time(now_ns), id, memory) {
                        self.port.control.give_back(id, false);
                    }
                }
                Answer::NotEntered(id) => endpoint.not_entered(Time(now_ns), id, memory),
                Answer::Unknown(id) => {
                    self.ask(now_ns, AgentTask::Remove(id));
                    endpoint.not_entered(Time(now_ns), id, memory);
                }
                Answer::Returned(id, state) if has_all => {
                    endpoint.taken_back(Time(now_ns), id, state.as_ref(), memory);
                }
                Answer::Returned(..) => self.answers.push(answer),
            }
        }
    }

    fn ask_for_all(&mut self, now_ns: u64, endpoint: &mut Endpoint, memory: &mut Memory) {
        while self.has_agent
            && let Some(entering) = endpoint.next_to_enter(Time(now_ns), memory)
        {
            self.port.control.give_back(entering.id, true);
            self.ask(now_ns, AgentTask::Enter(entering));
        }
        while let Some((id, _)) = endpoint.next_to_take_back() {
            self.port.control.give_back(id, true);
            self.ask(now_ns, AgentTask::Return(id));
        }
        while let Some(id) = endpoint.next_to_remove() {
            self.ask(now_ns, AgentTask::Remove(id));
        }
    }

    fn publish_grants(&mut self, memory: &Memory) {
        let whims = self.whims.as_ref();
        if !whims.is_some_and(|whims| whims.grants_messages) {
            return;
        }
        for (slot, granted) in memory.granted.iter().enumerate() {
            let number = FIRST_BUFFER + slot as u16;
            let grant = granted.map_or(Grant::default(), |granted| Grant {
                connection: granted.connection,
                message: granted.message,
                window: number.into(),
                place: 0,
                len_bytes: granted.len_bytes,
            });
            if self.port.control.grants[slot] != grant {
                self.port.control.grants[slot] = grant;
                let window = Window {
                    memory: Vec::new(),
                    len_bytes: grant.len_bytes,
                    access: 0,
                };
                self.port.enter_window(number, window);
            }
        }
    }

    fn ask(&mut self, now_ns: u64, what: AgentTask) {
        let takes = |whims: &mut Whims| whims.random.between(1, whims.agent_ns);
        let at_ns = now_ns + self.whims.as_mut().map_or(0, takes);
        let last_ns = self.asked.last().map_or(0, |last| last.at_ns);
        let at_ns = at_ns.max(last_ns);
        self.asked.push(Asked { at_ns, what });
    }

    /// When the process has something to do because of the agent.
    pub(super) fn next_timeout_ns(&self) -> Option<u64> {
        self.asked.iter().map(|asked| asked.at_ns).min()
    }

    /// The agent works also while the process is stopped.
    fn let_agent_work(&mut self, now_ns: u64) {
        while let Some(index) = self.asked.iter().position(|asked| asked.at_ns <= now_ns) {
            match self.asked.remove(index).what {
                AgentTask::Enter(entering) if self.fancies(8) => {
                    self.answers.push(Answer::NotEntered(entering.id));
                }
                AgentTask::Enter(entering) => {
                    let id = entering.id;
                    self.port.enter_connection(entering.clone().into());
                    self.entered.push(id);
                    self.known.retain(|known| known.id != id);
                    self.known.push(entering);
                    let answer = match self.fancies(16) {
                        true => Answer::Unknown(id),
                        false => Answer::Entered(id),
                    };
                    self.answers.push(answer);
                }
                AgentTask::Return(id) => {
                    let state = self.port.remove_connection(id);
                    self.answers.push(Answer::Returned(id, state));
                }
                AgentTask::Remove(id) => {
                    self.port.remove_connection(id);
                    self.known.retain(|known| known.id != id);
                }
            }
        }
    }

    /// What the agent says to the peers of the port when its process has been killed ([AGENT-7.3]).
    pub fn last_words(&self, number: u16) -> Vec<(SocketAddr, Vec<u8>)> {
        let told = self.known.iter().map(|known| {
            let from = End {
                connection: known.id,
                port: number,
            };
            let to = End {
                connection: known.peer_id,
                port: known.peer.port,
            };
            let key = CheckKey::from_bytes(&known.ours);
            let packet = gone_packet(Cause::Killed(9), from, to, &key);
            (known.path.to, packet.to_vec())
        });
        told.collect()
    }
}
