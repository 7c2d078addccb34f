//! User ids that say nothing: what the kernel shows for users that this process' user namespace does not map.
//!
//! All of them are the *overflow id*, 65534 as a rule, which is also "nobody". Two strangers, each in a namespace without a
//! map, both have it. A process that really is nobody can be told from them only where every user is mapped.

use std::sync::OnceLock;

use bcl_os::PerProcess;
use bcl_os::file::of_kernel;

const OVERFLOW_UID: &str = "/proc/sys/kernel/overflowuid";
/// What it is unless somebody has set it.
const DEFAULT_OVERFLOW_UID: u32 = 65534;
const UID_MAP: &str = "/proc/self/uid_map";

/// Whether processes of different users may have this id here.
pub fn may_be_anybody(uid: u32) -> bool {
    static OVERFLOW: PerProcess<OnceLock<u32>> = PerProcess::new(OnceLock::new);
    let overflow = *OVERFLOW.get().get_or_init(|| {
        let text = of_kernel(OVERFLOW_UID).unwrap_or_default();
        text.trim().parse().unwrap_or(DEFAULT_OVERFLOW_UID)
    });
    // Read anew each time: a process may enter another namespace. Without /proc the worst is assumed.
    uid == overflow && !maps_everybody(&of_kernel(UID_MAP).unwrap_or_default())
}

/// Whether a map, of lines "first id here, first id outside, how many", has room for all users: every number but the
/// last, which stands for no user.
fn maps_everybody(map: &str) -> bool {
    map.lines().any(|line| {
        let mut words = line.split_whitespace().map(str::parse::<u32>);
        let (first, _outside, count) = (words.next(), words.next(), words.next());
        (first, count) == (Some(Ok(0)), Some(Ok(u32::MAX)))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_whole_map_tells_users_apart() {
        assert!(maps_everybody("         0          0 4294967295\n"));
        assert!(!maps_everybody(""));
        assert!(!maps_everybody("         0     100000      65536\n"));
        assert!(!maps_everybody("0 1000 1\n1 100000 4294967293\n"));
        assert!(!maps_everybody("nonsense\n0\n"));
    }

    #[test]
    fn other_ids_stand_for_one_user() {
        assert!(!may_be_anybody(0) && !may_be_anybody(1000));
    }
}
