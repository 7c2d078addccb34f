//! Names of namespaces: they carry the process that made them, so that what a killed test left can be told and removed.

use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering};
use std::{fs, io, process};

use bcl_netns::run;

const PREFIX: &str = "bcl-ns-";
/// Rounds of killing before a namespace goes with what is left in it.
const KILLINGS_MAX: u32 = 100;
/// Where `ip netns` keeps them.
const FOLDER: &str = "/run/netns";

/// A name that no other cluster has; its namespaces add their own ending.
pub(super) fn fresh_name() -> String {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    format!("{PREFIX}{}-{number}", process::id())
}

/// Removes the namespaces of processes that are gone, with all that still runs in them.
pub(super) fn sweep() {
    let names = fs::read_dir(FOLDER).into_iter().flatten().flatten();
    for name in names {
        let name = name.file_name().to_string_lossy().into_owned();
        if maker(&name).is_some_and(|pid| !Path::new(&format!("/proc/{pid}")).exists()) {
            // Another test may be sweeping too: whoever comes second finds nothing.
            let _ = remove(&name);
        }
    }
}

/// Removes a namespace with all that runs in it.
///
/// # Errors
/// When there is none of that name, or it is not permitted.
pub(super) fn remove(namespace: &str) -> io::Result<()> {
    for _ in 0..KILLINGS_MAX {
        if kill_all(namespace)? == 0 {
            break;
        }
    }
    run(&format!("ip netns del {namespace}")).map(drop)
}

/// How many there were: what is killed may have started another meanwhile, and takes a moment to go.
fn kill_all(namespace: &str) -> io::Result<usize> {
    let pids = run(&format!("ip netns pids {namespace}"))?;
    for pid in pids.lines() {
        if let Ok(pid) = pid.trim().parse() {
            // SAFETY: kill has no memory conditions; what has ended meanwhile is not there to be killed.
            unsafe { libc::kill(pid, libc::SIGKILL) };
        }
    }
    Ok(pids.lines().count())
}

fn maker(name: &str) -> Option<u32> {
    name.strip_prefix(PREFIX)?.split('-').next()?.parse().ok()
}

#[test]
fn the_maker_is_in_the_name() {
    assert_eq!(maker(&fresh_name()), Some(process::id()));
    assert_eq!(maker("bcl-ns-x-0-1"), None);
    assert_eq!(maker("of-somebody-else"), None);
}
