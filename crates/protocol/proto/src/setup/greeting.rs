//! CONFIRMs that are said until a packet of the connection comes ([WIRE-4.5], [WIRE-4.9]).
//!
//! A WELCOME that answers a copy of our HELLO, played back under another address, has a token for that address: our
//! CONFIRM with it is worth nothing. Nothing in the WELCOME tells. So HELLO is said on, every WELCOME is confirmed, and
//! the peer's first packet shows by its key which one it was. The nonce stays the same, and with it the attempt: the
//! peer makes no more than one connection of it ([WIRE-4.7]).

use bcl_types::Address;
use bcl_wire::body::Setup;
use bcl_wire::{CheckKey, Header, JobKeys, Kind};

use super::Attempt;
use super::token::LIFE;
use crate::common::Common;
use crate::connection::packet::inline;
use crate::connection::{Agreed, Keys};
use crate::transmit::Payload;
use bcl_types::{Span, Time};

/// WELCOMEs that are confirmed. None makes room for a later one: the peer may have believed its CONFIRM already.
const WELCOMES_MAX: usize = 8;

/// Our half of a set-up that is not confirmed to us yet: HELLO, and a CONFIRM for each WELCOME.
#[derive(Debug)]
pub struct Greeting {
    pub attempt: Attempt,
    /// The first is the one for which packets are sealed until it is known which counts.
    welcomes: Vec<Welcome>,
    /// The next CONFIRM to be said this time, or HELLO behind the last one.
    next: Option<usize>,
}

/// What a WELCOME has brought.
#[derive(Debug, Clone, Copy)]
pub struct Welcome {
    /// What is to be confirmed.
    pub body: Setup,
    pub agreed: Agreed,
    pub keys: Keys,
    /// The name that the responder has proposed for the connection.
    pub to_connection: u32,
}

impl Greeting {
    /// There was an answer to the HELLO of `attempt`: CONFIRM is said from now on, for as long again.
    pub fn new(now: Time, mut attempt: Attempt, welcome: Welcome) -> Self {
        attempt.restart(now);
        Self {
            attempt,
            welcomes: vec![welcome],
            next: None,
        }
    }

    /// Another answer, of a peer whose connection with us was made by the attempt with the nonce `current`.
    pub fn add(&mut self, now: Time, welcome: Welcome, current: u64) {
        // The peer has believed one of them.
        let is_over = current == self.attempt.nonce;
        let is_late = now.since(self.attempt.started_at) > LIFE;
        let is_full = self.welcomes.len() >= WELCOMES_MAX;
        // A copy; or the peer was restarted, and what we have sent may have been taken before that.
        let tells_nothing = |known: &Welcome| {
            known.body.token == welcome.body.token
                || known.agreed.incarnation != welcome.agreed.incarnation
        };
        if !is_over && !is_late && !is_full && !self.welcomes.iter().any(tells_nothing) {
            self.welcomes.push(welcome);
        }
    }

    /// The answer of those behind the first for which something was sealed.
    pub fn find(&self, is_key: impl Fn(&CheckKey) -> bool) -> Option<&Welcome> {
        self.welcomes[1..]
            .iter()
            .find(|welcome| is_key(&welcome.keys.theirs))
    }

    /// Whether there may be something to say.
    pub fn is_due(&self, now: Time) -> bool {
        self.next.is_some() || self.attempt.is_due(now)
    }

    /// The next packet to be said.
    pub fn say(
        &mut self,
        now: Time,
        timeout: Span,
        peer: Address,
        job: &JobKeys,
        common: &Common,
    ) -> Option<(Header, Payload)> {
        if self.attempt.is_due(now) {
            self.attempt.say(now, timeout);
            self.next = Some(0);
        }
        let index = self.next?;
        if let Some(welcome) = self.welcomes.get(index) {
            self.next = Some(index + 1);
            return Some(welcome.confirm());
        }
        self.next = None;
        // The first CONFIRM is answered, as a rule.
        (self.attempt.times > 1).then(|| self.attempt.hello(peer, job, common))
    }
}

impl Welcome {
    fn confirm(&self) -> (Header, Payload) {
        let mut header = Header::new(Kind::Confirm);
        header.to_connection = self.to_connection;
        (header, inline(&self.body.to_bytes()))
    }
}
