//! Three endpoints, their programs, and the one that compares.

use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap, VecDeque};
use std::rc::Rc;

use bcl_raw::slab::Id;
use bcl_types::{Address, Cause, OpError, Random};

use super::lists::{Oracle, Posted, Sent};
use super::network::{Network, News, Socket, System, address};
use crate::completion::{Completion, Ended};
use crate::engine::{Engine, Receive, Send, Source, Wanted, When};
use crate::error::Error;
use crate::memory::Memory;

#[derive(Debug, Clone)]
pub enum Step {
    Send {
        from: usize,
        to: usize,
        tag: u64,
        len: usize,
        how: u8,
        data: bool,
    },
    Receive {
        at: usize,
        from: Option<usize>,
        tag: u64,
        ignore: u64,
        len: usize,
        multi: u8,
    },
    Cancel {
        at: usize,
        which: proptest::sample::Index,
    },
    Claim {
        at: usize,
        from: Option<usize>,
        tag: u64,
        then: Option<Then>,
    },
    Settle {
        at: usize,
        which: proptest::sample::Index,
        then: Then,
    },
    Deliver {
        from: usize,
        to: usize,
    },
    Copy {
        which: proptest::sample::Index,
    },
    CatchUp {
        at: usize,
    },
    AskAfter {
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

/// What becomes of a message that was claimed.
#[derive(Debug, Clone, Copy)]
pub enum Then {
    Receive,
    Discard,
}

impl Step {
    /// A message without completion data, whose memory may be used again once it is complete.
    pub fn send(from: usize, to: usize, tag: u64, len: usize) -> Self {
        let (how, data) = (2, false);
        Self::Send {
            from,
            to,
            tag,
            len,
            how,
            data,
        }
    }

    /// A receive of one message with this tag.
    pub fn receive(at: usize, from: Option<usize>, tag: u64, len: usize) -> Self {
        let (ignore, multi) = (0, 0);
        Self::Receive {
            at,
            from,
            tag,
            ignore,
            len,
            multi,
        }
    }
}

struct Party {
    engine: Engine,
    socket: Socket,
    /// Messages of each peer of which the announcement is under way.
    flying: HashMap<usize, VecDeque<Sent>>,
    /// What was lent, by context.
    lent: BTreeMap<u64, Vec<u8>>,
    receives: BTreeMap<u64, Option<usize>>,
    oracle: Oracle,
    claims: Vec<(Id, Sent)>,
    /// Peers of which a completion has said that messages were lost, and no send yet.
    told: HashMap<Address, OpError>,
    received: usize,
}

pub struct World {
    network: Rc<RefCell<Network>>,
    parties: Vec<Party>,
    count: u64,
}

const BROKEN: Cause = Cause::Killed(9);

impl World {
    pub fn new() -> Self {
        let network = Rc::new(RefCell::new(Network::default()));
        let party = |at| Party {
            engine: Engine::new(address(at), at as u32),
            socket: Socket {
                at,
                network: Rc::clone(&network),
            },
            flying: HashMap::new(),
            lent: BTreeMap::new(),
            receives: BTreeMap::new(),
            oracle: Oracle::default(),
            claims: Vec::new(),
            told: HashMap::new(),
            received: 0,
        };
        Self {
            parties: (0..3).map(party).collect(),
            network: Rc::clone(&network),
            count: 0,
        }
    }

    pub fn step(&mut self, step: Step) {
        match step {
            Step::Send {
                from,
                to,
                tag,
                len,
                how,
                data,
            } => self.send(from, to, tag, len, how, data),
            Step::Receive {
                at,
                from,
                tag,
                ignore,
                len,
                multi,
            } => {
                self.receive(at, from, tag, ignore, len, multi);
            }
            Step::Cancel { at, which } => self.cancel(at, |len| which.index(len)),
            Step::Claim {
                at,
                from,
                tag,
                then,
            } => self.claim(at, from, tag, then),
            Step::Settle { at, which, then } => {
                self.settle_claim(at, then, |len| which.index(len));
            }
            Step::Deliver { from, to } => self.deliver(from, to),
            Step::Copy { which } => self.network.borrow_mut().copy(|len| which.index(len)),
            Step::CatchUp { at } => self.catch_up(at),
            Step::AskAfter { at } => self.ask_after(at),
            Step::Refuse { at, calls } => self.network.borrow_mut().refusals[at] = calls,
            Step::Break { a, b } => self.cut(a, b),
        }
        for at in 0..3 {
            self.take_completions(at);
        }
    }

    fn send(&mut self, from: usize, to: usize, tag: u64, len: usize, how: u8, data: bool) {
        self.count += 1;
        let context = self.count;
        let bytes = Random::new(context).bytes(len);
        let when = match how {
            0 if len <= crate::INJECT_MAX => When::Injected,
            1 => When::Delivered,
            _ => When::Reusable,
        };
        // No two messages are alike.
        let sent = Sent {
            from,
            tag,
            data: (data || len < 8).then_some(context),
            bytes,
            ..Sent::default()
        };
        let party = &mut self.parties[from];
        let mut lent = sent.bytes.clone();
        let send = Send {
            to: address(to),
            space: 0,
            tag,
            data: sent.data,
            memory: Memory::one(lent.as_mut_ptr(), len),
            context,
            mark: 0,
            when,
            quiet: false,
        };
        let number = party.engine.peers.number_of(send.to);
        let untold = party.engine.peers[number].untold;
        // SAFETY: it is lent until the completion.
        match unsafe { party.engine.send(&mut party.socket, send) } {
            Ok(()) => {
                assert_eq!(untold, None);
                if when == When::Injected {
                    lent.fill(0xee);
                }
                assert!(party.lent.insert(context, lent).is_none());
                self.parties[to]
                    .flying
                    .entry(from)
                    .or_default()
                    .push_back(sent);
            }
            Err(Error::Again { .. }) => {}
            Err(Error::Lost { error, .. }) => {
                assert_eq!(Some(error), untold);
                self.take_completions(from);
                let told = self.parties[from].told.remove(&address(to));
                assert_eq!(told, Some(error), "only a send tells of it");
            }
            Err(error) => panic!("{error}"),
        }
    }

    fn receive(
        &mut self,
        at: usize,
        from: Option<usize>,
        tag: u64,
        ignore: u64,
        len: usize,
        multi: u8,
    ) {
        self.count += 1;
        let (context, party) = (self.count, &mut self.parties[at]);
        let len = if multi > 1 { len * 2 + 500 } else { len };
        let least = (multi > 1).then_some(len / 4);
        let mut lent = vec![0xdd; len];
        let receive = Receive {
            wanted: wanted(from, tag, ignore),
            memory: Memory::one(lent.as_mut_ptr(), len),
            context,
            mark: 0,
            multi_min_free_bytes: least,
        };
        party.lent.insert(context, lent);
        party.receives.insert(context, from);
        party.oracle.post(Posted {
            context,
            from,
            tag,
            ignore,
            used: 0,
            free: len,
            multi: least,
        });
        // SAFETY: it is lent until the completion.
        unsafe { party.engine.receive(&mut party.socket, receive) }.unwrap();
    }

    fn cancel(&mut self, at: usize, which: impl Fn(usize) -> usize) {
        let party = &mut self.parties[at];
        assert!(party.engine.cancel(0, u64::MAX).is_err());
        if !party.oracle.posted.is_empty() {
            let place = which(party.oracle.posted.len());
            let context = party.oracle.posted.remove(place).context;
            party.engine.cancel(0, context).unwrap();
            assert!(party.engine.cancel(0, context).is_err());
        }
    }

    fn claim(&mut self, at: usize, from: Option<usize>, tag: u64, then: Option<Then>) {
        let party = &mut self.parties[at];
        let found = party.engine.claim(&wanted(from, tag, 0)).unwrap();
        let due = party.oracle.claim(from, tag, 0);
        assert_eq!(found.is_some(), due.is_some());
        let (Some((probed, claim)), Some(due)) = (found, due) else {
            return;
        };
        assert_eq!((probed.from, probed.tag), (address(due.from), due.tag));
        assert_eq!(
            (probed.data, probed.len_bytes),
            (due.data, due.bytes.len() as u64)
        );
        party.claims.push((claim, due));
        if let Some(then) = then {
            self.settle_claim(at, then, |len| len - 1);
        }
    }

    fn settle_claim(&mut self, at: usize, then: Then, which: impl Fn(usize) -> usize) {
        let party = &mut self.parties[at];
        if party.claims.is_empty() {
            return;
        }
        let (claim, due) = party.claims.remove(which(party.claims.len()));
        if matches!(then, Then::Discard) {
            return party
                .engine
                .discard_claimed(&mut party.socket, claim)
                .unwrap();
        }
        self.count += 1;
        let mut lent = vec![0xdd; due.bytes.len()];
        let memory = Memory::one(lent.as_mut_ptr(), lent.len());
        party.lent.insert(self.count, lent);
        party.receives.insert(self.count, Some(due.from));
        party
            .oracle
            .due
            .entry(self.count)
            .or_default()
            .push_back(due);
        // SAFETY: it is lent until the completion.
        unsafe {
            party
                .engine
                .receive_claimed(&mut party.socket, claim, memory, (self.count, 0))
        }
        .unwrap();
    }

    fn deliver(&mut self, from: usize, to: usize) {
        // A port tells of what was before.
        self.catch_up(to);
        let mut network = self.network.borrow_mut();
        let Some(System { tag, bytes, tells }) = network
            .systems
            .get_mut(&(from, to))
            .and_then(VecDeque::pop_front)
        else {
            return;
        };
        if let Some(life) = tells {
            network.news[from].push_back(News::SystemSent(to, life, Ok(())));
        }
        drop(network);
        let party = &mut self.parties[to];
        let is_message = matches!(bytes[1], 1 | 2);
        if is_message {
            let mut sent = party
                .flying
                .get_mut(&from)
                .and_then(VecDeque::pop_front)
                .unwrap();
            let last = bytes.last_chunk().copied().map(u64::from_le_bytes);
            sent.announced_as = last.filter(|_| bytes[1] == 2);
            party.oracle.arrived(sent);
        }
        if let [_, 4, 0x20, _, _, _, _, _, ref rest @ ..] = bytes[..] {
            let name = rest.first_chunk().copied().map(u64::from_le_bytes);
            party.oracle.pushed(from, name.unwrap());
        }
        party
            .engine
            .arrived(&mut party.socket, address(from), tag, &bytes)
            .unwrap();
        assert_eq!(party.engine.depths().faults, 0);
    }

    fn ask_after(&mut self, at: usize) {
        let Party { engine, socket, .. } = &mut self.parties[at];
        engine.ask_after_peers(socket).unwrap();
    }

    fn catch_up(&mut self, at: usize) {
        loop {
            let Some(news) = self.network.borrow_mut().news[at].pop_front() else {
                break;
            };
            let Party { engine, socket, .. } = &mut self.parties[at];
            match news {
                News::Up(peer) => engine.peer_up(socket, address(peer)).unwrap(),
                News::Gone(peer) => self.lose(at, peer),
                News::SystemSent(to, life, result) => {
                    engine
                        .system_sent(socket, address(to), life, result)
                        .unwrap();
                }
                News::BodySent(name, result) => engine.body_sent(name, result),
                News::BodyReceived(id, result) => engine.body_received(id, result),
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

    /// What lies with the peer can be received no more; what is here can.
    fn lose(&mut self, at: usize, peer: usize) {
        let Party {
            engine,
            socket,
            oracle,
            ..
        } = &mut self.parties[at];
        oracle.lose(peer);
        engine.peer_gone(socket, address(peer), BROKEN).unwrap();
    }

    /// Everything that is under way arrives.
    pub fn settle(&mut self) {
        self.network.borrow_mut().refusals = [0; 3];
        for at in 0..3 {
            while !self.parties[at].claims.is_empty() {
                self.settle_claim(at, Then::Receive, |_| 0);
            }
        }
        for _ in 0..1_000_000 {
            for from in 0..3 {
                self.catch_up(from);
                for to in 0..3 {
                    self.deliver(from, to);
                }
            }
            (0..3).for_each(|at| self.take_completions(at));
            self.network.borrow_mut().copy(|_| 0);
            if self.is_quiet() {
                break;
            }
        }
        for party in &mut self.parties {
            assert!(
                party.oracle.due.values().all(VecDeque::is_empty),
                "{:?}",
                party.oracle.due
            );
            let posted = party.oracle.posted.iter().map(|posted| posted.context);
            let waiting: Vec<u64> = posted.collect();
            let open: Vec<u64> = party.receives.keys().copied().collect();
            let mut waiting = waiting;
            waiting.sort_unstable();
            assert_eq!(open, waiting, "receives that have not ended");
        }
    }

    fn is_quiet(&self) -> bool {
        let network = self.network.borrow();
        let expected = |body: &super::network::Body| {
            network
                .expected
                .contains_key(&(body.to, body.from, body.name))
        };
        network.systems.values().all(VecDeque::is_empty)
            && network.news.iter().all(VecDeque::is_empty)
            && !network.bodies.iter().any(expected)
            && self
                .parties
                .iter()
                .all(|party| party.engine.depths().backlogs == 0)
    }

    fn take_completions(&mut self, at: usize) {
        while let Some(completion) = self.parties[at].engine.next_completion() {
            self.check(at, &completion);
        }
    }

    fn check(&mut self, at: usize, completion: &Completion) {
        let party = &mut self.parties[at];
        let context = completion.context;
        if completion.kind == Ended::Lost {
            let told = party
                .told
                .insert(completion.peer, completion.result.unwrap_err());
            assert_eq!(told, None, "messages that are lost are told of together");
            return;
        }
        if completion.kind == Ended::Send {
            assert!(
                party.lent.remove(&context).is_some(),
                "a send has ended twice"
            );
            let is_lost = completion.result == Err(OpError::PeerGone(BROKEN));
            assert!(completion.result.is_ok() || is_lost, "{completion:?}");
            return;
        }
        let lent = party.lent.get(&context).expect("a receive has ended twice");
        match completion.result {
            Err(OpError::Canceled) => {}
            Err(OpError::PeerGone(BROKEN)) => {
                // One that a message had met, or one that wanted this peer alone.
                if let Some(due) = party.oracle.due.get_mut(&context) {
                    let place = due
                        .iter()
                        .position(|sent| address(sent.from) == completion.peer);
                    place.and_then(|place| due.remove(place));
                }
            }
            result => {
                party.received += 1;
                let due = party
                    .oracle
                    .due
                    .get_mut(&context)
                    .expect("something has met it");
                let offset_bytes = completion.start - lent.as_ptr() as usize;
                let capacity = lent.len() - offset_bytes;
                let is_it = |sent: &Sent| {
                    let len = sent.bytes.len();
                    (address(sent.from), sent.tag, sent.data)
                        == (completion.peer, completion.tag, completion.data)
                        && (completion.len_bytes, offset_bytes) == (len as u64, sent.offset)
                        && (result.is_err() || lent[offset_bytes..].starts_with(&sent.bytes))
                };
                let place = due
                    .iter()
                    .position(is_it)
                    .unwrap_or_else(|| panic!("{completion:?} and not {due:?}"));
                let sent = due.remove(place).expect("it is there");
                let too_long = matches!(result, Err(OpError::Truncated { .. }));
                assert!(result.is_ok() || too_long, "{result:?}");
                assert!(sent.bytes.len() <= capacity || too_long);
            }
        }
        if completion.released {
            party.lent.remove(&context);
            party.receives.remove(&context);
            let due = party.oracle.due.remove(&context);
            assert!(due.is_none_or(|due| due.is_empty()), "released too early");
        }
    }

    pub fn received(&self, at: usize) -> usize {
        self.parties[at].received
    }

    /// Bodies that are under way.
    pub fn bodies(&self) -> usize {
        self.network.borrow().bodies.len()
    }

    /// Messages on their way that ask for others.
    pub fn asked(&self, from: usize, to: usize) -> usize {
        let network = self.network.borrow();
        let systems = network.systems.get(&(from, to));
        let asks = |system: &&System| system.bytes[1] == 3;
        systems.map_or(0, |systems| systems.iter().filter(asks).count())
    }

    /// Messages so far that have asked for others.
    pub fn asking(&self) -> usize {
        self.network.borrow().asking
    }

    pub fn owes_messages(&self, at: usize) -> bool {
        self.parties[at].engine.owes_messages()
    }

    pub fn granted_bytes(&self, at: usize) -> usize {
        self.parties[at].engine.depths().granted_bytes
    }

    pub fn kept_bytes(&self, at: usize) -> usize {
        self.parties[at].engine.depths().unexpected_bytes
    }
}

fn wanted(from: Option<usize>, tag: u64, ignore: u64) -> Wanted {
    Wanted {
        space: 0,
        source: from.map_or(Source::Any, |from| Source::Peer(address(from))),
        tag,
        ignore,
    }
}
