//! Numbers that no peer can guess, from the seed in the configuration.

/// Ids of connections, nonces, and the secret of the mint are drawn from here. Some of them go over the network, so this is
/// no [`bcl_types::Random`], of which one number tells all that follow.
#[derive(Debug, Clone)]
pub struct Secrets {
    state: u64,
    salt: u64,
}

impl Secrets {
    pub fn new([state, salt]: [u64; 2]) -> Self {
        Self { state, salt }
    }

    pub fn next(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        // What comes out says nothing of the words that it is made of: the hash is keyed with them.
        bcl_wire::siphash24([self.salt, self.state], &[self.state ^ self.salt])
    }
}
