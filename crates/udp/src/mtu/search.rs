//! The search for the path MTU by trying: packetization layer path MTU discovery, RFC 8899.
//!
//! A pure state machine. Sizes are of datagrams, without the headers of UDP and IP. The protocol above sends
//! a PROBE of the size that [`MtuSearch::next_probe`] says, tells what became of it, and sends data in datagrams
//! of at most [`MtuSearch::current_bytes`], which is what has been seen to pass.

/// What is sent before anything is known: BASE_PLPMTU of RFC 8899, 5.1.2.
const BASE_BYTES: usize = 1200;

/// What every path takes: IPv4 hosts receive 576 B (RFC 1122, 3.3.2), less the longest headers usual.
const FLOOR_BYTES: usize = 508;

/// A size is given up after so many probes of it are lost: MAX_PROBES of RFC 8899, 5.1.2.
const MAX_PROBES: u32 = 3;

/// So many losses of full-sized datagrams, and none that arrived between them, are taken for a path that has
/// become narrower. Congestion loses some of many and small ones too.
const BLACK_HOLE_LOSSES: u32 = 4;

/// The search ends when less than this could be gained.
const PRECISION_BYTES: usize = 16;

/// A path may become wider: PMTU_RAISE_TIMER of RFC 8899, 5.1.1.
const RAISE_AFTER_NS: u64 = 600_000_000_000;

/// The search for one destination. Times are nanoseconds of any clock that does not go back.
///
/// ```
/// use bcl_udp::mtu::MtuSearch;
///
/// let path_takes = 1472;
/// let mut search = MtuSearch::new(8972);
/// while let Some(bytes) = search.next_probe(0) {
///     if bytes <= path_takes {
///         search.on_probe_ack(0, bytes);
///     } else {
///         search.on_probe_loss(0, bytes);
///     }
/// }
/// assert!(search.current_bytes() > path_takes - 16);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MtuSearch {
    /// Has been seen to pass, or is assumed to.
    current: usize,
    /// The most that may be tried now.
    ceiling: usize,
    /// The ceiling is what somebody says passes, not only below what did not: it is worth trying itself.
    is_ceiling_told: bool,
    /// What the interface takes.
    largest: usize,
    /// The one probe that is under way.
    probe: Option<Probe>,
    /// When the ceiling is forgotten, if it is below what the interface takes.
    raise_at_ns: Option<u64>,
    /// Datagrams of the current size lost since one has arrived.
    losses: u32,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Probe {
    bytes: usize,
    sent: u32,
    under_way: bool,
}

impl MtuSearch {
    /// Begins with the base; `largest_bytes` is what the interface takes (see
    /// [`largest_datagram_bytes`](super::largest_datagram_bytes)).
    pub fn new(largest_bytes: usize) -> MtuSearch {
        let largest = largest_bytes.max(FLOOR_BYTES);
        MtuSearch {
            current: largest.min(BASE_BYTES),
            ceiling: largest,
            is_ceiling_told: true,
            largest,
            probe: None,
            raise_at_ns: None,
            losses: 0,
        }
    }

    /// The largest datagram to send now.
    pub fn current_bytes(&self) -> usize {
        self.current
    }

    /// Whether nothing is left to try for now.
    pub fn is_complete(&self) -> bool {
        self.probe.is_none() && self.candidate().is_none()
    }

    /// How large a probe to send now, if one is due. It is under way until its ack or loss is told.
    pub fn next_probe(&mut self, now_ns: u64) -> Option<usize> {
        if self.raise_at_ns.is_some_and(|at| at <= now_ns) {
            self.raise_at_ns = None;
            self.ceiling = self.largest;
            self.is_ceiling_told = true;
        }
        if self.probe.is_none() {
            let bytes = self.candidate()?;
            self.probe = Some(Probe {
                bytes,
                sent: 0,
                under_way: false,
            });
        }
        let probe = self.probe.as_mut()?;
        if probe.under_way {
            return None;
        }
        probe.under_way = true;
        probe.sent += 1;
        Some(probe.bytes)
    }

    /// When [`next_probe`](Self::next_probe) will have something again without any other cause.
    pub fn next_timeout_ns(&self) -> Option<u64> {
        self.raise_at_ns
    }

    /// A probe of this size has been answered.
    pub fn on_probe_ack(&mut self, now_ns: u64, bytes: usize) {
        if bytes > self.current && bytes <= self.ceiling {
            self.current = bytes;
            self.losses = 0;
        }
        if self
            .probe
            .as_ref()
            .is_some_and(|probe| probe.bytes <= self.current)
        {
            self.probe = None;
        }
        self.settle(now_ns);
    }

    /// A probe of this size has not been answered in time.
    pub fn on_probe_loss(&mut self, now_ns: u64, bytes: usize) {
        let Some(probe) = self.probe.as_mut().filter(|probe| probe.bytes == bytes) else {
            return;
        };
        probe.under_way = false;
        if probe.sent >= MAX_PROBES {
            self.probe = None;
            self.limit(now_ns, bytes - 1, false);
        }
    }

    /// A datagram of this size, of data, has arrived.
    pub fn on_data_ack(&mut self, bytes: usize) {
        if bytes >= self.current {
            self.losses = 0;
        }
    }

    /// A datagram of this size, of data, is lost. `true` if the path is now taken to be narrower: what is to
    /// be sent again must be cut anew.
    pub fn on_data_loss(&mut self, now_ns: u64, bytes: usize) -> bool {
        if bytes < self.current || self.current <= FLOOR_BYTES {
            return false;
        }
        self.losses += 1;
        if self.losses < BLACK_HOLE_LOSSES {
            return false;
        }
        let failed = self.current;
        self.current = if failed > BASE_BYTES {
            BASE_BYTES
        } else {
            FLOOR_BYTES
        };
        self.losses = 0;
        self.probe = None;
        self.limit(now_ns, failed - 1, false);
        true
    }

    /// The kernel or a router says that the path takes no more than this (`EMSGSIZE`, ICMP). `true` as for
    /// [`on_data_loss`](Self::on_data_loss). What a router says can be forged, so it never raises anything, and
    /// lowers nothing below what every path takes.
    pub fn on_too_large(&mut self, now_ns: u64, largest_bytes: usize) -> bool {
        let limit = largest_bytes.max(FLOOR_BYTES);
        if limit >= self.ceiling {
            return false;
        }
        let narrower = limit < self.current;
        self.current = self.current.min(limit);
        self.probe = self.probe.take().filter(|probe| probe.bytes <= limit);
        self.limit(now_ns, limit, true);
        narrower
    }

    /// The interface takes this much now. `true` as for [`on_data_loss`](Self::on_data_loss).
    pub fn on_interface(&mut self, now_ns: u64, largest_bytes: usize) -> bool {
        let largest = largest_bytes.max(FLOOR_BYTES);
        let before = std::mem::replace(&mut self.largest, largest);
        if largest > before {
            self.ceiling = largest;
            self.is_ceiling_told = true;
            self.raise_at_ns = None;
        }
        let narrower = self.on_too_large(now_ns, largest);
        self.settle(now_ns);
        narrower
    }

    /// What is said to pass first, since most paths take what the interface takes; then by halves.
    fn candidate(&self) -> Option<usize> {
        let gain = self.ceiling - self.current;
        if self.is_ceiling_told {
            return (gain > 0).then_some(self.ceiling);
        }
        (gain >= PRECISION_BYTES).then(|| self.current + gain.div_ceil(2))
    }

    fn limit(&mut self, now_ns: u64, bytes: usize, is_told: bool) {
        self.is_ceiling_told = is_told;
        self.ceiling = self.ceiling.min(bytes).max(self.current);
        self.settle(now_ns);
    }

    /// Keeps the time at which to look again in step with the ceiling.
    fn settle(&mut self, now_ns: u64) {
        if self.ceiling >= self.largest {
            self.raise_at_ns = None;
        } else {
            self.raise_at_ns
                .get_or_insert(now_ns.saturating_add(RAISE_AFTER_NS));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Probes until nothing is due, on a path that takes `path`; returns the number of probes.
    fn run(search: &mut MtuSearch, path: usize, now_ns: u64) -> u32 {
        let mut probes = 0;
        while let Some(bytes) = search.next_probe(now_ns) {
            probes += 1;
            match bytes <= path {
                true => search.on_probe_ack(now_ns, bytes),
                false => search.on_probe_loss(now_ns, bytes),
            }
        }
        probes
    }

    #[test]
    fn a_path_as_wide_as_the_interface_takes_one_probe() {
        let mut search = MtuSearch::new(1472);
        assert_eq!(search.current_bytes(), BASE_BYTES);
        assert_eq!(run(&mut search, 1472, 0), 1);
        assert_eq!(search.current_bytes(), 1472);
        assert_eq!(search.next_timeout_ns(), None);
    }

    #[test]
    fn one_probe_is_under_way_at_a_time() {
        let mut search = MtuSearch::new(1472);
        assert_eq!(search.next_probe(0), Some(1472));
        assert_eq!(search.next_probe(0), None);
        search.on_probe_loss(0, 1472);
        assert_eq!(search.next_probe(0), Some(1472));
    }

    #[test]
    fn a_narrower_path_is_noticed_by_losses_and_found_again() {
        let mut search = MtuSearch::new(8972);
        run(&mut search, 8972, 0);
        for _ in 1..BLACK_HOLE_LOSSES {
            assert!(!search.on_data_loss(0, 8972));
        }
        assert!(search.on_data_loss(0, 8972));
        assert_eq!(search.current_bytes(), BASE_BYTES);
        run(&mut search, 1472, 0);
        assert!((1457..=1472).contains(&search.current_bytes()));
    }

    #[test]
    fn small_losses_and_losses_among_arrivals_are_congestion() {
        let mut search = MtuSearch::new(1472);
        run(&mut search, 1472, 0);
        for _ in 0..100 {
            assert!(!search.on_data_loss(0, 1000));
            assert!(!search.on_data_loss(0, 1472));
            search.on_data_ack(1472);
        }
        assert_eq!(search.current_bytes(), 1472);
    }

    #[test]
    fn a_router_that_tells_is_heeded_at_once_and_forgotten_in_time() {
        let mut search = MtuSearch::new(8972);
        run(&mut search, 8972, 0);
        assert!(search.on_too_large(5, 1472));
        assert_eq!(search.current_bytes(), 1472);
        assert_eq!(run(&mut search, 1472, 5), 0);
        let later = search.next_timeout_ns().unwrap();
        run(&mut search, 8972, later);
        assert_eq!(search.current_bytes(), 8972);
    }

    #[test]
    fn what_a_router_tells_is_tried_exactly() {
        let mut search = MtuSearch::new(8972);
        assert_eq!(search.next_probe(0), Some(8972));
        assert!(!search.on_too_large(0, 1372));
        assert_eq!(run(&mut search, 1372, 0), 1);
        assert_eq!(search.current_bytes(), 1372);
    }

    #[test]
    fn a_path_below_the_base_ends_at_the_floor() {
        let mut search = MtuSearch::new(1472);
        for _ in 0..BLACK_HOLE_LOSSES {
            search.on_data_loss(0, BASE_BYTES);
        }
        assert_eq!(search.current_bytes(), FLOOR_BYTES);
        run(&mut search, 900, 0);
        assert!((885..=900).contains(&search.current_bytes()));
    }

    #[test]
    fn an_interface_that_takes_more_is_used() {
        let mut search = MtuSearch::new(1472);
        run(&mut search, 9000, 0);
        assert!(!search.on_interface(0, 8972));
        run(&mut search, 9000, 0);
        assert_eq!(search.current_bytes(), 8972);
        assert!(search.on_interface(0, 1472));
        assert_eq!(search.current_bytes(), 1472);
    }

    proptest! {
        #[test]
        fn every_path_is_found(interface in 508..65_507_usize, path in 508..65_507_usize) {
            let path = path.min(interface);
            let mut search = MtuSearch::new(interface);
            while search.current_bytes() > path.max(FLOOR_BYTES) {
                search.on_data_loss(0, search.current_bytes());
            }
            let probes = run(&mut search, path, 0);
            let found = search.current_bytes();
            prop_assert!(found <= path || found <= FLOOR_BYTES, "{found} on {path}");
            prop_assert!(found + PRECISION_BYTES > path, "{found} on {path}");
            prop_assert!(probes <= 16 * MAX_PROBES, "{probes} probes");
        }

        #[test]
        fn whatever_happens_it_stays_within_bounds(
            steps in prop::collection::vec((0..6_u8, 0..70_000_usize), 0..200)
        ) {
            let mut search = MtuSearch::new(8972);
            for (index, (what, bytes)) in steps.into_iter().enumerate() {
                let now_ns = index as u64 * 1_000_000_000;
                match what {
                    0 => drop(search.next_probe(now_ns)),
                    1 => search.on_probe_ack(now_ns, bytes),
                    2 => search.on_probe_loss(now_ns, bytes),
                    3 => search.on_data_ack(bytes),
                    4 => drop(search.on_data_loss(now_ns, bytes)),
                    _ => drop(search.on_too_large(now_ns, bytes)),
                }
                prop_assert!((FLOOR_BYTES..=8972).contains(&search.current_bytes()));
                prop_assert!(search.ceiling >= search.current);
            }
        }
    }
}
