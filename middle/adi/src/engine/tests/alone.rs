//! One endpoint, to which a test says what nobody else would.

use std::cell::RefCell;
use std::rc::Rc;

use super::network::{Network, Socket, address};
use crate::engine::{Engine, Send, When};
use crate::memory::Memory;

/// Endpoint 0, whose names begin there, and what it sends to.
pub fn endpoint(first_name: u32) -> (Engine, Socket, Rc<RefCell<Network>>) {
    let network = Rc::new(RefCell::new(Network::default()));
    let socket = Socket {
        at: 0,
        network: Rc::clone(&network),
    };
    (Engine::new(address(0), first_name), socket, network)
}

/// A message for endpoint 1.
pub fn message_of(bytes: &mut [u8]) -> Send {
    Send {
        to: address(1),
        space: 0,
        tag: 0,
        data: None,
        memory: Memory::one(bytes.as_mut_ptr(), bytes.len()),
        context: 0,
        mark: 0,
        when: When::Reusable,
        quiet: false,
    }
}
