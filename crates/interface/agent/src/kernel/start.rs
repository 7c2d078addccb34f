//! What an earlier agent has left is opened, or all is made anew.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use bcl_mcp::{Attached, Error, Mcp, Mode, ModeChoice, pins};
use rustix::fs::statfs;
use rustix::mount::{MountFlags, mount};

use super::Kernel;
use super::places::{Place, pinned};
use crate::LOG;
use crate::arguments::How;
use crate::settings::Settings;
use crate::tables::Tables;

/// BPF_FS_MAGIC of <linux/magic.h>.
const BPF_FS: u64 = 0xcafe_4a11;
/// What [`Mcp::pin`] pins last: where it is, all is.
const COMPLETE: &str = "program";
/// Before the name of an interface: where the link to it is pinned.
const LINK: &str = "link-";
/// Before the number of a port: where its counters are pinned.
const STATISTICS: &str = "stats-";

/// Mounts the bpf file system if it is not, while that is still permitted.
pub(super) fn prepare(settings: &Settings) -> Result<(), String> {
    let place = &settings.bpffs;
    if !is_bpffs(place) {
        let hint = || {
            format!(
                "no bpf file system is mounted at {0}: `mount -t bpf bpf {0}`",
                place.display()
            )
        };
        fs::create_dir_all(place).map_err(|error| format!("{}: {error}", hint()))?;
        mount("bpf", place, "bpf", MountFlags::empty(), None)
            .map_err(|errno| format!("{} ({errno})", hint()))?;
        LOG.note(format_args!(
            "mounted a bpf file system at {}",
            place.display()
        ));
    }
    let folder = settings.pins();
    fs::create_dir_all(&folder)
        .map_err(|error| format!("cannot make {}: {error}", folder.display()))?;
    let mut interfaces = settings.interfaces.iter();
    interfaces.try_for_each(|name| look_for_others(&folder, name))
}

/// Whose program is on an interface, if it is not ours, is told only to who has all privileges.
fn look_for_others(folder: &Path, interface: &str) -> Result<(), String> {
    if pinned(folder, interface).is_some() {
        return Ok(());
    }
    match bcl_mcp::look_for_others(interface) {
        Err(error @ Error::Occupied { .. }) => Err(error.to_string()),
        // What else is wrong is found out when it is attached.
        _ => Ok(()),
    }
}

pub(super) fn is_bpffs(place: &Path) -> bool {
    statfs(place).is_ok_and(|found| found.f_type as u64 == BPF_FS)
}

/// Opens or loads the program, and has it on all interfaces and no others.
pub(super) fn open(settings: &Settings) -> Result<Box<dyn Tables>, String> {
    let folder = settings.pins();
    let mcp = open_or_load(&folder).map_err(|error| error.to_string())?;
    let mut kernel = Kernel {
        mcp,
        folder,
        places: Vec::new(),
        addresses: BTreeMap::new(),
        statistics: BTreeMap::new(),
        may_be_in_use: true,
        retired: Vec::new(),
    };
    kernel.find_ports().map_err(|error| error.to_string())?;
    kernel
        .leave_interfaces(&settings.interfaces)
        .map_err(|error| error.to_string())?;
    for interface in &settings.interfaces {
        let choice = mode_choice(settings.mode);
        let place = Place::new(&kernel.mcp, &kernel.folder, interface, choice);
        match place.trouble() {
            Some(Error::NoInterface(_)) if settings.waits => {}
            Some(error) => return Err(error.to_string()),
            None => {}
        }
        kernel.places.push(place);
    }
    Ok(Box::new(kernel))
}

fn open_or_load(folder: &Path) -> Result<Mcp, Error> {
    if folder.join(COMPLETE).exists() {
        return Mcp::open(folder);
    }
    // Of an agent that was killed while it pinned them.
    for name in names(folder) {
        pins::unpin(&folder.join(name))?;
    }
    let mcp = Mcp::load()?;
    mcp.pin(folder)?;
    Ok(mcp)
}

impl Kernel {
    /// What is pinned of ports, and where their packets go.
    fn find_ports(&mut self) -> Result<(), Error> {
        for name in names(&self.folder) {
            if let Some(index) = name
                .strip_prefix(STATISTICS)
                .and_then(|text| text.parse().ok())
            {
                let map = pins::open(&self.statistics_pin(index))?;
                self.statistics.insert(index, map);
            }
        }
        let ports = &self.mcp.tables.ports;
        for key in ports.keys()? {
            if let Some(port) = ports.get(&key)? {
                self.addresses.insert(port.index, key);
            }
        }
        // Of connections that were removed by an agent that has not come to the end of it.
        let tables = &self.mcp.tables;
        for key in tables.outcomes.keys()? {
            if tables.connections.get(&key)?.is_none() {
                self.retired.push(key);
            }
        }
        Ok(())
    }

    /// Takes the program off interfaces that it is no longer wanted on.
    pub(super) fn leave_interfaces(&mut self, wanted: &[String]) -> Result<(), Error> {
        for name in names(&self.folder) {
            let is_wanted = || wanted.iter().any(|interface| link_name(interface) == name);
            if name.starts_with(LINK) && !is_wanted() {
                Attached::remove(&self.folder.join(name))?;
            }
        }
        Ok(())
    }

    pub(super) fn statistics_pin(&self, index: u32) -> PathBuf {
        self.folder.join(format!("{STATISTICS}{index}"))
    }

    /// Removes all pins, and with them what they held.
    pub(super) fn unpin_all(&mut self) -> Result<(), Error> {
        self.leave_interfaces(&[])?;
        self.places.clear();
        // So that what is left of an unfinished removal is not taken for complete.
        pins::unpin(&self.folder.join(COMPLETE))?;
        for name in names(&self.folder) {
            pins::unpin(&self.folder.join(name))?;
        }
        LOG.failed(fs::remove_dir(&self.folder));
        Ok(())
    }
}

/// What the settings say, as the interface program's crate does.
pub(super) fn mode_choice(how: How) -> ModeChoice {
    match how {
        How::Auto => ModeChoice::Auto,
        How::Native => ModeChoice::Only(Mode::Native),
        How::Generic => ModeChoice::Only(Mode::Generic),
    }
}

/// What the link to an interface is pinned as. A bpf file system takes no dots, which VLANs have in their names; no
/// interface has a colon.
pub(super) fn link_name(interface: &str) -> String {
    format!("{LINK}{}", interface.replace('.', ":"))
}

/// Names in a folder; none if it cannot be read.
fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries
        .filter_map(|entry| entry.file_name().into_string().ok())
        .collect()
}

#[test]
fn names_of_interfaces_become_names_of_pins() {
    assert_eq!(link_name("eth0"), "link-eth0");
    assert_eq!(link_name("eth0.100"), "link-eth0:100");
}
