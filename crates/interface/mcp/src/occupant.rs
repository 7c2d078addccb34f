//! Another XDP program on an interface: whose it is, as far as the kernel tells, and how it is taken off.
//!
//! A program is put on an interface plainly, and stays until it is taken off, or by a link, and stays as long as a process
//! or a name in a bpf file system holds that.

use std::fmt;
use std::fs;
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};

use crate::attach::{Mode, program_on};
use crate::netlink::OnInterface;
use crate::object::PROGRAM;
use crate::{pins, sys};

/// What libxdp puts there, to call other programs one after the other.
const DISPATCHER: &str = "xdp_dispatcher";
/// The folder of BCL's agents in a bpf file system, one folder in it for each.
const AGENTS: &str = "bcl";
/// Names that are looked at in bpf file systems, and how deep these are.
const NAMES_MAX: usize = 4096;
const DEPTH_MAX: usize = 4;

/// Another program.
#[derive(Debug, Clone)]
pub struct Occupant {
    /// As it is loaded; empty if the kernel does not tell.
    pub name: String,
    /// For `bpftool prog show id`.
    pub id: u32,
    /// How it is attached.
    pub mode: Mode,
    /// Processes that hold the link by which it is there, if there is one: number and name.
    pub holders: Vec<(u32, String)>,
    /// Names of that link.
    pub pins: Vec<PathBuf>,
}

impl Occupant {
    pub(crate) fn of(found: OnInterface) -> Self {
        Self {
            name: sys::program_name(found.id).unwrap_or_default(),
            id: found.id,
            mode: Mode::of(found.is_native),
            holders: holders(found.id),
            pins: pins_of(found.id),
        }
    }

    /// Whether it is on this interface still.
    pub fn is_on(&self, interface: &str) -> bool {
        let found = program_on(interface).ok().flatten();
        found.is_some_and(|found| found.id == self.id)
    }

    /// The agent whose program it is, if it is BCL's.
    pub fn agent(&self) -> Option<&str> {
        let mut agents = self.pins.iter().filter_map(|pin| {
            let folder = pin.parent()?;
            let is_agents = folder.parent()?.file_name()? == AGENTS;
            folder.file_name()?.to_str().filter(|_| is_agents)
        });
        agents.next().filter(|_| self.is_ours())
    }

    fn is_ours(&self) -> bool {
        self.name == PROGRAM || self.name.is_empty()
    }

    /// What makes room on the interface.
    pub fn remedy(&self, interface: &str) -> String {
        if let Some(agent) = self.agent() {
            return format!(
                "use that agent (`bcld check --name {agent}`), or end it and `bcld withdraw --name {agent}`"
            );
        }
        if self.name == DISPATCHER {
            return format!(
                "it calls programs that others have put there by libxdp (`xdp-loader status {interface}`): \
                 `xdp-loader unload {interface} --all` takes them off"
            );
        }
        let ends = self.holders.iter();
        let ends = ends.map(|(pid, name)| format!("end process {pid} ({name})"));
        let removals = self.pins.iter();
        let removals = removals.map(|pin| format!("`rm {}`", pin.display()));
        let all: Vec<_> = ends.chain(removals).collect();
        match (all.is_empty(), self.mode) {
            (false, _) => all.join(" and "),
            (true, Mode::Native) => format!("`ip link set dev {interface} xdpdrv off`"),
            (true, Mode::Generic) => format!("`ip link set dev {interface} xdpgeneric off`"),
        }
    }
}

impl fmt::Display for Occupant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, id, mode, .. } = self;
        match (self.agent(), name.as_str()) {
            (Some(agent), _) => write!(f, "BCL's own, of agent '{agent}'")?,
            (None, "") => write!(f, "of a name that the kernel does not tell")?,
            (None, DISPATCHER) => write!(f, "the dispatcher of libxdp")?,
            (None, name) => write!(f, "'{name}'")?,
        }
        write!(f, " (id {id}, {mode}")?;
        for (pid, name) in &self.holders {
            write!(f, ", process {pid} {name}")?;
        }
        for pin in &self.pins {
            write!(f, ", pinned at {}", pin.display())?;
        }
        f.write_str(")")
    }
}

/// Whether what /proc tells of a descriptor is of a link to an interface by which this program is there.
fn is_link_of(told: &str, program: u32) -> bool {
    let value = |field: &str| {
        let mut lines = told.lines();
        let value = lines.find_map(|line| line.strip_prefix(field)?.strip_prefix(':'));
        value.map(str::trim)
    };
    value("link_type") == Some("xdp")
        && value("prog_id").and_then(|id| id.parse().ok()) == Some(program)
}

/// Of processes that we may look into.
fn holders(program: u32) -> Vec<(u32, String)> {
    let mut holders = Vec::new();
    for process in entries(Path::new("/proc")) {
        let number = process
            .file_name()
            .and_then(|name| name.to_str()?.parse().ok());
        let Some(pid) = number else { continue };
        let mut descriptors = entries(&process.join("fdinfo"));
        let holds = descriptors
            .any(|told| fs::read_to_string(told).is_ok_and(|told| is_link_of(&told, program)));
        if holds {
            let name = fs::read_to_string(process.join("comm")).unwrap_or_default();
            holders.push((pid, name.trim().to_owned()));
        }
    }
    holders
}

fn pins_of(program: u32) -> Vec<PathBuf> {
    let mounts = fs::read_to_string("/proc/self/mounts").unwrap_or_default();
    let mut folders: Vec<(PathBuf, usize)> = mounts
        .lines()
        .filter_map(|line| {
            let mut words = line.split(' ').skip(1);
            let place = words.next()?;
            (words.next()? == "bpf").then(|| (PathBuf::from(place), 0))
        })
        .collect();
    let (mut pins, mut looked_at) = (Vec::new(), 0);
    while let Some((folder, depth)) = folders.pop() {
        for path in entries(&folder) {
            looked_at += 1;
            if looked_at > NAMES_MAX {
                return pins;
            }
            if !path.is_dir() {
                pins.extend(is_pin_of(&path, program).then_some(path));
            } else if depth < DEPTH_MAX {
                folders.push((path, depth + 1));
            }
        }
    }
    pins.sort();
    pins.dedup();
    pins
}

fn is_pin_of(path: &Path, program: u32) -> bool {
    let Ok(object) = pins::open(path) else {
        return false;
    };
    let told = fs::read_to_string(format!("/proc/self/fdinfo/{}", object.as_raw_fd()));
    told.is_ok_and(|told| is_link_of(&told, program))
}

/// None of a folder that cannot be read.
fn entries(folder: &Path) -> impl Iterator<Item = PathBuf> + use<> {
    let entries = fs::read_dir(folder).into_iter().flatten();
    entries.filter_map(|entry| Some(entry.ok()?.path()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn occupant(name: &str) -> Occupant {
        Occupant {
            name: name.into(),
            id: 7,
            mode: Mode::Generic,
            holders: Vec::new(),
            pins: Vec::new(),
        }
    }

    #[test]
    fn links_are_known_by_what_proc_tells() {
        let told =
            "pos:\t0\nlink_type:\txdp\nlink_id:\t3\nprog_tag:\t0a\nprog_id:\t17\nifindex:\t2\n";
        assert!(is_link_of(told, 17) && !is_link_of(told, 1));
        assert!(!is_link_of(&told.replace("xdp", "tcx"), 17) && !is_link_of("", 0));
    }

    #[test]
    fn it_is_taken_off_as_it_was_put_there() {
        let plain = occupant("filter");
        assert_eq!(plain.to_string(), "'filter' (id 7, generic)");
        assert_eq!(
            plain.remedy("eth0"),
            "`ip link set dev eth0 xdpgeneric off`"
        );
        let linked = Occupant {
            holders: vec![(12, "firewall".into())],
            pins: vec!["/sys/fs/bpf/x".into()],
            ..plain
        };
        let text = "'filter' (id 7, generic, process 12 firewall, pinned at /sys/fs/bpf/x)";
        assert_eq!(linked.to_string(), text);
        assert_eq!(
            linked.remedy("eth0"),
            "end process 12 (firewall) and `rm /sys/fs/bpf/x`"
        );
        assert!(
            occupant(DISPATCHER)
                .remedy("eth0")
                .contains("xdp-loader unload eth0")
        );
    }

    #[test]
    fn our_own_is_known_by_its_agent() {
        let ours = Occupant {
            pins: vec!["/sys/fs/bpf/bcl/rack/link-eth0".into()],
            ..occupant(PROGRAM)
        };
        assert_eq!(ours.agent(), Some("rack"));
        assert!(ours.remedy("eth0").contains("bcld withdraw --name rack"));
        let anothers = Occupant {
            name: "filter".into(),
            ..ours
        };
        assert_eq!(anothers.agent(), None);
    }
}
