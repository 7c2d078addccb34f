//! Credit: how much of a peer's eager messages may wait with us, and how much of ours with it ([ADI-4]).

/// What an eager message is charged beside its payload, for what is kept of it while it waits.
pub const CHARGE_BYTES: u32 = 64;
/// What all peers together may let wait with an endpoint.
pub const BUDGET_BYTES: u32 = 64 << 20;
/// What one peer may, at most and at least; nothing, if not even that is left.
const WINDOW_MAX: u32 = 256 << 10;
const WINDOW_MIN: u32 = 16 << 10;
/// A new peer gets such a part of what is left.
const SHARE: u32 = 256;

/// What an eager message costs.
#[inline]
pub fn charge(len_bytes: usize) -> u32 {
    // At most LONG_SYSTEM_MAX.
    len_bytes as u32 + CHARGE_BYTES
}

/// What is left to be granted.
#[derive(Debug)]
pub struct Budget(u32);

impl Default for Budget {
    fn default() -> Self {
        Self(BUDGET_BYTES)
    }
}

impl Budget {
    /// The window of a new peer.
    pub fn take(&mut self) -> u32 {
        let window = (self.0 / SHARE).clamp(WINDOW_MIN, WINDOW_MAX);
        if window > self.0 {
            return 0;
        }
        self.0 -= window;
        window
    }

    pub fn give_back(&mut self, window: u32) {
        self.0 += window;
    }

    pub fn left(&self) -> u32 {
        self.0
    }
}

/// Our credit with a peer. Counts are modulo 2^32, and windows far shorter.
#[derive(Debug, Clone, Copy, Default)]
pub struct Credit {
    limit: u32,
    spent: u32,
}

impl Credit {
    /// Spends so much if it is there.
    #[inline]
    pub fn spend(&mut self, charge: u32) -> bool {
        let has = self.limit.wrapping_sub(self.spent) as i32 >= charge as i32;
        if has {
            self.spent = self.spent.wrapping_add(charge);
        }
        has
    }

    /// What was spent did not leave.
    #[inline]
    pub fn unspend(&mut self, charge: u32) {
        self.spent = self.spent.wrapping_sub(charge);
    }

    /// The peer has named a limit. False if it is lower than what it has named before.
    #[inline]
    pub fn raise(&mut self, limit: u32) -> bool {
        let is_higher = limit.wrapping_sub(self.limit) as i32 >= 0;
        if is_higher {
            self.limit = limit;
        }
        is_higher
    }
}

/// A peer's credit with us.
#[derive(Debug, Clone, Copy, Default)]
pub struct Grant {
    window: u32,
    /// Of what it has sent, so much has met a receive.
    consumed: u32,
    received: u32,
    /// The limit that it was last told.
    told: u32,
}

impl Grant {
    pub fn new(window: u32) -> Self {
        Self {
            window,
            ..Self::default()
        }
    }

    pub fn window(&self) -> u32 {
        self.window
    }

    /// An eager message has come. False if the peer had no credit for it.
    #[inline]
    pub fn receive(&mut self, charge: u32) -> bool {
        let received = self.received.wrapping_add(charge);
        let had_credit = self.told.wrapping_sub(received) as i32 >= 0;
        if had_credit {
            self.received = received;
        }
        had_credit
    }

    /// One has met a receive. True if the peer should be told, though nothing else is said to it.
    #[inline]
    pub fn consume(&mut self, charge: u32) -> bool {
        self.consumed = self.consumed.wrapping_add(charge);
        self.limit().wrapping_sub(self.told) >= self.window / 2
    }

    /// What of it is waiting for a receive.
    pub fn charged(&self) -> u32 {
        self.received.wrapping_sub(self.consumed)
    }

    /// What the peer is told with whatever is said to it.
    #[inline]
    pub fn tell(&mut self) -> u32 {
        self.told = self.limit();
        self.told
    }

    #[inline]
    fn limit(&self) -> u32 {
        self.consumed.wrapping_add(self.window)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// ADI-4.4: whatever number of peers comes, what is granted is not more than the budget; who goes makes room.
    #[test]
    fn the_budget_is_not_exceeded_and_serves_many() {
        let mut budget = Budget::default();
        let windows: Vec<u32> =
            std::iter::from_fn(|| Some(budget.take()).filter(|window| *window > 0)).collect();
        assert_eq!(windows[0], WINDOW_MAX);
        assert!(windows.is_sorted_by(|a, b| a >= b));
        assert!(windows.len() > 500, "{}", windows.len());
        let sum: u32 = windows.iter().sum();
        assert!(sum <= BUDGET_BYTES && sum > BUDGET_BYTES - WINDOW_MIN);
        budget.give_back(windows[0]);
        assert!(budget.take() >= WINDOW_MIN);
    }

    proptest! {
        /// ADI-4.1: what waits is never more than the window, the sender is never taken for one that cheats, and goes on
        /// once all has met receives. Counts run over their end.
        #[test]
        fn a_window_is_kept_and_never_stuck(
            start in any::<u32>(),
            steps in prop::collection::vec((any::<bool>(), 0usize..8000, any::<bool>()), 1..300),
        ) {
            let window = WINDOW_MIN;
            let mut grant = Grant { consumed: start, received: start, told: start, window };
            let mut credit = Credit { limit: start, spent: start };
            let (mut waiting, mut to_tell) = (Vec::new(), true);
            for (sends, len, answers) in steps {
                if sends && credit.spend(charge(len)) {
                    prop_assert!(grant.receive(charge(len)));
                    waiting.push(charge(len));
                } else if !waiting.is_empty() {
                    to_tell |= grant.consume(waiting.remove(0));
                }
                if to_tell || answers {
                    prop_assert!(credit.raise(grant.tell()));
                    to_tell = false;
                }
                prop_assert!(waiting.iter().sum::<u32>() <= window);
            }
            for charge in waiting.drain(..) {
                if grant.consume(charge) {
                    prop_assert!(credit.raise(grant.tell()));
                }
            }
            prop_assert!(credit.spend(window / 2));
        }
    }

    #[test]
    fn who_sends_without_credit_is_found_out() {
        let mut grant = Grant::new(WINDOW_MIN);
        assert!(!grant.receive(1), "it was told nothing yet");
        let mut grant = Grant::new(WINDOW_MIN);
        let mut credit = Credit::default();
        assert!(credit.raise(grant.tell()));
        assert!(credit.spend(WINDOW_MIN) && !credit.spend(1));
        assert!(grant.receive(WINDOW_MIN) && !grant.receive(1));
        assert!(!credit.raise(WINDOW_MIN - 1), "a limit goes up only");
    }
}
