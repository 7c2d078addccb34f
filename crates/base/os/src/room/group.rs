//! One memory cgroup: its limit, and what is left of it.

use std::path::PathBuf;

use crate::file::of_kernel;

use crate::memfd::Want;

/// The two interfaces that the kernel has to cgroups.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Version {
    V1,
    V2,
}

/// A group that this process is in, itself or by one of its descendants.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Group {
    pub folder: PathBuf,
    pub version: Version,
}

impl Group {
    /// Says if so much does not fit. A file that cannot be read limits nothing that we know of.
    pub fn check(&self, len_bytes: u64) -> Result<(), Want> {
        let (limit, usage) = match self.version {
            Version::V1 => ("memory.limit_in_bytes", "memory.usage_in_bytes"),
            Version::V2 => ("memory.max", "memory.current"),
        };
        let (Some(limit_bytes), Some(used_bytes)) = (self.number(limit), self.number(usage)) else {
            return Ok(());
        };
        let besides = besides(len_bytes);
        let needed = len_bytes.saturating_add(besides);
        let unused = limit_bytes.saturating_sub(used_bytes);
        // To sum up its statistics costs the kernel more than all else here, so only if it decides.
        if needed <= unused {
            return Ok(());
        }
        let left = unused.saturating_add(self.cache_bytes().min(used_bytes));
        if needed <= left.min(limit_bytes) {
            return Ok(());
        }
        Err(Want::Group {
            group: self.folder.join(limit).display().to_string(),
            limit_bytes,
            left_bytes: left.min(limit_bytes).saturating_sub(besides),
        })
    }

    /// Whether the memory of the groups below counts here as well, which was a choice once.
    pub fn counts_those_below(&self) -> bool {
        self.version == Version::V2 || self.number("memory.use_hierarchy") != Some(0)
    }

    /// Copies of files, which the kernel drops for whoever needs memory. Shared memory is none of them.
    fn cache_bytes(&self) -> u64 {
        let stat = of_kernel(self.folder.join("memory.stat")).unwrap_or_default();
        let names = match self.version {
            Version::V1 => ["total_inactive_file", "total_active_file"],
            Version::V2 => ["inactive_file", "active_file"],
        };
        names.iter().filter_map(|name| field(&stat, name)).sum()
    }

    /// `None` too for `max`, which is no limit.
    fn number(&self, file: &str) -> Option<u64> {
        let text = of_kernel(self.folder.join(file)).ok()?;
        text.trim_end().parse().ok()
    }
}

/// What is to be left besides for the kernel's tables of so much memory, and for the next page of anybody in the group.
fn besides(len_bytes: u64) -> u64 {
    const NEXT_PAGES_BYTES: u64 = 1 << 20;
    len_bytes / 64 + NEXT_PAGES_BYTES
}

fn field(stat: &str, name: &str) -> Option<u64> {
    stat.lines()
        .find_map(|line| line.strip_prefix(name)?.strip_prefix(' '))?
        .parse()
        .ok()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    const MIB: u64 = 1 << 20;

    /// A folder with such files; removed in the end.
    struct Files(Group);

    impl Files {
        fn new(name: &str, version: Version, files: &[(&str, &str)]) -> Self {
            let name = format!("bcl-test-group-{}-{name}", std::process::id());
            let folder = std::env::temp_dir().join(name);
            fs::create_dir(&folder).unwrap();
            for (file, text) in files {
                fs::write(folder.join(file), text).unwrap();
            }
            Self(Group { folder, version })
        }
    }

    impl Drop for Files {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0.folder);
        }
    }

    fn v2(name: &str, max: &str) -> Files {
        let files = [
            ("memory.max", max),
            ("memory.current", "104857600\n"),
            (
                "memory.stat",
                "anon 1\nfile 99999999\nshmem 52428800\ninactive_file 10485760\nactive_file 10485760\nworkingset_refault_file 7\n",
            ),
        ];
        Files::new(name, Version::V2, &files)
    }

    #[test]
    fn copies_of_files_are_free_and_shared_memory_is_not() {
        // 100 of 200 MiB are used, 20 of them by files.
        let group = v2("v2", "209715200\n");
        assert_eq!(group.0.check(99 * MIB - 2 * MIB), Ok(()));
        assert_eq!(group.0.check(115 * MIB), Ok(()));
        let Err(Want::Group {
            limit_bytes,
            left_bytes,
            group,
        }) = group.0.check(120 * MIB)
        else {
            panic!("it fits");
        };
        assert_eq!(limit_bytes, 200 * MIB);
        assert!(left_bytes < 120 * MIB && left_bytes > 115 * MIB);
        assert!(group.ends_with("/memory.max"), "{group}");
    }

    #[test]
    fn no_limit_is_none() {
        assert_eq!(v2("max", "max\n").0.check(u64::MAX), Ok(()));
        let unreadable = Group {
            folder: "/nonexistent".into(),
            version: Version::V2,
        };
        assert_eq!(unreadable.check(u64::MAX), Ok(()));
    }

    #[test]
    fn a_limit_below_what_is_used_leaves_only_the_cache() {
        let group = v2("below", "52428800\n");
        assert_eq!(group.0.check(10 * MIB), Ok(()));
        assert!(group.0.check(30 * MIB).is_err());
    }

    #[test]
    fn the_first_version_has_other_names_and_sums_up_those_below() {
        let files = [
            ("memory.limit_in_bytes", "209715200\n"),
            ("memory.usage_in_bytes", "104857600\n"),
            (
                "memory.stat",
                "inactive_file 0\nactive_file 0\ntotal_shmem 9\ntotal_inactive_file 20971520\ntotal_active_file 0\n",
            ),
            ("memory.use_hierarchy", "0\n"),
        ];
        let group = Files::new("v1", Version::V1, &files);
        assert_eq!(group.0.check(115 * MIB), Ok(()));
        assert!(group.0.check(120 * MIB).is_err());
        assert!(!group.0.counts_those_below());
    }
}
