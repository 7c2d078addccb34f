//! The books of tagged messages: what peers say on the system channel, mixed with what a program and its port do.
#![no_main]

use std::collections::BTreeMap;

use bcl_adi::{
    Access, Address, Atomic, Carrier, Datum, Ended, Engine, Function, Id, Memory, OneSided,
    OpError, PortError, Receive, Region, Send, Source, Wanted, What, When,
};
use bcl_types::{Cause, LONG_SYSTEM_MAX, SYSTEM_MAX};

const PEERS: usize = 3;

/// Takes what it is given, if the input says so.
#[derive(Default)]
struct Port {
    refuses: bool,
    delays: bool,
    /// System messages that have not left, and bodies: to whom.
    systems: Vec<(Address, u32)>,
    bodies: Vec<(Address, Id)>,
    /// Memory for bodies, by whose they are; the name here.
    expected: BTreeMap<(Address, u64), Id>,
    /// What peers were told that messages are called.
    names: Vec<u64>,
}

impl Port {
    fn check(&self) -> Result<(), PortError> {
        match self.refuses {
            true => Err(PortError::QueueFull { limit: 1 }),
            false => Ok(()),
        }
    }
}

impl Carrier for Port {
    /// Some peers take long ones.
    fn system_max(&mut self, to: Address) -> usize {
        match to.port % 2 {
            0 => LONG_SYSTEM_MAX,
            _ => SYSTEM_MAX,
        }
    }

    fn send_system(
        &mut self,
        to: Address,
        bytes: &[u8],
        _: u64,
        life: u32,
    ) -> Result<bool, PortError> {
        self.check()?;
        if let Some(name) = bytes
            .last_chunk()
            .filter(|_| matches!(bytes[1], 2 | 9 | 12))
        {
            self.names.push(u64::from_le_bytes(*name));
        }
        if self.delays {
            self.systems.push((to, life));
        }
        Ok(!self.delays)
    }

    unsafe fn send_body(&mut self, to: Address, name: Id, _: &Memory) -> Result<(), PortError> {
        self.check()?;
        self.bodies.push((to, name));
        Ok(())
    }

    unsafe fn receive_body(
        &mut self,
        from: Address,
        name: u64,
        _: &Memory,
        incoming: Id,
    ) -> Result<(), PortError> {
        self.check()?;
        self.expected.insert((from, name), incoming);
        Ok(())
    }

    fn unasked_max(&self) -> usize {
        8
    }

    fn take_back(&mut self, from: Address, name: u64) -> bool {
        self.expected.remove(&(from, name));
        true
    }
}

struct Input<'a>(&'a [u8]);

impl<'a> Input<'a> {
    fn byte(&mut self) -> u8 {
        self.bytes(1).first().copied().unwrap_or(0)
    }

    fn bytes(&mut self, most: usize) -> &'a [u8] {
        let (bytes, rest) = self.0.split_at(most.min(self.0.len()));
        self.0 = rest;
        bytes
    }

    fn peer(&mut self) -> Address {
        Address {
            node: (0x0a00_0002 + u32::from(self.byte()) % PEERS as u32).into(),
            port: 7,
        }
    }
}

struct World {
    engine: Engine,
    port: Port,
    /// The program's memory, for whatever it does: contents do not matter here.
    memory: Vec<u8>,
    /// Of this, the part between [`HIDDEN`] bytes at both ends is exposed.
    exposed: Vec<u8>,
    last_context: u64,
    /// Operations that have not ended, with the peer that they are for alone.
    pending: BTreeMap<u64, Option<Address>>,
    claims: Vec<Id>,
}

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let own = Address {
        node: 0x0a00_0001.into(),
        port: 7,
    };
    let mut world = World {
        engine: Engine::new(own, 0),
        port: Port::default(),
        memory: vec![0; 32 << 10],
        exposed: vec![EXPOSED; 32 << 10],
        last_context: 0,
        pending: BTreeMap::new(),
        claims: Vec::new(),
    };
    let open = HIDDEN..world.exposed.len() - HIDDEN;
    let region = Region {
        start: world.exposed[open.clone()].as_mut_ptr() as usize,
        len_bytes: open.len(),
        first_address: 0,
        access: Access::GET | Access::PUT,
    };
    // SAFETY: it goes with the engine.
    assert!(unsafe { world.engine.regions().expose(KEY, region) });
    let mut input = Input(bytes);
    while !input.0.is_empty() {
        world.step(&mut input);
        world.check();
    }
});

/// Of the region, and what is around it.
const KEY: u64 = 3;
const HIDDEN: usize = 8 << 10;
const EXPOSED: u8 = 0xee;

impl World {
    fn step(&mut self, input: &mut Input<'_>) {
        let World { engine, port, .. } = self;
        let done = match input.byte() % 22 {
            0..=3 => {
                let (from, tag) = (input.peer(), input.byte().into());
                let len_bytes = usize::from(input.byte());
                self.arrive(from, tag, input.bytes(len_bytes).to_vec());
                Ok(())
            }
            4 => {
                // The answer to something that was announced.
                let (from, which, flags) = (input.peer(), input.byte(), input.byte());
                let name = port.names.get(usize::from(which)).copied().unwrap_or(0);
                let mut bytes = vec![1, 3, flags, 0, 0, 0, 0, 0];
                bytes.extend_from_slice(&name.to_le_bytes());
                self.arrive(from, 0, bytes);
                Ok(())
            }
            5 => {
                // A whole message of any length.
                let (from, tag, len) = (input.peer(), input.byte().into(), input.byte());
                let mut bytes = vec![1, 1, 0, 0, 0, 0, 0, 0];
                bytes.resize(8 + usize::from(len) * 32, 7);
                self.arrive(from, tag, bytes);
                Ok(())
            }
            6 | 7 => {
                self.send(input);
                Ok(())
            }
            8 | 9 => {
                self.receive(input);
                Ok(())
            }
            10 => {
                let _ = engine.cancel(0, input.byte().into());
                Ok(())
            }
            11 => self.claim(input),
            12 => {
                let peer = input.peer();
                engine.peer_up(port, peer)
            }
            13 => {
                let peer = input.peer();
                self.lose(peer);
                Ok(())
            }
            14 => {
                let whims = input.byte();
                (port.refuses, port.delays) = (whims & 1 != 0, whims & 2 != 0);
                engine.catch_up(port)
            }
            20 | 21 => {
                self.push(input);
                Ok(())
            }
            15 | 16 => {
                self.reach(input);
                Ok(())
            }
            17 | 18 => {
                // A request for the region or an answer, of any length.
                let (from, kind, flags) = (input.peer(), 6 + input.byte() % 9, input.byte());
                let mut bytes = vec![1, kind, flags, 0, 0, 0, 0, 0];
                if matches!(kind, 6..=9) {
                    let place = [KEY, u64::from(input.byte()) * 128];
                    bytes.extend(place.iter().flat_map(|word| word.to_le_bytes()));
                }
                let len_bytes = usize::from(input.byte());
                bytes.extend_from_slice(input.bytes(len_bytes));
                bytes.resize(bytes.len() + usize::from(input.byte()) * 32, 7);
                self.arrive(from, 0, bytes);
                Ok(())
            }
            _ => self.proceed(),
        };
        done.expect("the port has no errors");
    }

    /// A short message that was announced comes, asked for or not, maybe under a name of few; or is announced.
    fn push(&mut self, input: &mut Input<'_>) {
        let (from, how, name) = (input.peer(), input.byte(), u64::from(input.byte() % 8));
        let len_bytes = u64::from(how >> 4) * 512;
        let bytes = match how & 3 {
            0 | 1 => {
                let words = [len_bytes, name].map(u64::to_le_bytes);
                [&[1, 2, 0x40, 0, 0, 0, 0, 0], words.as_flattened()].concat()
            }
            flags => {
                let mut bytes = vec![1, 4, if flags == 2 { 0x20 } else { 0 }, 0, 0, 0, 0, 0];
                bytes.extend_from_slice(&name.to_le_bytes());
                bytes.resize(bytes.len() + len_bytes as usize, 7);
                bytes
            }
        };
        self.arrive(from, 0, bytes);
    }

    /// ADI-2.3: nothing is believed of who has cheated, and all that is pending with him ends.
    fn arrive(&mut self, from: Address, tag: u64, bytes: Vec<u8>) {
        let before = self.engine.depths();
        let arrived = self.engine.arrived(&mut self.port, from, tag, &bytes);
        arrived.expect("the port has no errors");
        if self.engine.depths().faults > before.faults {
            self.fail_bodies(from);
            self.check();
            let left = self.pending.values().filter(|peer| **peer == Some(from));
            assert_eq!(left.count(), 0, "something is left of a peer that cheated");
            let depths = self.engine.depths();
            let again = self.engine.arrived(&mut self.port, from, tag, &bytes);
            again.expect("the port has no errors");
            assert_eq!(self.engine.depths(), depths, "it was believed again");
        }
    }

    fn lose(&mut self, peer: Address) {
        let gone = self.engine.peer_gone(&mut self.port, peer, Cause::Closed);
        gone.expect("the port has no errors");
        self.port.systems.retain(|(to, _)| *to != peer);
        self.fail_bodies(peer);
    }

    fn fail_bodies(&mut self, peer: Address) {
        for (to, name) in std::mem::take(&mut self.port.bodies) {
            if to == peer {
                let error = OpError::PeerGone(Cause::Closed);
                self.engine.body_sent(name, Err(error));
            } else {
                self.port.bodies.push((to, name));
            }
        }
    }

    /// The oldest of all that is under way ends.
    fn proceed(&mut self) -> Result<(), bcl_adi::Error> {
        if !self.port.bodies.is_empty() {
            let (_, name) = self.port.bodies.remove(0);
            self.engine.body_sent(name, Ok(()));
        }
        if let Some((_, incoming)) = self.port.expected.pop_first() {
            self.engine.body_received(incoming, Ok(()));
        }
        if !self.port.systems.is_empty() {
            let (to, life) = self.port.systems.remove(0);
            self.engine.system_sent(&mut self.port, to, life, Ok(()))?;
        }
        Ok(())
    }

    fn send(&mut self, input: &mut Input<'_>) {
        let (to, len, how) = (input.peer(), input.byte(), input.byte());
        let len_bytes = usize::from(len) * 64;
        self.last_context += 1;
        let send = Send {
            to,
            space: how & 3,
            tag: (how >> 4).into(),
            data: (how & 4 != 0).then_some(1),
            memory: Memory::one(self.memory.as_mut_ptr(), len_bytes),
            context: self.last_context,
            mark: 0,
            when: [When::Injected, When::Reusable, When::Delivered][usize::from(how) % 3],
            quiet: false,
        };
        // SAFETY: the memory is longer, and is there to the end.
        if unsafe { self.engine.send(&mut self.port, send) }.is_ok() {
            self.pending.insert(self.last_context, Some(to));
        }
    }

    fn reach(&mut self, input: &mut Input<'_>) {
        let (to, len, how) = (input.peer(), input.byte(), input.byte());
        let memory = Memory::one(self.memory.as_mut_ptr(), usize::from(len) * 64);
        let function = Function::ALL[usize::from(how >> 2) % Function::ALL.len()];
        let what = match (how & 3, Atomic::new(function, Datum::U64)) {
            (0, _) => What::Put { memory, data: None },
            (2, Some(atomic)) => {
                let elements = Memory::one(self.memory.as_mut_ptr(), usize::from(len) * 8);
                What::Atomic {
                    atomic,
                    count: len.into(),
                    operands: elements.clone(),
                    compared: elements.clone(),
                    found: (how & 0x80 != 0).then_some(elements),
                }
            }
            _ => What::Get { memory },
        };
        self.last_context += 1;
        let asked = OneSided {
            to,
            key: KEY,
            address: 0,
            what,
            context: self.last_context,
            mark: 0,
            quiet: false,
            injects: how & 0x40 != 0,
        };
        // SAFETY: as of `send`.
        if unsafe { self.engine.one_sided(&mut self.port, asked) }.is_ok() {
            self.pending.insert(self.last_context, Some(to));
        }
    }

    fn receive(&mut self, input: &mut Input<'_>) {
        let (from, len, how) = (input.peer(), input.byte(), input.byte());
        let source = (how & 4 == 0).then_some(from);
        self.last_context += 1;
        let receive = Receive {
            wanted: wanted(how, source),
            memory: Memory::one(self.memory.as_mut_ptr(), usize::from(len) * 64),
            context: self.last_context,
            mark: 0,
            multi_min_free_bytes: (how & 8 != 0).then_some(len.into()),
        };
        self.pending.insert(self.last_context, source);
        // SAFETY: as above.
        let received = unsafe { self.engine.receive(&mut self.port, receive) };
        received.expect("its arguments are right");
    }

    fn claim(&mut self, input: &mut Input<'_>) -> Result<(), bcl_adi::Error> {
        let wanted = wanted(input.byte(), None);
        let claimed = self.engine.claim(&wanted)?;
        self.claims.extend(claimed.map(|(_, id)| id));
        let how = input.byte();
        let Some(id) = self.claims.pop().filter(|_| how & 1 != 0) else {
            return Ok(());
        };
        if how & 2 != 0 {
            return self.engine.discard_claimed(&mut self.port, id);
        }
        self.last_context += 1;
        self.pending.insert(self.last_context, None);
        let memory = Memory::one(self.memory.as_mut_ptr(), usize::from(how) * 64);
        // SAFETY: as above.
        unsafe {
            self.engine
                .receive_claimed(&mut self.port, id, memory, (self.last_context, 0))
        }
    }

    /// Each operation ends once, and what waits here was granted (ADI-4.1, 4.4).
    fn check(&mut self) {
        while let Some(completion) = self.engine.next_completion() {
            if matches!(completion.kind, Ended::Written | Ended::Lost) {
                continue;
            }
            assert!(self.pending.contains_key(&completion.context));
            if completion.released {
                self.pending.remove(&completion.context);
            }
        }
        let (before, rest) = self.exposed.split_at(HIDDEN);
        let behind = &rest[rest.len() - HIDDEN..];
        assert!(before.iter().chain(behind).all(|byte| *byte == EXPOSED));
        let depths = self.engine.depths();
        assert!(
            depths.unexpected_bytes <= depths.granted_bytes,
            "{depths:?}"
        );
        assert!(depths.granted_bytes <= 64 << 20, "{depths:?}");
        assert!(depths.kept_bytes <= 64 << 20, "{depths:?}");
    }
}

fn wanted(how: u8, from: Option<Address>) -> Wanted {
    Wanted {
        space: how & 3,
        source: from.map_or(Source::Any, Source::Peer),
        tag: (how >> 4).into(),
        ignore: if how & 0x40 != 0 { !0 } else { 0 },
    }
}
