//! Hints, and what they are answered.

mod ends;
mod offers;
mod refusals;

use bcl_types::{Address, NodeId};

use super::ends::Ends;
use super::hints::Hints;
use super::offer::{Offer, offer};
use crate::abi::*;
use crate::lab::zeroed;
use crate::name::Name;

const THIS: NodeId = NodeId(std::net::Ipv4Addr::new(10, 0, 0, 1));

fn ends() -> Ends {
    Ends {
        source: name(THIS, 0),
        destination: None,
    }
}

fn name(node: NodeId, port: u16) -> Name {
    Name::open(Address { node, port })
}

fn ask(version: (u32, u32), hints: &Hints) -> Result<Offer, String> {
    offer(fi_version(version.0, version.1), Some(hints), ends())
}

fn hints() -> Hints {
    Hints {
        tx: Some(zeroed()),
        rx: Some(zeroed()),
        ep: Some(zeroed()),
        domain: Some(zeroed()),
        ..Hints::default()
    }
}

/// Hints with one wish, and what the refusal of it says, or that it is granted.
fn check(expected: Result<(), &str>, wish: impl FnOnce(&mut Hints)) {
    let mut hints = hints();
    wish(&mut hints);
    match (ask((1, 17), &hints), expected) {
        (Ok(_), Ok(())) => {}
        (Err(why), Err(part)) => assert!(why.contains(part), "{why}"),
        (answer, expected) => panic!("{answer:?} instead of {expected:?}"),
    }
}

fn tx(hints: &mut Hints) -> &mut fi_tx_attr {
    hints.tx.as_mut().unwrap()
}

fn rx(hints: &mut Hints) -> &mut fi_rx_attr {
    hints.rx.as_mut().unwrap()
}

fn ep(hints: &mut Hints) -> &mut fi_ep_attr {
    hints.ep.as_mut().unwrap()
}

fn domain(hints: &mut Hints) -> &mut fi_domain_attr {
    hints.domain.as_mut().unwrap()
}
