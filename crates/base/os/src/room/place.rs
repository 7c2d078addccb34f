//! Which memory cgroups this process is in, and where their files are.

use std::path::{Component, Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use crate::PerProcess;
use crate::file::of_kernel;

use super::group::{Group, Version};

/// Where one hierarchy of groups is mounted.
#[derive(Debug, PartialEq, Eq)]
struct Mount {
    version: Version,
    /// The group that is seen at the folder.
    root: PathBuf,
    folder: PathBuf,
}

/// What /proc/self/cgroup said, and what followed.
type Known = Option<(String, Arc<[Group]>)>;

/// The groups that this process is in, the innermost first; none where they cannot be seen.
///
/// Each first contact asks. The table of mounts can be long and seldom changes, so it is read again only if the
/// process has come into another group.
pub(super) fn groups() -> Arc<[Group]> {
    static KNOWN: PerProcess<Mutex<Known>> = PerProcess::new(Mutex::default);
    let own = of_kernel("/proc/self/cgroup").unwrap_or_default();
    let mut known = KNOWN.get().lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((_, groups)) = known.as_ref().filter(|(of, _)| *of == own) {
        return Arc::clone(groups);
    }
    let mounts = of_kernel("/proc/self/mountinfo").unwrap_or_default();
    let groups: Arc<[Group]> = all(&own, &mounts).into();
    *known = Some((own, Arc::clone(&groups)));
    groups
}

fn all(own: &str, mounts: &str) -> Vec<Group> {
    let of_mount = |mount: Mount| {
        let mut memberships = own.lines().filter_map(membership);
        let (_, path) = memberships.find(|(version, _)| *version == mount.version)?;
        Some(upwards(&mount, path))
    };
    let mounts = mounts.lines().filter_map(mount);
    mounts.filter_map(of_mount).flatten().collect()
}

/// The group and those that it lies in, as far as they are to be seen and count it.
fn upwards(mount: &Mount, path: &Path) -> Vec<Group> {
    let Ok(below) = path.strip_prefix(&mount.root) else {
        return Vec::new();
    };
    let group = |below: &Path| Group {
        folder: mount.folder.join(below),
        version: mount.version,
    };
    let mut ancestors = below.ancestors().map(group);
    let own = ancestors.next();
    let above = ancestors.take_while(Group::counts_those_below);
    own.into_iter().chain(above).collect()
}

/// A line of /proc/self/cgroup: `4:memory:/path` in the first version, `0::/path` in the second.
fn membership(line: &str) -> Option<(Version, &Path)> {
    let mut fields = line.splitn(3, ':');
    let (number, controllers) = (fields.next()?, fields.next()?);
    let path = Path::new(fields.next()?);
    let version = match (number, controllers) {
        ("0", "") => Version::V2,
        _ if controllers.split(',').any(|name| name == "memory") => Version::V1,
        _ => return None,
    };
    // Such a path leads out of what this process's namespace of groups shows.
    let leads_out = path.components().any(|part| part == Component::ParentDir);
    (!leads_out).then_some((version, path))
}

/// A line of /proc/self/mountinfo, `32 31 0:29 ROOT FOLDER rw - cgroup NAME rw,memory`, if memory is limited there.
fn mount(line: &str) -> Option<Mount> {
    let (place, kind) = line.split_once(" - ")?;
    let mut place = place.split(' ').skip(3);
    let (root, folder) = (place.next()?, place.next()?);
    let mut kind = kind.split(' ');
    let version = match (kind.next()?, kind.nth(1)?) {
        ("cgroup2", _) => Version::V2,
        ("cgroup", options) if options.split(',').any(|option| option == "memory") => Version::V1,
        _ => return None,
    };
    Some(Mount {
        version,
        root: unescaped(root).into(),
        folder: unescaped(folder).into(),
    })
}

/// The kernel writes blanks and backslashes of names as `\040` and `\134`.
fn unescaped(name: &str) -> String {
    let escapes = [
        (r"\040", " "),
        (r"\011", "\t"),
        (r"\012", "\n"),
        (r"\134", r"\"),
    ];
    let unescape = |name: String, (escape, plain)| name.replace(escape, plain);
    escapes.into_iter().fold(name.to_owned(), unescape)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folders(own: &str, mounts: &str) -> Vec<String> {
        let folder = |group: Group| group.folder.display().to_string();
        all(own, mounts).into_iter().map(folder).collect()
    }

    #[test]
    fn the_second_version_has_one_hierarchy() {
        let own = "0::/user.slice/user-1000.slice/run-7.scope\n";
        let mounts = "25 30 0:23 / /sys rw,nosuid shared:7 - sysfs sysfs rw\n\
            34 25 0:29 / /sys/fs/cgroup rw,nosuid shared:9 - cgroup2 cgroup2 rw,nsdelegate\n";
        let expected = [
            "/sys/fs/cgroup/user.slice/user-1000.slice/run-7.scope",
            "/sys/fs/cgroup/user.slice/user-1000.slice",
            "/sys/fs/cgroup/user.slice",
            "/sys/fs/cgroup/",
        ];
        assert_eq!(folders(own, mounts), expected);
    }

    #[test]
    fn the_first_version_has_one_for_each_controller() {
        let own = "5:devices:/\n4:cpu,memory:/a/b c\n1:cpuset:/x\n0::/\n";
        let mounts = "32 31 0:29 / /sys/fs/cgroup/cpuset rw - cgroup cgroup rw,cpuset\n\
            35 31 0:32 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n\
            41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n";
        let expected = [
            "/sys/fs/cgroup/memory/a/b c",
            "/sys/fs/cgroup/memory/a",
            "/sys/fs/cgroup/memory/",
            "/sys/fs/cgroup/unified/",
        ];
        assert_eq!(folders(own, mounts), expected);
    }

    #[test]
    fn a_container_sees_its_own_group_as_the_root() {
        let mounts =
            "9 8 0:32 /docker/ab\\040c /sys/fs/cgroup/memory ro - cgroup cgroup rw,memory\n";
        let own = "4:memory:/docker/ab c/inner\n";
        let expected = ["/sys/fs/cgroup/memory/inner", "/sys/fs/cgroup/memory/"];
        assert_eq!(folders(own, mounts), expected);
        // Its own folder is not to be seen, so that nothing is known of it.
        assert!(folders("4:memory:/docker/other\n", mounts).is_empty());
        // In a namespace of groups.
        let mounts = "9 8 0:32 / /sys/fs/cgroup rw - cgroup2 cgroup rw\n";
        assert_eq!(folders("0::/\n", mounts), ["/sys/fs/cgroup/"]);
        assert!(folders("0::/../sister\n", mounts).is_empty());
    }

    #[test]
    fn what_cannot_be_understood_limits_nothing() {
        for own in ["", "x", "0:", "0::", "4:memory"] {
            assert!(folders(own, "1 2 3 - cgroup2\n - \nx\n").is_empty());
        }
    }
}
