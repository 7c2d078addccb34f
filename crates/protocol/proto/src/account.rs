//! Bytes charged to somebody, and given back.

/// A sum that cannot go below zero: giving back more than was charged is a mistake of this crate's, which tests and
/// simulations stop at; elsewhere the account is empty then, and the connection goes on.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Account(usize);

impl Account {
    /// What is charged now.
    #[inline]
    pub fn bytes(self) -> usize {
        self.0
    }

    #[inline]
    pub fn charge(&mut self, bytes: usize) {
        self.0 += bytes;
    }

    #[inline]
    pub fn give_back(&mut self, bytes: usize) {
        debug_assert!(
            bytes <= self.0,
            "{bytes} bytes are given back to an account of {}",
            self.0
        );
        self.0 = self.0.saturating_sub(bytes);
    }
}

#[test]
#[cfg(debug_assertions)]
#[should_panic(expected = "8 bytes are given back to an account of 7")]
fn an_account_that_would_go_below_zero_says_so() {
    let mut account = Account::default();
    account.charge(7);
    account.give_back(8);
}
