//! A port whose tiers only note what is asked of them.

use std::sync::Arc;

use bcl_node::JobKey;
use bcl_tier::{Action, Friends, NormalSend, PeerKeys, Pieces, RmaOp, Shared, Source, Upcalls};
use bcl_types::{Address, Atomic};

use super::fake::{Fake, Log};
use crate::channels::Channels;
use crate::state::State;
use crate::tiers::Tiers;

pub const OWN: &str = "10.0.0.1:1";
pub const NEIGHBOUR: &str = "10.0.0.1:2";
pub const ELSEWHERE: &str = "10.0.0.2:1";

pub fn address(text: &str) -> Address {
    text.parse().unwrap()
}

/// The tiers of a port with its books.
pub struct Port {
    pub tiers: Tiers<Fake, Fake>,
    pub books: State<Channels>,
    log: Log,
}

impl Port {
    /// With both tiers.
    pub fn new() -> Self {
        Self::with(true, false)
    }

    pub fn with(has_far: bool, is_far_only: bool) -> Self {
        let friends = Friends {
            key: JobKey::of_user(0),
            peer_keys: PeerKeys::default(),
            allow_uids: Vec::new(),
        };
        let shared = Arc::new(Shared::new(address(OWN), friends).unwrap());
        let log = Log::default();
        let [near, far] = ["near", "far"].map(|name| Fake::new(name, &log));
        Self {
            tiers: Tiers::new(shared, near, has_far.then_some(far), is_far_only),
            books: State::new(1, Channels::default()),
            log,
        }
    }

    pub fn far(&mut self) -> &mut Fake {
        self.tiers.far.as_mut().unwrap()
    }

    pub fn send_system(&mut self, to: &str) {
        self.tiers
            .send_system(address(to), b"", 0, &mut self.books, |_| 1);
    }

    pub fn send_unreliable(&mut self, to: &str, len_bytes: usize) {
        let data = vec![0; len_bytes];
        let _ = self
            .tiers
            .send_unreliable(address(to), &data, &mut self.books);
    }

    pub fn send_normal(&mut self, to: &str) {
        let source = Source {
            memory: Pieces::one(std::ptr::null_mut(), 0),
            region: None,
        };
        let send = NormalSend {
            op: 1,
            channel: 1,
            immediate: 0,
            source,
        };
        self.tiers.send_normal(address(to), send, &mut self.books);
    }

    pub fn rma(&mut self, to: &str) {
        let op = RmaOp {
            op: 1,
            window: 1,
            offset: 0,
            action: Action::Atomic(Atomic::FetchAdd(1)),
        };
        self.tiers.rma(address(to), op, &mut self.books);
    }

    /// What was asked of the tiers since the last time.
    pub fn calls(&self) -> Vec<(&'static str, &'static str)> {
        std::mem::take(&mut self.log.borrow_mut())
    }

    /// Makes contact in every way, each time anew. Which tier got it all.
    pub fn contact(&mut self, peer: &str) -> &'static str {
        self.calls();
        let ways: [fn(&mut Self, &str); 4] = [
            Self::send_system,
            |port, peer| port.send_unreliable(peer, 1),
            Self::send_normal,
            Self::rma,
        ];
        let mut tiers = Vec::new();
        for way in ways {
            way(self, peer);
            self.books.peer_unreached(address(peer));
            tiers.extend(self.calls().into_iter().map(|(tier, _)| tier));
        }
        self.tiers.unreliable_max(address(peer), &mut self.books);
        tiers.extend(self.calls().into_iter().map(|(tier, _)| tier));
        assert_eq!(tiers, [tiers[0]; 5]);
        tiers[0]
    }
}
