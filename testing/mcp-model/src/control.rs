//! What the program says to the interface program ([MCP-6.2], [MCP-6.3]).

use std::collections::HashSet;

use bcl_layout::control::{GIVEN_BACK_SLOTS, GRANTS, Grant, WINDOWS, given_back_slot};

/// What stands in the control page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Control {
    /// The next record is to wake the program.
    pub sleeps: bool,
    /// No new system messages.
    pub refuse_system: bool,
    /// No packets that the program would have to keep.
    pub refuse_early: bool,
    /// A record when a long PUT begins.
    pub tell_puts: bool,
    /// How many of the grants are looked at.
    pub grant_count: u32,
    /// Where messages belong.
    pub grants: [Grant; GRANTS],
    given_back: [bool; GIVEN_BACK_SLOTS],
    offered: HashSet<u16>,
}

impl Default for Control {
    fn default() -> Self {
        Self {
            sleeps: false,
            refuse_system: false,
            refuse_early: false,
            tell_puts: false,
            grant_count: GRANTS as u32,
            grants: [Grant::default(); GRANTS],
            given_back: [false; GIVEN_BACK_SLOTS],
            offered: HashSet::new(),
        }
    }
}

impl Control {
    /// Whether the program has given a connection back.
    pub fn is_given_back(&self, connection: u32) -> bool {
        self.given_back[given_back_slot(connection)]
    }

    /// Gives this connection back; or ends that.
    pub fn give_back(&mut self, connection: u32, is_given_back: bool) {
        self.given_back[given_back_slot(connection)] = is_given_back;
    }

    /// Whether peers may be served from a window, if it is entered.
    pub fn is_offered(&self, window: u16) -> bool {
        self.offered.contains(&window)
    }

    /// Offers a window; or ends that.
    pub fn offer(&mut self, window: u16, is_offered: bool) {
        match is_offered && usize::from(window) < WINDOWS {
            true => self.offered.insert(window),
            false => self.offered.remove(&window),
        };
    }

    pub(crate) fn grant_of(&self, connection: u32, message: u32) -> Option<Grant> {
        let count = GRANTS.min(self.grant_count as usize);
        self.grants[..count]
            .iter()
            .find(|grant| grant.connection == connection && grant.message == message)
            .copied()
    }
}
