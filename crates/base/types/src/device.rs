//! What moves the messages between a port and a peer.

/// What moves the messages between a port and a peer. Options choose among these, events and tools name them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Device {
    /// Memory that ports of a node share.
    Shm,
    /// Packets by UDP; what comes is taken from the socket.
    Udp,
    /// Packets by UDP; what comes is taken by the program at the network interface.
    Xdp,
}

impl Device {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Shm, Self::Udp, Self::Xdp];

    /// As options, JSON and tables have it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Shm => "shm",
            Self::Udp => "udp",
            Self::Xdp => "xdp",
        }
    }

    /// The device of this name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|device| device.name() == name)
    }

    /// As memory that others read has it; never 0.
    pub const fn number(self) -> u8 {
        match self {
            Self::Shm => 1,
            Self::Udp => 2,
            Self::Xdp => 3,
        }
    }

    /// The device of this number.
    pub fn from_number(number: u64) -> Option<Self> {
        Self::ALL
            .into_iter()
            .find(|device| u64::from(device.number()) == number)
    }
}

impl std::fmt::Display for Device {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

#[test]
fn names_and_numbers_lead_back() {
    for device in Device::ALL {
        assert_eq!(Device::from_name(device.name()), Some(device));
        assert_eq!(Device::from_number(device.number().into()), Some(device));
    }
    assert_eq!(Device::from_name("auto"), None);
    assert_eq!(Device::from_number(0), None);
}
