//! The bytes of the control page that say whether connections are given back: each has one connection at a time, for more
//! the interface program does not tell apart ([MCP-6.3]).

use bcl_layout::control::{GIVEN_BACK_SLOTS, given_back_slot};

/// Which connection has which byte: ids, or 0.
#[derive(Debug, Default)]
pub struct Slots(Vec<u32>);

impl Slots {
    /// Whether the connection has its byte for itself, from now on.
    pub fn take(&mut self, id: u32) -> bool {
        if self.0.is_empty() {
            self.0 = vec![0; GIVEN_BACK_SLOTS];
        }
        let slot = &mut self.0[given_back_slot(id)];
        let is_free = *slot == 0 || *slot == id;
        if is_free {
            *slot = id;
        }
        is_free
    }

    /// It needs its byte no longer, if it had it.
    pub fn free(&mut self, id: u32) {
        if let Some(slot) = self
            .0
            .get_mut(given_back_slot(id))
            .filter(|slot| **slot == id)
        {
            *slot = 0;
        }
    }
}

#[test]
fn a_byte_has_one_connection() {
    let (first, second) = (0x0001_0007, 0x0002_0407);
    let mut slots = Slots::default();
    slots.free(first);
    assert!(slots.take(first) && slots.take(first) && !slots.take(second));
    slots.free(second);
    assert!(!slots.take(second));
    slots.free(first);
    assert!(slots.take(second));
}
