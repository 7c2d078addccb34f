//! How much each measurement does.

use std::time::Duration;

use crate::work::Kind;

/// The size of a run: long enough to be steady, short enough to take many in turn.
#[derive(Clone, Copy, Debug)]
pub struct Effort {
    quick: bool,
    /// What is done on one node would take this many times as long.
    slower: usize,
}

/// No measurement takes that long; one that does hangs.
pub const LIMIT: Duration = Duration::from_secs(60);

impl Effort {
    /// The usual effort, or a tenth of it to see whether everything works.
    pub fn new(quick: bool) -> Self {
        Self { quick, slower: 1 }
    }

    /// The same for measurements between hosts.
    pub fn between_hosts(self) -> Self {
        Self { slower: 4, ..self }
    }

    /// How often `kind` repeats what it does: between a fifth and half a second's worth.
    pub fn iterations(self, kind: Kind) -> usize {
        let full = match kind {
            Kind::Latency { size_bytes } if size_bytes > 4096 => 40_000,
            Kind::Latency { .. } | Kind::Exchange(_) => 500_000,
            Kind::Stream { size_bytes, .. } => (4 << 30) / size_bytes,
            Kind::Rate => 3_000_000,
            Kind::Barrier => 20_000,
            Kind::SystemCalls => 100_000,
            Kind::Memory { .. } => 10,
            Kind::Idle | Kind::Pairs => 1,
        };
        let quicker = if self.quick { 10 } else { 1 };
        (full / quicker / self.slower).max(1)
    }

    /// Barriers of those that spin with more processes than cores: each takes two ticks of the clock.
    pub fn spinning_barriers(self) -> usize {
        if self.quick { 20 } else { 100 }
    }

    /// How long a measurement lasts that is limited by time, not by count.
    pub fn duration(self) -> Duration {
        Duration::from_secs(if self.quick { 1 } else { 2 })
    }
}
