//! The watch over one node ([NODE-2]): probes, suspicion, verdict.

use crate::Node;
use crate::watch::Config;

/// One node that is watched: what was asked, and what was heard.
#[derive(Debug)]
pub struct Probing {
    pub node: Node,
    /// Number of the latest probe, and when it left.
    number: u32,
    sent_ms: Option<u64>,
    heard_ms: u64,
    suspected_ms: Option<u64>,
    /// It was given up without the others being told.
    pub is_unreachable: bool,
}

/// What is to be done about a node now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    Probe,
    /// Others are to be asked.
    Suspect,
    /// It is silent, and was since this time.
    GiveUp {
        suspected_ms: u64,
    },
}

impl Probing {
    pub fn new(node: Node, now_ms: u64) -> Self {
        Self {
            node,
            number: 0,
            sent_ms: None,
            heard_ms: now_ms,
            suspected_ms: None,
            is_unreachable: false,
        }
    }

    pub fn is_suspected(&self) -> bool {
        self.suspected_ms.is_some()
    }

    /// The probe with this number leaves.
    pub fn on_sent(&mut self, number: u32, now_ms: u64) {
        self.number = number;
        self.sent_ms = Some(now_ms);
    }

    /// Whether this is an answer to the latest probe; to an earlier one it could be a copy.
    pub fn is_answered_by(&self, number: u32) -> bool {
        self.sent_ms.is_some() && self.number == number
    }

    /// It has answered, us or somebody whom we have asked.
    pub fn on_heard(&mut self, now_ms: u64) {
        self.heard_ms = now_ms;
        self.suspected_ms = None;
        self.is_unreachable = false;
    }

    fn next_probe_ms(&self, config: &Config) -> u64 {
        let every_ms = match self.suspected_ms {
            Some(_) if !self.is_unreachable => config.probe_every_ms / 2,
            _ => config.probe_every_ms,
        };
        self.sent_ms.map_or(0, |sent_ms| sent_ms + every_ms)
    }

    /// When the next step is due, unless it is heard.
    pub fn next_ms(&self, config: &Config) -> u64 {
        let verdict_ms = match self.suspected_ms {
            _ if self.is_unreachable => u64::MAX,
            Some(suspected_ms) => suspected_ms + config.confirm_ms,
            None => self.heard_ms + config.suspect_after_ms,
        };
        self.next_probe_ms(config).min(verdict_ms)
    }

    /// What is due.
    pub fn step(&mut self, now_ms: u64, config: &Config) -> Option<Step> {
        if !self.is_unreachable {
            match self.suspected_ms {
                Some(suspected_ms) if now_ms >= suspected_ms + config.confirm_ms => {
                    return Some(Step::GiveUp { suspected_ms });
                }
                None if now_ms >= self.heard_ms + config.suspect_after_ms => {
                    self.suspected_ms = Some(now_ms);
                    return Some(Step::Suspect);
                }
                _ => {}
            }
        }
        (now_ms >= self.next_probe_ms(config)).then_some(Step::Probe)
    }
}
