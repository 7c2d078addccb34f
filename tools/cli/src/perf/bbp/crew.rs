//! The processes of a measurement: this one, and one for each other member, on hosts of their own if that is wished.

use std::ffi::OsString;
use std::fs::DirBuilder;
use std::io;
use std::net::IpAddr;
use std::os::unix::fs::DirBuilderExt;
use std::path::PathBuf;

use bcl::JobKey;
use bcl_bbp::{Billboard, Options};
use bcl_launch::allowed_cores;
use bcl_netns::{Block, Host};

use super::arguments::Arguments;
use crate::failure::{Failure, Result};
use crate::perf::netns;
use crate::spawn::Partner;
use crate::{cores, interrupt};

/// Of each host, and of the switch.
pub const INTERFACE: &str = "bcl0";

/// This process's board, and the others.
pub struct Crew {
    pub board: Billboard,
    others: Vec<Partner>,
    /// They live as long as this.
    pub hosts: Option<Hosts>,
}

/// Hosts that a switch joins; each has a folder of its own.
pub struct Hosts {
    pub hosts: Vec<Host>,
    pub addresses: Vec<IpAddr>,
    folders: PathBuf,
    _switch: Host,
}

impl Crew {
    /// What the others have to say about a failure, if one has failed first.
    pub fn explain(&self, failure: Failure) -> Failure {
        let pids: Vec<String> = self
            .others
            .iter()
            .map(|one| one.pid().to_string())
            .collect();
        Failure {
            text: format!(
                "{} (the other members are processes {})",
                failure.text,
                pids.join(", ")
            ),
            ..failure
        }
    }
}

/// Starts the others, and joins with them.
pub fn gather(arguments: &Arguments) -> Result<Crew> {
    let key = JobKey::random().map_err(|error| Failure::new(error.to_string()))?;
    let hosts = match arguments.hosts {
        Some(_) => Some(Hosts::make(arguments.members).map_err(netns::explain)?),
        None => None,
    };
    let places = hosts.as_ref().map_or(&[][..], |hosts| &hosts.addresses);
    let mut others = Vec::new();
    for member in 1..arguments.members {
        let told = more_arguments(member, places);
        let command_line = std::env::args_os().skip(1).chain(told);
        others.push(Partner::start_with(command_line, &key, |command| {
            let Some(hosts) = &hosts else {
                return Ok(());
            };
            command.env("BCL_DIR", hosts.folder(member));
            let adopted = hosts.hosts[usize::from(member)].adopt(command);
            adopted.map_err(|error| Failure::system("give a member a network", error))
        })?);
    }
    let folder = hosts.as_ref().map(|hosts| hosts.folder(0));
    if let Some(hosts) = &hosts {
        let entered = hosts.hosts[0].enter();
        entered.map_err(|error| Failure::system("enter a network", error))?;
    }
    let here = Here {
        member: 0,
        places,
        folder,
        key: Some(key),
    };
    let board = here.join(arguments)?;
    Ok(Crew {
        board,
        others,
        hosts,
    })
}

fn more_arguments(member: u16, places: &[IpAddr]) -> Vec<OsString> {
    let mut arguments = vec!["--member".into(), member.to_string().into()];
    if !places.is_empty() {
        let places: Vec<String> = places.iter().map(IpAddr::to_string).collect();
        arguments.extend(["--at".into(), places.join(",").into()]);
    }
    arguments
}

/// Joins as one of the others.
pub fn join(arguments: &Arguments, member: u16) -> Result<Billboard> {
    // The folder and the key are in the environment.
    let here = Here {
        member,
        places: &arguments.at,
        folder: None,
        key: None,
    };
    here.join(arguments)
}

/// What a member joins as.
struct Here<'a> {
    member: u16,
    places: &'a [IpAddr],
    folder: Option<PathBuf>,
    key: Option<JobKey>,
}

impl Here<'_> {
    fn join(self, arguments: &Arguments) -> Result<Billboard> {
        let index = usize::from(self.member);
        let mut options = Options::new("perf")
            .members(arguments.members)
            .member(self.member)
            .data_bytes(arguments.data_bytes());
        if let Some(own) = self.places.get(index) {
            options = options.hosts(self.places.iter().copied()).address(*own);
        }
        if let Some(folder) = self.folder {
            options = options.folder(folder);
        }
        if let Some(key) = self.key {
            options = options.key(key);
        }
        let board = options.join();
        let board = board.map_err(|error| Failure::new(error.to_string()))?;
        // This thread only: the library's go where there is room.
        let cores = allowed_cores()?;
        cores::pin(cores[index % cores.len()])?;
        Ok(board)
    }
}

impl Hosts {
    fn make(members: u16) -> io::Result<Self> {
        let block = Block::free()?;
        let switch = Host::new()?;
        switch.run(&format!("ip link add {INTERFACE} type bridge"))?;
        switch.run(&format!("ip link set {INTERFACE} up"))?;
        let mut hosts = Vec::new();
        let mut addresses = Vec::new();
        for member in 0..members {
            let host = Host::new()?;
            let address = IpAddr::from(block.v4(0, member as u8 + 1));
            let socket = format!("port{member}");
            host.plug_into((INTERFACE, address), &switch, (&socket, INTERFACE))?;
            hosts.push(host);
            addresses.push(address);
        }
        let folders = std::env::temp_dir().join(format!("bcl-perf-{}", std::process::id()));
        let for_signals = folders.clone();
        interrupt::on_exit(move || drop(std::fs::remove_dir_all(for_signals)));
        DirBuilder::new().mode(0o700).create(&folders)?;
        Ok(Self {
            hosts,
            addresses,
            folders,
            _switch: switch,
        })
    }

    fn folder(&self, member: u16) -> PathBuf {
        self.folders.join(member.to_string())
    }
}

impl Drop for Hosts {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.folders);
    }
}
