//! Parties whose programs exchange tagged messages: each is an [`Engine`] over the endpoint of a [`SimPort`]
//! (`spec/adi.md`).
//!
//! Read on with `wire` (the port as the engine has it), `program` and `one_sided` (what is asked of the engine), `judge` (whether
//! what it tells can be) and `ledger` (what all programs know together, with the lists that say which message meets which receive).

mod judge;
mod ledger;
#[path = "../../../../middle/adi/testing/lists.rs"]
mod lists;
mod one_sided;
mod program;
mod wire;

use std::collections::VecDeque;
use std::net::SocketAddr;

use bcl_adi::{Depths, Engine};
use bcl_types::Random;

use crate::SimPort;
use crate::oracle::{Seat, Violation};
use crate::party::{Held, Interception, News, Party, Request, Setup};
use crate::port::{address, seat};

pub use ledger::{Ledger, Tally};

use judge::Judge;
use ledger::Common;
use one_sided::Exposed;
use program::Program;
use wire::{Limits, Told, Wire};

/// The most that an endpoint grants a peer ([ADI-4.4]).
const WINDOW_MAX: usize = 256 << 10;

/// The kind of a message that asks for what lies in the window ([ADI-2]).
const GET: u8 = 7;

/// Between two questions whether those are there who are waited for ([ADI-6.5]).
const ASKED_EACH_NS: u64 = 1_000_000_000;

/// One endpoint of one process, and its program.
pub struct TaggedPort {
    wire: Wire,
    engine: Engine,
    program: Program,
    judge: Judge,
    exposed: Exposed,
    ask_at_ns: u64,
    news: VecDeque<News>,
    is_closing: bool,
}

impl TaggedPort {
    /// The books are told the next thing, or the program is; false if there is nothing.
    fn progress(&mut self) -> Result<bool, Violation> {
        if self.is_closing {
            return Ok(self.hear_no_more());
        }
        if let Some(completion) = self.engine.next_completion() {
            let news = self.judge.completed(&completion)?;
            if matches!(news, News::Ended { result: Err(_), .. }) {
                self.news
                    .extend(self.exposed.give_up(seat(completion.peer)));
            }
            self.news.push_back(news);
            return Ok(true);
        }
        self.engine.catch_up(&mut self.wire).map_err(text)?;
        self.reach_on()?;
        if let Some(told) = self.wire.next() {
            self.tell(told)?;
            return self.wire.wrong.take().map_or(Ok(true), Err);
        }
        if self.engine.has_completions() {
            return Ok(true);
        }
        self.judge.check_ends()?;
        self.tidy_up()
    }

    /// The endpoint asks after peers, and the program wants something, if it is time.
    fn go_on(&mut self, now_ns: u64) -> Result<(), Violation> {
        if self.ask_at_ns <= now_ns {
            self.ask_at_ns = now_ns + ASKED_EACH_NS;
            let asked = self.engine.ask_after_peers(&mut self.wire);
            asked.map_err(text)?;
        }
        match self.program.next_ns {
            Some(at_ns) if at_ns <= now_ns => self.act(now_ns),
            _ => Ok(()),
        }
    }

    fn tell(&mut self, told: Told) -> Result<(), Violation> {
        let Self {
            wire,
            engine,
            judge,
            news,
            ..
        } = self;
        let done = match told {
            Told::System(from, handle, tag) => {
                let bytes = wire.port.endpoint.data(&handle).to_vec();
                judge.arrived(seat(from), tag, &bytes)?;
                wire.lends_window |= bytes.get(1) == Some(&GET);
                let done = engine.arrived(wire, from, tag, &bytes);
                wire.port.endpoint.release(&handle);
                wire.port.manage(wire.now_ns);
                done
            }
            Told::Up(peer) => {
                news.push_back(News::PeerUp(seat(peer)));
                engine.peer_up(wire, peer)
            }
            Told::Gone(peer, cause) => {
                judge.lose(seat(peer));
                news.push_back(News::PeerGone(seat(peer), cause.to_string()));
                engine.peer_gone(wire, peer, cause)
            }
            Told::SystemSent(to, life, result) => {
                // What failed before the last end belongs to that.
                if result.is_err() && life == self.judge.epoch(seat(to)).1 {
                    self.judge.lose(seat(to));
                }
                engine.system_sent(wire, to, life, result)
            }
            Told::BodySent(name, result) => {
                engine.body_sent(name, result);
                Ok(())
            }
            Told::BodyReceived(incoming, result) => {
                engine.body_received(incoming, result);
                Ok(())
            }
        };
        done.map_err(text)
    }

    /// After it has closed its port, the program looks at nothing.
    fn hear_no_more(&mut self) -> bool {
        let told = self.wire.next();
        if let Some(Told::System(_, handle, _)) = &told {
            self.wire.port.endpoint.release(handle);
        }
        told.is_some()
    }
}

fn text(error: bcl_adi::Error) -> Violation {
    format!("the books say: {error}")
}

impl Party for TaggedPort {
    type Common = Common;

    fn start(now_ns: u64, setup: &Setup, common: &Common) -> Self {
        let mut port = SimPort::start(now_ns, setup, &());
        port.memory.immediates_follow = false;
        let mut random = Random::new(setup.seed ^ 0x7461_6767_6564);
        let limits = Limits {
            ops: *random.pick(&[8, 64, 4096]),
            posts: *random.pick(&[2, 64, 65536]),
            receives_first: !random.one_in(4),
        };
        common.borrow_mut().start(setup.seat, setup.life);
        let engine = Engine::new(address(setup.seat), setup.seed as u32);
        Self {
            wire: Wire::new(port, limits),
            exposed: Exposed::new(&engine, setup.window_bytes),
            engine,
            ask_at_ns: now_ns + ASKED_EACH_NS,
            program: Program::new(now_ns, setup, random),
            judge: Judge::new(setup.seat, setup.life, Common::clone(common)),
            news: VecDeque::new(),
            is_closing: false,
        }
    }

    fn handle(&mut self, now_ns: u64, from: SocketAddr, bytes: &mut [u8]) {
        self.wire.port.handle(now_ns, from, bytes);
    }

    fn last_words(&self) -> Vec<(SocketAddr, Vec<u8>)> {
        self.wire.port.last_words()
    }

    fn intercept(&mut self, now_ns: u64, from: SocketAddr, bytes: &[u8]) -> Interception {
        self.wire.port.intercept(now_ns, from, bytes)
    }

    fn has_records(&mut self) -> bool {
        self.wire.port.has_records()
    }

    fn handle_record(&mut self, now_ns: u64) -> bool {
        self.wire.port.handle_record(now_ns)
    }

    fn transmit(&mut self, now_ns: u64) -> Option<(SocketAddr, Vec<u8>)> {
        self.wire.port.transmit(now_ns)
    }

    fn next_timeout_ns(&mut self) -> Option<u64> {
        let port = self.wire.port.next_timeout_ns();
        let own = [self.program.next_ns, Some(self.ask_at_ns)];
        let own = own.into_iter().flatten().filter(|_| !self.is_closing);
        port.into_iter().chain(own).min()
    }

    fn on_timeout(&mut self, now_ns: u64) {
        self.wire.now_ns = now_ns;
        let port = self.wire.port.next_timeout_ns();
        if port.is_some_and(|at_ns| at_ns <= now_ns) {
            self.wire.port.on_timeout(now_ns);
        }
        if !self.is_closing
            && let Err(what) = self.go_on(now_ns)
        {
            self.news.push_back(News::Wrong(what));
        }
    }

    fn request(&mut self, now_ns: u64, to: Seat, request: Request) {
        self.wire.now_ns = now_ns;
        if let Err(what) = self.reach(to, request) {
            self.news.push_back(News::Wrong(what));
        }
    }

    fn post(&mut self, _now_ns: u64, _channel: u16, _capacity_bytes: usize) {}

    fn accept(&mut self, _now_ns: u64, _message: u64, _capacity_bytes: usize) {}

    fn release(&mut self, _now_ns: u64, _message: u64) {}

    fn close(&mut self, now_ns: u64) {
        self.is_closing = true;
        self.wire.port.close(now_ns);
    }

    fn is_drained(&self) -> bool {
        self.wire.port.is_drained()
    }

    fn moved(&mut self, seat: Seat, address: SocketAddr) {
        self.wire.port.moved(seat, address);
    }

    fn news(&mut self, now_ns: u64) -> Option<News> {
        self.wire.now_ns = now_ns;
        while self.news.is_empty() {
            match self.progress() {
                Ok(true) => {}
                Ok(false) => return None,
                Err(what) => self.news.push_back(News::Wrong(what)),
            }
        }
        self.news.pop_front()
    }

    fn window_word(&self, index: usize) -> u64 {
        self.exposed.word(index)
    }

    fn held(&self) -> Held {
        self.wire.port.held()
    }

    fn is_idle(&self) -> bool {
        let Judge {
            sends, receives, ..
        } = &self.judge;
        self.program.next_ns.is_none()
            && receives.is_empty()
            && sends.values().all(|sending| sending.is_quiet)
            && self.is_empty()
            && !self.is_awaited()
    }

    fn unfinished(&self) -> String {
        let sends = self.judge.sends.iter();
        let first = sends.clone().find(|(_, sending)| !sending.is_quiet);
        let first = first.map(|(context, sending)| (context, sending.to));
        format!(
            "{:?}, {}, the program goes on at {:?}, the first send that has not ended is {first:?}, receives {:?}, some message is missing: {}, {:?}",
            self.wire.limits,
            self.wire.describe(),
            self.program.next_ns,
            self.judge.receives.keys(),
            self.is_awaited(),
            self.engine.depths(),
        )
    }

    fn check_end(&self) -> Result<(), Violation> {
        if !self.is_empty() {
            return Err(format!(
                "all is over, but the books hold {:?}",
                self.engine.depths()
            ));
        }
        let peers = self.held().connections;
        let granted_bytes = self.engine.depths().granted_bytes;
        if granted_bytes > peers * WINDOW_MAX {
            return Err(format!(
                "{granted_bytes} bytes are granted to {peers} peers"
            ));
        }
        self.judge.check_used()
    }

    fn describe(bytes: &[u8]) -> String {
        SimPort::describe(bytes)
    }
}

impl TaggedPort {
    /// Whether nothing is in the books but what peers were granted.
    fn is_empty(&self) -> bool {
        let depths = self.engine.depths();
        let granted_bytes = depths.granted_bytes;
        depths
            == Depths {
                granted_bytes,
                ..Depths::default()
            }
    }

    /// Whether something that it has sent has not come.
    fn is_awaited(&self) -> bool {
        let judge = &self.judge;
        let ledger = judge.common.borrow();
        ledger.is_missing(judge.seat, |to| judge.epoch(to))
    }
}
