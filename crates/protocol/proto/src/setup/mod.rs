//! How two ports become connected ([WIRE-4]).

pub mod ended;
pub mod greeting;
pub mod token;

use std::sync::Arc;

use bcl_types::{Address, OpError};
use bcl_wire::body::Setup;
use bcl_wire::{Header, JobKeys, Kind};

use crate::common::Common;
use crate::config::Config;
use crate::connection::packet::inline;
use crate::connection::receive_window::RECEIVE_WINDOW;
use crate::transmit::Payload;
use bcl_types::{Span, Time};

/// The longest pause between two HELLOs or CONFIRMs ([WIRE-4.9]).
const LAST_PAUSE: Span = Span::from_ms(50);
/// How long we hold back after the peer's HELLO was given precedence over ours ([WIRE-4.6]).
const COURTESY: Span = Span::from_ms(20);

/// HELLOs, or CONFIRMs, that are said until there is an answer.
#[derive(Debug, Clone)]
pub struct Attempt {
    pub nonce: u64,
    started_at: Time,
    next_at: Time,
    pub said_at: Time,
    pub times: u32,
    refused: Option<OpError>,
}

/// The question to a peer whether it still has a connection with us: a HELLO beside it ([WIRE-4.10]).
#[derive(Debug)]
pub struct Question {
    pub attempt: Attempt,
    /// The keys of the peer's port.
    pub job: Arc<JobKeys>,
}

impl Attempt {
    /// A nonce counts the attempts of a port in its upper half, and is random in its lower ([WIRE-4.7]).
    pub fn new(now: Time, number: u32, random: u64) -> Self {
        Self {
            nonce: u64::from(number) << 32 | random & 0xffff_ffff,
            started_at: now,
            next_at: now,
            said_at: now,
            times: 0,
            refused: None,
        }
    }

    pub fn is_due(&self, now: Time) -> bool {
        self.next_at <= now
    }

    pub fn is_over(&self, now: Time, config: &Config) -> bool {
        self.over_at(config) <= now
    }

    fn over_at(&self, config: &Config) -> Time {
        self.started_at + config.dead_after
    }

    pub fn deadline(&self, config: &Config) -> Time {
        self.next_at.min(self.over_at(config))
    }

    /// Notes a refusal; true if it is not the first of its kind. One may be the answer to a HELLO that was
    /// damaged on its way.
    pub fn is_refused_again(&mut self, error: OpError) -> bool {
        self.refused.replace(error) == Some(error)
    }

    /// It is said now; when it is to be said again.
    pub fn say(&mut self, now: Time, timeout: Span) {
        self.said_at = now;
        self.next_at = now + timeout.times(1 << self.times.min(16)).min(LAST_PAUSE);
        self.times += 1;
    }

    /// There was an answer: CONFIRM is said from now on, for as long again.
    pub fn restart(&mut self, now: Time) {
        *self = Self {
            nonce: self.nonce,
            ..Self::new(now, 0, 0)
        };
    }

    /// The peer's attempt goes before ours.
    pub fn hold_back(&mut self, now: Time) {
        self.next_at = self.next_at.max(now + COURTESY);
    }

    /// HELLO, as it is said each time to a peer whose port has these keys.
    pub fn hello(&self, peer: Address, job: &JobKeys, common: &Common) -> (Header, Payload) {
        let body = Setup {
            job_id: job.id(),
            initiator_incarnation: common.config.incarnation,
            initiator_nonce: self.nonce,
            initiator_node: common.config.address.node.into(),
            responder_node: peer.node.into(),
            receive_window_packets: RECEIVE_WINDOW as u16,
            answerer: common.config.answerer(),
            ..Setup::default()
        };
        (Header::new(Kind::Hello), inline(&body.to_bytes()))
    }
}

/// Number of an attempt, from its nonce.
pub fn attempt_of(nonce: u64) -> u32 {
    (nonce >> 32) as u32
}
