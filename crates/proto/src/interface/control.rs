//! What the program says to the interface program ([MCP-6.2], [MCP-6.3]).

/// Messages whose payload may be put into place at the same time.
pub const GRANTS: usize = 16;
/// Connections share a byte by the lower bits of their number.
const SHARED: usize = 1024;

/// Where the payload of a message that comes in pieces belongs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Grant {
    /// The program's number of the connection; 0 if this is no grant.
    pub connection: u32,
    /// Number of the message.
    pub message: u32,
    /// An entered window.
    pub window: u32,
    /// Where in the window its first byte belongs.
    pub place: u64,
    /// Length of the message in bytes.
    pub len_bytes: u64,
}

/// See the module.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Control {
    /// The next record is to wake the program.
    pub sleeps: bool,
    /// No new system messages.
    pub refuse_system: bool,
    /// How many of the grants are looked at.
    pub grant_count: u32,
    /// Where messages belong.
    pub grants: [Grant; GRANTS],
    given_back: [bool; SHARED],
}

impl Default for Control {
    fn default() -> Self {
        Self {
            sleeps: false,
            refuse_system: false,
            grant_count: GRANTS as u32,
            grants: [Grant::default(); GRANTS],
            given_back: [false; SHARED],
        }
    }
}

impl Control {
    /// Whether the program has given a connection back.
    pub fn is_given_back(&self, connection: u32) -> bool {
        self.given_back[connection as usize % SHARED]
    }

    /// Gives back this connection and all that share its byte; or ends that.
    pub fn give_back(&mut self, connection: u32, is_given_back: bool) {
        self.given_back[connection as usize % SHARED] = is_given_back;
    }

    pub(super) fn grant_of(&self, connection: u32, message: u32) -> Option<Grant> {
        let count = GRANTS.min(self.grant_count as usize);
        self.grants[..count]
            .iter()
            .find(|grant| grant.connection == connection && grant.message == message)
            .copied()
    }
}
