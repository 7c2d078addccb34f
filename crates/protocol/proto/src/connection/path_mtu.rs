//! How long datagrams to the peer may be: when the search is asked, and what it is told ([WIRE-14]).
//!
//! Long packets leave on trust. At the first of them, and whenever long ones are lost while none arrives, a padded
//! PROBE follows a small one: if the small one is answered and the padded one is not, again and again, then the path
//! swallows what is long, whoever should have said so.

use bcl_wire::serial::before;

use super::round_trip::RoundTrip;
use crate::mtu::{BASE_BYTES, FLOOR_BYTES, LEAST_BYTES, MtuSearch};
use bcl_types::{Span, Time};

/// So many losses of long packets, and none that arrived between them, are worth a question.
const LOSSES: u8 = 4;

/// A path may become wider, and so may the route: PMTU_RAISE_TIMER of RFC 8899, 5.1.1.
const LOOK_AGAIN_AFTER: Span = Span::from_ms(600_000);

/// The probe that is under way.
#[derive(Debug, Clone, Copy)]
struct Probe {
    number: u32,
    bytes: u16,
    /// A later question was answered: the peer would have answered this one as well.
    is_peer_there: bool,
}

/// The length of datagrams to one peer, and what is asked about it.
#[derive(Debug, Clone)]
pub struct PathMtu {
    search: MtuSearch,
    /// Datagrams up to this length need no question.
    assured: u16,
    /// Longest that was lost since one as long has arrived, and how many were lost.
    lost_bytes: u16,
    losses: u8,
    /// The probe is to leave.
    is_due: bool,
    probe: Option<Probe>,
    /// Probes in a row that say nothing, because nothing at all was answered.
    silences: u8,
    /// When the probe should have been answered, or else when to look again.
    deadline: Time,
}

/// What has become of the probe.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// It says nothing yet.
    Open,
    /// There may be more to try.
    Wider,
    /// As above, and what was sent is too long for the path.
    Narrower,
}

impl PathMtu {
    /// The route takes `route_bytes`.
    pub fn new(now: Time, route_bytes: u16) -> Self {
        let search = MtuSearch::trusting(route_bytes);
        Self {
            search,
            assured: search.current_bytes().min(BASE_BYTES),
            lost_bytes: 0,
            losses: 0,
            is_due: false,
            probe: None,
            silences: 0,
            deadline: now + LOOK_AGAIN_AFTER,
        }
    }

    /// The longest datagram to send now.
    #[inline]
    pub fn bytes(&self) -> u16 {
        self.search.current_bytes()
    }

    /// Whether datagrams of this length are known to pass; the others are [asked for](Self::on_long).
    #[inline]
    pub fn is_assured(&self, bytes: usize) -> bool {
        bytes <= usize::from(self.assured)
    }

    /// Whether a datagram of this length may be cut by the network: the path takes no more than what every path should, and
    /// perhaps not even that ([WIRE-14.7]).
    #[inline]
    pub fn may_be_cut(&self, bytes: usize) -> bool {
        self.bytes() <= FLOOR_BYTES && bytes <= usize::from(FLOOR_BYTES)
    }

    /// Whether datagrams of this length can vanish for their length. Also what every path should take, whatever is in use:
    /// there may be nothing longer to lose, as a peer that knows the path asks for no more.
    pub fn is_long(bytes: u16) -> bool {
        bytes > LEAST_BYTES
    }

    /// A datagram leaves of which nobody knows whether it passes. `true`: ask.
    pub fn on_long(&mut self) -> bool {
        let is_asking = self.probe.is_some() || self.is_due;
        if !is_asking {
            self.search.doubt();
        }
        !is_asking && self.search.next_probe().is_some()
    }

    /// The longest of some datagrams that have arrived.
    #[inline]
    pub fn on_arrived(&mut self, now: Time, bytes: u16) {
        if bytes > self.assured || self.losses > 0 || self.probe.is_some() {
            self.believe(now, bytes);
        }
    }

    #[cold]
    fn believe(&mut self, now: Time, bytes: u16) {
        let current = self.bytes();
        // What is longer than the path takes has come in pieces.
        if bytes > current {
            return;
        }
        self.assured = self.assured.max(bytes);
        if bytes >= self.lost_bytes {
            self.losses = 0;
            self.lost_bytes = 0;
        }
        // Payloads are cut to multiples of 8. A queue that is nearly full takes small probes and no padded ones.
        let is_full_size = bytes > current - 8;
        if is_full_size && self.probe.is_some_and(|probe| probe.bytes == current) {
            self.search.on_probe_ack(current);
            self.assured = current;
            self.conclude(now);
        }
    }

    /// The longest of some datagrams that are lost. `true`: ask.
    pub fn on_lost(&mut self, bytes: u16) -> bool {
        if !Self::is_long(bytes) || bytes > self.bytes() {
            return false;
        }
        self.lost_bytes = self.lost_bytes.max(bytes);
        self.losses += 1;
        self.losses >= LOSSES && self.suspect()
    }

    /// Long packets do not seem to arrive. `true`: ask.
    pub fn suspect(&mut self) -> bool {
        self.losses = 0;
        self.lost_bytes = 0;
        self.on_long()
    }

    /// A probe is to leave, with this number, after a small one with a later number.
    pub fn ask(&mut self, number: u32) {
        let Some(bytes) = self.search.next_probe() else {
            return;
        };
        self.probe = Some(Probe {
            number,
            bytes,
            is_peer_there: false,
        });
        self.is_due = true;
    }

    /// Whether the probe is to leave now.
    #[inline]
    pub fn is_due(&self) -> bool {
        self.is_due
    }

    /// It leaves: its number, and the length of the datagram.
    pub fn next_probe(&mut self, now: Time, trip: &RoundTrip) -> Option<(u32, u16)> {
        let probe = self.probe.filter(|_| self.is_due)?;
        self.is_due = false;
        // Each in a row that says nothing is waited for longer.
        self.deadline = now + trip.timeout(self.silences.into());
        Some((probe.number, probe.bytes))
    }

    /// An answer to a probe, ours or a small one; a small one leaves `grace` for the answer to ours.
    pub fn on_answer(&mut self, now: Time, number: u32, grace: Span) -> Verdict {
        let Some(probe) = self.probe.as_mut().filter(|p| !before(number, p.number)) else {
            return Verdict::Open;
        };
        if number != probe.number {
            if !probe.is_peer_there && !self.is_due {
                probe.is_peer_there = true;
                self.deadline = self.deadline.min(now + grace);
            }
            return Verdict::Open;
        }
        self.search.on_probe_ack(probe.bytes);
        self.assured = self.bytes();
        self.conclude(now);
        Verdict::Wider
    }

    /// When [`on_time`](Self::on_time) has something to do.
    #[inline]
    pub fn deadline(&self) -> Time {
        self.deadline
    }

    /// The probe was not answered in time.
    pub fn on_time(&mut self, now: Time) -> Verdict {
        let Some(probe) = self.probe else {
            return Verdict::Open;
        };
        if !probe.is_peer_there {
            self.silences = self.silences.saturating_add(1);
            self.probe = None;
            self.deadline = now + LOOK_AGAIN_AFTER;
            return Verdict::Wider;
        }
        let is_narrower = self.search.on_probe_loss(probe.bytes);
        self.conclude(now);
        self.narrow(is_narrower)
    }

    /// Whether nothing is being asked: time to look at the route again.
    pub fn is_at_rest(&self) -> bool {
        self.probe.is_none()
    }

    /// The route takes this much; it is looked at anew whether the path does as well.
    pub fn look_again(&mut self, now: Time, route_bytes: u16) -> Verdict {
        self.search.look_again();
        self.on_route(now, route_bytes)
    }

    /// The driver says what the route takes now.
    pub fn on_route(&mut self, now: Time, route_bytes: u16) -> Verdict {
        let is_narrower = self.search.on_route(route_bytes);
        self.conclude(now);
        self.narrow(is_narrower)
    }

    /// What was under way is over.
    fn conclude(&mut self, now: Time) {
        self.probe = None;
        self.is_due = false;
        self.silences = 0;
        self.deadline = now + LOOK_AGAIN_AFTER;
    }

    fn narrow(&mut self, is_narrower: bool) -> Verdict {
        self.assured = self.assured.min(self.bytes());
        match is_narrower {
            true => Verdict::Narrower,
            false => Verdict::Wider,
        }
    }

    /// Whether there is something to ask for.
    pub fn has_question(&self) -> bool {
        self.probe.is_none() && self.search.next_probe().is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GRACE: Span = Span::from_us(200);

    /// Asks until there is nothing to ask, on a path that takes `path`, from a peer that answers what comes.
    fn ask(mtu: &mut PathMtu, path: u16) -> u32 {
        let (mut now, mut number, mut narrower) = (Time(0), 0, 0);
        while mtu.has_question() {
            number += 2;
            mtu.ask(number);
            let (_, bytes) = mtu.next_probe(now, &RoundTrip::default()).unwrap();
            assert_eq!(mtu.on_answer(now, number + 1, GRACE), Verdict::Open);
            if bytes <= path {
                assert_eq!(mtu.on_answer(now, number, GRACE), Verdict::Wider);
            } else {
                assert_eq!(mtu.deadline(), now + GRACE);
                now += GRACE;
                narrower += u32::from(mtu.on_time(now) == Verdict::Narrower);
            }
        }
        narrower
    }

    #[test]
    fn the_first_long_packet_asks_and_what_passes_is_believed() {
        let mut mtu = PathMtu::new(Time(0), 8960);
        assert!(mtu.is_assured(1200) && !mtu.is_assured(1201) && !mtu.has_question());
        assert!(mtu.on_long());
        assert_eq!(ask(&mut mtu, 8960), 0);
        assert!(mtu.is_assured(8960));
    }

    #[test]
    fn losses_ask_unless_packets_as_long_arrive() {
        let mut mtu = PathMtu::new(Time(0), 8960);
        mtu.on_long();
        ask(&mut mtu, 8960);
        for _ in 0..100 {
            assert!(!mtu.on_lost(8960) && !mtu.on_lost(8960) && !mtu.on_lost(400));
            mtu.on_arrived(Time(0), 8960);
        }
        for _ in 0..3 {
            mtu.on_arrived(Time(0), 1000);
            assert!(!mtu.on_lost(8960));
        }
        assert!(mtu.on_lost(8960));
        assert_eq!(ask(&mut mtu, 1372), 1);
        assert!((1357..=1372).contains(&mtu.bytes()));
        assert!(mtu.is_assured(1357), "what has passed needs no question");
    }

    /// A peer that knows that the path takes no more asks for no more, so that nothing longer is lost.
    #[test]
    fn short_losses_ask_whatever_length_is_in_use() {
        let mut mtu = PathMtu::new(Time(0), 1200);
        assert!((0..4).any(|_| mtu.on_lost(504)));
        ask(&mut mtu, 472);
        assert!((450..=472).contains(&mtu.bytes()), "{}", mtu.bytes());
    }

    #[test]
    fn packets_as_long_are_as_good_as_an_answer() {
        let mut mtu = PathMtu::new(Time(0), 1400);
        for number in 0..100 {
            assert!(mtu.suspect());
            mtu.ask(number);
            mtu.next_probe(Time(0), &RoundTrip::default()).unwrap();
            mtu.on_answer(Time(0), number + 1, GRACE);
            mtu.on_arrived(Time(0), 1392);
            assert!(mtu.has_question() || mtu.probe.is_some());
            mtu.on_arrived(Time(0), 1400);
            assert!(!mtu.has_question() && mtu.is_at_rest());
        }
    }

    #[test]
    fn silence_says_nothing_of_length() {
        let mut mtu = PathMtu::new(Time(0), 8960);
        assert!(mtu.on_long());
        let mut before = Time(0);
        for number in 0..100 {
            mtu.ask(number);
            let (_, bytes) = mtu.next_probe(Time(0), &RoundTrip::default()).unwrap();
            assert_eq!(bytes, 8960);
            let waited = mtu.deadline();
            assert!(waited >= before, "each is waited for longer");
            before = waited;
            assert_eq!(mtu.on_time(waited), Verdict::Wider);
            assert!(mtu.has_question());
        }
        assert_eq!(mtu.bytes(), 8960);
    }

    #[test]
    fn what_comes_in_pieces_proves_nothing() {
        let mut mtu = PathMtu::new(Time(0), 8960);
        mtu.on_long();
        ask(&mut mtu, 1200);
        mtu.on_arrived(Time(0), 8960);
        assert!(!mtu.is_assured(1300));
    }
}
