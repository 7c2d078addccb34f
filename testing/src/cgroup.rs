//! A memory cgroup of a test's own: what happens to processes that reach its limit.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

const NAME: &str = "bcl-test-memory-";

/// A group with a limit. Its processes have to end before it does.
#[derive(Debug)]
pub struct MemoryGroup {
    folder: PathBuf,
}

impl MemoryGroup {
    /// A group that may use so much; `None`, with a word why, where none can be made.
    pub fn new(limit_bytes: u64) -> Option<Self> {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let Some((parent, limit)) = hierarchy() else {
            println!("no memory cgroups are mounted: nothing was checked");
            return None;
        };
        remove_empty(&parent);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let group = Self {
            folder: parent.join(format!("{NAME}{}-{number}", std::process::id())),
        };
        let made = fs::create_dir(&group.folder)
            .and_then(|()| fs::write(group.folder.join(limit), limit_bytes.to_string()));
        match made {
            Ok(()) => Some(group),
            Err(error) => {
                println!("no memory cgroup can be made, nothing was checked: {error}");
                None
            }
        }
    }

    /// Moves a process into it; what that has used so far stays where it was counted.
    pub fn take(&self, pid: i32) -> io::Result<()> {
        fs::write(self.folder.join("cgroup.procs"), pid.to_string())
    }
}

impl Drop for MemoryGroup {
    fn drop(&mut self) {
        // The kernel takes a moment to see that a process has left.
        for _ in 0..100 {
            if fs::remove_dir(&self.folder).is_ok() {
                return;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

/// Where groups are made, and the file with a group's limit, by the older or the newer interface of the kernel.
fn hierarchy() -> Option<(PathBuf, &'static str)> {
    let older = Path::new("/sys/fs/cgroup/memory");
    let newer = Path::new("/sys/fs/cgroup");
    if older.is_dir() {
        let own = fs::read_to_string("/proc/self/cgroup").ok()?;
        let path = own.lines().find_map(|line| line.split_once(":memory:"))?.1;
        return Some((
            older.join(path.trim_start_matches('/')),
            "memory.limit_in_bytes",
        ));
    }
    // A group that has processes can have none below it, so that it is made at the top.
    let controllers = fs::read_to_string(newer.join("cgroup.subtree_control")).ok()?;
    let has_memory = controllers.split_whitespace().any(|name| name == "memory");
    has_memory.then(|| (newer.to_owned(), "memory.max"))
}

/// Groups of tests that were killed.
fn remove_empty(parent: &Path) {
    for entry in fs::read_dir(parent).into_iter().flatten().flatten() {
        if entry.file_name().to_string_lossy().starts_with(NAME) {
            // Fails if it is in use.
            let _ = fs::remove_dir(entry.path());
        }
    }
}
