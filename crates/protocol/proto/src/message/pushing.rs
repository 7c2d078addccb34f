//! Which messages leave before the receiver has asked for them ([WIRE-6.2]).
//!
//! A message that is announced takes two more trips, and two turns of programs that may have to wait for their processors. One that is
//! pushed and finds neither buffer nor room crosses the network twice.

use bcl_types::EAGER_MAX;
use bcl_wire::PUSHED_MAX;

/// After one that was pushed in vain, so many are announced.
const ANNOUNCED: u32 = 16;

/// What has become of messages that were pushed to a peer.
#[derive(Debug, Default)]
pub struct Pushing {
    /// Messages that are announced before the next is pushed.
    announced: u32,
    /// The peer's interface program gives long messages their place, but only those that were asked for.
    pub is_unwelcome: bool,
}

impl Pushing {
    /// Whether a message of this length, which is to leave now, leaves as it is.
    pub fn allows(&mut self, len_bytes: u64) -> bool {
        if len_bytes <= EAGER_MAX as u64 {
            return true;
        }
        if len_bytes > PUSHED_MAX || self.is_unwelcome {
            return false;
        }
        let is_allowed = self.announced == 0;
        self.announced = self.announced.saturating_sub(1);
        is_allowed
    }

    /// One that had left was asked for: it was not kept.
    pub fn was_in_vain(&mut self) {
        self.announced = ANNOUNCED;
    }
}

#[test]
fn after_one_in_vain_some_are_announced() {
    let mut pushing = Pushing::default();
    assert!(pushing.allows(PUSHED_MAX) && !pushing.allows(PUSHED_MAX + 1));
    pushing.was_in_vain();
    let pushed = (0..=ANNOUNCED).map(|_| pushing.allows(PUSHED_MAX));
    assert_eq!(pushed.filter(|pushed| *pushed).count(), 1);
    pushing.was_in_vain();
    assert!(pushing.allows(EAGER_MAX as u64));
    pushing.is_unwelcome = true;
    assert!(!pushing.allows(EAGER_MAX as u64 + 1));
}
