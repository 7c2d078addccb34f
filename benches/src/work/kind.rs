//! What a measurement does.

/// One kind of measurement.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Kind {
    /// Ping-pong of messages, both ends spinning; one way in us.
    Latency { size_bytes: usize },
    /// Messages one way, each in flight from a buffer of its own; MB/s.
    Stream { size_bytes: usize, in_flight: usize },
    /// 8-byte messages one way as fast as they go; million messages a second.
    Rate,
    /// A word handed to and fro by an operation on the other's memory; one way in us.
    Exchange(Operation),
    /// A word handed to and fro in a region of reflective memory; one way in us.
    Reflected,
    /// Memory that a port takes for each of its peers; KiB.
    Memory { peers: usize },
    /// System calls in the middle of a ping-pong.
    SystemCalls,
    /// Processor time of a port that waits; percent of a core.
    Idle,
    /// Eight processes play four ping-pongs on two cores; thousand messages a second in all.
    Pairs,
    /// Eight processes are four [`Kind::Stream`]s on two cores; MB/s in all.
    Streams { size_bytes: usize, in_flight: usize },
    /// A barrier of four processes on two cores; us.
    Barrier,
    /// A post of 8 bytes on a billboard; us.
    Board(Board),
    /// A barrier of so many processes of MPI; us.
    BarrierOf(Ranks),
    /// A figure for each of [`SIZES`].
    BySize(Series),
    /// One of testing/mpi/programs, by more processes than cores; seconds.
    Program(&'static str),
    /// One of the figures that the HPC Challenge ends with, under the name it has there, times this.
    Hpcc { figure: &'static str, times: f64 },
}

/// A one-sided operation on 8 bytes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Operation {
    /// Writes the other's word.
    Put,
    /// Reads the other's word.
    Get,
    /// Adds to the other's word.
    FetchAdd,
}

/// A billboard, and what is measured there.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Board {
    /// One that posts, and others that read.
    pub members: u16,
    /// Each has a host of its own.
    pub is_on_hosts: bool,
    pub figure: BoardFigure,
}

/// What a post takes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum BoardFigure {
    /// Until the last has read it,
    UntilAll,
    /// or the kernel of the last host has it.
    Delivered,
    /// What it takes its process.
    Post,
}

/// How many processes of MPI there are.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Ranks {
    /// Each spins on a core of its own.
    Two,
    /// Each gives way while it waits.
    Four,
    /// The same.
    Eight,
}

/// What is done at one size after the other.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Series {
    /// [`Kind::Latency`].
    Latency,
    /// [`Kind::Stream`].
    Stream { in_flight: usize },
    /// So many bytes of one of so many processes to all, of each in turn; us.
    Bcast(Ranks),
    /// So many bytes of doubles added up among all processes; us.
    Allreduce,
    /// So many bytes from each process to each; us.
    Alltoall,
}

const SHORTEST: usize = 8;
const LONGEST: usize = 1 << 20;

/// Each power of two from 8 B to 1 MiB.
pub const SIZES: [usize; 18] = {
    let mut sizes = [SHORTEST; 18];
    let mut at = 1;
    while at < sizes.len() {
        sizes[at] = 2 * sizes[at - 1];
        at += 1;
    }
    sizes
};
const _: () = assert!(SIZES[SIZES.len() - 1] == LONGEST);

impl Kind {
    /// The size of each figure that it gives: one figure without a size, unless it goes by size.
    pub fn sizes(self) -> Vec<Option<usize>> {
        match self {
            Kind::BySize(_) => SIZES.map(Some).into(),
            _ => vec![None],
        }
    }

    /// What is done for the figure of that size, if it is done by two processes that exchange messages.
    pub fn at(self, size_bytes: Option<usize>) -> Self {
        match (self, size_bytes) {
            (Kind::BySize(Series::Latency), Some(size_bytes)) => Kind::Latency { size_bytes },
            (Kind::BySize(Series::Stream { in_flight }), Some(size_bytes)) => Kind::Stream {
                size_bytes,
                in_flight,
            },
            _ => self,
        }
    }
}

#[test]
fn a_series_is_what_it_consists_of_at_each_size() {
    let stream = Kind::BySize(Series::Stream { in_flight: 4 });
    assert_eq!(stream.sizes().len(), 18);
    assert_eq!(
        (stream.sizes()[0], stream.sizes()[17]),
        (Some(8), Some(1 << 20))
    );
    let (size_bytes, in_flight) = (64, 4);
    let one = Kind::Stream {
        size_bytes,
        in_flight,
    };
    assert_eq!(stream.at(Some(64)), one);
    assert_eq!((one.sizes(), one.at(None)), (vec![None], one));
}
