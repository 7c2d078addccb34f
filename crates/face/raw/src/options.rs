//! How a port is opened: by default nothing has to be set up.

use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::time::Duration;

use bcl_node::{Folder, JobKey, detect_node};
use bcl_tier::{PeerKeys, PortConfig};
use bcl_tier_shm::CopyMode;
use bcl_types::{Device, NodeId};

use crate::channels::Channels;
use crate::error::Error;
use crate::matcher::Matcher;
use crate::open::{self, TierConfig};
use crate::port::RawPort;

/// After which silence a peer on another node is given up, if nobody has said otherwise.
const DEAD_AFTER: Duration = Duration::from_secs(3);
/// What can be asked for.
const DEAD_AFTER_MS: RangeInclusive<u64> = 100..=3_600_000;

/// Settings for opening a port; what is `None` comes from the environment, else from the machine.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// A well-known port number; otherwise one is assigned.
    pub number: Option<u16>,
    /// Node number (`BCL_NODE`).
    pub node: Option<NodeId>,
    /// Folder where the ports of a node find each other (`BCL_DIR`).
    pub folder: Option<PathBuf>,
    /// Key of the port; otherwise it has that of its job (`BCL_JOB_KEY`, `BCL_JOB_KEY_FILE`).
    pub key: Option<JobKey>,
    /// Those of peers' ports that have others.
    pub peer_keys: PeerKeys,
    /// Users whose ports may connect as well (`BCL_ALLOW_UIDS`).
    pub allow_uids: Option<Vec<u32>>,
    /// How long messages are copied (`BCL_COPY`).
    pub copy_mode: Option<CopyMode>,
    /// The device that reaches peers, or `Some(None)` for what can be had (`BCL_DEVICE`).
    pub device: Option<Option<Device>>,
    /// After which silence a peer on another node is given up (`BCL_DEAD_AFTER_MS`).
    pub dead_after: Option<Duration>,
    /// Its program takes long system messages, of [`LONG_SYSTEM_MAX`](bcl_types::LONG_SYSTEM_MAX) bytes, and so do those of all its
    /// peers. Others may count on [`SYSTEM_MAX`](crate::SYSTEM_MAX): to them a long one breaks the protocol.
    pub takes_long: bool,
}

impl Options {
    /// Opens a port on which the buffers of each channel meet its messages in order.
    ///
    /// # Errors
    /// When a setting is wrong, or something cannot be had; the text says what to do.
    pub fn open(self) -> Result<RawPort, Error> {
        self.open_with(Channels::default())
    }

    /// Opens a port on which `matcher` says which message gets which buffer.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub fn open_with<M: Matcher>(self, matcher: M) -> Result<RawPort<M>, Error> {
        let tiers = TierConfig {
            device: match self.device {
                Some(device) => device,
                None => device_from(std::env::var("BCL_DEVICE").ok().as_deref())?,
            },
            copy_mode: match self.copy_mode {
                Some(mode) => mode,
                None => copy_mode_from(std::env::var("BCL_COPY").ok().as_deref())?,
            },
            dead_after: match self.dead_after {
                Some(time) if is_sensible(time) => time,
                Some(time) => {
                    return Err(Error::invalid(format!(
                        "a peer given up after {} ms of silence: that can be {} to {}",
                        time.as_millis(),
                        DEAD_AFTER_MS.start(),
                        DEAD_AFTER_MS.end()
                    )));
                }
                None => dead_after_from(std::env::var("BCL_DEAD_AFTER_MS").ok().as_deref())?,
            },
            keeps_streams: keeps_streams_from(std::env::var("BCL_STREAMS").ok().as_deref())?,
            takes_long: self.takes_long,
            has_key: self.key.is_some() || JobKey::is_given_in_env(),
        };
        let tiers = open::open(&self.resolve()?, &tiers)?;
        Ok(RawPort::new(tiers, matcher))
    }

    fn resolve(self) -> Result<PortConfig, Error> {
        Ok(PortConfig {
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
            peer_keys: self.peer_keys,
            allow_uids: match self.allow_uids {
                Some(uids) => uids,
                None => allow_uids_from(std::env::var("BCL_ALLOW_UIDS").ok().as_deref())?,
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
    let Some(text) = text.filter(|text| !text.is_empty()) else {
        return Ok(CopyMode::Auto);
    };
    let named = CopyMode::ALL.into_iter().find(|mode| mode.name() == text);
    named.ok_or_else(|| {
        Error::Configuration(format!(
            "BCL_COPY: '{text}' is not a way to copy; write auto, single or stream"
        ))
    })
}

/// Whether the interface program takes streams too, and not only what comes singly.
fn keeps_streams_from(text: Option<&str>) -> Result<bool, Error> {
    match text {
        None | Some("" | "auto") => Ok(false),
        Some("xdp") => Ok(true),
        Some(other) => Err(Error::Configuration(format!(
            "BCL_STREAMS: '{other}' is no way for streams; write auto, or xdp to leave them to the program at the interface"
        ))),
    }
}

fn device_from(text: Option<&str>) -> Result<Option<Device>, Error> {
    let Some(text) = text.filter(|text| !matches!(*text, "" | "auto")) else {
        return Ok(None);
    };
    Device::from_name(text).map(Some).ok_or_else(|| {
        Error::Configuration(format!(
            "BCL_DEVICE: '{text}' is no device; write auto, shm, udp or xdp"
        ))
    })
}

fn is_sensible(dead_after: Duration) -> bool {
    u64::try_from(dead_after.as_millis()).is_ok_and(|ms| DEAD_AFTER_MS.contains(&ms))
}

fn dead_after_from(text: Option<&str>) -> Result<Duration, Error> {
    let Some(text) = text.filter(|text| !text.is_empty()) else {
        return Ok(DEAD_AFTER);
    };
    match text.parse() {
        Ok(time_ms) if DEAD_AFTER_MS.contains(&time_ms) => Ok(Duration::from_millis(time_ms)),
        _ => Err(Error::Configuration(format!(
            "BCL_DEAD_AFTER_MS: '{text}' is no time in milliseconds from {} to {}",
            DEAD_AFTER_MS.start(),
            DEAD_AFTER_MS.end()
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
        let modes = ["auto", "single", "stream"].map(|mode| copy_mode_from(Some(mode)).unwrap());
        assert_eq!(modes, [CopyMode::Auto, CopyMode::Single, CopyMode::Stream]);
        assert!(
            copy_mode_from(Some("fast"))
                .unwrap_err()
                .to_string()
                .contains("auto, single or stream")
        );
    }
}
