//! Which UDP port belongs to which port number ([WIRE-1.1]): one range, so that one firewall rule permits all.

use core::ops::RangeInclusive;

use bcl_types::LAST_REACHABLE_PORT;

/// The UDP port of port number 0, which does not exist.
pub const UDP_BASE: u16 = 20_000;

/// All of them, for one rule of a firewall.
pub const ALL: RangeInclusive<u16> = UDP_BASE + 1..=UDP_BASE + LAST_REACHABLE_PORT;

/// The UDP port of a port number, if other nodes can reach it.
pub fn of_port(number: u16) -> Option<u16> {
    (1..=LAST_REACHABLE_PORT)
        .contains(&number)
        .then(|| UDP_BASE + number)
}

/// The port number that a UDP port belongs to.
pub fn to_port(udp_port: u16) -> Option<u16> {
    let number = udp_port.checked_sub(UDP_BASE)?;
    of_port(number).map(|_| number)
}

#[test]
fn numbers_and_udp_ports_belong_together() {
    assert_eq!(of_port(1), Some(20_001));
    assert_eq!(of_port(8191), Some(28_191));
    assert_eq!((of_port(0), of_port(8192)), (None, None));
    assert_eq!(to_port(20_007), Some(7));
    assert_eq!(
        (to_port(20_000), to_port(28_192), to_port(80)),
        (None, None, None)
    );
}
