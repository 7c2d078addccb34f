//! Which members there are, and where ([REFLECT-6.2]).

use bcl_os::sync::Ordering;

use super::Segment;
use crate::life::{Life, State};
use crate::net::writing::request;

impl Segment {
    /// What the members are, by number.
    pub fn states(&self) -> impl Iterator<Item = State> {
        let words = self.lines().iter().map(|line| &line.state);
        words.map(|word| State::of_word(word.load(Ordering::Acquire)))
    }

    /// What a member is, and the number of its process.
    pub fn member(&self, member: u16) -> (State, u32) {
        let line = &self.lines()[usize::from(member)];
        let state = State::of_word(line.state.load(Ordering::Acquire));
        (state, line.pid.load(Ordering::Relaxed))
    }

    /// How many there can be.
    pub fn members(&self) -> u16 {
        self.lines().len() as u16
    }

    /// Whether a member is there, and on this host.
    pub fn is_here(&self, member: u16) -> bool {
        self.state_here(member).is_some()
    }

    /// As what a member is there, if it is, and on this host.
    pub fn state_here(&self, member: u16) -> Option<State> {
        let (state, _) = self.member(member);
        (state.life == Life::There && self.host_of(member) == 0).then_some(state)
    }

    /// The host that a member is on, 0 if that is this one.
    pub fn host_of(&self, member: u16) -> u64 {
        self.lines()[usize::from(member)]
            .host
            .load(Ordering::Relaxed)
    }

    /// Writes down what is known of a member that is on another host.
    pub fn hear_of(&self, member: u16, host: u64, state: State) {
        let line = &self.lines()[usize::from(member)];
        line.pid.store(0, Ordering::Relaxed);
        line.host.store(host, Ordering::Relaxed);
        let before = line.state.swap(state.to_word(), Ordering::AcqRel);
        if before != state.to_word() {
            self.tell_of(state);
        }
    }

    /// The hosts of the members that are there, one for each: 0 is this one.
    pub fn hosts_there(&self) -> impl Iterator<Item = u64> + '_ {
        let lines = self.lines().iter();
        let there = lines
            .filter(|line| State::of_word(line.state.load(Ordering::Acquire)).life == Life::There);
        there.map(|line| line.host.load(Ordering::Relaxed))
    }

    /// A member has come or ended.
    fn tell_of(&self, state: State) {
        if self.bell.is_some() {
            request(self);
        }
        if state.life != Life::There {
            self.header().shared.ends.fetch_add(1, Ordering::Release);
        }
        self.wake_all();
    }

    /// Writes down that this process is a member. Only who has its seat may.
    pub fn enter(&self, member: u16, state: State, must_fence: bool) {
        let line = &self.lines()[usize::from(member)];
        if must_fence {
            self.have_all_fence();
        }
        let pid = rustix::process::getpid().as_raw_nonzero().get();
        line.pid.store(pid.cast_unsigned(), Ordering::Relaxed);
        line.host.store(0, Ordering::Relaxed);
        line.state.store(state.to_word(), Ordering::Release);
        self.tell_of(state);
    }

    /// Writes down that a member has ended, unless that is known or it has come again meanwhile.
    pub fn leave(&self, member: u16, before: State, after: State) {
        let line = &self.lines()[usize::from(member)];
        let exchanged = line.state.compare_exchange(
            before.to_word(),
            after.to_word(),
            Ordering::AcqRel,
            Ordering::Relaxed,
        );
        if exchanged.is_ok() {
            // Its own sleepers too, if it leaves.
            self.tell_of(after);
            self.rise(member);
        }
    }

    /// How many members have ended so far.
    pub fn ends(&self) -> u32 {
        self.header().shared.ends.load(Ordering::Acquire)
    }
}
