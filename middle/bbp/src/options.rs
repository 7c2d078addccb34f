//! Which board is joined, and as which of its members.

use std::net::IpAddr;
use std::path::PathBuf;

use bcl_reflect::JobKey;

use crate::board::Billboard;
use crate::error::Error;
use crate::layout::Layout;

/// Longest name of a board.
pub const NAME_MAX_BYTES: usize = bcl_reflect::NAME_MAX_BYTES - PREFIX.len();
/// Most members of a board.
pub const MEMBERS_MAX: u16 = bcl_reflect::MEMBERS_MAX;
/// Room for each member's messages, if nothing is said.
pub const DATA_BYTES: u64 = 256 << 10;
/// The most that there can be for each.
pub const DATA_MAX_BYTES: u64 = 1 << 30;

/// Tells the region of a board from others, and this version of the protocol from later ones.
const PREFIX: &str = "bbp1 ";

/// Settings for joining a billboard; what is not set comes from the environment, as with [`bcl_reflect::Options`]: in a job of `bcl run`
/// its processes are the members, by rank, on all its hosts.
#[derive(Debug, Clone)]
#[must_use = "options do nothing until a billboard is joined"]
pub struct Options {
    name: String,
    data_bytes: u64,
    members: Option<u16>,
    member: Option<u16>,
    folder: Option<PathBuf>,
    key: Option<JobKey>,
    hosts: Option<Vec<IpAddr>>,
    address: Option<IpAddr>,
}

impl Options {
    /// For the billboard of this name, of 1 to [`NAME_MAX_BYTES`] bytes.
    pub fn new(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            data_bytes: DATA_BYTES,
            members: None,
            member: None,
            folder: None,
            key: None,
            hosts: None,
            address: None,
        }
    }

    /// Sets how much room each member has for messages that have not been read by all they are for: a multiple of 64, up to
    /// [`DATA_MAX_BYTES`], and as long as the longest message at least. All members must say the same.
    pub fn data_bytes(mut self, data_bytes: u64) -> Self {
        self.data_bytes = data_bytes;
        self
    }

    /// Sets how many members the board has, all in all: 1 to [`MEMBERS_MAX`].
    pub fn members(mut self, members: u16) -> Self {
        self.members = Some(members);
        self
    }

    /// Sets which of them this process is, from 0.
    pub fn member(mut self, member: u16) -> Self {
        self.member = Some(member);
        self
    }

    /// Sets the folder where the members of a node find each other.
    pub fn folder(mut self, folder: impl Into<PathBuf>) -> Self {
        self.folder = Some(folder.into());
        self
    }

    /// Sets the key of the job; the same name under another key is another board.
    pub fn key(mut self, key: JobKey) -> Self {
        self.key = Some(key);
        self
    }

    /// Sets on which hosts the members are, by addresses that all reach.
    pub fn hosts(mut self, hosts: impl IntoIterator<Item = IpAddr>) -> Self {
        self.hosts = Some(hosts.into_iter().collect());
        self
    }

    /// Sets which address others know this host by.
    pub fn address(mut self, address: IpAddr) -> Self {
        self.address = Some(address);
        self
    }

    /// Joins the billboard. Others need not be there: what is posted for them waits until they come.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`], and those of [`bcl_reflect::Options::join`].
    pub fn join(self) -> Result<Billboard, Error> {
        self.check().map_err(Error::InvalidArgument)?;
        let members = bcl_reflect::number_of_members(self.members)?;
        let layout = Layout::new(members, self.data_bytes);
        let name = format!("{PREFIX}{}", self.name);
        let mut region = bcl_reflect::Options::new(name, layout.region_bytes()).members(members);
        if let Some(member) = self.member {
            region = region.member(member);
        }
        if let Some(folder) = self.folder {
            region = region.folder(folder);
        }
        if let Some(key) = self.key {
            region = region.key(key);
        }
        if let Some(hosts) = self.hosts {
            region = region.hosts(hosts);
        }
        if let Some(address) = self.address {
            region = region.address(address);
        }
        Billboard::over(region.join()?, layout)
    }

    fn check(&self) -> Result<(), String> {
        let len_bytes = self.name.len();
        if !(1..=NAME_MAX_BYTES).contains(&len_bytes) {
            return Err(format!(
                "a billboard's name of {len_bytes} bytes: 1 to {NAME_MAX_BYTES} are possible"
            ));
        }
        let data_bytes = self.data_bytes;
        if !(64..=DATA_MAX_BYTES).contains(&data_bytes) || !data_bytes.is_multiple_of(64) {
            return Err(format!(
                "{data_bytes} bytes for each member's messages: multiples of 64 up to {DATA_MAX_BYTES} are possible"
            ));
        }
        Ok(())
    }
}
