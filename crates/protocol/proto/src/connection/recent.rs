//! Which unreliable messages have been seen ([WIRE-6.7]).

use bcl_wire::serial::distance;

/// The latest 64 numbers.
#[derive(Debug, Clone, Default)]
pub struct Recent {
    /// One past the highest.
    next: u32,
    /// Bit i: `next - 1 - i` was seen.
    seen: u64,
}

impl Recent {
    /// Whether this number is new, and not too old to tell. It no longer is afterwards.
    pub fn is_new(&mut self, number: u32) -> bool {
        let ahead = distance(number, self.next);
        if ahead >= 0 {
            let shift = ahead as u32 + 1;
            self.seen = self.seen.checked_shl(shift).unwrap_or(0) | 1;
            self.next = number.wrapping_add(1);
            return true;
        }
        let bit = 1u64.checked_shl(!ahead as u32).unwrap_or(0);
        let is_new = bit != 0 && self.seen & bit == 0;
        self.seen |= bit;
        is_new
    }
}

#[test]
fn each_number_once() {
    let mut recent = Recent::default();
    assert!(recent.is_new(0) && !recent.is_new(0));
    assert!(recent.is_new(5) && recent.is_new(4) && recent.is_new(1));
    assert!(!recent.is_new(4) && !recent.is_new(5) && !recent.is_new(0));
    assert!(recent.is_new(68) && !recent.is_new(4) && !recent.is_new(5) && recent.is_new(6));
    assert!(recent.is_new(1000) && !recent.is_new(68));
}
