//! The watch of one agent over all nodes: probes to the next ones in the ring, reports from everybody ([NODE-2], [NODE-3]).

use std::collections::BTreeMap;

use bcl_types::Random;

use crate::Node;
use crate::message::{Message, Purpose, REPORTS_MAX};
use crate::probing::{Probing, Step};
use crate::ring::Ring;
use crate::rumours::Rumours;
use crate::standing::{Report, Standing, State};

/// How fast. The time from a node's last answer to the verdict is at most `suspect_after_ms` + `confirm_ms`, and a turn
/// of whoever drives the watch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Config {
    /// Time between two probes of a node.
    pub probe_every_ms: u64,
    /// After which silence a node is suspected and others are asked.
    pub suspect_after_ms: u64,
    /// How long it, or those asked, may take then.
    pub confirm_ms: u64,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            probe_every_ms: 100,
            suspect_after_ms: 300,
            confirm_ms: 250,
        }
    }
}

/// What a watch wants done, or has to tell.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Action {
    /// A PROBE is to be sent. Interface programs answer it.
    Probe {
        /// To whom.
        to: Node,
        /// With which number.
        number: u32,
    },
    /// A message is to be sent to an agent; it may be lost.
    Send {
        /// To whom.
        to: Node,
        /// What.
        bytes: Vec<u8>,
    },
    /// A node is something else than it was, or this one is.
    Changed(Report),
    /// Whether a node that others may well reach answers to us: not, if this node is cut off.
    Reachable(Node, bool),
}

/// Nodes that each watches.
const WATCHED: usize = 2;
/// Nodes that are asked to probe one that is suspected, and that are told each report at a time.
const ASKED: usize = 2;
const TOLD: usize = 3;
const TELL_EVERY_MS: u64 = 50;
/// Between two calls to a node that is isolated, or that was never heard.
const CALL_EVERY_MS: u64 = 1_000;
/// Between two comparisons with a random node.
const COMPARE_EVERY_MS: u64 = 1_000;
/// Number of a probe that was made for somebody else has this bit.
const ERRAND: u32 = 1 << 31;

/// A probe for somebody else.
#[derive(Debug)]
struct Errand {
    asker: Node,
    target: Node,
    number: u32,
    until_ms: u64,
}

/// Which nodes are alive, as one agent sees it: it is told the time and what comes, and says what is to be sent.
#[derive(Debug)]
pub struct Watch {
    config: Config,
    own: Node,
    members: BTreeMap<Node, Standing>,
    /// Those who are named in the nodes file and were not heard of yet.
    unheard: Vec<Node>,
    /// Who is not isolated, and this node.
    ring: Ring,
    watched: Vec<Probing>,
    errands: Vec<Errand>,
    rumours: Rumours,
    random: Random,
    probes: u32,
    /// Who was heard last and when, and who before that.
    heard: [(Node, u64); 2],
    next_tell_ms: u64,
    next_call_ms: u64,
    next_compare_ms: u64,
    /// Where the next comparison begins.
    compared: Node,
    actions: Vec<Action>,
}

impl Watch {
    /// A watch that knows of nobody. `incarnation` is larger than that of the last run; `seed` differs between nodes.
    pub fn new(config: Config, own: Node, incarnation: u64, seed: u64) -> Self {
        let mut watch = Self {
            config,
            own,
            members: BTreeMap::new(),
            unheard: Vec::new(),
            ring: Ring::default(),
            watched: Vec::new(),
            errands: Vec::new(),
            rumours: Rumours::default(),
            random: Random::new(seed),
            probes: 0,
            heard: [(own, 0); 2],
            next_tell_ms: 0,
            next_call_ms: 0,
            next_compare_ms: 0,
            compared: 0,
            actions: Vec::new(),
        };
        watch.adopt(Report {
            node: own,
            standing: Standing {
                incarnation,
                life: 0,
                state: State::Rejoining,
            },
        });
        watch
    }

    /// There may be such a node.
    pub fn expect(&mut self, node: Node) {
        if !self.members.contains_key(&node) && !self.unheard.contains(&node) {
            self.unheard.push(node);
        }
    }

    /// All that is known, and who of them is suspected here.
    pub fn nodes(&self) -> impl Iterator<Item = (Report, bool)> {
        self.members.iter().map(|(node, standing)| {
            let is_suspected = |probing: &Probing| probing.node == *node && probing.is_suspected();
            let report = Report {
                node: *node,
                standing: *standing,
            };
            (report, self.watched.iter().any(is_suspected))
        })
    }

    /// What is known of a node.
    pub fn standing(&self, node: Node) -> Option<Standing> {
        self.members.get(&node).copied()
    }

    /// What is to be done, since it was asked last.
    pub fn actions(&mut self) -> Vec<Action> {
        std::mem::take(&mut self.actions)
    }

    /// When [`on_time`](Self::on_time) is to be called next.
    pub fn next_ms(&self) -> u64 {
        let probing = self.watched.iter().map(|p| p.next_ms(&self.config));
        let errands = self.errands.iter().map(|errand| errand.until_ms);
        let tell_ms = match self.rumours.is_empty() {
            true => u64::MAX,
            false => self.next_tell_ms,
        };
        let others = [tell_ms, self.next_call_ms, self.next_compare_ms];
        let next_ms = probing.chain(errands).chain(others).min();
        next_ms.unwrap_or(u64::MAX)
    }

    /// A probe was answered.
    pub fn on_answer(&mut self, now_ms: u64, from: Node, number: u32) {
        if let Some(at) = self
            .errands
            .iter()
            .position(|errand| errand.number == number && errand.target == from)
        {
            let errand = self.errands.swap_remove(at);
            self.send(errand.asker, Purpose::Answers(from), Vec::new());
        }
        let is_answer =
            |probing: &&mut Probing| probing.node == from && probing.is_answered_by(number);
        if let Some(probing) = self.watched.iter_mut().find(is_answer) {
            let was_unreachable = probing.is_unreachable;
            probing.on_heard(now_ms);
            self.on_heard(now_ms, from);
            if was_unreachable {
                self.actions.push(Action::Reachable(from, true));
            }
            self.confirm(from);
        }
    }

    /// Whoever has said that it is there, and answers, is alive ([NODE-1.3]).
    fn confirm(&mut self, node: Node) {
        if let Some(standing) = self.standing(node)
            && standing.state == State::Rejoining
        {
            let state = State::Alive;
            self.adopt(Report {
                node,
                standing: Standing { state, ..standing },
            });
        }
    }

    /// A message of another agent. Its check was right.
    pub fn on_message(&mut self, now_ms: u64, from: Node, bytes: &[u8]) {
        let Some(message) = Message::parse(bytes).filter(|_| from != self.own) else {
            return;
        };
        self.on_heard(now_ms, from);
        self.unheard.retain(|node| *node != from);
        for report in &message.reports {
            self.hear(*report);
        }
        match message.purpose {
            Purpose::Tell | Purpose::Silent(_) => {}
            Purpose::Ask(target) => self.run_errand(now_ms, from, target),
            Purpose::Answers(node) => {
                let is_of = |probing: &&mut Probing| probing.node == node;
                if let Some(probing) = self.watched.iter_mut().find(is_of) {
                    probing.on_heard(now_ms);
                }
            }
            Purpose::Compare(first) => self.compare(from, first, &message.reports),
        }
        self.follow_the_ring(now_ms);
    }

    fn run_errand(&mut self, now_ms: u64, asker: Node, target: Node) {
        // Nobody needs more of them, and anybody might ask.
        if self.errands.len() < 64 && self.members.contains_key(&target) && target != self.own {
            self.probes = self.probes.wrapping_add(1);
            let number = self.probes | ERRAND;
            self.errands.push(Errand {
                asker,
                target,
                number,
                until_ms: now_ms + self.config.confirm_ms / 2,
            });
            self.actions.push(Action::Probe { to: target, number });
        }
    }

    /// Tells the sender of reports what is known better here ([NODE-3.3]).
    fn compare(&mut self, from: Node, first: Node, theirs: &[Report]) {
        let named: BTreeMap<_, _> = theirs.iter().map(|r| (r.node, r.standing)).collect();
        let last = match theirs.last() {
            Some(last) if theirs.len() == REPORTS_MAX => last.node,
            _ => first.wrapping_sub(1),
        };
        let better: Vec<_> = self
            .members_between(first, last)
            .filter(|report| {
                named
                    .get(&report.node)
                    .is_none_or(|standing| report.standing > *standing)
            })
            .take(REPORTS_MAX)
            .collect();
        if !better.is_empty() {
            self.send(from, Purpose::Tell, better);
        }
    }

    /// What is known of the nodes from one to another, going round at the end of the numbers.
    fn members_between(&self, first: Node, last: Node) -> impl Iterator<Item = Report> {
        let span = last.wrapping_sub(first);
        self.members
            .range(first..)
            .chain(self.members.range(..first))
            .take_while(move |(node, _)| node.wrapping_sub(first) <= span)
            .map(|(node, standing)| Report {
                node: *node,
                standing: *standing,
            })
    }

    fn report(&self, node: Node) -> Option<Report> {
        let standing = self.standing(node)?;
        Some(Report { node, standing })
    }

    /// A report of somebody else.
    fn hear(&mut self, report: Report) {
        let known = self.standing(report.node);
        if known.is_some_and(|known| known >= report.standing) {
            return;
        }
        let is_refuted = report.node == self.own && {
            let own = known.unwrap_or(report.standing);
            let is_other_life =
                (report.standing.incarnation, report.standing.life) != (own.incarnation, own.life);
            is_other_life || report.standing.state == State::Isolated
        };
        if is_refuted {
            // We are here, whatever was said: a new life begins ([NODE-1.4]).
            let life = report.standing.life.wrapping_add(1);
            let state = State::Rejoining;
            let incarnation = report.standing.incarnation;
            let standing = Standing {
                incarnation,
                life,
                state,
            };
            self.adopt(Report { standing, ..report });
        } else {
            self.adopt(report);
        }
    }

    /// Something new is known, and is passed on.
    fn adopt(&mut self, report: Report) {
        let Report { node, standing } = report;
        self.members.insert(node, standing);
        self.unheard.retain(|unheard| *unheard != node);
        if standing.state == State::Isolated && node != self.own {
            self.ring.remove(node);
            self.watched.retain(|probing| probing.node != node);
        } else {
            self.ring.insert(node);
        }
        self.rumours.spread(report, self.ring.len());
        self.actions.push(Action::Changed(report));
    }

    fn on_heard(&mut self, now_ms: u64, node: Node) {
        let [last, _] = self.heard;
        if last.0 != node {
            self.heard[1] = last;
        }
        self.heard[0] = (node, now_ms);
    }

    /// What is due.
    pub fn on_time(&mut self, now_ms: u64) {
        self.follow_the_ring(now_ms);
        for index in 0..self.watched.len() {
            let step = self
                .watched
                .get_mut(index)
                .map(|p| (p.node, p.step(now_ms, &self.config)));
            match step {
                Some((node, Some(Step::Probe))) => self.probe(now_ms, index, node),
                Some((node, Some(Step::Suspect))) => {
                    for _ in 0..ASKED {
                        if let Some(other) = self.somebody_but(node) {
                            self.send(other, Purpose::Ask(node), Vec::new());
                        }
                    }
                    self.probe(now_ms, index, node);
                }
                Some((node, Some(Step::GiveUp { suspected_ms }))) => {
                    self.give_up(index, node, suspected_ms);
                }
                _ => {}
            }
        }
        self.follow_the_ring(now_ms);
        let (late, waiting) = std::mem::take(&mut self.errands)
            .into_iter()
            .partition(|errand| errand.until_ms <= now_ms);
        self.errands = waiting;
        for errand in late {
            let Errand { asker, target, .. } = errand;
            self.send(asker, Purpose::Silent(target), Vec::new());
        }
        if now_ms >= self.next_tell_ms && !self.rumours.is_empty() {
            self.next_tell_ms = now_ms + TELL_EVERY_MS;
            self.tell();
        }
        if now_ms >= self.next_call_ms {
            self.next_call_ms = now_ms + CALL_EVERY_MS;
            self.call();
        }
        if now_ms >= self.next_compare_ms {
            self.next_compare_ms = now_ms + COMPARE_EVERY_MS;
            self.begin_comparison();
        }
    }

    /// Watches those who come next in the ring ([NODE-2.1]).
    fn follow_the_ring(&mut self, now_ms: u64) {
        let next: Vec<_> = self.ring.after(self.own).take(WATCHED).collect();
        self.watched.retain(|probing| next.contains(&probing.node));
        for node in next {
            if !self.watched.iter().any(|probing| probing.node == node) {
                self.watched.push(Probing::new(node, now_ms));
            }
        }
    }

    fn probe(&mut self, now_ms: u64, index: usize, node: Node) {
        self.probes = self.probes.wrapping_add(1);
        let number = self.probes & !ERRAND;
        if let Some(probing) = self.watched.get_mut(index) {
            probing.on_sent(number, now_ms);
        }
        self.actions.push(Action::Probe { to: node, number });
    }

    /// The verdict over a silent node ([NODE-2.4]).
    fn give_up(&mut self, index: usize, node: Node, suspected_ms: u64) {
        let is_somebody_there =
            |(other, heard_ms): &(Node, u64)| *other != node && *heard_ms >= suspected_ms;
        let are_there_others = self.ring.len() > 2;
        if are_there_others && !self.heard.iter().any(is_somebody_there) {
            // Nobody else is heard either, so that it is us who are cut off: nothing to tell anybody.
            if let Some(probing) = self.watched.get_mut(index) {
                probing.is_unreachable = true;
            }
            self.actions.push(Action::Reachable(node, false));
            return;
        }
        if let Some(standing) = self.standing(node) {
            let state = State::Isolated;
            let report = Report {
                node,
                standing: Standing { state, ..standing },
            };
            self.adopt(report);
            // Should it hear this, it will say that it is there.
            self.send(node, Purpose::Tell, vec![report]);
        }
    }

    /// Tells a few nodes what is new.
    fn tell(&mut self) {
        let reports = self.rumours.next();
        for _ in 0..TOLD {
            if let Some(node) = self.somebody_but(self.own) {
                self.send(node, Purpose::Tell, reports.clone());
            }
        }
    }

    /// Calls one who is isolated, and one who was never heard ([NODE-3.4]).
    fn call(&mut self) {
        let isolated: Vec<_> = self
            .members
            .iter()
            .filter(|(node, standing)| **node != self.own && standing.state == State::Isolated)
            .map(|(node, _)| *node)
            .collect();
        for group in [isolated, self.unheard.clone()] {
            if !group.is_empty() {
                let node = group[self.random.index(group.len())];
                let known = [self.report(node), self.report(self.own)];
                self.send(
                    node,
                    Purpose::Compare(0),
                    known.into_iter().flatten().collect(),
                );
            }
        }
    }

    /// Compares a part of what is known with somebody ([NODE-3.3]).
    fn begin_comparison(&mut self) {
        let Some(node) = self.somebody_but(self.own) else {
            return;
        };
        let first = self.compared;
        let all = self.members_between(first, first.wrapping_sub(1));
        let part: Vec<_> = all.take(REPORTS_MAX).collect();
        self.compared = part.last().map_or(0, |report| report.node.wrapping_add(1));
        self.send(node, Purpose::Compare(first), part);
    }

    /// A random node that is not isolated.
    fn somebody_but(&mut self, node: Node) -> Option<Node> {
        // A few tries, since two of them may not be chosen.
        (0..8).find_map(|_| {
            let found = self.ring.any(self.random.next_u64())?;
            (found != node && found != self.own).then_some(found)
        })
    }

    fn send(&mut self, to: Node, purpose: Purpose, reports: Vec<Report>) {
        let bytes = Message { purpose, reports }.to_bytes();
        self.actions.push(Action::Send { to, bytes });
    }
}
