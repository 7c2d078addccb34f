//! Opening a port on the tiers that it can have: the only place that names them.

use std::sync::Arc;
use std::time::Duration;

use bcl_tier::{Opening, PortConfig, Tier};
use bcl_tier_net::{Interception, NetConfig, NetPort, free_numbers};
use bcl_tier_shm::{CopyMode, ShmPort};
use bcl_types::{Device, NodeId};
use bcl_wire::udp_port;

use crate::error::{Error, no_thread};
use crate::tiers::Tiers;

/// The tiers of a port.
pub type PortTiers = Tiers<ShmPort, NetPort>;

/// Which tiers a port is to have, and how they are to be.
#[derive(Debug)]
pub struct TierConfig {
    /// One alone, or what can be had.
    pub device: Option<Device>,
    pub copy_mode: CopyMode,
    pub dead_after: Duration,
    pub keeps_streams: bool,
    pub takes_long: bool,
    /// Whether the job has a key of its own, and not the one of its user, which is no secret.
    pub has_key: bool,
}

/// Assigned numbers that are passed over because somebody has taken their UDP port that was free a moment ago.
const PASSED_OVER_MAX: usize = 16;

/// Opens a port on all tiers that it can have.
pub fn open(port: &PortConfig, tiers: &TierConfig) -> Result<PortTiers, Error> {
    let wants_net = match tiers.device {
        Some(Device::Shm) => false,
        Some(Device::Udp | Device::Xdp) => true,
        // Without a network the node is the loopback address, and there is nobody else to reach.
        None => {
            let has_udp_port = |number| udp_port::of_port(number).is_some();
            tiers.has_key && port.node != NodeId::LOOPBACK && port.number.is_none_or(has_udp_port)
        }
    };
    let (opening, net) = match wants_net {
        false => (Opening::new(port, |_| true)?, None),
        true => open_net(port, tiers)?,
    };
    let shared = Arc::clone(&opening.shared);
    match ShmPort::open(opening, tiers.copy_mode) {
        Ok(shm) => {
            let is_net_only = matches!(tiers.device, Some(Device::Udp | Device::Xdp));
            Ok(Tiers::new(shared, shm, net, is_net_only))
        }
        Err(error) => {
            net.into_iter()
                .for_each(|mut net| net.close(Duration::ZERO));
            Err(no_thread(&error))
        }
    }
}

/// A port with the network tier, or without if that was all that could be had and was not asked for.
fn open_net(port: &PortConfig, tiers: &TierConfig) -> Result<(Opening, Option<NetPort>), Error> {
    let config = NetConfig {
        dead_after: tiers.dead_after,
        takes_long: tiers.takes_long,
        interception: match tiers.device {
            None => Interception::IfPossible,
            Some(Device::Xdp) => Interception::Always,
            Some(Device::Udp | Device::Shm) => Interception::Never,
        },
        keeps_streams: tiers.keeps_streams,
    };
    let is_free = free_numbers();
    // They are held until the next has been found.
    let mut passed_over = Vec::new();
    let (opening, net) = loop {
        let opening = Opening::new(port, &is_free)?;
        let net = NetPort::open(&opening.shared, config);
        let may_try_another = port.number.is_none() && passed_over.len() < PASSED_OVER_MAX;
        match net {
            Err(error) if error.is_in_use() && may_try_another => passed_over.push(opening),
            net => break (opening, net),
        }
    };
    match net.map_err(Error::from) {
        Ok(net) => Ok((opening, Some(net))),
        // A node number that is no address of this machine reaches its own node all the same.
        Err(Error::Configuration(_)) if tiers.device.is_none() => Ok((opening, None)),
        Err(error) => Err(error),
    }
}
