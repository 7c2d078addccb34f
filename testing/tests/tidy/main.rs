//! House rules as tests, so that they hold without anybody remembering them.
//!
//! Each module holds one rule: a checker that works on text, its own tests on small strings (a
//! checker that cannot fail proves nothing), and one test that runs it over the repository.

mod atomics;
mod code;
mod descriptors;
mod layers;
mod length;
mod repository;
mod rules;
mod stubs;
mod unsafe_reasons;

/// Fails with every finding at once: a reader mends them in one go.
fn assert_clean(what: &str, findings: &[String]) {
    assert!(findings.is_empty(), "{what}:\n  {}", findings.join("\n  "));
}
