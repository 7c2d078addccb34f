//! Time as the caller tells it: the protocol reads no clock.

use std::fmt;
use std::ops::{Add, AddAssign};

/// Nanoseconds since a moment of the caller's choice. It must not go backwards from call to call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Time(pub u64);

/// A length of time in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Span(pub u64);

impl Span {
    /// No time at all.
    pub const ZERO: Self = Self(0);

    /// So many microseconds.
    pub const fn from_us(us: u64) -> Self {
        Self(us * 1_000)
    }

    /// So many milliseconds.
    pub const fn from_ms(ms: u64) -> Self {
        Self(ms * 1_000_000)
    }

    /// Whole microseconds.
    pub const fn as_us(self) -> u64 {
        self.0 / 1_000
    }

    /// What is left without `other`; nothing if that is longer.
    pub const fn less(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }

    /// Whole milliseconds, as far as they can be counted.
    pub fn as_ms(self) -> u32 {
        u32::try_from(self.0 / 1_000_000).unwrap_or(u32::MAX)
    }

    /// So many times as long.
    pub const fn times(self, factor: u64) -> Self {
        Self(self.0.saturating_mul(factor))
    }

    /// The part that one of so many has.
    pub const fn part(self, parts: u64) -> Self {
        Self(self.0 / parts)
    }
}

impl Time {
    /// The time that has passed since `earlier`; none if that is later.
    pub const fn since(self, earlier: Self) -> Span {
        Span(self.0.saturating_sub(earlier.0))
    }

    /// So long ago.
    pub const fn ago(self, span: Span) -> Self {
        Self(self.0.saturating_sub(span.0))
    }
}

impl Add<Span> for Time {
    type Output = Self;
    fn add(self, span: Span) -> Self {
        Self(self.0.saturating_add(span.0))
    }
}

impl Add for Span {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

impl AddAssign<Span> for Time {
    fn add_assign(&mut self, span: Span) {
        *self = *self + span;
    }
}

impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            ns @ 0..=9_999 => write!(f, "{ns} ns"),
            ns @ 10_000..=9_999_999 => write!(f, "{} us", ns / 1_000),
            ns => write!(f, "{} ms", ns / 1_000_000),
        }
    }
}

#[test]
fn time_saturates() {
    assert_eq!(Time(5).since(Time(7)), Span::ZERO);
    assert_eq!(Time(u64::MAX) + Span(1), Time(u64::MAX));
    assert_eq!(Span::from_ms(3).to_string(), "3000 us");
}
