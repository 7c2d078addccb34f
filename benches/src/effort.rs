//! How much each measurement does.

use std::time::Duration;

use crate::work::{Kind, Series};

/// The size of a run: long enough to be steady, short enough to take many in turn.
#[derive(Clone, Copy, Debug)]
pub struct Effort {
    quick: bool,
    /// What is done on one node would take this many times as long.
    slower: usize,
}

/// No measurement of one figure takes that long; one that does hangs.
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
            Kind::Latency { .. } | Kind::Exchange(_) | Kind::Reflected => 500_000,
            Kind::Stream { size_bytes, .. } => (4 << 30) / size_bytes,
            Kind::Rate => 3_000_000,
            Kind::Barrier | Kind::BarrierOf(_) => 20_000,
            Kind::SystemCalls => 100_000,
            Kind::Board(board) if board.is_on_hosts => 2_000,
            Kind::Board(_) => 20_000,
            Kind::Memory { .. } => 10,
            Kind::Idle
            | Kind::Pairs
            | Kind::Streams { .. }
            | Kind::Program(_)
            | Kind::Hpcc { .. }
            | Kind::BySize(_) => 1,
        };
        (full / self.quicker() / self.slower).max(1)
    }

    /// How often a series repeats what it does at one size: a quarter of a second's worth on a slow day, so that all sizes
    /// together take as long as a few other measurements.
    pub fn iterations_at(self, series: Series, size_bytes: usize) -> usize {
        let expected_us = match series {
            Series::Latency => 6 + size_bytes / 500,
            Series::Stream { .. } => 1 + size_bytes / 1_000,
            Series::Bcast(_) | Series::Allreduce | Series::Alltoall => 50 + size_bytes / 100,
        };
        (250_000 / expected_us / self.quicker()).max(5)
    }

    fn quicker(self) -> usize {
        if self.quick { 10 } else { 1 }
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
