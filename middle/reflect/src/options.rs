//! Which region is joined, and as which of its members.

use std::env;
use std::net::IpAddr;
use std::path::PathBuf;

use bcl_node::{Folder, JobKey, Seat};
use serde::{Deserialize, Serialize};

use crate::error::Error;
use crate::net::places::{self, Places};
use crate::region::Region;
use crate::seat::Secret;

/// Longest name of a region.
pub const NAME_MAX_BYTES: usize = 64;
/// Most members of a region.
pub const MEMBERS_MAX: u16 = 256;
/// Longest region.
pub const REGION_MAX_BYTES: u64 = 4 << 30;

/// Settings for joining a region; what is not set comes from the environment.
///
/// | setting | environment | default |
/// |---|---|---|
/// | [`members`](Self::members) | `BCL_SIZE` | must be set, or the process be started by `bcl run` |
/// | [`member`](Self::member) | `BCL_RANK` | the same |
/// | [`folder`](Self::folder) | `BCL_DIR` | `/tmp/bcl` |
/// | [`key`](Self::key) | `BCL_JOB_KEY`, `BCL_JOB_KEY_FILE` | one for each user |
/// | [`hosts`](Self::hosts) | `BCL_HOSTS`, which `bcl run --hosts` sets, with the nodes file | this host only |
/// | | `BCL_MULTICAST` (`auto`, `off`): whether what is written goes by IP multicast to hosts that hear it | `auto` |
/// | [`address`](Self::address) | `BCL_NODE`, with the nodes file | the one of the hosts' that is this machine's |
#[derive(Debug, Clone)]
#[must_use = "options do nothing until a region is joined"]
pub struct Options {
    name: String,
    len_bytes: u64,
    members: Option<u16>,
    member: Option<u16>,
    folder: Option<PathBuf>,
    key: Option<JobKey>,
    hosts: Option<Vec<IpAddr>>,
    address: Option<IpAddr>,
}

/// What all members of a region say alike.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Geometry {
    pub name: String,
    pub members: u16,
    pub len_bytes: u64,
    /// Other hosts have it too, or may.
    #[serde(default, rename = "between_hosts")]
    pub is_networked: bool,
}

/// What there is to join.
pub(crate) struct Joining {
    pub geometry: Geometry,
    pub seat: Seat,
    pub folder: Folder,
    pub secret: Secret,
    pub places: Option<Places>,
}

impl Options {
    /// For the region of this name, and of so many bytes, a multiple of 8.
    pub fn new(name: impl Into<String>, len_bytes: u64) -> Self {
        Self {
            name: name.into(),
            len_bytes,
            members: None,
            member: None,
            folder: None,
            key: None,
            hosts: None,
            address: None,
        }
    }

    /// Sets how many members the region has, all in all: 1 to [`MEMBERS_MAX`].
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

    /// Sets the key of the job; the same name under another key is another region.
    pub fn key(mut self, key: JobKey) -> Self {
        self.key = Some(key);
        self
    }

    /// Sets on which hosts the members are, by addresses that all reach; the own may be among them. With no other, the region is
    /// one of this host.
    ///
    /// They exchange UDP datagrams at ports from 28192 to 32735, authenticated by the key.
    pub fn hosts(mut self, hosts: impl IntoIterator<Item = IpAddr>) -> Self {
        self.hosts = Some(hosts.into_iter().collect());
        self
    }

    /// Sets which address others know this host by.
    pub fn address(mut self, address: IpAddr) -> Self {
        self.address = Some(address);
        self
    }

    /// Joins the region, and makes it if nobody is there. Returns once this process has it: at once, or when others have made
    /// it who came at the same time. Between hosts, others are looked for a second long if they do not answer at once, and what
    /// has been written is fetched.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`], [`Error::Configuration`], [`Error::Key`] and [`Error::Folder`] for settings;
    /// [`Error::Taken`], [`Error::Geometry`], [`Error::NoAnswer`] and [`Error::NotKept`] because of those who are there;
    /// [`Error::Memory`], [`Error::Socket`] and [`Error::System`] because of the machine.
    pub fn join(self) -> Result<Region, Error> {
        Region::join(self.check()?)
    }

    fn check(self) -> Result<Joining, Error> {
        let places = places::find(self.hosts, self.address)?;
        let geometry = Geometry {
            members: number_of_members(self.members)?,
            name: self.name,
            len_bytes: self.len_bytes,
            is_networked: places.is_some(),
        };
        geometry.check().map_err(Error::InvalidArgument)?;
        let member = or_from_env(self.member, "BCL_RANK", "member")?;
        if member >= geometry.members {
            return Err(Error::InvalidArgument(format!(
                "member {member} of a region of {}: they have the numbers from 0",
                geometry.members
            )));
        }
        let key = self.key.map_or_else(JobKey::from_env, Ok)?;
        let region = region_id(&key, &geometry.name);
        Ok(Joining {
            secret: Secret::new(key, &geometry.name),
            geometry,
            seat: Seat { region, member },
            folder: Folder::open(self.folder.unwrap_or_else(Folder::default_path))?,
            places,
        })
    }
}

impl Geometry {
    /// What to say to who has another idea of the region than those who are there.
    pub fn differs_from(&self, theirs: &Self) -> Error {
        let where_it_is = |geometry: &Self| match geometry.is_networked {
            _ if self.is_networked == theirs.is_networked => "",
            true => " on several hosts",
            false => " on this host only",
        };
        Error::Geometry {
            name: self.name.clone(),
            members: theirs.members,
            len_bytes: theirs.len_bytes,
            own_members: self.members,
            own_len_bytes: self.len_bytes,
            theirs: where_it_is(theirs),
            ours: where_it_is(self),
        }
    }

    /// What is wrong with it. [REFLECT-1.1]
    pub fn check(&self) -> Result<(), String> {
        let Self {
            name,
            members,
            len_bytes,
            is_networked: _,
        } = self;
        if name.is_empty() || name.len() > NAME_MAX_BYTES {
            return Err(format!(
                "a region's name of {} bytes: 1 to {NAME_MAX_BYTES} are possible",
                name.len()
            ));
        }
        if !(1..=MEMBERS_MAX).contains(members) {
            return Err(format!(
                "a region of {members} members: 1 to {MEMBERS_MAX} are possible"
            ));
        }
        if !(8..=REGION_MAX_BYTES).contains(len_bytes) || !len_bytes.is_multiple_of(8) {
            return Err(format!(
                "a region of {len_bytes} bytes: multiples of 8 up to {REGION_MAX_BYTES} are possible"
            ));
        }
        Ok(())
    }
}

/// REFLECT-2.1
fn region_id(key: &JobKey, name: &str) -> u64 {
    let derived = key.derive(&format!("region {name}"));
    derived[..6]
        .iter()
        .fold(0, |id, byte| id << 8 | u64::from(*byte))
}

/// How many members a region has: as said, or else as many as the job has processes (`BCL_SIZE`). For who has to know before it can say
/// how long the region is.
///
/// # Errors
/// [`Error::Configuration`] if nobody says.
pub fn number_of_members(given: Option<u16>) -> Result<u16, Error> {
    or_from_env(given, "BCL_SIZE", "members")
}

fn or_from_env(given: Option<u16>, variable: &str, what: &str) -> Result<u16, Error> {
    if let Some(given) = given {
        return Ok(given);
    }
    let Ok(text) = env::var(variable) else {
        return Err(Error::Configuration(format!(
            "nobody says the {what} of the region: set it, or start the program with bcl run, which sets {variable}"
        )));
    };
    text.parse().map_err(|_| {
        Error::Configuration(format!(
            "{variable}={text} is no number of a region's {what}: set it in the program"
        ))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(options: Options) -> String {
        options.member(0).check().map(drop).unwrap_err().to_string()
    }

    #[test]
    fn what_cannot_be_right_is_refused_with_what_can() {
        let long = "x".repeat(NAME_MAX_BYTES + 1);
        assert!(refused(Options::new("", 8).members(1)).contains("1 to 64"));
        assert!(refused(Options::new(long, 8).members(1)).contains("of 65 bytes"));
        assert!(refused(Options::new("x", 8).members(0)).contains("1 to 256"));
        assert!(refused(Options::new("x", 8).members(257)).contains("1 to 256"));
        for len_bytes in [0, 4, 12, REGION_MAX_BYTES + 8] {
            assert!(refused(Options::new("x", len_bytes).members(1)).contains("multiples of 8"));
        }
        let beyond = Options::new("x", 8).members(2).member(2).check();
        assert!(matches!(beyond, Err(Error::InvalidArgument(_))));
    }

    #[test]
    fn regions_of_other_names_or_keys_are_others() {
        let key = |byte: &str| JobKey::from_hex(&byte.repeat(32)).unwrap();
        let id = region_id(&key("01"), "a");
        assert_eq!(id, region_id(&key("01"), "a"));
        assert_ne!(id, region_id(&key("01"), "b"));
        assert_ne!(id, region_id(&key("02"), "a"));
        assert!(id < 1 << 48);
    }
}
