//! The search for the path MTU by trying: packetization layer path MTU discovery, RFC 8899.
//!
//! A pure state machine. Sizes are of datagrams, without the headers of UDP and IP. Whoever drives it sends
//! a PROBE of the size that [`MtuSearch::next_probe`] says, tells what became of it, and sends data in datagrams
//! of at most [`MtuSearch::current_bytes`].

/// What nearly every path takes: BASE_PLPMTU of RFC 8899, 5.1.2.
pub const BASE_BYTES: u16 = 1200;

/// What every path takes, perhaps in fragments: IPv4 hosts receive 576 B (RFC 1122, 3.3.2), less the longest headers usual.
pub const FLOOR_BYTES: u16 = 508;

/// The shortest that is tried, where even that vanishes: an interface drops what is longer than its own MTU and was not
/// cut on the way, since the other end of the wire has another MTU.
pub const LEAST_BYTES: u16 = 208;

/// What Ethernet takes, with IPv6: tried first of what lies between, since most paths take that or jumbo frames.
const USUAL_BYTES: u16 = 1452;

/// A size is given up after so many probes of it are lost: MAX_PROBES of RFC 8899, 5.1.2.
const MAX_PROBES: u8 = 3;

/// The search ends when less than this could be gained.
const PRECISION_BYTES: u16 = 16;

/// The search for one destination.
///
/// ```
/// use bcl_proto::MtuSearch;
///
/// let path_takes = 1472;
/// let mut search = MtuSearch::from_base(8972);
/// while let Some(bytes) = search.next_probe() {
///     if bytes <= path_takes {
///         search.on_probe_ack(bytes);
///     } else {
///         search.on_probe_loss(bytes);
///     }
/// }
/// assert!(search.current_bytes() > path_takes - 16);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MtuSearch {
    /// Has been seen to pass, or is assumed to.
    current: u16,
    /// Whether it has to be shown (again) that it passes.
    is_doubted: bool,
    /// The most that may be tried now.
    ceiling: u16,
    /// The ceiling is what somebody says passes, not only below what did not: it is worth trying itself.
    is_ceiling_told: bool,
    /// What the route takes, as far as is known here.
    route: u16,
    /// Probes of the present size that were lost in a row.
    losses: u8,
}

impl MtuSearch {
    /// Begins with the base, and believes nothing; `route_bytes` is what the route takes.
    pub fn from_base(route_bytes: u16) -> Self {
        let mut search = Self::trusting(route_bytes);
        search.current = search.route.min(BASE_BYTES);
        search.doubt();
        search
    }

    /// Takes for granted that what the route takes will pass, until it is [doubted](Self::doubt).
    pub fn trusting(route_bytes: u16) -> Self {
        let route = route_bytes.max(FLOOR_BYTES);
        Self {
            current: route,
            is_doubted: false,
            ceiling: route,
            is_ceiling_told: true,
            route,
            losses: 0,
        }
    }

    /// The largest datagram to send now.
    pub fn current_bytes(&self) -> u16 {
        self.current
    }

    /// How large a probe to send now; `None` if there is nothing to try.
    pub fn next_probe(&self) -> Option<u16> {
        if self.is_doubted {
            return Some(self.current);
        }
        let gain = self.ceiling - self.current;
        if self.is_ceiling_told {
            // First: most paths take what their ends take.
            return (gain > 0).then_some(self.ceiling);
        }
        if self.current < USUAL_BYTES && USUAL_BYTES <= self.ceiling {
            return Some(USUAL_BYTES);
        }
        (gain >= PRECISION_BYTES).then(|| self.current + gain.div_ceil(2))
    }

    /// Packets of the current size seem to vanish: that they pass has to be shown.
    pub fn doubt(&mut self) {
        if !self.is_doubted && self.current > LEAST_BYTES {
            self.is_doubted = true;
            self.losses = 0;
        }
    }

    /// A packet of this size has arrived.
    pub fn on_probe_ack(&mut self, bytes: u16) {
        if bytes >= self.current && bytes <= self.ceiling {
            self.current = bytes;
            self.is_doubted = false;
            self.losses = 0;
        }
    }

    /// A probe of this size has not been answered in time. `true` if the path is now taken to be narrower.
    pub fn on_probe_loss(&mut self, bytes: u16) -> bool {
        if self.next_probe() != Some(bytes) {
            return false;
        }
        self.losses += 1;
        if self.losses < MAX_PROBES {
            return false;
        }
        self.losses = 0;
        let was_doubted = self.is_doubted;
        if was_doubted {
            let steps = [BASE_BYTES, FLOOR_BYTES, LEAST_BYTES];
            let lower = steps.into_iter().find(|step| *step < bytes);
            self.current = lower.unwrap_or(LEAST_BYTES);
            self.is_doubted = self.current > LEAST_BYTES;
        }
        self.ceiling = self.ceiling.min(bytes - 1).max(self.current);
        self.is_ceiling_told = false;
        was_doubted
    }

    /// The kernel or a router says that the path takes no more than this (`EMSGSIZE`, ICMP). `true` as for
    /// [`on_probe_loss`](Self::on_probe_loss). What a router says can be forged, so it never raises anything, and
    /// lowers nothing below what every path takes.
    pub fn on_too_large(&mut self, bytes: u16) -> bool {
        let limit = bytes.max(FLOOR_BYTES);
        if limit >= self.ceiling {
            return false;
        }
        let is_narrower = limit < self.current;
        self.current = self.current.min(limit);
        self.ceiling = limit;
        self.is_ceiling_told = true;
        self.losses = 0;
        is_narrower
    }

    /// The route takes this much now. `true` as for [`on_probe_loss`](Self::on_probe_loss).
    pub fn on_route(&mut self, bytes: u16) -> bool {
        let before = std::mem::replace(&mut self.route, bytes.max(FLOOR_BYTES));
        if self.route > before {
            self.look_again();
        }
        self.on_too_large(self.route)
    }

    /// The path may have become wider: PMTU_RAISE_TIMER of RFC 8899, 5.1.1.
    pub fn look_again(&mut self) {
        self.ceiling = self.route;
        self.is_ceiling_told = true;
        self.losses = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Probes until nothing is due, on a path that takes `path`; returns the number of probes.
    fn run(search: &mut MtuSearch, path: u16) -> u32 {
        let mut probes = 0;
        while let Some(bytes) = search.next_probe() {
            probes += 1;
            match bytes <= path {
                true => search.on_probe_ack(bytes),
                false => drop(search.on_probe_loss(bytes)),
            }
        }
        probes
    }

    #[test]
    fn a_path_as_wide_as_the_route_takes_one_probe() {
        let mut search = MtuSearch::trusting(1472);
        assert_eq!((search.current_bytes(), search.next_probe()), (1472, None));
        search.doubt();
        assert_eq!(run(&mut search, 1472), 1);
        assert_eq!(search.current_bytes(), 1472);
    }

    #[test]
    fn a_path_that_has_become_narrower_is_found_out_and_measured() {
        let mut search = MtuSearch::trusting(8960);
        search.doubt();
        assert!(!search.on_probe_loss(8960) && !search.on_probe_loss(8960));
        assert!(search.on_probe_loss(8960));
        assert_eq!(search.current_bytes(), BASE_BYTES);
        assert!(run(&mut search, 1472) < 40);
        assert!((1457..=1472).contains(&search.current_bytes()));
    }

    #[test]
    fn one_loss_is_no_proof() {
        let mut search = MtuSearch::trusting(1472);
        for _ in 0..10 {
            search.doubt();
            assert!(!search.on_probe_loss(1472) && !search.on_probe_loss(1472));
            search.on_probe_ack(1472);
        }
        assert_eq!((search.current_bytes(), search.next_probe()), (1472, None));
    }

    #[test]
    fn a_router_that_tells_is_heeded_at_once_and_forgotten_in_time() {
        let mut search = MtuSearch::trusting(8960);
        assert!(search.on_too_large(1472));
        assert_eq!((search.current_bytes(), search.next_probe()), (1472, None));
        search.look_again();
        assert_eq!(run(&mut search, 8960), 1);
        assert_eq!(search.current_bytes(), 8960);
    }

    #[test]
    fn what_a_router_tells_is_tried_exactly() {
        let mut search = MtuSearch::from_base(8960);
        assert!(!search.on_too_large(1372));
        assert_eq!(run(&mut search, 1372), 2);
        assert_eq!(search.current_bytes(), 1372);
    }

    #[test]
    fn a_path_below_the_base_or_below_the_floor_is_measured() {
        for path in [900, 510, 480, 210] {
            let mut search = MtuSearch::trusting(1472);
            search.doubt();
            run(&mut search, path);
            let found = search.current_bytes();
            assert!((path - 15..=path).contains(&found), "{found} of {path}");
        }
    }

    #[test]
    fn a_route_that_takes_more_is_used() {
        let mut search = MtuSearch::trusting(1472);
        assert!(!search.on_route(8960));
        assert_eq!(search.current_bytes(), 1472);
        run(&mut search, 9000);
        assert_eq!(search.current_bytes(), 8960);
        assert!(search.on_route(1472));
        assert_eq!(search.current_bytes(), 1472);
    }

    proptest! {
        #[test]
        fn every_path_is_found(route in 508..65_507_u16, path in 208..65_507_u16, trusts in any::<bool>()) {
            let path = path.min(route);
            let mut search = match trusts {
                true => MtuSearch::trusting(route),
                false => MtuSearch::from_base(route),
            };
            search.doubt();
            let probes = run(&mut search, path);
            let found = search.current_bytes();
            prop_assert!(found <= path, "{found} on {path}");
            prop_assert!(found + PRECISION_BYTES > path, "{found} on {path}");
            prop_assert!(probes <= 20 * u32::from(MAX_PROBES), "{probes} probes");
        }

        #[test]
        fn whatever_happens_it_stays_within_bounds(
            steps in prop::collection::vec((0..6_u8, any::<u16>()), 0..200)
        ) {
            let mut search = MtuSearch::trusting(8960);
            for (what, bytes) in steps {
                let bytes = search.next_probe().filter(|_| bytes % 2 == 0).unwrap_or(bytes);
                match what {
                    0 => search.doubt(),
                    1 => search.on_probe_ack(bytes),
                    2 => drop(search.on_probe_loss(bytes)),
                    3 => search.look_again(),
                    4 => drop(search.on_route(bytes.min(8960))),
                    _ => drop(search.on_too_large(bytes)),
                }
                prop_assert!((LEAST_BYTES..=8960).contains(&search.current_bytes()));
                prop_assert!(search.ceiling >= search.current);
            }
        }
    }
}
