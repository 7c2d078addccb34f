//! Numbers that wrap: 32 bits, of which only neighbours are compared (RFC 1982).

/// How far `later` lies after `earlier`; negative if before.
#[inline]
pub fn distance(later: u32, earlier: u32) -> i32 {
    later.wrapping_sub(earlier) as i32
}

/// Whether `one` comes before `other`.
#[inline]
pub fn before(one: u32, other: u32) -> bool {
    distance(one, other) < 0
}

#[test]
fn numbers_wrap() {
    assert!(before(u32::MAX, 0) && before(5, 6) && !before(6, 6));
    assert_eq!(distance(2, u32::MAX), 3);
}
