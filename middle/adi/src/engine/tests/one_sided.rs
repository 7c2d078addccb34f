//! One-sided operations against plain memory, on the same network.

use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap, VecDeque};
use std::rc::Rc;

use bcl_types::{Access, Cause, OpError};
use proptest::prelude::*;

use super::network::{Network, News, Socket, System, address};
use crate::atomics::{Atomic, Datum, Function};
use crate::completion::{Completion, Ended};
use crate::engine::{Engine, OneSided, What};
use crate::error::Error;
use crate::header::one_sided::SHORT_MAX;
use crate::memory::Memory;
use crate::regions::Region;

/// Regions: what is changed by short operations; what is only read; and a place for each long one.
const SHORT: u64 = 1;
const CONSTANT: u64 = 2;
const LONG: u64 = 3;
const SHORT_LEN: usize = 9_000;
/// Longest of all operations.
const MOST: usize = 12_000;
const PLACES: usize = 100;

#[derive(Debug, Clone)]
enum Step {
    Put {
        from: usize,
        to: usize,
        key: u64,
        offset: usize,
        len: usize,
        data: bool,
        injects: bool,
    },
    Get {
        from: usize,
        to: usize,
        key: u64,
        offset: usize,
        len: usize,
    },
    Add {
        from: usize,
        to: usize,
        offset: usize,
        count: usize,
        fetches: bool,
    },
    Swap {
        from: usize,
        to: usize,
        offset: usize,
        compared: u64,
    },
    Deliver {
        from: usize,
        to: usize,
    },
    Copy {
        which: prop::sample::Index,
    },
    CatchUp {
        at: usize,
    },
    Refuse {
        at: usize,
        calls: usize,
    },
    Break {
        a: usize,
        b: usize,
    },
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let end = || 0usize..2;
    let offset = || prop_oneof![3 => 0usize..100, 1 => 8_900usize..9_010];
    let len = || {
        prop_oneof![
            3 => 0usize..200, 2 => SHORT_MAX - 2..=SHORT_MAX, 2 => SHORT_MAX + 1..SHORT_MAX + 3, 1 => SHORT_MAX..MOST
        ]
    };
    let key = || prop_oneof![6 => Just(SHORT), 2 => Just(CONSTANT), 1 => Just(77u64)];
    let step = prop_oneof![
        10 => (end(), end(), key(), offset(), len(), any::<bool>(), any::<bool>())
            .prop_map(|(from, to, key, offset, len, data, injects)| Step::Put { from, to, key, offset, len, data, injects }),
        10 => (end(), end(), key(), offset(), len())
            .prop_map(|(from, to, key, offset, len)| Step::Get { from, to, key, offset, len }),
        5 => (end(), end(), offset(), 0usize..20, any::<bool>())
            .prop_map(|(from, to, offset, count, fetches)| Step::Add { from, to, offset, count, fetches }),
        3 => (end(), end(), offset(), 0u64..3)
            .prop_map(|(from, to, offset, compared)| Step::Swap { from, to, offset, compared }),
        25 => (end(), end()).prop_map(|(from, to)| Step::Deliver { from, to }),
        8 => any::<prop::sample::Index>().prop_map(|which| Step::Copy { which }),
        8 => end().prop_map(|at| Step::CatchUp { at }),
        2 => (end(), 0usize..6).prop_map(|(at, calls)| Step::Refuse { at, calls }),
        1 => (end(), end()).prop_map(|(a, b)| Step::Break { a, b }),
    ];
    prop::collection::vec(step, 0..200)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]

    /// ADI-8: each operation ends once; short ones of a requester are done in its order, long ones where they belong; what
    /// is not permitted touches nothing and says why; no peer is taken for one that cheats.
    #[test]
    fn exposed_memory_is_as_plain_memory(steps in steps()) {
        let mut world = World::new();
        for step in steps {
            world.step(step);
        }
        world.settle();
    }
}

/// ADI-8.3: many operations wait with their requester and not with the owner, and all of them are done.
#[test]
fn what_is_too_much_is_to_be_tried_again() {
    for len in [8, MOST] {
        let mut world = World::new();
        world.settle();
        let get = Step::Get {
            from: 0,
            to: 1,
            key: CONSTANT,
            offset: 0,
            len,
        };
        let asks = |world: &mut World| {
            (0..1000).for_each(|_| world.step(get.clone()));
            world.parties[0].open.len()
        };
        // Each message has to leave before there are many more.
        let mut most = 0;
        for _ in 0..20 {
            most = most.max(asks(&mut world));
            for _ in 0..1000 {
                world.step(Step::Deliver { from: 0, to: 1 });
                world.step(Step::Deliver { from: 1, to: 0 });
            }
            assert!(world.parties[1].engine.depths().served <= 256);
        }
        assert!(len == 8 || most == 256, "{most}");
        world.settle();
    }
}

/// ADI-8.5: a write that is not permitted ends, whether its body would have come unasked or not.
#[test]
fn refused_writes_end_however_they_come() {
    let mut world = World::new();
    world.settle();
    for _ in 0..100 {
        world.step(Step::Put {
            from: 0,
            to: 1,
            key: CONSTANT,
            offset: 0,
            len: MOST,
            data: false,
            injects: false,
        });
        world.step(Step::Deliver { from: 0, to: 1 });
    }
    assert_eq!(world.parties[0].open.len(), 100);
    world.settle();
}

struct Party {
    engine: Engine,
    socket: Socket,
    /// What peers change, and what it should be.
    memory: Vec<u8>,
    shadow: Vec<u8>,
    constant: Vec<u8>,
    places: Vec<u8>,
    /// Operations whose request is under way, by owner.
    flying: HashMap<usize, VecDeque<Op>>,
    /// Operations that have not ended.
    open: BTreeMap<u64, Op>,
    /// Completion data that are to come.
    due: BTreeMap<u64, usize>,
}

#[derive(Debug, Clone)]
struct Op {
    context: u64,
    step: Step,
    /// What is sent, and what is lent: for that, or for what comes.
    sent: Rc<Vec<u8>>,
    lent: Rc<RefCell<Vec<u8>>>,
    /// Where a long one writes.
    place: Option<usize>,
    due: Option<Result<Vec<u8>, OpError>>,
}

struct World {
    network: Rc<RefCell<Network>>,
    parties: Vec<Party>,
    count: u64,
    places_used: usize,
}

const BROKEN: Cause = Cause::Killed(9);

fn pattern(seed: u64, len: usize) -> Vec<u8> {
    (0..len as u64)
        .map(|at| (seed * 31 + at * 7) as u8)
        .collect()
}

fn region(memory: &mut [u8], first_address: u64, access: Access) -> Region {
    Region {
        start: memory.as_mut_ptr() as usize,
        len_bytes: memory.len(),
        first_address,
        access,
    }
}

impl World {
    fn new() -> Self {
        let network = Rc::new(RefCell::new(Network::default()));
        let party = |at| {
            let mut party = Party {
                engine: Engine::new(address(at), at as u32),
                socket: Socket {
                    at,
                    network: Rc::clone(&network),
                },
                memory: vec![0; SHORT_LEN],
                shadow: vec![0; SHORT_LEN],
                constant: pattern(99, MOST + 100),
                places: vec![0; MOST * PLACES],
                flying: HashMap::new(),
                open: BTreeMap::new(),
                due: BTreeMap::new(),
            };
            let regions = party.engine.regions();
            // SAFETY: the memory lives as long as the engine, and is looked at once nothing is under way.
            unsafe {
                assert!(regions.expose(
                    SHORT,
                    region(&mut party.memory, 0, Access::GET | Access::PUT)
                ));
                assert!(regions.expose(CONSTANT, region(&mut party.constant, 0, Access::GET)));
                assert!(regions.expose(LONG, region(&mut party.places, 1 << 60, Access::PUT)));
            }
            party
        };
        Self {
            parties: (0..2).map(party).collect(),
            network: Rc::clone(&network),
            count: 0,
            places_used: 0,
        }
    }

    fn step(&mut self, step: Step) {
        match step {
            Step::Deliver { from, to } => self.deliver(from, to),
            Step::Copy { which } => self.network.borrow_mut().copy(|len| which.index(len)),
            Step::CatchUp { at } => self.catch_up(at),
            Step::Refuse { at, calls } => self.network.borrow_mut().refusals[at] = calls,
            Step::Break { a, b } => self.cut(a, b),
            step => self.ask(step),
        }
        (0..2).for_each(|at| self.take_completions(at));
    }

    fn ask(&mut self, step: Step) {
        self.count += 1;
        let context = self.count;
        let number = context.to_le_bytes();
        let (from, to, mut key, mut address_there, sent, lent) = match step {
            Step::Put {
                from,
                to,
                key,
                offset,
                len,
                ..
            } => (
                from,
                to,
                key,
                offset as u64,
                pattern(context, len),
                pattern(context, len),
            ),
            Step::Get {
                from,
                to,
                key,
                offset,
                len,
            } => (from, to, key, offset as u64, Vec::new(), vec![0xdd; len]),
            Step::Add {
                from,
                to,
                offset,
                count,
                fetches,
            } => {
                let lent = if fetches {
                    vec![0xdd; count * 8]
                } else {
                    Vec::new()
                };
                (from, to, SHORT, offset as u64, number.repeat(count), lent)
            }
            Step::Swap {
                from,
                to,
                offset,
                compared,
            } => {
                let sent = [number, compared.to_le_bytes()].concat();
                (from, to, SHORT, offset as u64, sent, vec![0xdd; 8])
            }
            _ => return,
        };
        let mut place = None;
        match step {
            // What is long goes where nobody else writes, or comes from where nobody does.
            Step::Put { len, .. } if len > SHORT_MAX && key == SHORT => {
                if self.places_used == PLACES {
                    return;
                }
                place = Some(self.places_used * MOST);
                (key, address_there) = (LONG, (1 << 60) + (self.places_used * MOST) as u64);
                self.places_used += 1;
            }
            Step::Get { len, .. } if len > SHORT_MAX && key == SHORT => return,
            _ => {}
        }
        let (sent, lent) = (Rc::new(sent), Rc::new(RefCell::new(lent)));
        let read = |bytes: &[u8]| Memory::to_read(bytes.as_ptr(), bytes.len());
        let write = |bytes: &mut [u8]| Memory::one(bytes.as_mut_ptr(), bytes.len());
        let injects = matches!(step, Step::Put { injects: true, .. });
        let what = match step {
            Step::Put { data, .. } => What::Put {
                memory: read(&lent.borrow()),
                data: data.then_some(context),
            },
            Step::Get { .. } => What::Get {
                memory: write(&mut lent.borrow_mut()),
            },
            Step::Add { count, fetches, .. } => What::Atomic {
                atomic: Atomic::new(Function::Sum, Datum::U64).unwrap(),
                count: count as u32,
                operands: read(&sent),
                compared: read(&[]),
                found: fetches.then(|| write(&mut lent.borrow_mut())),
            },
            _ => What::Atomic {
                atomic: Atomic::new(Function::SwapIfLess, Datum::U64).unwrap(),
                count: 1,
                operands: read(&sent[..8]),
                compared: read(&sent[8..]),
                found: Some(write(&mut lent.borrow_mut())),
            },
        };
        let asked = OneSided {
            to: address(to),
            key,
            address: address_there,
            what,
            context,
            mark: 0,
            quiet: false,
            injects,
        };
        let party = &mut self.parties[from];
        // SAFETY: it is lent until the completion.
        match unsafe { party.engine.one_sided(&mut party.socket, asked) } {
            Ok(()) => {
                if injects {
                    lent.borrow_mut().fill(0xee);
                }
                let op = Op {
                    context,
                    step,
                    sent,
                    lent,
                    place,
                    due: None,
                };
                party.open.insert(context, op.clone());
                self.parties[to]
                    .flying
                    .entry(from)
                    .or_default()
                    .push_back(op);
            }
            Err(Error::Again { .. }) => {}
            Err(error) => panic!("{error}"),
        }
    }

    fn deliver(&mut self, from: usize, to: usize) {
        self.catch_up(to);
        let mut network = self.network.borrow_mut();
        let queue = network.systems.get_mut(&(from, to));
        let Some(System { tag, bytes, tells }) = queue.and_then(VecDeque::pop_front) else {
            return;
        };
        if let Some(life) = tells {
            network.news[from].push_back(News::SystemSent(to, life, Ok(())));
        }
        drop(network);
        let party = &mut self.parties[to];
        if matches!(bytes[1], 6..=9) {
            let op = party
                .flying
                .get_mut(&from)
                .and_then(VecDeque::pop_front)
                .unwrap();
            let due = party.apply(&op);
            self.parties[from].open.get_mut(&op.context).unwrap().due = Some(due);
        }
        let party = &mut self.parties[to];
        party
            .engine
            .arrived(&mut party.socket, address(from), tag, &bytes)
            .unwrap();
        assert_eq!(party.engine.depths().faults, 0);
    }

    fn catch_up(&mut self, at: usize) {
        loop {
            let news = self.network.borrow_mut().news[at].pop_front();
            let Party { engine, socket, .. } = &mut self.parties[at];
            match news {
                None => break,
                Some(News::Up(peer)) => engine.peer_up(socket, address(peer)).unwrap(),
                Some(News::Gone(peer)) => engine.peer_gone(socket, address(peer), BROKEN).unwrap(),
                Some(News::SystemSent(to, life, result)) => {
                    engine
                        .system_sent(socket, address(to), life, result)
                        .unwrap();
                }
                Some(News::BodySent(name, result)) => engine.body_sent(name, result),
                Some(News::BodyReceived(id, result)) => engine.body_received(id, result),
            }
            self.take_completions(at);
        }
        let party = &mut self.parties[at];
        party.engine.catch_up(&mut party.socket).unwrap();
    }

    fn cut(&mut self, a: usize, b: usize) {
        self.network.borrow_mut().cut(a, b, BROKEN.into());
        self.parties[a].flying.remove(&b);
        self.parties[b].flying.remove(&a);
    }

    fn settle(&mut self) {
        self.network.borrow_mut().refusals = [0; 3];
        for _ in 0..100_000 {
            for from in 0..2 {
                (0..2).for_each(|to| self.deliver(from, to));
                self.catch_up(from);
            }
            (0..2).for_each(|at| self.take_completions(at));
            self.network.borrow_mut().copy(|_| 0);
            let network = self.network.borrow();
            let is_quiet = network.systems.values().all(VecDeque::is_empty)
                && network.news.iter().all(VecDeque::is_empty)
                && network.bodies.is_empty();
            if is_quiet
                && self
                    .parties
                    .iter()
                    .all(|party| party.engine.depths().backlogs == 0)
            {
                break;
            }
        }
        for party in &self.parties {
            assert!(party.open.is_empty(), "{:?}", party.open);
            assert!(party.memory == party.shadow);
            assert!(party.constant == pattern(99, MOST + 100));
            let depths = party.engine.depths();
            assert_eq!(
                (
                    depths.requests,
                    depths.served,
                    depths.incoming,
                    depths.outgoing
                ),
                (0, 0, 0, 0)
            );
        }
    }

    fn take_completions(&mut self, at: usize) {
        while let Some(completion) = self.parties[at].engine.next_completion() {
            self.check(at, &completion);
        }
    }

    fn check(&mut self, at: usize, completion: &Completion) {
        if completion.kind == Ended::Written {
            let due = self.parties[at]
                .due
                .remove(&completion.data.expect("it brings data"));
            assert_eq!(due, Some(completion.len_bytes as usize));
            return;
        }
        let op = self.parties[at]
            .open
            .remove(&completion.context)
            .expect("it has ended twice");
        if completion.result == Err(OpError::PeerGone(BROKEN)) {
            return;
        }
        match op.due.as_ref().expect("it has not been done") {
            Ok(found) => {
                assert_eq!(completion.result, Ok(()), "{op:?}");
                let is_put = matches!(op.step, Step::Put { .. });
                assert!(is_put || *op.lent.borrow() == *found, "{:?}", op.step);
            }
            Err(error) => assert_eq!(completion.result, Err(*error), "{:?}", op.step),
        }
        if let (Some(place), Step::Put { to, .. }) = (op.place, &op.step) {
            assert!(self.parties[*to].places[place..].starts_with(&op.sent));
        }
    }
}

impl Party {
    /// What comes of it, now that it is to be done.
    fn apply(&mut self, op: &Op) -> Result<Vec<u8>, OpError> {
        let (key, offset, len) = match op.step {
            Step::Put {
                key, offset, len, ..
            }
            | Step::Get {
                key, offset, len, ..
            } => (key, offset, len),
            Step::Add { offset, count, .. } => (SHORT, offset, count * 8),
            Step::Swap { offset, .. } => (SHORT, offset, 8),
            _ => return Ok(Vec::new()),
        };
        let is_put = matches!(op.step, Step::Put { .. });
        if op.place.is_none() {
            let region = match key {
                SHORT => &self.shadow,
                CONSTANT if is_put => return Err(OpError::RmaDenied),
                CONSTANT => &self.constant,
                _ => return Err(OpError::NoWindow),
            };
            if offset + len > region.len() {
                return Err(OpError::RmaRange);
            }
            if let Step::Get { .. } = op.step {
                return Ok(region[offset..offset + len].to_vec());
            }
        }
        if let Step::Put { data, .. } = op.step {
            if data {
                self.due.insert(op.context, len);
            }
            if op.place.is_none() {
                self.shadow[offset..offset + len].copy_from_slice(&op.sent);
            }
            return Ok(Vec::new());
        }
        let mut found = Vec::new();
        for element in self.shadow[offset..offset + len].chunks_exact_mut(8) {
            let old = u64::from_le_bytes(element.try_into().unwrap());
            found.extend(old.to_le_bytes());
            let new = match op.step {
                Step::Swap { compared, .. } if compared >= old => old,
                Step::Swap { .. } => op.context,
                _ => old.wrapping_add(op.context),
            };
            element.copy_from_slice(&new.to_le_bytes());
        }
        let fetches = !matches!(op.step, Step::Add { fetches: false, .. });
        Ok(if fetches { found } else { Vec::new() })
    }
}
