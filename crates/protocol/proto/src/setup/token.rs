//! The responder's nonce, from which it knows its own WELCOME again without having kept anything ([WIRE-4.3]).

use std::net::IpAddr;

use bcl_wire::body::Setup;
use bcl_wire::siphash24;

use crate::names::Path;
use crate::secrets::Secrets;
use bcl_types::{Span, Time};

/// How long a token is good.
pub const LIFE: Span = Span::from_ms(5_000);

/// Makes tokens and knows them again.
#[derive(Debug)]
pub struct Mint {
    secret: [u64; 2],
}

impl Mint {
    pub fn new(secrets: &mut Secrets) -> Self {
        Self {
            secret: [secrets.next(), secrets.next()],
        }
    }

    /// All tokens made so far are worth nothing.
    pub fn forget(&mut self, secrets: &mut Secrets) {
        *self = Self::new(secrets);
    }

    pub fn mint(&self, from: Path, ports: [u16; 2], body: &Setup) -> u64 {
        let (high, low) = match from.to.ip() {
            IpAddr::V4(ip) => (0, u64::from(u32::from(ip))),
            IpAddr::V6(ip) => ((u128::from(ip) >> 64) as u64, u128::from(ip) as u64),
        };
        let ports = u64::from(ports[0]) << 32 | u64::from(ports[1]) << 16;
        siphash24(
            self.secret,
            &[
                high,
                low,
                ports | u64::from(from.to.port()),
                body.initiator_incarnation,
                body.responder_incarnation,
                body.initiator_nonce,
                u64::from(body.initiator_node) << 32 | u64::from(body.responder_node),
                body.token_time,
            ],
        )
    }

    /// Whether the token was made here, not long ago, for this.
    pub fn knows(&self, now: Time, from: Path, ports: [u16; 2], body: &Setup) -> bool {
        let made_at = Time(body.token_time);
        made_at <= now && now.since(made_at) <= LIFE && body.token == self.mint(from, ports, body)
    }
}
