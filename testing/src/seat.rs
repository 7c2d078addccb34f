//! A port together with the events that the test has not asked for yet.

use std::cell::{RefCell, RefMut};
use std::collections::VecDeque;
use std::rc::{Rc, Weak};
use std::time::{Duration, Instant};

use bcl::{Address, Buffer, Cause, Event, OpError, Which};

use crate::PATIENCE;
use crate::fixture::{Fixture, PortLike};

/// Rounds without an event before a test gives its core away for longer.
const EMPTY_ROUNDS: u32 = 2000;

#[derive(Debug)]
pub(crate) struct Slot<P> {
    port: P,
    events: VecDeque<Event>,
}

/// All open seats of a world.
pub(crate) type Seats<F> = Vec<Weak<RefCell<Slot<<F as Fixture>::Port>>>>;

/// A port, and what it was told that nobody has asked for yet. Dropping it closes the port.
#[derive(Debug)]
pub struct Seat<F: Fixture> {
    slot: Rc<RefCell<Slot<F::Port>>>,
    seats: Rc<RefCell<Seats<F>>>,
    /// Where the port is reached.
    pub address: Address,
}

impl<F: Fixture> Seat<F> {
    pub(crate) fn new(mut port: F::Port, seats: &Rc<RefCell<Seats<F>>>) -> Self {
        let address = port.address();
        let slot = Rc::new(RefCell::new(Slot {
            port,
            events: VecDeque::new(),
        }));
        seats.borrow_mut().push(Rc::downgrade(&slot));
        Self {
            slot,
            seats: Rc::clone(seats),
            address,
        }
    }

    /// The port itself. Events taken from it directly are not seen by the seat.
    pub fn port(&self) -> RefMut<'_, F::Port> {
        RefMut::map(self.slot.borrow_mut(), |slot| &mut slot.port)
    }

    /// One round over all ports of the world; returns whether anything happened.
    pub fn serve(&self) -> bool {
        let mut any = false;
        self.seats.borrow_mut().retain(|seat| {
            let Some(slot) = seat.upgrade() else {
                return false;
            };
            let slot = &mut *slot.borrow_mut();
            while let Some(event) = slot.port.poll(Which::Any).expect("the port is open") {
                slot.events.push_back(event);
                any = true;
            }
            true
        });
        any
    }

    /// Serves the world for a while, to show that something does *not* happen.
    pub fn serve_for(&self, time: Duration) {
        let end = Instant::now() + time;
        while Instant::now() < end {
            if !self.serve() {
                std::thread::yield_now();
            }
        }
    }

    /// The first event that `wanted` picks, if it has come.
    pub fn find(&self, mut wanted: impl FnMut(&Event) -> bool) -> Option<Event> {
        let events = &mut self.slot.borrow_mut().events;
        let index = events.iter().position(&mut wanted)?;
        events.remove(index)
    }

    /// Waits for the first event that `wanted` picks, while all ports of the world are served.
    pub fn expect(&self, what: &str, mut wanted: impl FnMut(&Event) -> bool) -> Event {
        let deadline = Instant::now() + PATIENCE;
        let mut empty = 0;
        loop {
            if let Some(event) = self.find(&mut wanted) {
                return event;
            }
            empty = if self.serve() { 0 } else { empty + 1 };
            if empty > EMPTY_ROUNDS {
                std::thread::sleep(Duration::from_micros(100));
            } else if empty > 8 {
                std::thread::yield_now();
            }
            let others = &self.slot.borrow().events;
            assert!(
                Instant::now() < deadline,
                "{what} has not come to {} in {PATIENCE:?}; what came: {others:?}",
                self.address
            );
        }
    }

    /// How the send with this cookie ended, and its buffer.
    pub fn sent(&self, wanted: u64) -> (Result<(), OpError>, Option<Buffer>) {
        let is_it =
            |event: &Event| matches!(event, Event::Sent { cookie, .. } if *cookie == wanted);
        match self.expect(&format!("the end of send {wanted}"), is_it) {
            Event::Sent { result, buffer, .. } => (result, buffer),
            _ => unreachable!("it was picked as a send"),
        }
    }

    /// How the post with this cookie ended: result, length of the message, buffer.
    pub fn received(&self, wanted: u64) -> (Result<(), OpError>, u64, Vec<u8>) {
        let is_it =
            |event: &Event| matches!(event, Event::Received { cookie, .. } if *cookie == wanted);
        match self.expect(&format!("the end of post {wanted}"), is_it) {
            Event::Received {
                result,
                len_bytes,
                buffer,
                ..
            } => (
                result,
                len_bytes,
                buffer.expect("posts bring their buffer back").into_vec(),
            ),
            _ => unreachable!("it was picked as a post"),
        }
    }

    /// The immediate data of the message that the post with this cookie has got, which has ended well.
    pub fn immediate_of_received(&self, wanted: u64) -> u64 {
        let is_it =
            |event: &Event| matches!(event, Event::Received { cookie, .. } if *cookie == wanted);
        match self.expect(&format!("the end of post {wanted}"), is_it) {
            Event::Received {
                result, immediate, ..
            } => {
                assert_eq!(result, Ok(()));
                immediate
            }
            _ => unreachable!("it was picked as a post"),
        }
    }

    /// How the one-sided operation with this cookie ended, and its buffer.
    pub fn rma(&self, wanted: u64) -> (Result<u64, OpError>, Option<Buffer>) {
        let is_it =
            |event: &Event| matches!(event, Event::RmaDone { cookie, .. } if *cookie == wanted);
        match self.expect(&format!("the end of one-sided operation {wanted}"), is_it) {
            Event::RmaDone {
                result,
                value,
                buffer,
                ..
            } => (result.map(|()| value), buffer),
            _ => unreachable!("it was picked as a one-sided operation"),
        }
    }

    /// The next system message: sender and contents. It is released.
    pub fn message(&self) -> (Address, Vec<u8>) {
        let event = self.expect("a system message", |event| {
            matches!(event, Event::Message(_))
        });
        let Event::Message(message) = event else {
            unreachable!("it was picked as a message")
        };
        let mut port = self.port();
        let copy = (message.from(), port.copy_of(&message));
        port.release(message).expect("a message can be released");
        copy
    }

    /// Why this peer has gone.
    pub fn peer_gone(&self, of: Address) -> Cause {
        let is_it = |event: &Event| matches!(event, Event::PeerGone { peer, .. } if *peer == of);
        match self.expect(&format!("the end of {of}"), is_it) {
            Event::PeerGone { cause, .. } => cause,
            _ => unreachable!("it was picked as the end of a peer"),
        }
    }

    /// Waits until this peer is connected.
    pub fn peer_up(&self, of: Address) {
        let is_it = |event: &Event| matches!(event, Event::PeerUp { peer, .. } if *peer == of);
        self.expect(&format!("the connection with {of}"), is_it);
    }

    /// As [`meet`](Self::meet), while messages of others may be waiting there.
    pub fn meet_before_others(&self, other: &Seat<F>) {
        let mut port = self.port();
        port.send_system(other.address, b"me first", bcl::QUIET)
            .expect("a send starts");
        drop(port);
        let is_it = |event: &Event| matches!(event, Event::Message(message) if message.from() == self.address);
        if let Event::Message(message) = other.expect("a message", is_it) {
            other
                .port()
                .release(message)
                .expect("a message can be released");
        }
    }

    /// Connects with a peer that is served by this world: a message there, released.
    pub fn meet(&self, other: &Seat<F>) {
        let mut port = self.port();
        port.send_system(other.address, b"hello", bcl::QUIET)
            .expect("a send starts");
        drop(port);
        assert_eq!(other.message(), (self.address, b"hello".to_vec()));
    }
}
