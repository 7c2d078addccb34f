//! Which way long messages go, found out from those that went.
//!
//! No constant choice is right. The kernel's single copy costs a look at each page and what its mitigations add, but only the
//! receiver's time; through the stream ring the bytes are copied twice, at the speed of the caches, if the sender is there
//! to do its half. Of 64 KiB in 5 us and 1.4 us on one processor, 4 us and 8 us on another, with this or that cache between
//! the two. So both are tried, the quicker one is taken, and the other looked at again now and then, for processes move.
//!
//! What a process has found out is where its next connection begins.

use std::fmt::Write as _;
use std::time::Duration;

use bcl_os::sync::{AtomicU32, Ordering};

/// Messages of this length and more are told apart: one class for each doubling.
const SHORTEST_LOG: u32 = 13;
const CLASSES: usize = 12;
/// Measurements before a way is known.
const ENOUGH: u32 = 5;
/// Once both are, messages of which one is measured.
const MESSAGES_PER_LOOK: u32 = 8;
/// Of so many, a few go the other way, to see whether that has become the better one.
const MESSAGES_PER_TRIAL: u32 = 128;
/// The same where the other way takes twice as long and more.
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

/// How the bytes of a long message come that do not lie in a DMA buffer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    /// The kernel copies them, for the receiver.
    Kernel,
    /// Through the stream ring: both ends copy.
    Ring,
}

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
    classes: Box<[Class; CLASSES]>,
    /// Streams in a row that the sender let stand still.
    stood_still: u32,
    /// Messages until it is asked to stream again.
    away: u32,
}

#[derive(Debug, Clone, Copy, Default)]
struct Class {
    kernel: Cost,
    ring: Cost,
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
static REMEMBERED: [[AtomicU32; 2]; CLASSES] =
    [const { [const { AtomicU32::new(0) }; 2] }; CLASSES];

impl Default for Ways {
    fn default() -> Self {
        let recall = |[kernel, ring]: &[AtomicU32; 2]| Class {
            kernel: Cost::recall(kernel),
            ring: Cost::recall(ring),
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
    /// How the next message comes.
    pub fn choose(&mut self, len_bytes: usize) -> Choice {
        if self.away > 0 {
            self.away -= 1;
            return Choice {
                way: Way::Kernel,
                is_measured: false,
            };
        }
        self.classes[class_of(len_bytes)].choose()
    }

    /// So long did `len_bytes` take, of a message of `message_bytes`.
    pub fn took(&mut self, way: Way, message_bytes: usize, len_bytes: u64, time: Duration) {
        let class = class_of(message_bytes);
        let cost = self.classes[class].cost(way);
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
        let Class { kernel, ring, .. } = self.classes[class_of(len_bytes)];
        if !kernel.is_known() || !ring.is_known() {
            return FIRST_PATIENCE;
        }
        let saved = kernel.ps_per_kib.saturating_sub(ring.ps_per_kib);
        let saved_ps = u64::from(saved) * (len_bytes as u64 / 1024);
        Duration::from_nanos(saved_ps / 1000).clamp(PATIENCE_MIN, PATIENCE_MAX)
    }

    /// What was found out, for people.
    pub fn describe(&self) -> String {
        let mut text = String::new();
        for (log, class) in (SHORTEST_LOG..).zip(self.classes.iter()) {
            let (kernel, ring) = (class.kernel, class.ring);
            if kernel.ps_per_kib == 0 || ring.ps_per_kib == 0 {
                continue;
            }
            let way = match class.best() {
                Way::Kernel => "single copy",
                Way::Ring => "shared memory",
            };
            let kib = 1_u32 << (log - 10);
            let [kernel, ring] = [kernel, ring].map(Cost::gb_per_s);
            write!(
                text,
                "; from {kib} KiB {way} (single copy {kernel:.1} GB/s, shared memory {ring:.1})"
            )
            .expect("a String takes all that is written to it");
        }
        text
    }
}

impl Class {
    fn choose(&mut self) -> Choice {
        self.messages = self.messages.wrapping_add(1);
        let (kernel, ring) = (self.kernel, self.ring);
        let still_unknown = match (kernel.is_known(), ring.is_known()) {
            (true, true) => None,
            (false, true) => Some(Way::Kernel),
            (true, false) => Some(Way::Ring),
            (false, false) if kernel.measured < ring.measured => Some(Way::Kernel),
            (false, false) => Some(Way::Ring),
        };
        if let Some(way) = still_unknown {
            return Choice {
                way,
                is_measured: true,
            };
        }
        let best = self.best();
        let [kernel, ring] = [kernel, ring].map(|cost| cost.ps_per_kib);
        let (less, more) = (kernel.min(ring), kernel.max(ring));
        let per_trial = if more / 2 < less {
            MESSAGES_PER_TRIAL
        } else {
            MESSAGES_PER_SLOW_TRIAL
        };
        if self.messages % per_trial < TRIAL_MESSAGES {
            return Choice {
                way: best.other(),
                is_measured: true,
            };
        }
        Choice {
            way: best,
            is_measured: self.messages.is_multiple_of(MESSAGES_PER_LOOK),
        }
    }

    fn best(&self) -> Way {
        if self.ring.ps_per_kib <= self.kernel.ps_per_kib {
            Way::Ring
        } else {
            Way::Kernel
        }
    }

    fn cost(&mut self, way: Way) -> &mut Cost {
        match way {
            Way::Kernel => &mut self.kernel,
            Way::Ring => &mut self.ring,
        }
    }
}

impl Way {
    fn other(self) -> Self {
        match self {
            Self::Kernel => Self::Ring,
            Self::Ring => Self::Kernel,
        }
    }
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
    /// only if it comes again and again.
    fn add(&mut self, len_bytes: u64, time: Duration) {
        let kib = u128::from(len_bytes.div_ceil(1024).max(1));
        let ps_per_kib = time.as_nanos() * 1000 / kib;
        let new = u32::try_from(ps_per_kib).unwrap_or(u32::MAX).max(1);
        let old = self.ps_per_kib;
        self.ps_per_kib = match old {
            0 => new,
            _ if new < old => new,
            _ => old.saturating_add((new - old) / 8),
        };
        self.measured = (self.measured + 1).min(ENOUGH);
    }

    fn gb_per_s(self) -> f64 {
        1024.0 * 1e3 / f64::from(self.ps_per_kib)
    }
}

fn class_of(len_bytes: usize) -> usize {
    let log = len_bytes.max(1).ilog2();
    (log.saturating_sub(SHORTEST_LOG) as usize).min(CLASSES - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    const LEN: usize = 64 << 10;

    /// Ways on a machine where a message takes so long.
    struct Machine {
        kernel_us: u64,
        ring_us: u64,
    }

    const QUICK_RING: Machine = Machine {
        kernel_us: 50,
        ring_us: 14,
    };

    impl Machine {
        /// How many of `messages` go through the ring.
        fn run(&self, ways: &mut Ways, messages: u32) -> u32 {
            let mut through_ring = 0;
            for _ in 0..messages {
                let Choice { way, is_measured } = ways.choose(LEN);
                let us = match way {
                    Way::Kernel => self.kernel_us,
                    Way::Ring => self.ring_us,
                };
                if is_measured {
                    ways.took(way, LEN, LEN as u64, Duration::from_micros(us));
                }
                through_ring += u32::from(way == Way::Ring);
            }
            through_ring
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
    fn the_quicker_way_is_taken_and_the_other_looked_at_now_and_then() {
        for (kernel_us, ring_us, expected) in
            [(50, 14, 990..=995), (14, 50, 5..=10), (10, 12, 20..=30)]
        {
            let machine = Machine { kernel_us, ring_us };
            let through_ring = machine.run(&mut ways(), 1000);
            assert!(
                expected.contains(&through_ring),
                "{kernel_us} {ring_us} {through_ring}"
            );
        }
    }

    #[test]
    fn what_has_changed_is_found_out() {
        let mut ways = ways();
        let [near, far] =
            [(5, 4), (5, 20)].map(|(kernel_us, ring_us)| Machine { kernel_us, ring_us });
        near.run(&mut ways, 1000);
        assert!(near.run(&mut ways, 100) > 90);
        far.run(&mut ways, 100);
        assert!(far.run(&mut ways, 100) < 10, "{ways:?}");
        near.run(&mut ways, 2000);
        assert!(near.run(&mut ways, 100) > 90, "{ways:?}");
    }

    /// One message in ten loses its processor for a millisecond.
    #[test]
    fn a_process_without_a_processor_says_nothing_of_a_way() {
        let mut ways = ways();
        QUICK_RING.run(&mut ways, 10);
        for _ in 0..50 {
            ways.took(Way::Ring, LEN, LEN as u64, Duration::from_micros(1000));
            for _ in 0..9 {
                ways.took(Way::Ring, LEN, LEN as u64, Duration::from_micros(14));
            }
            assert_eq!(ways.choose(LEN).way, Way::Ring);
        }
    }

    #[test]
    fn a_sender_that_is_away_is_asked_ever_less_often() {
        let mut ways = ways();
        let mut asked = 0;
        for _ in 0..1000 {
            if ways.choose(LEN).way == Way::Ring {
                asked += 1;
                ways.stood_still();
            } else {
                ways.took(Way::Kernel, LEN, LEN as u64, Duration::from_micros(5));
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
        Machine {
            kernel_us: 250,
            ring_us: 150,
        }
        .run(&mut ways, 10);
        let patience = ways.patience(LEN);
        assert!(
            patience.abs_diff(Duration::from_micros(100)) < Duration::from_micros(1),
            "{patience:?}"
        );
        Machine {
            kernel_us: 1,
            ring_us: 150,
        }
        .run(&mut ways, 1000);
        assert_eq!(ways.patience(LEN), PATIENCE_MIN);
    }

    #[test]
    fn lengths_far_apart_are_known_apart() {
        let mut ways = ways();
        QUICK_RING.run(&mut ways, 100);
        let text = ways.describe();
        assert_eq!(
            text,
            "; from 64 KiB shared memory (single copy 1.3 GB/s, shared memory 4.7)"
        );
        assert_eq!(ways.patience(LEN * 2), FIRST_PATIENCE);
        assert_eq!(class_of(0), class_of(16 << 10) - 1);
        assert_eq!(class_of(usize::MAX), CLASSES - 1);
    }
}
