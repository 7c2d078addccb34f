//! How our figure stands to the one it is compared with.

use Compare::{Above, AtLeast, AtMost, Below};

/// The relation that a mark asks for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Compare {
    /// `<=`
    AtMost,
    /// `<`
    Below,
    /// `>=`
    AtLeast,
    /// `>`
    Above,
}

impl Compare {
    /// Whether a smaller figure meets it.
    pub fn wants_less(self) -> bool {
        matches!(self, AtMost | Below)
    }

    /// Whether `ours` meets it against `limit`.
    pub fn holds(self, ours: f64, limit: f64) -> bool {
        match self {
            AtMost => ours <= limit,
            Below => ours < limit,
            AtLeast => ours >= limit,
            Above => ours > limit,
        }
    }
}

#[test]
fn comparisons_include_their_bound_as_their_name_says() {
    assert!(AtMost.holds(1.0, 1.0) && !Below.holds(1.0, 1.0));
    assert!(AtLeast.holds(1.0, 1.0) && !Above.holds(1.0, 1.0));
}
