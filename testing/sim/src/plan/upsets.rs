//! What befalls hosts and links.

use bcl_types::Random;

use crate::net::{Faults, HostId, Partition};

/// Something that changes the world.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Upset {
    /// Some hosts are cut off from the others, or all are joined again.
    Partition(Option<Partition>),
    /// The cable of a host is pulled or plugged: the direction out of it, and the one into it.
    Cable {
        /// Whose.
        host: HostId,
        /// Whether it can send.
        out: bool,
        /// Whether it can receive.
        into: bool,
    },
    /// A process is stopped as by SIGSTOP.
    Stop(HostId),
    /// It goes on.
    Continue(HostId),
    /// A process dies without a word.
    Kill(HostId),
    /// A process closes its port properly and ends.
    Close(HostId),
    /// A new process begins.
    Start(HostId),
    /// A host gets another address; its process goes on.
    Readdress(HostId),
    /// A host's process takes this long for each datagram.
    Slow {
        /// Which.
        host: HostId,
        /// How long.
        per_datagram_ns: u64,
    },
    /// All uplinks get these faults.
    Weather(Faults),
    /// The cable of a host takes other lengths, of which nobody is told: the direction out of it, and the one into it.
    Length {
        /// Whose.
        host: HostId,
        /// The longest datagram that it can send.
        out: usize,
        /// The longest that it can receive.
        into: usize,
    },
}

impl Upset {
    /// Whether peers have to notice, however soon it is mended.
    pub(super) fn takes_lives(&self) -> bool {
        matches!(
            self,
            Self::Kill(_) | Self::Close(_) | Self::Start(_) | Self::Readdress(_)
        )
    }

    /// Whether a peer may not be heard while it lasts, and be taken for dead.
    pub(super) fn silences(&self) -> bool {
        !matches!(self, Self::Length { .. })
    }
}

/// An upset and what mends it, each with its time.
pub(super) type Episode = [(u64, Upset); 2];

/// What an episode can be about.
#[derive(Debug, Clone, Copy)]
pub(super) enum Theme {
    Partition,
    Cable,
    Pause,
    Death,
    Close,
    Slowness,
    Length,
}

/// One upset of `theme`, beginning before `until_ns` and lasting up to `longest_ns`.
pub(super) fn episode(
    random: &mut Random,
    theme: Theme,
    seats: usize,
    until_ns: u64,
    longest_ns: u64,
) -> Episode {
    let from_ns = random.below(until_ns);
    let to_ns = from_ns + random.between(1_000, longest_ns);
    let host = HostId(random.index(seats));
    let (upset, mended) = match theme {
        Theme::Partition => partition(random, seats),
        Theme::Cable => cable(random, host),
        Theme::Pause => (Upset::Stop(host), Upset::Continue(host)),
        Theme::Death => (Upset::Kill(host), Upset::Start(host)),
        Theme::Close => (Upset::Close(host), Upset::Start(host)),
        Theme::Slowness => slowness(random, host),
        Theme::Length => length(random, host),
    };
    [(from_ns, upset), (to_ns, mended)]
}

/// Puts episodes one after the other, so that each mends what it broke and nothing else.
pub(super) fn in_order(episodes: impl IntoIterator<Item = Episode>) -> Vec<(u64, Upset)> {
    let mut episodes: Vec<Episode> = episodes.into_iter().collect();
    episodes.sort_by_key(|[(from_ns, _), _]| *from_ns);
    let mut free_ns = 0;
    let mut all = Vec::new();
    for [(from_ns, upset), (to_ns, mended)] in episodes {
        let shift_ns = u64::saturating_sub(free_ns, from_ns);
        all.push((from_ns + shift_ns, upset));
        free_ns = to_ns + shift_ns;
        all.push((free_ns, mended));
    }
    all
}

fn partition(random: &mut Random, seats: usize) -> (Upset, Upset) {
    let one_way = random.one_in(3);
    let partition = Partition {
        inside: (0..seats)
            .filter(|_| random.one_in(2))
            .map(HostId)
            .collect(),
        lets_out: one_way,
        lets_in: false,
    };
    (Upset::Partition(Some(partition)), Upset::Partition(None))
}

fn cable(random: &mut Random, host: HostId) -> (Upset, Upset) {
    let (out, into) = *random.pick(&[(false, false), (true, false), (false, true)]);
    let whole = Upset::Cable {
        host,
        out: true,
        into: true,
    };
    (Upset::Cable { host, out, into }, whole)
}

/// From the least that every path takes on.
fn length(random: &mut Random, host: HostId) -> (Upset, Upset) {
    let mut draw = || match random.below(4) {
        0 => usize::MAX,
        1 => 1472,
        _ => random.between(508, 8_960) as usize,
    };
    let (out, into) = (draw(), draw());
    let whole = Upset::Length {
        host,
        out: usize::MAX,
        into: usize::MAX,
    };
    (Upset::Length { host, out, into }, whole)
}

fn slowness(random: &mut Random, host: HostId) -> (Upset, Upset) {
    let at_speed = |per_datagram_ns| Upset::Slow {
        host,
        per_datagram_ns,
    };
    (at_speed(random.between(5_000, 200_000)), at_speed(500))
}
