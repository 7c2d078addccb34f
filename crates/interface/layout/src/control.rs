//! The control page: what a program says to the interface program ([MCP-6.2], [MCP-6.3]).

/// Messages whose payload may be put into place at the same time.
pub const GRANTS: usize = 16;

/// Where the word stands that says whether the program sleeps.
pub const SLEEPS_AT: usize = 0;
/// Where the word stands that says whether it refuses system messages.
pub const REFUSE_SYSTEM_AT: usize = 4;
/// Where the word stands that says whether no packets are kept that come before others.
pub const REFUSE_EARLY_AT: usize = 12;
/// Where the word stands that says whether the beginning of a long PUT is told.
pub const TELL_PUTS_AT: usize = 16;
/// From this length on a PUT is a long one.
pub const LONG_PUT_BYTES: u64 = 16 << 10;
/// Where the number of grants stands that are looked at.
pub const GRANT_COUNT_AT: usize = 8;
/// Where the first grant stands.
pub const GRANTS_AT: usize = 64;
/// Length of a grant.
pub const GRANT_BYTES: usize = 32;
/// Where in a grant its fields stand.
pub const GRANT_CONNECTION_AT: usize = 0;
/// As above.
pub const GRANT_MESSAGE_AT: usize = 4;
/// As above.
pub const GRANT_WINDOW_AT: usize = 8;
/// As above.
pub const GRANT_PLACE_AT: usize = 16;
/// As above.
pub const GRANT_LEN_AT: usize = 24;
/// Where the bytes stand by which connections are given back.
pub const GIVEN_BACK_AT: usize = 1024;
/// How many bytes these are.
pub const GIVEN_BACK_SLOTS: usize = 1024;

/// Where the bits stand by which windows are offered.
pub const OFFERED_AT: usize = 2048;
/// How many bits these are: windows with numbers below this can be offered.
pub const WINDOWS: usize = 4096;

/// Which of those bytes is a connection's; others have the same.
pub const fn given_back_slot(connection: u32) -> usize {
    connection as usize % GIVEN_BACK_SLOTS
}

/// Where the payload of a message that comes in pieces belongs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Grant {
    /// The program's number of the connection; 0 if this is no grant.
    pub connection: u32,
    /// Number of the message.
    pub message: u32,
    /// A window of the port, bound or only allocated.
    pub window: u32,
    /// Where in the window its first byte belongs.
    pub place: u64,
    /// Length of the message in bytes.
    pub len_bytes: u64,
}
