//! The keys of peers' ports that are not the port's own.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bcl_node::JobKey;
use bcl_types::Address;

/// The keys of ports, as far as they are known and not that of the port which wants to reach them ([SEM-2.1]).
///
/// Whoever makes contact with a port looks here. What is said after that counts once the peer is gone. Several ports may
/// have one in common: copies are of the same.
#[derive(Clone, Default)]
pub struct PeerKeys(Arc<Mutex<HashMap<Address, JobKey>>>);

impl PeerKeys {
    /// The port of this address has this key. The latest word counts.
    pub fn set(&self, peer: Address, key: JobKey) {
        self.lock().insert(peer, key);
    }

    /// Nothing is known of the port of this address any more.
    pub fn forget(&self, peer: Address) {
        self.lock().remove(&peer);
    }

    /// The key of the port of this address, if one is known.
    pub fn get(&self, peer: Address) -> Option<JobKey> {
        self.lock().get(&peer).cloned()
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Address, JobKey>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for PeerKeys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PeerKeys(of {})", self.lock().len())
    }
}

#[test]
fn the_latest_word_counts_and_copies_are_the_same() {
    let keys = PeerKeys::default();
    let copy = keys.clone();
    let peer: Address = "10.0.0.1:7".parse().unwrap();
    let found = || keys.get(peer).map(|key| key.to_hex());
    for uid in [1, 2] {
        copy.set(peer, JobKey::of_user(uid));
        assert_eq!(found(), Some(JobKey::of_user(uid).to_hex()));
    }
    assert_eq!(format!("{keys:?}"), "PeerKeys(of 1)");
    copy.forget(peer);
    assert_eq!(found(), None);
}
