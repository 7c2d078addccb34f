//! What a host keeps, where its programs find it: the region, and the logs.

use std::net::SocketAddr;

use crate::names::HostId;
use crate::saved::Saved;

/// The memory of a host, which the driver has. Positions are bytes that were ever written to a log; where they lie in it, the driver
/// knows.
pub trait Memory {
    /// How far a member of this host has written its log, in whole frames.
    fn head(&self, member: u16) -> u64;
    /// Up to where a member of this host waits for others to have its log; 0 if it does not.
    fn awaited(&self, member: u16) -> u64;
    /// A member of this host may write its log until that is so long beyond this position.
    fn set_floor(&self, member: u16, floor: u64);
    /// What was set so last.
    fn floor(&self, member: u16) -> u64;

    /// Copies bytes from a log. False if they have been written over, before or meanwhile.
    fn read_log(&self, member: u16, position: u64, into: &mut [u8]) -> bool;
    /// What lies before that position of another host's member's log is about to be written over.
    fn set_tail(&self, member: u16, tail: u64);
    /// Puts bytes into a log of another host's member.
    fn write_log(&self, member: u16, position: u64, bytes: &[u8]);
    /// Writes into the region what lies in a log of another host's member.
    fn apply(&self, member: u16, position: u64, offset: u64, len_bytes: u64);
    /// All before this position of a log is in the region.
    fn set_applied(&self, member: u16, position: u64);

    /// Copies bytes of the region.
    fn read(&self, offset: u64, into: &mut [u8]);
    /// Writes the region.
    fn write(&self, offset: u64, bytes: &[u8]);
    /// Fills a part of it with zeros.
    fn zero(&self, offset: u64, len_bytes: u64);
    /// How many bytes from there on are zeros, as far as that is soon seen.
    fn zeros(&self, offset: u64, end: u64) -> u64;

    /// Writes down what this host has of a member's log and partition.
    fn save(&self, member: u16, saved: &Saved);
    /// Writes down which other hosts are there.
    fn save_hosts(&self, hosts: &mut dyn Iterator<Item = (HostId, SocketAddr)>);
}
