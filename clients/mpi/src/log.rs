//! What we have to say, on standard error, if `FI_LOG_LEVEL` and `FI_LOG_PROV` want it.
//!
//! libfabric has a logger, but a provider that is not linked to it cannot count on finding that: MPI libraries hide theirs.

use std::sync::OnceLock;

use crate::provider::NAME;

/// How much somebody has to want to know it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// What ends a job, of which MPI libraries show no more than a number's name: everybody does who did not leave us out.
    Loss,
    /// What the program or its user can mend.
    Warn,
    /// What is as it should be.
    Info,
}

/// Says something, in one line.
pub fn say(level: Level, text: &str) {
    static WANTED: OnceLock<Option<Level>> = OnceLock::new();
    let wanted = WANTED.get_or_init(|| {
        let variable = |name: &str| std::env::var(name).ok();
        wanted(
            variable("FI_LOG_LEVEL").as_deref(),
            variable("FI_LOG_PROV").as_deref(),
        )
    });
    if wanted.is_some_and(|most| level <= most) {
        let line = format!("libbcl-fi: {}\n", text.replace('\n', " "));
        // Past the C library, where no cancellation point is. If nobody listens, there is nobody to tell that either.
        let _ = rustix::io::write(rustix::stdio::stderr(), line.as_bytes());
    }
}

/// Up to which level somebody wants to know it: the variables mean what they mean to libfabric.
fn wanted(level: Option<&str>, providers: Option<&str>) -> Option<Level> {
    if !providers.is_none_or(is_among) {
        return None;
    }
    let Some(level) = level else {
        return Some(Level::Loss);
    };
    match level.to_ascii_lowercase().as_str() {
        "info" | "debug" => Some(Level::Info),
        // Trace comes before info, and what is no level counts as warn.
        _ => Some(Level::Warn),
    }
}

/// Whether a list of providers has us: `a,b`, or `^a,b` for all others.
fn is_among(list: &str) -> bool {
    let (names, listed) = match list.strip_prefix('^') {
        Some(names) => (names, false),
        None => (list, true),
    };
    let has_us = names
        .split(',')
        .any(|name| name.trim().eq_ignore_ascii_case(NAME));
    list.is_empty() || has_us == listed
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_variables_mean_what_they_mean_to_libfabric() {
        for (level, providers, expected) in [
            (None, None, Some(Level::Loss)),
            (None, Some("bcl"), Some(Level::Loss)),
            (None, Some("^bcl"), None),
            (Some("warn"), None, Some(Level::Warn)),
            (Some("WARN"), Some(""), Some(Level::Warn)),
            (Some("trace"), None, Some(Level::Warn)),
            (Some("info"), Some("tcp,bcl"), Some(Level::Info)),
            (Some("debug"), Some("^tcp"), Some(Level::Info)),
            (Some("loud"), None, Some(Level::Warn)),
            (Some("debug"), Some("tcp"), None),
            (Some("debug"), Some("^tcp, bcl"), None),
        ] {
            assert_eq!(
                wanted(level, providers),
                expected,
                "{level:?} {providers:?}"
            );
        }
    }
}
