//! How a port is opened: by default nothing has to be set up.

use std::path::PathBuf;
use std::time::Duration;

use bcl_node::{Folder, JobKey, detect_node};
use bcl_tier_shm::{Config, CopyMode};
use bcl_types::NodeId;

use crate::core::Core;
use crate::error::Error;
use crate::port::Port;
use crate::shared::SharedPort;
use crate::tiers::{Tiers, Wish};

/// After which silence a peer on another node is given up, if nobody has said otherwise.
const DEAD_AFTER: Duration = Duration::from_secs(3);

/// Settings for opening a port; what is not set comes from the environment, else from the machine.
///
/// | setting | environment | default |
/// |---|---|---|
/// | [`node`](Self::node) | `BCL_NODE`, [`Nodes`](crate::Nodes) | IPv4 address of the interface with the default route, else 127.0.0.1 |
/// | [`folder`](Self::folder) | `BCL_DIR` | `/tmp/bcl` |
/// | [`key`](Self::key) | `BCL_JOB_KEY`, `BCL_JOB_KEY_FILE` | one for each user |
/// | [`allow_uids`](Self::allow_uids) | `BCL_ALLOW_UIDS` (numbers with commas) | nobody else |
/// | [`copy_mode`](Self::copy_mode) | `BCL_COPY` (`auto`, `stream`) | `auto` |
/// | [`device`](Self::device) | `BCL_DEVICE` (`auto`, `shm`, `udp`, `xdp`) | `auto` |
/// | [`dead_after`](Self::dead_after) | `BCL_DEAD_AFTER_MS` | 3000 ms |
#[derive(Debug, Clone, Default)]
#[must_use = "options do nothing until a port is opened"]
pub struct PortOptions {
    number: Option<u16>,
    node: Option<NodeId>,
    folder: Option<PathBuf>,
    key: Option<JobKey>,
    allow_uids: Option<Vec<u32>>,
    copy_mode: Option<CopyMode>,
    device: Option<Device>,
    dead_after: Option<Duration>,
}

/// How a port reaches its peers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Device {
    /// Shared memory within the node. Between nodes, if the job has a key of its own, packets: the program at the
    /// interface takes those that come ([`Xdp`](Self::Xdp)) if the node's agent opens the port, else the port itself
    /// ([`Udp`](Self::Udp)); [`Port::peers`] tells which, and why.
    #[default]
    Auto,
    /// Shared memory only: ports of other nodes are unreachable.
    Shm,
    /// UDP only, even within a node.
    Udp,
    /// UDP only, even within a node, and the program at the interface takes what comes: no port is opened unless the
    /// node's agent, `bcld`, opens it.
    Xdp,
}

impl PortOptions {
    /// Nothing set.
    pub fn new() -> Self {
        Self::default()
    }

    /// Asks for a well-known port number; otherwise one from 1024 up is assigned.
    pub fn number(mut self, number: u16) -> Self {
        self.number = Some(number);
        self
    }

    /// Sets the node number.
    pub fn node(mut self, node: NodeId) -> Self {
        self.node = Some(node);
        self
    }

    /// Sets the folder where the ports of a node find each other.
    pub fn folder(mut self, folder: impl Into<PathBuf>) -> Self {
        self.folder = Some(folder.into());
        self
    }

    /// Sets the key of the job; ports with different keys cannot reach each other.
    pub fn key(mut self, key: JobKey) -> Self {
        self.key = Some(key);
        self
    }

    /// Lets ports of these users connect as well, if they have the key and allow us.
    pub fn allow_uids(mut self, uids: Vec<u32>) -> Self {
        self.allow_uids = Some(uids);
        self
    }

    /// Sets how long messages are copied.
    pub fn copy_mode(mut self, mode: CopyMode) -> Self {
        self.copy_mode = Some(mode);
        self
    }

    /// Sets which tiers the port uses.
    pub fn device(mut self, device: Device) -> Self {
        self.device = Some(device);
        self
    }

    /// Sets after which silence a peer on another node is given up.
    pub fn dead_after(mut self, time: Duration) -> Self {
        self.dead_after = Some(time);
        self
    }

    /// Opens a port for one thread at a time.
    pub fn open(self) -> Result<Port, Error> {
        Ok(Port::of(self.open_core()?))
    }

    /// Opens a port for many threads.
    pub fn open_shared(self) -> Result<SharedPort, Error> {
        Ok(SharedPort::of(self.open()?))
    }

    /// Opens a port for a binding that brings its own safety.
    pub fn open_core(self) -> Result<Core, Error> {
        let wish = Wish {
            device: match self.device {
                Some(device) => device,
                None => device_from(std::env::var("BCL_DEVICE").ok().as_deref())?,
            },
            dead_after: match self.dead_after {
                Some(time) => time,
                None => dead_after_from(std::env::var("BCL_DEAD_AFTER_MS").ok().as_deref())?,
            },
            has_key: self.key.is_some() || JobKey::is_given_in_env(),
        };
        Ok(Core::new(Tiers::open(&self.resolve()?, &wish)?))
    }

    fn resolve(self) -> Result<Config, Error> {
        Ok(Config {
            node: match self.node {
                Some(node) => node,
                None => detect_node()?.0,
            },
            number: self.number,
            folder: self.folder.unwrap_or_else(Folder::default_path),
            key: match self.key {
                Some(key) => key,
                None => JobKey::from_env()?,
            },
            allow_uids: match self.allow_uids {
                Some(uids) => uids,
                None => allow_uids_from(std::env::var("BCL_ALLOW_UIDS").ok().as_deref())?,
            },
            copy_mode: match self.copy_mode {
                Some(mode) => mode,
                None => copy_mode_from(std::env::var("BCL_COPY").ok().as_deref())?,
            },
        })
    }
}

fn allow_uids_from(text: Option<&str>) -> Result<Vec<u32>, Error> {
    let items = text
        .unwrap_or_default()
        .split(',')
        .map(str::trim)
        .filter(|item| !item.is_empty());
    items
        .map(|item| {
            item.parse().map_err(|_| {
                Error::Configuration(format!("BCL_ALLOW_UIDS: '{item}' is not a user id; write numbers with commas, as in 1000,1001"))
            })
        })
        .collect()
}

fn copy_mode_from(text: Option<&str>) -> Result<CopyMode, Error> {
    match text {
        None | Some("" | "auto") => Ok(CopyMode::Auto),
        Some("stream") => Ok(CopyMode::Stream),
        Some(other) => Err(Error::Configuration(format!(
            "BCL_COPY: '{other}' is not a way to copy; write auto or stream"
        ))),
    }
}

fn device_from(text: Option<&str>) -> Result<Device, Error> {
    match text {
        None | Some("" | "auto") => Ok(Device::Auto),
        Some("shm") => Ok(Device::Shm),
        Some("udp") => Ok(Device::Udp),
        Some("xdp") => Ok(Device::Xdp),
        Some(other) => Err(Error::Configuration(format!(
            "BCL_DEVICE: '{other}' is no device; write auto, shm, udp or xdp"
        ))),
    }
}

fn dead_after_from(text: Option<&str>) -> Result<Duration, Error> {
    let Some(text) = text.filter(|text| !text.is_empty()) else {
        return Ok(DEAD_AFTER);
    };
    match text.parse() {
        Ok(time_ms @ 100..=3_600_000) => Ok(Duration::from_millis(time_ms)),
        _ => Err(Error::Configuration(format!(
            "BCL_DEAD_AFTER_MS: '{text}' is no time in milliseconds from 100 to 3600000"
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_are_read_or_refused_with_what_to_write() {
        assert_eq!(
            allow_uids_from(Some("1000, 1001,")).unwrap(),
            vec![1000, 1001]
        );
        assert!(allow_uids_from(None).unwrap().is_empty());
        assert!(
            allow_uids_from(Some("alice"))
                .unwrap_err()
                .to_string()
                .contains("1000,1001")
        );
        assert_eq!(copy_mode_from(Some("stream")).unwrap(), CopyMode::Stream);
        assert!(
            copy_mode_from(Some("fast"))
                .unwrap_err()
                .to_string()
                .contains("auto or stream")
        );
    }
}
