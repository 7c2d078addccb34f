//! One-sided operations, which the world asks for: each program exposes a window, as ports have one, and the world knows what has to
//! be found there (`oracle/windows`, [ADI-8]).

use std::collections::{BTreeSet, VecDeque};

use bcl_adi::{
    Access, Atomic, Completion, Datum, Ended, Error, Function, Memory, OneSided, OpError, Region,
    What,
};

use super::judge::{Judge, USED};
use super::ledger::Epoch;
use super::{TaggedPort, text};
use crate::oracle::{Seat, Violation};
use crate::party::{Failure, News, Request};
use crate::port::{address, seat};

/// The window, to peers.
const KEY: u64 = 7;
const FIRST_ADDRESS: u64 = 1 << 40;
/// What atomic operations change.
const WORD: usize = size_of::<u64>();

/// What a program exposes, and what is still to be asked of others.
pub struct Exposed {
    window: Vec<u64>,
    waiting: VecDeque<(Seat, Request)>,
}

/// An operation that has not ended.
pub struct Reaching {
    to: Seat,
    epoch: Epoch,
    kind: Ended,
    len_bytes: usize,
    /// What was lent to be read, and to be written.
    read: Vec<u8>,
    found: Vec<u8>,
}

impl Exposed {
    pub fn new(engine: &bcl_adi::Engine, len_bytes: usize) -> Self {
        let mut window = vec![0; len_bytes.div_ceil(WORD)];
        let region = Region {
            start: window.as_mut_ptr() as usize,
            len_bytes,
            first_address: FIRST_ADDRESS,
            access: Access::GET | Access::PUT,
        };
        // SAFETY: it lives as long as the engine, and is looked at when nothing is under way.
        let is_new = unsafe { engine.regions().expose(KEY, region) };
        assert!(is_new, "it is the only one");
        Self {
            window,
            waiting: VecDeque::new(),
        }
    }

    /// What was to be asked of a peer is not asked of the next process there.
    pub fn give_up(&mut self, peer: Seat) -> Vec<News> {
        let (given_up, others): (Vec<_>, _) =
            self.waiting.drain(..).partition(|(to, _)| *to == peer);
        self.waiting = others.into();
        let ended = |(_, request): &(Seat, Request)| {
            let result = Err(Failure::Peer("it was not asked for any more".into()));
            where_of(request).map(|(op, _)| News::Ended { op, result })
        };
        given_up.iter().filter_map(ended).collect()
    }

    pub fn word(&self, index: usize) -> u64 {
        self.window[index]
    }
}

impl TaggedPort {
    /// The world wants something; it waits behind what there was no room for.
    pub(super) fn reach(&mut self, to: Seat, request: Request) -> Result<(), Violation> {
        self.exposed.waiting.push_back((to, request));
        self.reach_on()
    }

    /// Begins what there is room for now, of each peer's in its order.
    pub(super) fn reach_on(&mut self) -> Result<(), Violation> {
        let mut full = BTreeSet::new();
        for (to, request) in std::mem::take(&mut self.exposed.waiting) {
            if full.contains(&to) || !self.begin(to, &request)? {
                full.insert(to);
                self.exposed.waiting.push_back((to, request));
            }
        }
        Ok(())
    }

    /// False: there is no room.
    fn begin(&mut self, to: Seat, request: &Request) -> Result<bool, Violation> {
        let epoch = self.judge.epoch(to);
        let Some((op, offset, mut reaching)) = Reaching::new(to, epoch, request) else {
            return Err(format!(
                "programs with tagged messages do not do this: {request:?}"
            ));
        };
        let asked = OneSided {
            to: address(to),
            key: KEY,
            address: FIRST_ADDRESS + offset,
            what: reaching.what(request, op),
            context: op,
            mark: 0,
            quiet: false,
            injects: false,
        };
        // SAFETY: the judge keeps the memory as long as the process lives, and leaves it alone until the completion.
        match unsafe { self.engine.one_sided(&mut self.wire, asked) } {
            Ok(()) => {
                self.judge.reaching.insert(op, reaching);
                Ok(true)
            }
            Err(Error::Again { .. }) => Ok(false),
            Err(error) => Err(text(error)),
        }
    }
}

/// The number of an operation, and where it goes.
fn where_of(request: &Request) -> Option<(u64, u64)> {
    match request {
        Request::Put { op, offset, .. }
        | Request::Get { op, offset, .. }
        | Request::Add { op, offset }
        | Request::Swap { op, offset, .. } => Some((*op, *offset)),
        _ => None,
    }
}

impl Reaching {
    /// With its number, and where it goes.
    fn new(to: Seat, epoch: Epoch, request: &Request) -> Option<(u64, u64, Self)> {
        let (op, offset) = where_of(request)?;
        let (kind, read, found_bytes) = match request {
            Request::Put { bytes, .. } => (Ended::Put, bytes.clone(), 0),
            Request::Get { len_bytes, .. } => (Ended::Get, Vec::new(), *len_bytes),
            Request::Swap { compare, new, .. } => {
                let read = [new.to_le_bytes(), compare.to_le_bytes()].concat();
                (Ended::Atomic, read, WORD)
            }
            _ => (Ended::Atomic, 1u64.to_le_bytes().to_vec(), WORD),
        };
        let reaching = Self {
            to,
            epoch,
            kind,
            len_bytes: if kind == Ended::Put {
                read.len()
            } else {
                found_bytes
            },
            read,
            found: vec![0; found_bytes],
        };
        Some((op, offset, reaching))
    }

    fn what(&mut self, request: &Request, op: u64) -> What {
        let read = |bytes: &[u8]| Memory::to_read(bytes.as_ptr(), bytes.len());
        let found = Memory::one(self.found.as_mut_ptr(), self.found.len());
        let function = match request {
            Request::Put { .. } => {
                let memory = read(&self.read);
                let data = op.is_multiple_of(2).then_some(op);
                return What::Put { memory, data };
            }
            Request::Get { .. } => return What::Get { memory: found },
            Request::Add { .. } => Function::Sum,
            _ => Function::SwapIfEqual,
        };
        let (operands, compared) = self.read.split_at(WORD);
        What::Atomic {
            atomic: Atomic::new(function, Datum::U64).expect("of integers"),
            count: 1,
            operands: read(operands),
            compared: read(compared),
            found: Some(found),
        }
    }
}

impl Judge {
    /// A one-sided operation has ended, or a peer's has with data for us.
    pub(super) fn reached(&mut self, completion: &Completion) -> Result<News, Violation> {
        if completion.kind == Ended::Written {
            return Ok(News::Own(format!("{completion:?}")));
        }
        let op = completion.context;
        let Some(reaching) = self.reaching.remove(&op) else {
            return Err(format!(
                "a one-sided operation has ended twice: {completion:?}"
            ));
        };
        let told = (
            completion.peer,
            completion.kind,
            completion.len_bytes as usize,
        );
        if told != (address(reaching.to), reaching.kind, reaching.len_bytes) {
            return Err(format!("that is not what was asked for: {completion:?}"));
        }
        let Reaching {
            read, found, kind, ..
        } = reaching;
        let result = match completion.result {
            Ok(()) => {
                let value = found.first_chunk().copied().map(u64::from_le_bytes);
                let value = value.filter(|_| kind == Ended::Atomic);
                Ok((value.unwrap_or(0), found.clone()))
            }
            Err(
                error @ (OpError::NoWindow
                | OpError::RmaDenied
                | OpError::RmaRange
                | OpError::Protocol),
            ) => {
                return Err(format!("it was permitted, and ended so: {error}"));
            }
            Err(error) => Err(Failure::Peer(format!(
                "seat {}: {error}",
                seat(completion.peer)
            ))),
        };
        for mut memory in [read, found] {
            memory.fill(USED);
            self.used.push(memory);
        }
        Ok(News::Ended { op, result })
    }

    /// Of all that was asked of a peer before its end nothing is left.
    pub(super) fn check_reaching(&self, peer: Seat, epoch: Epoch) -> Result<(), Violation> {
        let mut all = self.reaching.iter();
        match all.find(|(_, reaching)| reaching.to == peer && reaching.epoch < epoch) {
            None => Ok(()),
            Some((op, _)) => Err(format!(
                "operation {op} is left though seat {peer} was gone"
            )),
        }
    }
}
