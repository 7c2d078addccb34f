//! The ways that long messages take within a node, and what they cost, as far as it has been measured.

use std::fmt;

/// How the bytes of a long message come that do not lie in a DMA buffer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CopyWay {
    /// The kernel copies them, for the receiver.
    Kernel,
    /// Through shared memory: both ends copy, by the caches.
    Caches,
    /// The same, and the sender writes past the caches.
    PastCaches,
}

impl CopyWay {
    /// All of them, in the order of their numbers.
    pub const ALL: [Self; 3] = [Self::Kernel, Self::Caches, Self::PastCaches];

    /// For people.
    pub fn name(self) -> &'static str {
        match self {
            Self::Kernel => "single copy",
            Self::Caches => "shared memory",
            Self::PastCaches => "past the caches",
        }
    }
}

/// Messages of so many lengths are told apart.
pub const COPY_CLASSES: usize = 12;
/// One class for each doubling of the length, from this on; the first and last have all that is shorter and longer.
const SHORTEST_LOG: u32 = 13;

/// Which class messages of this length are in.
pub fn copy_class(len_bytes: usize) -> usize {
    let log = len_bytes.max(1).ilog2();
    (log.saturating_sub(SHORTEST_LOG) as usize).min(COPY_CLASSES - 1)
}

/// What messages of one class cost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CopyCost {
    /// The shortest of them, in KiB.
    pub from_kib: u32,
    /// Picoseconds that a KiB takes by each [`CopyWay`], in their order; 0: not known.
    pub ps_per_kib: [u32; CopyWay::ALL.len()],
}

impl CopyCost {
    /// That of class `class`.
    pub fn of(class: usize, ps_per_kib: [u32; CopyWay::ALL.len()]) -> Self {
        Self {
            from_kib: 1 << (SHORTEST_LOG as usize + class - 10),
            ps_per_kib,
        }
    }

    /// By this way, if it is known.
    pub fn gb_per_s(&self, way: CopyWay) -> Option<f64> {
        match self.ps_per_kib[way as usize] {
            0 => None,
            ps => Some(1024.0 * 1e3 / f64::from(ps)),
        }
    }

    /// The quickest, if there is a choice: two are known.
    pub fn best(&self) -> Option<CopyWay> {
        let known = CopyWay::ALL.map(|way| (self.ps_per_kib[way as usize], way));
        let known = known.iter().filter(|(ps, _)| *ps > 0);
        if known.clone().count() < 2 {
            return None;
        }
        known.min_by_key(|(ps, _)| *ps).map(|(_, way)| *way)
    }
}

/// For people, if there is a choice; else nothing.
impl fmt::Display for CopyCost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(best) = self.best() else {
            return Ok(());
        };
        write!(f, "from {} KiB {} (GB/s:", self.from_kib, best.name())?;
        let mut comma = "";
        for way in CopyWay::ALL {
            if let Some(rate) = self.gb_per_s(way) {
                write!(f, "{comma} {} {rate:.1}", way.name())?;
                comma = ",";
            }
        }
        write!(f, ")")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_length_has_its_class() {
        assert_eq!(copy_class(0), copy_class(16 << 10) - 1);
        assert_eq!(copy_class(64 << 10), copy_class((128 << 10) - 1));
        assert_eq!(copy_class(usize::MAX), COPY_CLASSES - 1);
        let class = copy_class(64 << 10);
        assert_eq!(CopyCost::of(class, [0; 3]).from_kib, 64);
    }

    #[test]
    fn only_a_choice_is_described() {
        let text = |costs| CopyCost::of(3, costs).to_string();
        assert_eq!(text([0, 0, 0]), "");
        assert_eq!(text([0, 70, 0]), "");
        assert_eq!(
            text([782_000, 0, 218_000]),
            "from 64 KiB past the caches (GB/s: single copy 1.3, past the caches 4.7)"
        );
    }
}
