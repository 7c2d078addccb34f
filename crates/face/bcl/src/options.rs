//! How a port is opened: by default nothing has to be set up.

use std::path::PathBuf;
use std::time::Duration;

use bcl_node::JobKey;
use bcl_raw::{CopyMode, Error, Options};
use bcl_types::{Device, NodeId};

use crate::port::Port;
use crate::shared::SharedPort;

/// Settings for opening a port; what is not set comes from the environment, else from the machine.
///
/// | setting | environment | default |
/// |---|---|---|
/// | [`node`](Self::node) | `BCL_NODE`, [`Nodes`](crate::Nodes) | IPv4 address of the interface with the default route, or of the only one; else 127.0.0.1 |
/// | [`folder`](Self::folder) | `BCL_DIR` | `/tmp/bcl` |
/// | [`key`](Self::key) | `BCL_JOB_KEY`, `BCL_JOB_KEY_FILE` | one for each user |
/// | [`allow_uids`](Self::allow_uids) | `BCL_ALLOW_UIDS` (numbers with commas) | nobody else |
/// | [`copy_mode`](Self::copy_mode) | `BCL_COPY` (`auto`, `single`, `stream`) | `auto` |
/// | [`device`](Self::device) | `BCL_DEVICE` (`auto`, `shm`, `udp`, `xdp`) | `auto` |
/// | [`dead_after`](Self::dead_after) | `BCL_DEAD_AFTER_MS` | 3000 ms |
/// | | `BCL_STREAMS` (`auto`, `xdp`): whether the program at the interface takes what comes in streams too | `auto` |
#[derive(Debug, Clone, Default)]
#[must_use = "options do nothing until a port is opened"]
pub struct PortOptions(Options);

impl PortOptions {
    /// Nothing set.
    pub fn new() -> Self {
        Self::default()
    }

    /// Asks for a well-known port number; otherwise one from 1024 up is assigned.
    pub fn number(mut self, number: u16) -> Self {
        self.0.number = Some(number);
        self
    }

    /// Sets the node number.
    pub fn node(mut self, node: NodeId) -> Self {
        self.0.node = Some(node);
        self
    }

    /// Sets the folder where the ports of a node find each other.
    pub fn folder(mut self, folder: impl Into<PathBuf>) -> Self {
        self.0.folder = Some(folder.into());
        self
    }

    /// Sets the key of the job; ports with different keys cannot reach each other.
    pub fn key(mut self, key: JobKey) -> Self {
        self.0.key = Some(key);
        self
    }

    /// Lets ports of these users connect as well, if they have the key and allow us.
    pub fn allow_uids(mut self, uids: Vec<u32>) -> Self {
        self.0.allow_uids = Some(uids);
        self
    }

    /// Sets how long messages are copied.
    pub fn copy_mode(mut self, mode: CopyMode) -> Self {
        self.0.copy_mode = Some(mode);
        self
    }

    /// Sets what moves the messages: shared memory alone ([`Device::Shm`]: ports of other nodes are unreachable), or packets
    /// alone, even within a node. With [`Device::Xdp`] no port is opened unless the node's agent, `bcld`, opens it.
    ///
    /// `None` is `auto`: shared memory within the node; between nodes, if the job has a key of its own, packets, which the
    /// program at the interface takes if the node's agent opens the port, else the port itself.
    /// [`Port::peers`] tells which, and why.
    pub fn device(mut self, device: impl Into<Option<Device>>) -> Self {
        self.0.device = Some(device.into());
        self
    }

    /// Sets after which silence a peer on another node is given up.
    pub fn dead_after(mut self, time: Duration) -> Self {
        self.0.dead_after = Some(time);
        self
    }

    /// Opens a port for one thread at a time.
    pub fn open(self) -> Result<Port, Error> {
        Ok(Port::of(self.0.open()?))
    }

    /// Opens a port for many threads.
    pub fn open_shared(self) -> Result<SharedPort, Error> {
        Ok(SharedPort::of(self.open()?))
    }
}

impl From<PortOptions> for Options {
    fn from(options: PortOptions) -> Self {
        options.0
    }
}
