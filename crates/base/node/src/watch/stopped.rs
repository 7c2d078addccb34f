//! Whether a process has been stopped, by a signal or a debugger.

use std::os::fd::AsFd;

use super::stat::stat_fields;
use crate::credentials::peer_credentials;

/// Whether the process at the other end of `sock` is known to be stopped: it answers nobody until it goes on.
pub fn is_peer_stopped(sock: impl AsFd) -> bool {
    let stat = peer_credentials(sock)
        .ok()
        .and_then(|peer| bcl_os::file::of_kernel(format!("/proc/{}/stat", peer.pid)).ok());
    stat.is_some_and(|stat| is_stopped(&stat))
}

/// By field 3, the state.
fn is_stopped(stat: &str) -> bool {
    let state = stat_fields(stat).and_then(|mut fields| fields.next());
    state.is_some_and(|state| matches!(state, "T" | "t"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_state_stands_behind_the_name() {
        assert!(is_stopped("12 (a) T 1 12 12"));
        assert!(is_stopped("12 (traced (S) x) t 1 12 12"));
        assert!(!is_stopped("12 (T) S 1 12 12"));
        assert!(!is_stopped(""));
    }
}
