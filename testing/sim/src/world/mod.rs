//! A world: processes on a simulated network, what their programs do, and what is to be true of it.
//!
//! Read [`World::run`], then [`seat`] (what there is of each process), [`turns`] (whatever happens at a time),
//! [`process`] and [`program`] (what processes and their programs do), [`news`] (what they are told, and whether the
//! oracle believes it), [`watch`] (what has to be true meanwhile), [`upset`] (what befalls them) and [`stranger`]
//! (who wishes them ill).

mod goodput;
mod news;
mod process;
mod program;
mod seat;
mod stranger;
mod turns;
mod upset;
mod verdict;
mod watch;

use bcl_types::Random;

use crate::net::{Handed, Network};
use crate::oracle::{Ledger, Violation, Windows};
use crate::party::{Keys, Party};
use crate::{Plan, Schedule};

pub use goodput::{Goodput, Streams};
pub use verdict::{Report, Wrong};

use seat::SeatState;
use stranger::Stranger;
use turns::Turn;

/// No world needs more steps; one that does is going round in circles.
const MOST_STEPS: u64 = 5_000_000;

/// Where a time line goes, line by line.
pub type Trace = Box<dyn FnMut(u64, &str)>;

/// A world at work.
pub struct World<P: Party> {
    plan: Plan,
    net: Network,
    schedule: Schedule<Turn>,
    seats: Vec<SeatState<P>>,
    common: P::Common,
    ledger: Ledger,
    windows: Windows,
    /// What the launcher of each job tells its processes.
    keys: [Keys; 2],
    stranger: Option<Stranger>,
    random: Random,
    now_ns: u64,
    steps: u64,
    /// When the last program had started its last operation.
    idle_from_ns: u64,
    /// Payload that was delivered, by sender.
    delivered_bytes: Vec<u64>,
    /// The longest time that a program waited for something and was told nothing.
    longest_lull_ns: u64,
    trace: Option<Trace>,
}

impl<P: Party> World<P> {
    /// The world of `plan` before anything has happened.
    pub fn new(plan: Plan) -> Self {
        let mut random = Random::new(plan.seed ^ 0x0077_6f72_6c64);
        let mut world = Self {
            net: Network::new(random.fork()),
            schedule: Schedule::new(),
            seats: Vec::new(),
            common: P::Common::default(),
            ledger: Ledger::default(),
            windows: Windows::new(plan.seats),
            keys: Default::default(),
            stranger: plan
                .stranger_gap_ns
                .map(|gap_ns| Stranger::new(gap_ns, random.fork())),
            random,
            now_ns: 0,
            steps: 0,
            idle_from_ns: 0,
            delivered_bytes: vec![0; plan.seats],
            longest_lull_ns: 0,
            trace: None,
            plan,
        };
        world.build();
        world
    }

    /// From now on every line of the time line goes to `trace`; packets have to be observed by themselves.
    pub fn trace(&mut self, trace: Trace) {
        self.trace = Some(trace);
    }

    /// The network of this world.
    pub fn network(&mut self) -> &mut Network {
        &mut self.net
    }

    /// Runs until everything is over, or until something is wrong.
    pub fn run(mut self) -> Result<Report, Box<Wrong>> {
        match self.run_to_end() {
            Ok(()) => Ok(self.report()),
            Err(what) => Err(self.wrong(what)),
        }
    }

    /// Runs until `until_ns`, or until something is wrong.
    pub fn advance(&mut self, until_ns: u64) -> Result<(), Box<Wrong>> {
        self.run_until(until_ns).map_err(|what| self.wrong(what))
    }

    /// The implementation at `seat`, if its process is there.
    pub fn party(&self, seat: usize) -> Option<&P> {
        self.seats.get(seat)?.party.as_ref()
    }

    /// What all its parties know.
    pub fn common(&self) -> &P::Common {
        &self.common
    }

    /// Payload that was delivered so far, by sender.
    pub fn delivered_bytes(&self) -> &[u64] {
        &self.delivered_bytes
    }

    fn run_to_end(&mut self) -> Result<(), Violation> {
        while !self.is_over() {
            if !self.step()? {
                return Err(format!("nothing is to come, but {}", self.unfinished()));
            }
            self.check_budget()?;
        }
        self.check_silence()?;
        self.check_nothing_is_held()?;
        self.ledger.check_end()?;
        for (seat, party) in self.parties() {
            let checked = party.check_end();
            checked.map_err(|what| format!("seat {seat}: {what}"))?;
        }
        let seats = &self.seats;
        self.windows.check_end(|seat, word| {
            let party = seats[seat].party.as_ref();
            party.map_or(0, |party| party.window_word(word))
        })
    }

    /// Does the next thing; false if there is none.
    fn step(&mut self) -> Result<bool, Violation> {
        let (net_ns, own_ns) = (self.net.next_ns(), self.schedule.next_ns());
        let Some(next_ns) = net_ns.into_iter().chain(own_ns).min() else {
            return Ok(false);
        };
        self.steps += 1;
        if self.steps > MOST_STEPS && self.plan.traffic.operations < u32::MAX {
            return Err(format!("it goes round in circles: {}", self.unfinished()));
        }
        self.now_ns = next_ns;
        if net_ns == Some(next_ns) {
            match self.net.step() {
                Some(Handed::Process(host, datagram)) => self.handle(host.0, datagram)?,
                Some(Handed::Host(host, datagram)) => self.intercept(host.0, datagram),
                None => {}
            }
        } else if let Some((_, turn)) = self.schedule.take() {
            self.turn(turn)?;
        }
        Ok(true)
    }

    fn is_over(&self) -> bool {
        self.now_ns >= self.plan.whole_from_ns()
            && self.seats.iter().all(SeatState::is_done)
            && self.ledger.missing() == 0
            && self.parties().all(|(_, party)| party.is_idle())
    }

    fn parties(&self) -> impl Iterator<Item = (usize, &P)> {
        let parties = self.seats.iter().map(|seat| seat.party.as_ref());
        let numbered = parties.enumerate();
        numbered.filter_map(|(seat, party)| Some((seat, party?)))
    }

    fn run_until(&mut self, until_ns: u64) -> Result<(), Violation> {
        let is_before = |at_ns: Option<u64>| at_ns.is_some_and(|at_ns| at_ns < until_ns);
        while is_before(self.net.next_ns()) || is_before(self.schedule.next_ns()) {
            self.step()?;
        }
        Ok(())
    }

    fn say(&mut self, line: impl FnOnce(&Self) -> String) {
        if self.trace.is_some() {
            let text = line(self);
            let now_ns = self.now_ns;
            if let Some(trace) = &mut self.trace {
                trace(now_ns, &text);
            }
        }
    }
}
