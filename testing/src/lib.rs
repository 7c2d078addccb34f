//! Tests that no single crate can hold: the conformance suite, tests with real processes, and the
//! house rules (`tests/tidy`). Nothing that ships depends on this crate.
