//! A network of hosts, their members who write, and what happens to them.

use std::collections::BTreeMap;

use bcl_mirror::{Claimed, Event, HostId, Outgoing};
use bcl_types::{Random, Time};

use super::host::{Host, Member, address, group_address};
use super::ledger::{Ledger, Write, choose_place, guest_of, partition_of, write_bytes};
use super::plan::{Plan, Upset};
use crate::net::{
    Datagram, Handed, HostId as NetHost, HostSpec, Life, LinkSpec, Network, Partition, Site,
};
use crate::schedule::Schedule;

/// After the writing all has to come to rest within this time.
const REST_NS: u64 = 60_000_000_000;
/// Within so long a host that is silent is missed.
const MISSED_NS: u64 = 5_000_000_000;
/// So long what a process wrote last is waited for before its end is told.
const HELD_NS: u64 = 3_000_000_000;
/// How often is looked whether it has.
const LOOK_NS: u64 = 10_000_000;
/// How often a process asks whether it has become a member.
const CLAIM_NS: u64 = 1_000_000;
/// What a kernel lets wait in front of a card before who sends has to wait.
const BACKLOG_BYTES: u64 = 128 << 10;

/// One world.
pub struct World {
    plan: Plan,
    network: Network,
    schedule: Schedule<Step>,
    random: Random,
    hosts: Vec<Option<Host>>,
    /// Stopped ones do nothing.
    stopped: Vec<bool>,
    ledger: Ledger,
    /// The last write of a member's process that has ended, and when.
    ends: BTreeMap<u16, (Write, u64)>,
    out: Outgoing,
    now_ns: u64,
    packets: u64,
}

enum Step {
    Upset(Upset),
    Timer(usize),
    /// It goes on sending.
    Send(usize),
    Write(usize, u16),
    Claim(usize, u16),
}

/// How a world went.
#[derive(Debug, Clone, Copy)]
pub struct Outcome {
    /// Writes that reached other hosts.
    pub frames: u64,
    /// How often a log went on elsewhere.
    pub skips: u64,
    /// Packets sent.
    pub packets: u64,
    /// When all was at rest.
    pub rest_ns: u64,
}

impl std::fmt::Display for Outcome {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self {
            frames,
            skips,
            packets,
            rest_ns,
        } = self;
        write!(
            f,
            "{frames} writes seen, {skips} skips, {packets} packets, at rest after {} ms",
            rest_ns / 1_000_000
        )
    }
}

impl World {
    /// The world of a plan.
    pub fn new(plan: Plan) -> Self {
        let mut random = Random::new(plan.seed ^ 0x5eed);
        let mut network = Network::new(random.fork());
        let link = LinkSpec::GOOD.with_faults(plan.faults);
        for host in 0..plan.hosts {
            let spec = HostSpec {
                inbox_bytes: 4 << 20,
                ..HostSpec::GOOD
            };
            let id = network.add_host(spec);
            network.add_card(id, address(host).ip(), Site(0), link, link);
        }
        let mut schedule = Schedule::new();
        for (at_ns, upset) in &plan.upsets {
            schedule.add(*at_ns, Step::Upset(upset.clone()));
        }
        Self {
            hosts: (0..plan.hosts).map(|_| None).collect(),
            stopped: vec![false; plan.hosts],
            plan,
            network,
            schedule,
            random,
            ledger: Ledger::default(),
            ends: BTreeMap::new(),
            out: Outgoing::default(),
            now_ns: 0,
            packets: 0,
        }
    }

    /// Runs it to its end.
    ///
    /// # Errors
    /// What was wrong, and when.
    pub fn run(mut self) -> Result<Outcome, String> {
        match self.run_to_rest().and_then(|()| self.check_end()) {
            Ok(()) => Ok(Outcome {
                frames: self.ledger.frames,
                skips: self.ledger.skips,
                packets: self.packets,
                rest_ns: self.now_ns,
            }),
            Err(what) => Err(format!("after {} us: {what}", self.now_ns / 1000)),
        }
    }

    fn run_to_rest(&mut self) -> Result<(), String> {
        let end_ns = self.plan.writing_ns + REST_NS;
        // A host that ends or is cut off is missed only after a while.
        let quiet_of = |(at_ns, upset): &(u64, Upset)| match upset {
            Upset::Start(_) => *at_ns,
            _ => *at_ns + MISSED_NS,
        };
        let last_ns = self.plan.upsets.iter().map(quiet_of).max();
        let mut quiet_ns = last_ns.unwrap_or(0).max(self.plan.writing_ns);
        loop {
            let times = [self.network.next_ns(), self.schedule.next_ns()];
            let Some(next_ns) = times.into_iter().flatten().min() else {
                return Ok(());
            };
            if next_ns > quiet_ns {
                if self.is_at_rest() {
                    return Ok(());
                }
                quiet_ns += LOOK_NS;
            }
            if next_ns > end_ns {
                return Err(self.describe());
            }
            self.now_ns = next_ns;
            if self.network.next_ns() == Some(next_ns) {
                if let Some(Handed::Process(host, datagram)) = self.network.step() {
                    self.deliver(host.0, &datagram)?;
                }
            } else if let Some((_, step)) = self.schedule.take() {
                self.step(step)?;
            }
        }
    }

    /// All know each other, and nothing is under way.
    fn is_at_rest(&self) -> bool {
        let there = self.hosts.iter().flatten().count();
        let mut hosts = self.hosts.iter().flatten();
        hosts.all(|host| host.is_at_rest() && host.mirror.hosts().count() + 1 == there)
    }

    fn describe(&self) -> String {
        let mut text = String::from("no rest:");
        for (number, host) in self.hosts.iter().enumerate() {
            if let Some(host) = host {
                text += &format!(" host {number}: {};", host.mirror.describe());
            }
        }
        text
    }

    fn deliver(&mut self, number: usize, datagram: &Datagram) -> Result<(), String> {
        let now = Time(self.now_ns);
        if let Some(host) = &mut self.hosts[number] {
            host.mirror
                .handle(now, datagram.from, &datagram.bytes, &host.memory);
        }
        self.pump(number)
    }

    fn step(&mut self, step: Step) -> Result<(), String> {
        match step {
            Step::Upset(upset) => {
                self.upset(&upset);
                Ok(())
            }
            Step::Timer(number) => {
                let now = Time(self.now_ns);
                if self.stopped[number] {
                    return Ok(());
                }
                if let Some(host) = &mut self.hosts[number] {
                    if host.armed_at > self.now_ns {
                        // It has been put off since.
                        return Ok(());
                    }
                    host.armed_at = u64::MAX;
                    host.mirror.on_timeout(now, &host.memory);
                }
                self.pump(number)
            }
            Step::Send(number) => {
                if let Some(host) = &mut self.hosts[number] {
                    host.will_send = false;
                }
                self.pump(number)
            }
            Step::Write(number, member) => self.write(number, member),
            Step::Claim(number, member) => self.claim(number, member),
        }
    }

    /// What a host has to send leaves, and what it has seen is judged.
    fn pump(&mut self, number: usize) -> Result<(), String> {
        let now = Time(self.now_ns);
        let from = address(number);
        let Some(host) = &mut self.hosts[number] else {
            return Ok(());
        };
        if self.stopped[number] {
            return Ok(());
        }
        loop {
            let free_ns = self.network.may_send_at_ns(from.ip(), BACKLOG_BYTES);
            if free_ns > self.now_ns {
                if !std::mem::replace(&mut host.will_send, true) {
                    self.schedule.add(free_ns, Step::Send(number));
                }
                break;
            }
            if !host.mirror.poll_transmit(now, &host.memory, &mut self.out) {
                break;
            }
            self.packets += self.out.to.len() as u64;
            for to in &self.out.to {
                let datagram = Datagram::new(from, *to, self.out.bytes.clone());
                let (now_ns, host) = (self.now_ns, NetHost(number));
                if *to == group_address() {
                    let hearers = self.plan.hearers(now_ns);
                    let others = hearers.filter(|other| *other != number);
                    let others = others.map(address).collect();
                    self.network.send_to_group(now_ns, host, datagram, others);
                } else {
                    self.network.send(now_ns, host, datagram);
                }
            }
        }
        for applied in host.memory.take_applied() {
            self.ledger.apply(number, &applied)?;
        }
        while let Some(event) = host.mirror.poll_event() {
            match event {
                Event::Usurped { member, .. } => {
                    if let Some(Member::In { last, .. }) = host.members.remove(&member) {
                        self.ledger.usurp(member, last.process);
                    }
                }
                Event::MemberGone {
                    member,
                    ended: Some(_),
                    ..
                } => {
                    let end = self.ends.get(&member);
                    // Later it may be told of, whatever is missing.
                    let is_held = |at_ns: u64| {
                        self.plan.only_processes_end() && self.now_ns < at_ns + HELD_NS
                    };
                    if let Some((last, _)) = end.filter(|(_, at_ns)| is_held(*at_ns)) {
                        self.ledger.check_ended(number, member, *last)?;
                    }
                }
                _ => {}
            }
        }
        let next = host.mirror.next_timeout().0;
        if next < host.armed_at {
            host.armed_at = next.max(self.now_ns);
            self.schedule.add(host.armed_at, Step::Timer(number));
        }
        Ok(())
    }

    fn write(&mut self, number: usize, member: u16) -> Result<(), String> {
        let pause_ns = self.random.below(self.plan.pause_ns) + 1;
        self.note_completion(number, member);
        if self.now_ns >= self.plan.writing_ns {
            return Ok(());
        }
        self.schedule
            .add(self.now_ns + pause_ns, Step::Write(number, member));
        let Some(host) = &mut self.hosts[number] else {
            return Ok(());
        };
        let Some(Member::In { last, written }) = host.members.get_mut(&member) else {
            return Ok(());
        };
        let geometry = &self.plan.geometry;
        let anywhere = self.plan.writes_anywhere;
        let place = choose_place(geometry, member, anywhere, &mut self.random);
        let Some((offset, words)) = place.filter(|_| !self.stopped[number]) else {
            return Ok(());
        };
        if !host.memory.has_room(member, 8 * words as u64) {
            return Ok(());
        }
        last.number = last.number.wrapping_add(1);
        let bytes = write_bytes(member, *last, offset, words);
        let is_awaited = self.random.one_in(3);
        *written = host.memory.write_as(member, offset, &bytes, is_awaited);
        self.ledger.lives_at(number, member, *last);
        self.pump(number)
    }

    /// If all who follow have what a member has written, that must not be lost.
    fn note_completion(&mut self, number: usize, member: u16) {
        let Some(host) = &self.hosts[number] else {
            return;
        };
        let Some(Member::In { last, written }) = host.members.get(&member) else {
            return;
        };
        let followers: Vec<_> = host.mirror.followers(member).collect();
        if *written > 0 && followers.iter().all(|(_, have)| have >= written) {
            let follows = |id| followers.iter().any(|(follower, _)| *follower == id);
            let with = numbers(&self.hosts, |id| id == host.id || follows(id));
            self.ledger.complete(member, *last, with);
        }
    }

    fn claim(&mut self, number: usize, member: u16) -> Result<(), String> {
        let now = Time(self.now_ns);
        let Some(host) = &mut self.hosts[number] else {
            return Ok(());
        };
        if !matches!(host.members.get(&member), Some(Member::Joining)) {
            return Ok(());
        }
        let claimed = match host.mirror.is_settled() {
            true => host.mirror.claim(now, member, &host.memory),
            false => Claimed::Pending,
        };
        match claimed {
            Claimed::Pending => {
                let at_ns = self.now_ns + CLAIM_NS;
                self.schedule.add(at_ns, Step::Claim(number, member));
            }
            Claimed::Denied(_) => {
                host.members.remove(&member);
            }
            Claimed::Ours { position, .. } => {
                host.memory.begin(member, position);
                // Before the first, which has the number 0.
                let last = Write {
                    process: self.ledger.next_process(member),
                    number: u32::MAX,
                };
                let written = 0;
                host.members.insert(member, Member::In { last, written });
                let own = host.id;
                let others: Vec<_> = host.mirror.hosts().map(|(id, _)| id).collect();
                let heard = numbers(&self.hosts, |id| id == own || others.contains(&id));
                self.ledger.begin(member, &heard);
                self.schedule.add(self.now_ns, Step::Write(number, member));
            }
        }
        self.pump(number)
    }

    fn join(&mut self, member: u16, number: usize) {
        if let Some(host) = &mut self.hosts[number]
            && !host.members.contains_key(&member)
        {
            host.members.insert(member, Member::Joining);
            self.schedule.add(self.now_ns, Step::Claim(number, member));
        }
    }

    fn upset(&mut self, upset: &Upset) {
        let now = Time(self.now_ns);
        match upset {
            Upset::Start(number) if self.hosts[*number].is_none() => {
                self.network
                    .set_life(self.now_ns, NetHost(*number), Life::Running);
                let host = Host::new(&self.plan, *number, &mut self.random, self.now_ns);
                self.hosts[*number] = Some(host);
                self.stopped[*number] = false;
                let members = 0..self.plan.geometry.members;
                let hosts = self.plan.hosts;
                for member in members.filter(|member| usize::from(*member) % hosts == *number) {
                    self.join(member, *number);
                }
                self.schedule.add(self.now_ns, Step::Send(*number));
            }
            Upset::Start(_) => {}
            Upset::Crash(number) => {
                self.hosts[*number] = None;
                self.ledger.forget(*number);
                self.network
                    .set_life(self.now_ns, NetHost(*number), Life::Dead);
            }
            Upset::End(member) => {
                for host in self.hosts.iter_mut().flatten() {
                    match host.members.remove(member) {
                        Some(Member::In { last, .. }) => {
                            if last.number != u32::MAX {
                                self.ends.insert(*member, (last, self.now_ns));
                            }
                            let ended = std::num::NonZeroU32::new(9);
                            host.mirror.end(now, *member, ended, &host.memory);
                        }
                        Some(Member::Joining) => host.mirror.unclaim(*member),
                        None => {}
                    }
                }
                for number in 0..self.plan.hosts {
                    self.schedule.add(self.now_ns, Step::Send(number));
                }
            }
            Upset::Join(member, number) => self.join(*member, *number),
            Upset::Cut(some) => self.network.set_partition(Some(Partition {
                inside: some.iter().map(|host| NetHost(*host)).collect(),
                lets_out: false,
                lets_in: false,
            })),
            Upset::Mend => self.network.set_partition(None),
            Upset::Stop(number) if self.hosts[*number].is_some() => {
                self.stopped[*number] = true;
                self.network
                    .set_life(self.now_ns, NetHost(*number), Life::Stopped);
            }
            Upset::Stop(_) => {}
            Upset::Takeover(number) => {
                if let Some(host) = &mut self.hosts[*number] {
                    host.taken_over(&mut self.random, self.now_ns);
                    self.schedule.add(self.now_ns, Step::Send(*number));
                }
            }
            Upset::GoOn(number) => {
                if self.hosts[*number].is_some() {
                    self.network
                        .set_life(self.now_ns, NetHost(*number), Life::Running);
                }
                self.stopped[*number] = false;
                if let Some(host) = &mut self.hosts[*number] {
                    host.armed_at = self.now_ns;
                    self.schedule.add(self.now_ns, Step::Timer(*number));
                }
            }
        }
    }

    /// What a host that is dead wrote last into the partitions of others some have seen, and others have not.
    fn is_to_be_same(&self, at: u64) -> bool {
        let guest = guest_of(&self.plan.geometry, at);
        guest.is_none_or(|guest| {
            let mut hosts = self.hosts.iter().flatten();
            hosts.any(|host| matches!(host.members.get(&guest), Some(Member::In { last, .. }) if last.number != u32::MAX))
        })
    }

    /// All regions are the same, and nothing that was complete is missing.
    fn check_end(&self) -> Result<(), String> {
        let hosts = self.hosts.iter().enumerate();
        let mut there = hosts.filter_map(|(number, host)| Some((number, host.as_ref()?)));
        let Some((first, model)) = there.next() else {
            return Ok(());
        };
        self.ledger.check_end(first)?;
        let model = model.memory.region();
        for (number, host) in there {
            self.ledger.check_end(number)?;
            let region = host.memory.region();
            let differs = |at: &usize| model[*at] != region[*at] && self.is_to_be_same(*at as u64);
            if let Some(at) = (0..model.len()).find(differs) {
                let word = at / 8 * 8;
                let of = |region: &[u8]| {
                    u64::from_le_bytes(region[word..word + 8].try_into().unwrap_or_default())
                };
                let geometry = &self.plan.geometry;
                let partition = partition_of(geometry, at as u64);
                return Err(format!(
                    "hosts {first} and {number} differ at {at}, in partition {partition:?} of {geometry:?}: {:x} and {:x}, {} skips",
                    of(&model),
                    of(&region),
                    self.ledger.skips
                ));
            }
        }
        Ok(())
    }
}

/// Those of the hosts that are there of which this is so.
fn numbers(hosts: &[Option<Host>], is_so: impl Fn(HostId) -> bool) -> Vec<usize> {
    let there = hosts.iter().enumerate();
    there
        .filter_map(|(number, host)| is_so(host.as_ref()?.id).then_some(number))
        .collect()
}
