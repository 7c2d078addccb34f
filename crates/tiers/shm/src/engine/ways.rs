//! Which way long messages go, found out from those that went.
//!
//! No constant choice is right. The kernel's single copy costs a look at each page and what its mitigations add, but only the
//! receiver's time. Through shared memory the bytes are copied twice, if the sender is there to do its half: at the speed of
//! the caches or, where the two cores have no cache in common, seven times as fast past them. 4 MiB take 430 us, 155 us and
//! 260 us on one machine, in this order, and 550 us, 1,200 us and 230 us a moment later, when its hypervisor had moved the
//! cores. So all are tried, the quickest is taken, and the others looked at again now and then.
//!
//! What a process has found out is where its next connection begins.

use std::time::Duration;

use bcl_os::sync::{AtomicU32, Ordering};
use bcl_tier::page::Page;
use bcl_tier::{COPY_CLASSES, CopyCost, CopyWay as Way, copy_class};

/// Measurements before a way is known.
const ENOUGH: u32 = 5;
/// Once all are, messages of which one is measured.
const MESSAGES_PER_LOOK: u32 = 8;
/// Of so many, a few go another way, to see whether that has become the better one.
const MESSAGES_PER_TRIAL: u32 = 128;
/// The same where that way takes twice as long and more.
const MESSAGES_PER_SLOW_TRIAL: u32 = 1024;
/// The first of a trial finds cold caches.
const TRIAL_MESSAGES: u32 = 3;
/// Messages that the kernel copies after the sender was not there to stream, at most.
const AWAY_MESSAGES_MAX: u32 = 256;
/// How long a sender may let a stream stand still. Between these, as long as the kernel's copy would take longer: so a message
/// takes twice as long at worst.
const PATIENCE_MIN: Duration = Duration::from_micros(20);
const PATIENCE_MAX: Duration = Duration::from_millis(1);
/// The same before that is known.
const FIRST_PATIENCE: Duration = Duration::from_micros(50);

/// In the order in which they are tried.
const WAYS: [Way; 3] = [Way::Caches, Way::PastCaches, Way::Kernel];

/// What to do with a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Choice {
    pub way: Way,
    /// Whether to measure how long it takes.
    pub is_measured: bool,
}

/// What is known of the ways to one peer.
#[derive(Debug)]
pub struct Ways {
    classes: Box<[Class; COPY_CLASSES]>,
    /// Streams in a row that the sender let stand still.
    stood_still: u32,
    /// Messages until it is asked to stream again.
    away: u32,
}

#[derive(Debug, Clone, Copy, Default)]
struct Class {
    /// Of each [`Way`], in their order.
    costs: [Cost; WAYS.len()],
    messages: u32,
}

/// Picoseconds that a KiB takes.
#[derive(Debug, Clone, Copy, Default)]
struct Cost {
    ps_per_kib: u32,
    /// How often it was measured; not counted beyond [`ENOUGH`].
    measured: u32,
}

/// Of each class, what was measured last in this process of each [`Way`], in their order.
static REMEMBERED: [[AtomicU32; WAYS.len()]; COPY_CLASSES] =
    [const { [const { AtomicU32::new(0) }; WAYS.len()] }; COPY_CLASSES];

impl Default for Ways {
    fn default() -> Self {
        let recall = |remembered: &[AtomicU32; WAYS.len()]| Class {
            costs: remembered.each_ref().map(Cost::recall),
            messages: 0,
        };
        Self {
            classes: Box::new(REMEMBERED.each_ref().map(recall)),
            stood_still: 0,
            away: 0,
        }
    }
}

impl Ways {
    /// How the next message comes: not by the kernel unless that is permitted.
    pub fn choose(&mut self, len_bytes: usize, by_kernel: bool) -> Choice {
        if self.away > 0 && by_kernel {
            self.away -= 1;
            return Choice {
                way: Way::Kernel,
                is_measured: false,
            };
        }
        self.classes[copy_class(len_bytes)].choose(by_kernel)
    }

    /// So long did `len_bytes` take, of a message of `message_bytes`.
    pub fn took(&mut self, way: Way, message_bytes: usize, len_bytes: u64, time: Duration) {
        let class = copy_class(message_bytes);
        let cost = &mut self.classes[class].costs[way as usize];
        cost.add(len_bytes, time);
        REMEMBERED[class][way as usize].store(cost.ps_per_kib, Ordering::Relaxed);
    }

    /// A stream has come to its end.
    pub fn streamed(&mut self) {
        self.stood_still = 0;
    }

    /// The sender did not stream: it computes, or has no processor. It is spared the question for a while, for longer each
    /// time.
    pub fn stood_still(&mut self) {
        self.stood_still += 1;
        let messages = 1_u32.checked_shl(self.stood_still);
        self.away = messages.unwrap_or(AWAY_MESSAGES_MAX).min(AWAY_MESSAGES_MAX);
    }

    /// How long a stream of `len_bytes` may stand still before the kernel is to copy what is left.
    pub fn patience(&self, len_bytes: usize) -> Duration {
        let Class { costs, .. } = self.classes[copy_class(len_bytes)];
        if !costs.iter().all(|cost| cost.is_known()) {
            return FIRST_PATIENCE;
        }
        let [kernel, streams @ ..] = costs.map(|cost| cost.ps_per_kib);
        let saved = kernel.saturating_sub(streams[0].min(streams[1]));
        let saved_ps = u64::from(saved) * (len_bytes as u64 / 1024);
        Duration::from_nanos(saved_ps / 1000).clamp(PATIENCE_MIN, PATIENCE_MAX)
    }

    /// What was found out, for people.
    pub fn describe(&self) -> String {
        let costs = (0..).zip(self.classes.iter()).map(|(class, of)| {
            let ps_per_kib = of.costs.map(|cost| cost.ps_per_kib);
            CopyCost::of(class, ps_per_kib).to_string()
        });
        costs
            .filter(|text| !text.is_empty())
            .map(|text| format!("; {text}"))
            .collect()
    }
}

/// Shows what this process has found out last to those who read its ports' pages.
pub fn show(page: &Page) {
    for (class, costs) in REMEMBERED.iter().enumerate() {
        let load = |cost: &AtomicU32| cost.load(Ordering::Relaxed);
        page.tell_copy_cost(class, costs.each_ref().map(load));
    }
}

impl Class {
    fn choose(&mut self, by_kernel: bool) -> Choice {
        self.messages = self.messages.wrapping_add(1);
        let unknown = permitted(by_kernel)
            .map(|way| (way, self.cost(way)))
            .filter(|(_, cost)| !cost.is_known())
            .min_by_key(|(_, cost)| cost.measured);
        if let Some((way, _)) = unknown {
            return Choice {
                way,
                is_measured: true,
            };
        }
        let best = self.best(by_kernel);
        if let Some(way) = self.on_trial(best, by_kernel) {
            return Choice {
                way,
                is_measured: true,
            };
        }
        Choice {
            way: best,
            is_measured: self.messages.is_multiple_of(MESSAGES_PER_LOOK),
        }
    }

    /// Which of the other ways has its turn, mostly none.
    fn on_trial(&self, best: Way, by_kernel: bool) -> Option<Way> {
        let others = permitted(by_kernel).filter(|way| *way != best);
        (0..).zip(others).find_map(|(number, way)| {
            let is_slow = self.cost(way).ps_per_kib / 2 >= self.cost(best).ps_per_kib;
            let period = match is_slow {
                true => MESSAGES_PER_SLOW_TRIAL,
                false => MESSAGES_PER_TRIAL,
            };
            let turn = self.messages.wrapping_add(number * period / 2) % period;
            (turn < TRIAL_MESSAGES).then_some(way)
        })
    }

    fn best(&self, by_kernel: bool) -> Way {
        let known = permitted(by_kernel).filter(|way| self.cost(*way).ps_per_kib > 0);
        known
            .min_by_key(|way| self.cost(*way).ps_per_kib)
            .unwrap_or(Way::Caches)
    }

    fn cost(&self, way: Way) -> Cost {
        self.costs[way as usize]
    }
}

/// The ways that there are.
fn permitted(by_kernel: bool) -> impl Iterator<Item = Way> {
    WAYS.into_iter()
        .filter(move |way| by_kernel || *way != Way::Kernel)
}

impl Cost {
    /// What another connection has found out is worth a few measurements of our own, not all.
    fn recall(remembered: &AtomicU32) -> Self {
        let ps_per_kib = remembered.load(Ordering::Relaxed);
        let measured = if ps_per_kib == 0 { 0 } else { ENOUGH - 1 };
        Self {
            ps_per_kib,
            measured,
        }
    }

    fn is_known(self) -> bool {
        self.measured >= ENOUGH
    }

    /// Moments in which a process has no processor, or cold caches, say nothing of a way: less time counts at once, more
    /// only if it comes again and again, and no more than twice as much, for one such moment takes as long as a hundred messages.
    fn add(&mut self, len_bytes: u64, time: Duration) {
        let kib = u128::from(len_bytes.div_ceil(1024).max(1));
        let ps_per_kib = time.as_nanos() * 1000 / kib;
        let new = u32::try_from(ps_per_kib).unwrap_or(u32::MAX).max(1);
        let old = self.ps_per_kib;
        self.ps_per_kib = match old {
            0 => new,
            _ if new < old => new,
            _ => old.saturating_add((new - old).min(old).div_ceil(8)),
        };
        self.measured = (self.measured + 1).min(ENOUGH);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LEN: usize = 64 << 10;

    /// Ways on a machine where a message takes so long, in us.
    struct Machine {
        kernel: u64,
        caches: u64,
        past_caches: u64,
    }

    const QUICK_CACHES: Machine = Machine {
        kernel: 50,
        caches: 14,
        past_caches: 30,
    };

    impl Machine {
        /// How many of `messages` go by each way, in their order.
        fn run(&self, ways: &mut Ways, messages: u32) -> [u32; WAYS.len()] {
            let mut went = [0; WAYS.len()];
            for _ in 0..messages {
                let Choice { way, is_measured } = ways.choose(LEN, true);
                let us = match way {
                    Way::Kernel => self.kernel,
                    Way::Caches => self.caches,
                    Way::PastCaches => self.past_caches,
                };
                if is_measured {
                    ways.took(way, LEN, LEN as u64, Duration::from_micros(us));
                }
                went[way as usize] += 1;
            }
            went
        }
    }

    /// Of a process that has measured nothing.
    fn ways() -> Ways {
        Ways {
            classes: Box::default(),
            ..Ways::default()
        }
    }

    #[test]
    fn the_quickest_way_is_taken_and_the_others_looked_at_now_and_then() {
        for (best, us, others) in [
            (Way::Caches, [50, 14, 40], 10..=20),
            (Way::Kernel, [14, 50, 40], 10..=20),
            (Way::PastCaches, [24, 50, 14], 25..=40),
        ] {
            let [kernel, caches, past_caches] = us;
            let machine = Machine {
                kernel,
                caches,
                past_caches,
            };
            let went = machine.run(&mut ways(), 1000);
            assert!(
                others.contains(&(1000 - went[best as usize])),
                "{us:?} {went:?}"
            );
            assert!(went.iter().all(|count| *count >= ENOUGH), "{us:?} {went:?}");
        }
    }

    #[test]
    fn what_has_changed_is_found_out() {
        let mut ways = ways();
        let near = Machine {
            kernel: 5,
            caches: 4,
            past_caches: 6,
        };
        let far = Machine {
            caches: 20,
            past_caches: 4,
            ..near
        };
        let is_most = |went: [u32; WAYS.len()], way: Way| went[way as usize] > 85;
        near.run(&mut ways, 1000);
        assert!(is_most(near.run(&mut ways, 100), Way::Caches), "{ways:?}");
        far.run(&mut ways, 300);
        assert!(
            is_most(far.run(&mut ways, 100), Way::PastCaches),
            "{ways:?}"
        );
        near.run(&mut ways, 2000);
        assert!(is_most(near.run(&mut ways, 100), Way::Caches), "{ways:?}");
    }

    #[test]
    fn what_the_kernel_does_not_permit_is_not_chosen() {
        let mut ways = ways();
        for _ in 0..1000 {
            let Choice { way, .. } = ways.choose(LEN, false);
            assert_ne!(way, Way::Kernel);
            let us = 5 + u64::from(way == Way::Caches);
            ways.took(way, LEN, LEN as u64, Duration::from_micros(us));
        }
        assert_eq!(ways.choose(LEN, false).way, Way::PastCaches);
    }

    /// One message in ten loses its processor for a millisecond.
    #[test]
    fn a_process_without_a_processor_says_nothing_of_a_way() {
        let mut ways = ways();
        QUICK_CACHES.run(&mut ways, 20);
        for _ in 0..50 {
            ways.took(Way::Caches, LEN, LEN as u64, Duration::from_micros(1000));
            let best = ways.classes[copy_class(LEN)].best(true);
            assert_eq!(best, Way::Caches, "not even until it is measured again");
            for _ in 0..9 {
                ways.took(Way::Caches, LEN, LEN as u64, Duration::from_micros(14));
            }
            assert_eq!(ways.choose(LEN, true).way, Way::Caches);
        }
    }

    #[test]
    fn a_sender_that_is_away_is_asked_ever_less_often() {
        let mut ways = ways();
        let mut asked = 0;
        for _ in 0..1000 {
            if ways.choose(LEN, true).way == Way::Kernel {
                ways.took(Way::Kernel, LEN, LEN as u64, Duration::from_micros(5));
            } else {
                asked += 1;
                ways.stood_still();
            }
        }
        assert!((5..15).contains(&asked), "{asked}");
        ways.away = 0;
        ways.streamed();
        ways.stood_still();
        assert_eq!(ways.away, 2);
    }

    #[test]
    fn a_stream_may_stand_still_for_as_long_as_it_saves() {
        let mut ways = ways();
        assert_eq!(ways.patience(LEN), FIRST_PATIENCE);
        let slow = Machine {
            kernel: 250,
            caches: 150,
            past_caches: 170,
        };
        slow.run(&mut ways, 15);
        let patience = ways.patience(LEN);
        assert!(
            patience.abs_diff(Duration::from_micros(100)) < Duration::from_micros(1),
            "{patience:?}"
        );
        Machine { kernel: 1, ..slow }.run(&mut ways, 2000);
        assert_eq!(ways.patience(LEN), PATIENCE_MIN);
    }

    #[test]
    fn lengths_far_apart_are_known_apart() {
        let mut ways = ways();
        QUICK_CACHES.run(&mut ways, 100);
        let text = ways.describe();
        assert_eq!(
            text,
            "; from 64 KiB shared memory (GB/s: single copy 1.3, shared memory 4.7, past the caches 2.2)"
        );
        assert_eq!(ways.patience(LEN * 2), FIRST_PATIENCE);
    }
}
