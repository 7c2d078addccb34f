//! A network that does whatever a port may do: it takes a message at once, later or not yet, brings what is sent in any order
//! between different pairs and kinds, and breaks.

use std::cell::RefCell;
use std::collections::{HashMap, HashSet, VecDeque};
use std::rc::Rc;

use bcl_raw::Error;
use bcl_raw::slab::Id;
use bcl_types::{Address, LONG_SYSTEM_MAX, OpError, SYSTEM_MAX};

use crate::carrier::Carrier;
use crate::memory::Memory;

/// Bodies that may wait with each endpoint for their receivers.
pub const UNASKED_MAX: usize = 40;

/// News for an endpoint.
#[derive(Debug)]
pub enum News {
    Up(usize),
    Gone(usize),
    SystemSent(usize, u32, Result<(), OpError>),
    BodySent(Id, Result<(), OpError>),
    BodyReceived(Id, Result<(), OpError>),
}

#[derive(Debug)]
pub struct System {
    pub tag: u64,
    pub bytes: Vec<u8>,
    /// The sender is still to be told, with this.
    pub tells: Option<u32>,
}

#[derive(Debug)]
pub struct Body {
    pub from: usize,
    pub to: usize,
    pub name: Id,
    pub memory: Memory,
}

#[derive(Debug, Default)]
pub struct Network {
    /// System messages on their way.
    pub systems: HashMap<(usize, usize), VecDeque<System>>,
    /// Pairs that are connected, either way round.
    pub up: HashSet<(usize, usize)>,
    pub bodies: Vec<Body>,
    /// Memory, by receiver, sender and name.
    pub expected: HashMap<(usize, usize, u64), (Memory, Id)>,
    pub news: [VecDeque<News>; 3],
    /// Messages so far that ask for others.
    pub asking: usize,
    /// Calls of an endpoint that are refused for want of room.
    pub refusals: [usize; 3],
}

pub fn address(of: usize) -> Address {
    Address {
        node: (0x0a00_0001 + of as u32).into(),
        port: 1024,
    }
}

fn end_of(address: Address) -> usize {
    (u32::from(address.node) - 0x0a00_0001) as usize
}

/// The network as one endpoint sees it.
pub struct Socket {
    pub at: usize,
    pub network: Rc<RefCell<Network>>,
}

impl Socket {
    /// As a port does, that has not told of an end.
    fn may_send(&self) -> Result<(), Error> {
        if self.network.borrow().owes_ends(self.at) {
            return Err(Error::QueueFull { limit: 1 });
        }
        self.has_room()
    }

    fn has_room(&self) -> Result<(), Error> {
        let refusals = &mut self.network.borrow_mut().refusals[self.at];
        if *refusals == 0 {
            return Ok(());
        }
        *refusals -= 1;
        Err(Error::QueueFull { limit: 1 })
    }
}

impl Carrier for Socket {
    /// Some take long ones.
    fn system_max(&mut self, to: Address) -> usize {
        match end_of(to) % 2 {
            0 => SYSTEM_MAX,
            _ => LONG_SYSTEM_MAX,
        }
    }

    fn send_system(
        &mut self,
        to: Address,
        bytes: &[u8],
        tag: u64,
        life: u32,
    ) -> Result<bool, Error> {
        self.may_send()?;
        let network = &mut *self.network.borrow_mut();
        network.connect(self.at, end_of(to));
        network.asking += usize::from(bytes[1] == 3);
        let queue = network.systems.entry((self.at, end_of(to))).or_default();
        // The first few leave at once.
        let has_left = queue.len() < 3;
        queue.push_back(System {
            tag,
            bytes: bytes.to_vec(),
            tells: (!has_left).then_some(life),
        });
        Ok(has_left)
    }

    unsafe fn send_body(&mut self, to: Address, name: Id, memory: &Memory) -> Result<(), Error> {
        self.may_send()?;
        self.network.borrow_mut().bodies.push(Body {
            from: self.at,
            to: end_of(to),
            name,
            memory: memory.clone(),
        });
        Ok(())
    }

    unsafe fn receive_body(
        &mut self,
        from: Address,
        name: u64,
        memory: &Memory,
        incoming: Id,
    ) -> Result<(), Error> {
        self.has_room()?;
        let key = (self.at, end_of(from), name);
        let memory = (memory.clone(), incoming);
        let before = self.network.borrow_mut().expected.insert(key, memory);
        assert!(before.is_none(), "two memories for one body");
        Ok(())
    }

    fn unasked_max(&self) -> usize {
        UNASKED_MAX
    }

    fn take_back(&mut self, from: Address, name: u64) -> bool {
        let key = (self.at, end_of(from), name);
        self.network.borrow_mut().expected.remove(&key).is_some()
    }
}

impl Network {
    /// Copies one of the bodies whose memory is there, and tells both ends.
    pub fn copy(&mut self, which: impl Fn(usize) -> usize) {
        let expected = &self.expected;
        let ready = |body: &Body| expected.contains_key(&(body.to, body.from, body.name));
        let places: Vec<usize> = (0..self.bodies.len())
            .filter(|place| ready(&self.bodies[*place]))
            .collect();
        if places.is_empty() {
            return;
        }
        let body = self.bodies.remove(places[which(places.len())]);
        let key = (body.to, body.from, body.name);
        let (memory, incoming) = self.expected.remove(&key).expect("it is there");
        let (len_bytes, capacity_bytes) = (body.memory.len_bytes(), memory.len_bytes());
        let result = if len_bytes > capacity_bytes {
            Err(OpError::Truncated {
                len_bytes: len_bytes as u64,
                capacity_bytes: capacity_bytes as u64,
            })
        } else {
            let mut bytes = vec![0; len_bytes];
            // SAFETY: both are of the world's, and as long as it was said.
            unsafe {
                body.memory.gather(&mut bytes);
                memory.scatter(&bytes);
            }
            Ok(())
        };
        self.news[body.from].push_back(News::BodySent(body.name, result));
        self.news[body.to].push_back(News::BodyReceived(incoming, result));
    }

    pub fn owes_ends(&self, at: usize) -> bool {
        let is_end = |news: &News| {
            matches!(
                news,
                News::Gone(_) | News::SystemSent(_, _, Err(_)) | News::BodySent(_, Err(_))
            )
        };
        self.news[at].iter().any(is_end)
    }

    fn connect(&mut self, a: usize, b: usize) {
        if self.up.insert((a.min(b), a.max(b))) {
            self.news[a].push_back(News::Up(b));
            if a != b {
                self.news[b].push_back(News::Up(a));
            }
        }
    }

    /// What is on its way between two is lost, and each is told, first of the end and then of what it had sent.
    pub fn cut(&mut self, a: usize, b: usize, error: OpError) {
        if !self.up.remove(&(a.min(b), a.max(b))) {
            return;
        }
        let pairs = if a == b {
            vec![(a, b)]
        } else {
            vec![(a, b), (b, a)]
        };
        for (from, to) in pairs {
            self.news[from].push_back(News::Gone(to));
            for system in self.systems.remove(&(from, to)).unwrap_or_default() {
                if let Some(life) = system.tells {
                    self.news[from].push_back(News::SystemSent(to, life, Err(error)));
                }
            }
        }
        let news = &mut self.news;
        self.bodies.retain(|body| {
            let is_cut = (body.from, body.to) == (a, b) || (body.from, body.to) == (b, a);
            if is_cut {
                news[body.from].push_back(News::BodySent(body.name, Err(error)));
            }
            !is_cut
        });
    }
}
