//! How much each user may have ([AGENT-3.2]).

use std::collections::BTreeMap;

use bcl_agent_messages::{Code, Failure};
use clap::ValueEnum;
use serde::Deserialize;

use crate::failure::failure;

/// What is limited.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize, ValueEnum)]
#[serde(rename_all = "snake_case")]
#[value(rename_all = "snake_case")]
pub enum Resource {
    /// Connections to the agent.
    Clients,
    /// Ports.
    Ports,
    /// Memory of rings.
    RingBytes,
    /// Memory for windows.
    MemoryBytes,
    /// Memories for windows.
    Memories,
    /// Windows that are bound.
    Windows,
    /// Connections that were entered and have not ended.
    Connections,
}

/// An amount of each.
pub type Amounts = BTreeMap<Resource, u64>;

/// Limits of all users, and those that are different for some.
#[derive(Debug, Clone)]
pub struct Limits {
    everybody: Amounts,
    users: BTreeMap<u32, Amounts>,
}

impl Limits {
    /// The built-in limits, changed by what the configuration has for everybody and for some.
    pub fn new(everybody: &Amounts, users: BTreeMap<u32, Amounts>) -> Self {
        let mut all: Amounts = Resource::value_variants()
            .iter()
            .map(|resource| (*resource, resource.built_in()))
            .collect();
        all.extend(everybody);
        Self {
            everybody: all,
            users,
        }
    }

    /// How much a user may have.
    pub fn of(&self, uid: u32, resource: Resource) -> u64 {
        let own = self.users.get(&uid).and_then(|own| own.get(&resource));
        *own.unwrap_or(&self.everybody[&resource])
    }

    /// Whether a user who has `used` may have `more`.
    ///
    /// # Errors
    /// When not: `what` could not be done.
    pub fn check(
        &self,
        what: &str,
        uid: u32,
        resource: Resource,
        used: u64,
        more: u64,
    ) -> Result<(), Failure> {
        let limit = self.of(uid, resource);
        if used.saturating_add(more) <= limit {
            return Ok(());
        }
        let key = resource.key();
        Err(failure(
            Code::Limit,
            what,
            format_args!(
                "user {uid} has {used} of {limit} {}, and {more} more are too many",
                resource.words()
            ),
            format!(
                "give some back, or have `{key}` raised under [limits] or [user.{uid}] in the configuration of bcld (then restart it, ports stay)"
            ),
        ))
    }
}

impl Resource {
    /// Enough for the jobs of one user on a large node; all of it can be had without starving a small one.
    fn built_in(self) -> u64 {
        match self {
            Self::Clients => 320,
            Self::Ports => 256,
            Self::RingBytes => 256 << 20,
            Self::MemoryBytes => 2 << 30,
            Self::Memories => 1024,
            Self::Windows => 4096,
            Self::Connections => 16_384,
        }
    }

    fn words(self) -> &'static str {
        match self {
            Self::Clients => "connections to the agent",
            Self::Ports => "ports",
            Self::RingBytes => "bytes of rings",
            Self::MemoryBytes => "bytes of window memory",
            Self::Memories => "window memories",
            Self::Windows => "windows",
            Self::Connections => "connections",
        }
    }

    fn key(self) -> String {
        let value = self.to_possible_value();
        value.map_or_else(String::new, |value| value.get_name().to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_most_particular_limit_counts() {
        let everybody = Amounts::from([(Resource::Ports, 2), (Resource::Windows, 3)]);
        let users = BTreeMap::from([(7, Amounts::from([(Resource::Ports, 9)]))]);
        let limits = Limits::new(&everybody, users);
        assert_eq!(limits.of(1, Resource::Ports), 2);
        assert_eq!(limits.of(7, Resource::Ports), 9);
        assert_eq!(limits.of(7, Resource::Windows), 3);
        assert_eq!(
            limits.of(7, Resource::Clients),
            Resource::Clients.built_in()
        );
    }

    #[test]
    fn a_refusal_says_what_to_raise() {
        let limits = Limits::new(&Amounts::from([(Resource::RingBytes, 10)]), BTreeMap::new());
        limits.check("x", 5, Resource::RingBytes, 4, 6).unwrap();
        let refusal = limits.check("x", 5, Resource::RingBytes, 4, 7).unwrap_err();
        assert_eq!(refusal.code, Code::Limit);
        assert!(refusal.remedy.contains("`ring_bytes`"), "{refusal}");
        assert!(refusal.remedy.contains("[user.5]"), "{refusal}");
        limits
            .check("x", 5, Resource::RingBytes, u64::MAX, u64::MAX)
            .unwrap_err();
    }
}
