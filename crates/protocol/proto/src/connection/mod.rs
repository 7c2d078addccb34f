//! A connection with one peer: what both directions have in common.
//!
//! [`incoming`] takes packets of the peer, [`sending`] makes packets for it, [`timers`] sees to what is due,
//! [`sounding`] keeps to what the path takes, [`moving`] finds out where the peer is.

mod absence;
pub mod acks;
pub mod congestion;
mod death;
pub mod ending;
pub mod entry;
pub mod flights;
pub mod incoming;
pub mod liveness;
mod moving;
pub mod pacing;
pub mod packet;
pub mod path_mtu;
pub mod pieces;
mod questions;
pub mod receive_window;
pub mod recent;
pub mod recovery;
pub mod round_trip;
pub mod sending;
mod sounding;
pub mod stash;
pub mod streaming;
pub mod timers;
mod told;
pub mod unheard;

use std::collections::VecDeque;
use std::sync::Arc;

use bcl_types::{Address, Cause, LONG_SYSTEM_MAX, OpError, SYSTEM_MAX};
use bcl_wire::{Answerer, CheckKey, JobKeys, verify};

use crate::common::Context;
use crate::config::Config;
use crate::counters::{Drops, PeerInfo, Traffic, WhyNot};
use crate::message::inbox::{Inbox, Sender};
use crate::message::outgoing::{Broken, Outgoing};
use crate::names::Path;
use crate::rma::requester::Requester;
use crate::rma::target::Owner;
use crate::setup::greeting::Greeting;
use crate::setup::{Attempt, Question};
use crate::slab::Name;
use crate::upcalls::Upcalls;
use bcl_types::{Span, Time};

use absence::Absence;
use acks::Acks;
use congestion::Congestion;
use death::Death;
use entry::Entry;
use flights::Flights;
use liveness::Liveness;
use moving::Moving;
use pacing::Pacer;
use path_mtu::PathMtu;
use pieces::{Assembly, Cut};
use questions::Questions;
use receive_window::ReceiveWindow;
use recent::Recent;
use recovery::Recovery;
use round_trip::RoundTrip;
use stash::Stash;
use streaming::Streaming;

/// How far the set-up is ([WIRE-4]).
#[derive(Debug)]
pub enum Stage {
    /// We have said HELLO.
    Greeting(Attempt),
    /// We have been welcomed and have confirmed; the peer has not been heard since.
    Confirming(Greeting),
    /// Both know.
    Up,
}

/// Why a connection ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// The peer is gone.
    Gone(Cause),
    /// It never was there.
    Failed(OpError),
    /// We have taken leave, and the peer knows.
    Left,
}

impl From<Broken> for End {
    fn from(_: Broken) -> Self {
        Self::Gone(Cause::Protocol)
    }
}

/// The keys of both directions, by who sends.
#[derive(Debug, Clone, Copy)]
pub struct Keys {
    pub ours: CheckKey,
    pub theirs: CheckKey,
}

/// What was agreed in the set-up.
#[derive(Debug, Clone, Copy)]
pub struct Agreed {
    /// Incarnation of the peer.
    pub incarnation: u64,
    /// The peer's latest attempt at a connection of which we know ([WIRE-4.7]).
    pub attempt: u32,
    /// Nonce of the initiator, which names the connection at both ends ([WIRE-4.10]).
    pub nonce: u64,
    /// Names the CONFIRM that made it: of several there can be only one ([WIRE-4.5]).
    pub token: u64,
    /// Packets that the peer keeps track of beyond the oldest that is missing ([WIRE-5.2]).
    pub receive_window: u32,
    /// Who answers for the peer.
    pub answerer: Answerer,
}

/// All that is known of one peer, from the set-up to the end.
#[derive(Debug)]
pub struct Connection {
    /// Our name for it, which the peer writes into its packets.
    pub id: u32,
    /// The peer's; 0 while it is not known.
    pub peer_id: u32,
    pub peer: Address,
    own_port: u16,
    pub path: Path,
    pub stage: Stage,
    /// Those of the responder's port, from which the keys below are derived: our own if the peer has set it up.
    pub job: Arc<JobKeys>,
    /// There from the welcome on.
    pub agreed: Option<Agreed>,
    /// Of what we send, and of what the peer sends; the set-up's before there is an agreement.
    pub keys: Keys,
    /// Whether the peer may have started anew: asked by a HELLO of its own.
    pub doubt: Option<Question>,
    /// The other end of the connection of a port with itself: of no interest to the program.
    pub is_mirror: bool,

    flights: Flights,
    trip: RoundTrip,
    congestion: Congestion,
    pacer: Pacer,
    recovery: Recovery,
    has_tail_probe: bool,
    /// Congestion control has said no.
    is_held: bool,
    mtu: PathMtu,
    /// What leaves in pieces, and which packet did so last.
    cut: Option<Cut>,
    in_pieces: Option<u32>,
    pub outgoing: Outgoing,
    pub requester: Requester,
    unreliable: VecDeque<(Name, u16)>,
    unreliable_number: u32,
    /// Sequence of CLOSE, once it has left.
    close_sequence: Option<u32>,
    is_closing: bool,
    /// The latest packet for which the peer's interface program was asked to answer ([MCP-5.4]).
    asked: u32,

    /// The agent was told of it ([AGENT-5.1]).
    pub with_agent: bool,
    /// An interface program does the receiving half, or is going to.
    pub entry: Option<Box<Entry>>,
    absence: Absence,
    /// Why it does not, for now.
    why_not: Option<WhyNot>,
    streaming: Streaming,
    /// The peer's program takes what we send by its socket ([WIRE-2.13]).
    is_direct: bool,
    /// A packet that came and was dropped, to be told with the next ACK ([WIRE-2.8]).
    dropped: Option<u32>,
    /// When a refusal is told again, and after what pause.
    tell_at: Option<Time>,
    tell_pause: Span,
    receive_window: ReceiveWindow,
    acks: Acks,
    stash: Stash,
    assembly: Option<Assembly>,
    pub inbox: Inbox,
    owner: Owner,
    recent: Recent,
    /// The peer has taken leave, or has died. What is left is to acknowledge it, and to tell the program ([WIRE-12.6]).
    pub departed: Option<Cause>,
    /// Its node has told us so.
    pub death: Option<Death>,

    liveness: Liveness,
    questions: Questions,
    moving: Option<Moving>,
    has_question: bool,
    answer_to: Option<(u32, Path)>,

    pub traffic: Traffic,
    pub drops: Drops,
    pub noted: Noted,
}

/// In which of the endpoint's lists a connection is.
#[derive(Debug, Default)]
pub struct Noted {
    /// When the endpoint is called for it.
    pub timer: Option<Time>,
    /// Something has happened since that was found out.
    pub is_untimed: bool,
    /// It waits for its turn to send.
    pub is_queued: bool,
}

impl Connection {
    pub fn new(
        now: Time,
        id: u32,
        peer: Address,
        path: Path,
        stage: Stage,
        job: Arc<JobKeys>,
        config: &Config,
    ) -> Self {
        Self {
            id,
            peer_id: 0,
            peer,
            own_port: config.address.port,
            path,
            stage,
            agreed: None,
            keys: Keys {
                ours: *job.setup(),
                theirs: *job.setup(),
            },
            job,
            doubt: None,
            is_mirror: false,
            flights: Flights::default(),
            trip: RoundTrip::default(),
            congestion: Congestion::default(),
            pacer: Pacer::default(),
            recovery: Recovery::default(),
            has_tail_probe: false,
            is_held: false,
            mtu: PathMtu::new(now, config.datagram_bytes),
            cut: None,
            in_pieces: None,
            outgoing: Outgoing::default(),
            requester: Requester::default(),
            unreliable: VecDeque::new(),
            unreliable_number: 0,
            close_sequence: None,
            is_closing: false,
            asked: 0,
            with_agent: false,
            entry: None,
            absence: Absence::default(),
            why_not: None,
            streaming: Streaming::default(),
            is_direct: false,
            dropped: None,
            tell_at: None,
            tell_pause: Span::ZERO,
            receive_window: ReceiveWindow::default(),
            acks: Acks::default(),
            stash: Stash::default(),
            assembly: None,
            inbox: Inbox::default(),
            owner: Owner::default(),
            recent: Recent::default(),
            departed: None,
            death: None,
            liveness: Liveness::new(now),
            questions: Questions::default(),
            moving: None,
            has_question: false,
            answer_to: None,
            traffic: Traffic::default(),
            drops: Drops::default(),
            noted: Noted::default(),
        }
    }

    #[inline]
    pub fn is_up(&self) -> bool {
        matches!(self.stage, Stage::Up)
    }

    /// The keys that answer an attempt of ours, by its nonce.
    pub fn job_of(&self, nonce: u64) -> &Arc<JobKeys> {
        match &self.doubt {
            Some(doubt) if doubt.attempt.nonce == nonce => &doubt.job,
            _ => &self.job,
        }
    }

    fn sender(&self) -> Sender {
        Sender {
            peer: self.peer,
            connection: self.id,
        }
    }

    /// The set-up is agreed, and this is what to send to.
    pub fn agree(&mut self, now: Time, agreed: Agreed, keys: Keys, peer_id: u32, stage: Stage) {
        self.agreed = Some(agreed);
        self.asked = self.flights.first().wrapping_sub(1);
        self.keys = keys;
        self.peer_id = peer_id;
        self.stage = stage;
        self.outgoing.pushing.is_unwelcome = self.possible_answerer() != Answerer::Program;
        self.liveness = Liveness::new(now);
        self.questions = Questions::default();
    }

    /// Who may answer for the peer, as it has said in the set-up.
    fn possible_answerer(&self) -> Answerer {
        let agreed = self.agreed.as_ref();
        agreed.map_or(Answerer::Program, |agreed| agreed.answerer)
    }

    /// Who answers for the peer now.
    #[inline]
    fn answerer(&self) -> Answerer {
        match self.is_direct {
            true => Answerer::Program,
            false => self.possible_answerer(),
        }
    }

    /// Longest system message that the peer takes, which is of our port's kind.
    pub fn system_max(&self, config: &Config) -> usize {
        match config.takes_long && self.is_up() && self.possible_answerer() == Answerer::Program {
            true => LONG_SYSTEM_MAX,
            false => SYSTEM_MAX,
        }
    }

    /// Whether the endpoint has to come back in the next turn: then [`on_next_turn`](Self::on_next_turn).
    #[inline]
    pub fn wants_next_turn(&mut self) -> bool {
        self.acks.is_to_be_noted()
    }

    /// The program has had the time to answer what came.
    #[inline]
    pub fn on_next_turn(&mut self) {
        self.acks.on_next_turn();
    }

    /// Whether a packet is one of the peer's.
    #[inline]
    pub fn believes(&mut self, datagram: &[u8]) -> bool {
        verify(datagram, &self.job, &self.keys.theirs) || self.settles_by(datagram)
    }

    /// A packet is not sealed as the first WELCOME has it: whether it is as another one has, which then is the one that
    /// counts ([WIRE-4.5]).
    #[cold]
    fn settles_by(&mut self, datagram: &[u8]) -> bool {
        let Stage::Confirming(greeting) = &self.stage else {
            return false;
        };
        let Some(welcome) = greeting.find(|key| verify(datagram, &self.job, key)) else {
            return false;
        };
        self.agreed = Some(welcome.agreed);
        self.keys = welcome.keys;
        // The peer could not take any of it: it was sealed for a connection that there never was.
        self.flights.lose_all();
        true
    }

    /// The first round trip is that of the set-up.
    pub fn on_set_up_trip(&mut self, now: Time, trip: Span) {
        self.trip.sample(now, trip);
    }

    /// The set-up was another's, which takes the place of ours: what we have sent was sent in vain.
    pub fn restart(&mut self) {
        self.flights.reset();
        self.in_pieces = None;
        self.recovery = Recovery::default();
        self.outgoing.restart();
        self.requester.restart();
        self.has_tail_probe = false;
    }

    /// The peer knows the connection as well.
    pub fn on_up<U: Upcalls>(&mut self, cx: &mut Context<'_, U>) {
        self.stage = Stage::Up;
        if self.entry.is_some() {
            cx.common.to_enter.push_back(self.id);
        }
        if !self.is_mirror {
            cx.up.peer_up(self.peer);
        }
        self.outgoing.report_sent(self.peer, cx);
    }

    /// The responder has the connection from the moment of the proof, and tells so.
    pub fn confirm(&mut self, now: Time) {
        self.acks.at_once(now);
    }

    /// The port closes: what can still be delivered is, then CLOSE follows ([WIRE-12.6]).
    pub fn close(&mut self) {
        self.is_closing = true;
        self.requester = Requester::default();
        self.outgoing.keep_eager();
        self.owner.clear();
    }

    /// Whether there is nothing that a set-up would still be good for.
    pub fn is_useless(&self) -> bool {
        !self.is_up() && self.outgoing.is_empty()
    }

    /// Sends and one-sided operations that are not complete.
    pub fn pending(&self) -> usize {
        self.outgoing.pending() + self.requester.pending()
    }

    pub fn memory_bytes(&self) -> usize {
        size_of::<Self>()
            + self.flights.memory_bytes()
            + self.stash.memory_bytes()
            + self.owner.memory_bytes()
            + self.entry.as_ref().map_or(0, |_| size_of::<Entry>())
    }

    pub fn info(&self) -> PeerInfo {
        PeerInfo {
            peer: self.peer,
            path: self.path,
            is_up: self.is_up(),
            is_entered: self.is_entered(),
            why_not: self.why_not,
            is_entered_there: self.is_up() && self.answerer() != Answerer::Program,
            round_trip: self.trip.smoothed().unwrap_or_default(),
            base_round_trip: self.trip.base().unwrap_or_default(),
            congestion_window: self.congestion.window(),
            in_flight: self.flights.under_way(),
            pending: self.pending() as u32,
            datagram_bytes: self.mtu.bytes(),
            traffic: self.traffic,
            drops: self.drops,
        }
    }

    /// Whether the peer has something to do or to say before all is well.
    fn owes(&self) -> bool {
        !self.flights.is_empty()
            || !self.requester.is_idle()
            || !self.outgoing.is_empty()
            || self.inbox.is_expecting()
            || self.receive_window.has_gaps()
            || self.assembly.is_some()
    }
}
