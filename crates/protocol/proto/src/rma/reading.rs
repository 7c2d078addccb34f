//! What has come of a part of a read that is asked for by one request, and is answered in several packets ([WIRE-11.6]).

use std::ops::Range;

/// Packets that answer a request at most.
pub const PIECES_MAX: u32 = 64;

/// One request.
#[derive(Debug, Clone, Copy, Default)]
pub struct Reading {
    asked_bytes: u32,
    /// Length of all pieces but the last; 0 as long as none is known.
    piece_bytes: u32,
    /// Which of them have come.
    came: u64,
    /// Packets that are thought to be on their way.
    under_way: u32,
}

impl Reading {
    /// So much is asked of an owner whose packets hold `piece_bytes` at a guess.
    pub fn new(asked_bytes: u32, piece_bytes: u16) -> Self {
        Self {
            asked_bytes,
            under_way: asked_bytes.div_ceil(piece_bytes.into()).max(1),
            ..Self::default()
        }
    }

    pub fn asked_bytes(&self) -> u32 {
        self.asked_bytes
    }

    pub fn packets_under_way(&self) -> u32 {
        self.under_way
    }

    /// Whether nothing has come.
    pub fn is_silent(&self) -> bool {
        self.came == 0
    }

    /// Whether this piece is the last of what was asked for.
    pub fn ends_with(&self, at: u64, len_bytes: usize) -> bool {
        at + len_bytes as u64 == u64::from(self.asked_bytes)
    }

    /// Whether all has come.
    pub fn is_complete(&self) -> bool {
        self.came != 0 && self.missing().is_empty()
    }

    /// A piece has come for this place. False: it is none of this request, or is not new, or cannot be counted before another.
    pub fn take(&mut self, at: u64, len_bytes: usize) -> bool {
        let asked_bytes = u64::from(self.asked_bytes);
        let len_bytes = len_bytes as u64;
        let Some(end) = at.checked_add(len_bytes).filter(|end| *end <= asked_bytes) else {
            return false;
        };
        let ends = end == asked_bytes;
        if len_bytes == 0 && asked_bytes > 0 || ends && at > 0 && self.piece_bytes == 0 {
            return false;
        }
        let piece_bytes = match self.piece_bytes {
            0 => len_bytes.max(1),
            known => known.into(),
        };
        let fits = at.is_multiple_of(piece_bytes)
            && (len_bytes == piece_bytes || ends && len_bytes <= piece_bytes);
        let index = at / piece_bytes;
        if !fits || index >= PIECES_MAX.into() || self.came >> index & 1 == 1 {
            return false;
        }
        self.piece_bytes = piece_bytes as u32;
        self.came |= 1 << index;
        self.under_way = self.under_way.saturating_sub(1);
        true
    }

    /// From the first byte that has not come to behind the last.
    pub fn missing(&self) -> Range<u32> {
        if self.came == 0 {
            return 0..self.asked_bytes;
        }
        let place = |index: u32| (index * self.piece_bytes).min(self.asked_bytes);
        let pieces = self.asked_bytes.div_ceil(self.piece_bytes).max(1);
        let first = place(self.came.trailing_ones());
        let last = match pieces {
            PIECES_MAX.. if pieces > PIECES_MAX => pieces,
            _ => u64::BITS - (!self.came & (u64::MAX >> (PIECES_MAX - pieces))).leading_zeros(),
        };
        first..place(last).max(first)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_read_is_complete_when_each_piece_has_come_once() {
        let mut reading = Reading::new(2_500, 1_000);
        assert_eq!(
            (reading.missing(), reading.packets_under_way()),
            (0..2_500, 3)
        );
        assert!(
            !reading.take(2_000, 500),
            "how long the others are is not known"
        );
        assert!(reading.take(1_000, 1_000) && !reading.take(1_000, 1_000));
        assert_eq!(reading.missing(), 0..2_500);
        assert!(reading.take(2_000, 500));
        assert_eq!(reading.missing(), 0..1_000);
        assert!(reading.take(0, 1_000) && reading.is_complete());
        assert_eq!(reading.packets_under_way(), 0);
    }

    #[test]
    fn what_is_missing_at_the_end_is_asked_for_again() {
        let mut reading = Reading::new(2_500, 1_000);
        assert!(reading.take(0, 1_000));
        assert_eq!(reading.missing(), 1_000..2_500);
        assert!(reading.take(1_000, 1_000));
        assert_eq!(reading.missing(), 2_000..2_500);
        assert!(!reading.is_complete());
    }

    #[test]
    fn what_does_not_fit_is_not_taken() {
        let mut reading = Reading::new(2_500, 1_000);
        for (at, len) in [(0, 0), (0, 2_501), (2_500, 1), (u64::MAX, 2), (500, 999)] {
            assert!(!reading.take(at, len), "{at} {len}");
        }
    }

    #[test]
    fn a_read_of_nothing_is_answered_with_nothing() {
        let mut reading = Reading::new(0, 1_000);
        assert!(!reading.is_complete() && reading.take(0, 0) && reading.is_complete());
    }

    #[test]
    fn of_an_owner_with_short_packets_what_one_request_brings_is_taken() {
        let mut reading = Reading::new(65_536, 1_400);
        for index in 0..64 {
            assert!(reading.take(index * 500, 500));
        }
        assert!(!reading.take(64 * 500, 500));
        assert_eq!(reading.missing(), 32_000..65_536);
    }
}
