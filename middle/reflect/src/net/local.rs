//! The members of this host, for who keeps the region: those who want to be, and those who have ended.

use bcl_mirror::{Claimed, Ended, Memory, Mirror, Saved};
use bcl_os::sync::Ordering;
use bcl_types::{Cause, Span, Time};

use super::memory::KeptMemory;
use super::wish;
use super::writing::tell;
use crate::life::{Life, State};
use crate::segment::Segment;

/// How long one that may be a member has to say that it is.
const PATIENCE: Span = Span::from_ms(5000);

/// Who is a member here, as the other hosts know.
pub struct Locals {
    members: Vec<Option<Here>>,
    requests_seen: Option<u32>,
    /// Somebody waits for an answer of other hosts.
    has_wishes: bool,
}

#[derive(Clone, Copy)]
struct Here {
    /// As what it has joined.
    joined: u32,
    /// Until then it may not have said so.
    by: Time,
    /// What it has been told of others that have what it wrote: how many, and up to where.
    told: (u64, u32),
}

impl Here {
    fn new(joined: u32, now: Time) -> Self {
        let (by, told) = (now + PATIENCE, (0, 0));
        Self { joined, by, told }
    }
}

/// How often somebody has joined as a member, by the epoch of its log ([REFLECT-7.4]).
pub fn joined_of(epoch: u64) -> u32 {
    (epoch >> 32) as u32
}

/// How a member has ended, for other hosts: the lower half of its state ([REFLECT-6.2]).
pub fn ended_of(state: State) -> Ended {
    std::num::NonZeroU32::new(state.to_word() as u32)
}

/// The other way round, whatever another host has said.
pub fn state_of(epoch: u64, ended: Ended) -> State {
    let joined = joined_of(epoch);
    let said = ended.map(|ended| State::of_word(ended.get().into()).life);
    match said {
        Some(life @ Life::Gone(_)) => State { joined, life },
        _ => vanished(joined),
    }
}

fn vanished(joined: u32) -> State {
    let life = Life::Gone(Cause::Vanished);
    State { joined, life }
}

impl Locals {
    /// As the process before has left it: which members are here, and how those have ended that were.
    pub fn find(segment: &Segment, logs: &[Saved], now: Time) -> (Self, Vec<Ended>) {
        let find = |(member, saved): (u16, &Saved)| {
            let (state, _) = segment.member(member);
            let joined = joined_of(saved.epoch);
            let is_granted =
                segment.book(member).answered.wish.load(Ordering::Acquire) == wish::GRANTED;
            let is_here = saved.is_ours && (is_granted || segment.is_here(member));
            let ended = match state.life {
                _ if !saved.is_ours || is_here => None,
                Life::Gone(_) => ended_of(state),
                _ => ended_of(vanished(joined)),
            };
            let joined = if is_granted { joined } else { state.joined };
            (is_here.then(|| Here::new(joined, now)), ended)
        };
        let (here, ended) = (0..).zip(logs).map(find).unzip();
        let locals = Self {
            members: here,
            requests_seen: None,
            has_wishes: false,
        };
        (locals, ended)
    }

    /// Whether it is to be looked soon again.
    pub fn is_waiting(&self) -> bool {
        self.has_wishes
    }

    /// Whether something was asked since the last look.
    pub fn has_requests(&self, segment: &Segment) -> bool {
        self.requests_seen != Some(segment.common().requests.load(Ordering::Acquire))
    }

    /// Another process is the member, elsewhere.
    pub fn is_usurped(&mut self, segment: &Segment, member: u16) {
        self.members[usize::from(member)] = None;
        let answered = &segment.book(member).answered;
        answered.writer.store(0, Ordering::Relaxed);
        tell(answered);
    }

    /// Sees who has come, wants to come, or has ended.
    pub fn look(&mut self, mirror: &mut Mirror, memory: &KeptMemory, now: Time) {
        let segment = memory.segment();
        if !self.has_requests(segment) && !self.has_wishes {
            return;
        }
        self.requests_seen = Some(segment.common().requests.load(Ordering::Acquire));
        self.has_wishes = false;
        for member in 0..self.members.len() as u16 {
            let wish = &segment.book(member).answered.wish;
            match wish.load(Ordering::Acquire) {
                wish::WANTED => self.grant(member, mirror, memory, now),
                wish::WITHDRAWN => {
                    mirror.unclaim(member);
                    wish.store(wish::NONE, Ordering::Release);
                }
                _ => {}
            }
            self.see_whether_ended(member, mirror, memory, now);
        }
    }

    fn grant(&mut self, member: u16, mirror: &mut Mirror, memory: &KeptMemory, now: Time) {
        let here = &mut self.members[usize::from(member)];
        if let Some(before) = here.take() {
            // Somebody else has its seat, so that it has ended.
            memory.finish(member);
            let ended = ended_of(vanished(before.joined));
            mirror.end(now, member, ended, memory);
        }
        let claimed = match mirror.is_settled() {
            true => mirror.claim(now, member, memory),
            false => Claimed::Pending,
        };
        let answered = &memory.segment().book(member).answered;
        let wish = match claimed {
            Claimed::Pending => {
                self.has_wishes = true;
                return;
            }
            Claimed::Denied(host) => {
                answered.holder.store(host.0, Ordering::Relaxed);
                wish::DENIED
            }
            Claimed::Ours { position, epoch } => {
                let joined = joined_of(epoch);
                memory.begin(member, position);
                answered.writer.store(joined.into(), Ordering::Relaxed);
                *here = Some(Here::new(joined, now));
                wish::GRANTED
            }
        };
        answered.wish.store(wish, Ordering::Release);
        tell(answered);
    }

    fn see_whether_ended(
        &mut self,
        member: u16,
        mirror: &mut Mirror,
        memory: &KeptMemory,
        now: Time,
    ) {
        let segment = memory.segment();
        let Some(here) = self.members[usize::from(member)] else {
            return;
        };
        let (state, _) = segment.member(member);
        let is_it = state.joined == here.joined && segment.host_of(member) == 0;
        if is_it && state.life == Life::There {
            return;
        }
        let ended = match state.life {
            Life::Gone(_) if is_it => state,
            // It has not said yet that it is there.
            _ if now < here.by => {
                self.has_wishes = true;
                return;
            }
            _ => vanished(here.joined),
        };
        self.members[usize::from(member)] = None;
        memory.finish(member);
        let answered = &segment.book(member).answered;
        answered.writer.store(0, Ordering::Relaxed);
        // Granted, and never taken up.
        let _ = answered.wish.compare_exchange(
            wish::GRANTED,
            wish::NONE,
            Ordering::Relaxed,
            Ordering::Relaxed,
        );
        mirror.end(now, member, ended_of(ended), memory);
    }

    /// Tells those who wait how many members have what they wrote.
    pub fn tell_who_has(&mut self, mirror: &Mirror, memory: &KeptMemory) {
        let segment = memory.segment();
        for (member, here) in (0..).zip(&mut self.members) {
            let Some(here) = here else {
                continue;
            };
            let answered = &segment.book(member).answered;
            let up_to = memory.awaited(member);
            let is_awaited = up_to != here.told.0 || answered.sleepers.load(Ordering::Relaxed) != 0;
            if !is_awaited {
                continue;
            }
            let told = (up_to, having(mirror, segment, member, up_to));
            if told != std::mem::replace(&mut here.told, told) {
                if up_to != answered.having_up_to.load(Ordering::Relaxed) {
                    answered.having.store(1, Ordering::Relaxed);
                    answered.having_up_to.store(up_to, Ordering::Release);
                }
                answered.having.store(told.1, Ordering::Release);
                tell(answered);
            }
        }
    }
}

/// How many members have a member's log up to there.
fn having(mirror: &Mirror, segment: &Segment, member: u16, up_to: u64) -> u32 {
    let followers = mirror.followers(member);
    let have_it: Vec<u64> = followers
        .filter(|(_, have)| *have >= up_to)
        .map(|(host, _)| host.0)
        .collect();
    let there = segment.hosts_there();
    let have_it = there.filter(|host| *host == 0 || have_it.contains(host));
    have_it.count() as u32
}
