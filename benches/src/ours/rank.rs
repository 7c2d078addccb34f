//! One process of a measurement of BCL.

use std::io::{self, Read};
use std::path::PathBuf;
use std::time::Duration;

use bcl::NodeId;

use crate::error::{Result, system};
use crate::ours::player::Player;
use crate::ours::{
    barrier, exchange, idle, latency, memory, pairs, rate, reflected, stream, streams,
};
use crate::work::{self, Kind, Work};

/// What the process is told by the one that measures.
#[derive(Clone, clap::Args)]
pub struct Arguments {
    /// What to do.
    #[arg(value_parser = work::parse)]
    pub work: &'static Work,
    /// Which one of the processes it is.
    pub rank: usize,
    /// How many there are.
    pub ranks: usize,
    /// How often it does it.
    pub iterations: usize,
    /// How long it does it, when it is limited by time.
    pub seconds: u64,
    /// The socket folder of this measurement.
    pub folder: PathBuf,
    /// At which size, when that does not follow from what to do.
    #[arg(long)]
    pub size_bytes: Option<usize>,
    /// The nodes on which the processes are, in turn.
    pub nodes: Vec<NodeId>,
}

impl Arguments {
    /// The words that [`clap`] reads back.
    pub fn to_words(&self) -> Vec<String> {
        let mut words = vec![
            "rank".into(),
            self.work.name.into(),
            self.rank.to_string(),
            self.ranks.to_string(),
            self.iterations.to_string(),
            self.seconds.to_string(),
            self.folder.display().to_string(),
        ];
        words.extend(self.nodes.iter().map(NodeId::to_string));
        if let Some(size_bytes) = self.size_bytes {
            words.push(format!("--size-bytes={size_bytes}"));
        }
        words
    }

    fn duration(&self) -> Duration {
        Duration::from_secs(self.seconds)
    }
}

/// Opens a port, waits for the others, does its part, prints its figure and waits again.
///
/// # Errors
/// When anything fails: it prints no figure then.
pub fn run(arguments: &Arguments) -> Result<()> {
    let mut player = Player::open(arguments)?;
    let figure = play(&mut player, arguments)?;
    println!("{figure}");
    wait_for_end()
}

/// The figure of this process; 0 for all but the one that keeps time.
fn play(player: &mut Player, arguments: &Arguments) -> Result<f64> {
    let iterations = arguments.iterations;
    match arguments.work.kind.at(arguments.size_bytes) {
        Kind::Latency { size_bytes } => latency::measure_us(player, size_bytes, iterations),
        Kind::Stream {
            size_bytes,
            in_flight,
        } => stream::measure_mb_per_s(player, size_bytes, in_flight, iterations),
        Kind::Rate => rate::measure_m_per_s(player, iterations),
        Kind::Exchange(operation) => exchange::measure_us(player, operation, iterations),
        Kind::Reflected => reflected::measure_us(player, &arguments.folder, iterations),
        Kind::Memory { peers } => memory::measure_kib(player, peers, iterations),
        Kind::SystemCalls => latency::mark_ping_pong(player, iterations),
        Kind::Idle => idle::measure_percent(player, arguments.duration()),
        Kind::Pairs => pairs::measure_k_per_s(player, arguments.duration()),
        Kind::Streams {
            size_bytes,
            in_flight,
        } => streams::measure_mb_per_s(player, size_bytes, in_flight, arguments.duration()),
        Kind::Barrier => barrier::measure_us(player, iterations),
        Kind::Board(_) => unreachable!("`bcl perf bbp` has processes of its own"),
        Kind::BarrierOf(_) | Kind::BySize(_) | Kind::Program(_) | Kind::Hpcc { .. } => {
            unreachable!("the table of works asks BCL for nothing that takes an MPI library")
        }
    }
}

/// Partners may still be at work: whoever closes first would be a loss to them.
fn wait_for_end() -> Result<()> {
    io::stdin()
        .read_to_end(&mut Vec::new())
        .map(drop)
        .map_err(system("wait for the end of", "the measurement"))
}

#[test]
fn the_words_are_read_back_as_they_were() {
    use clap::Parser;

    let arguments = Arguments {
        work: work::find("pairs").unwrap(),
        rank: 3,
        ranks: 8,
        iterations: 7,
        seconds: 2,
        folder: "/tmp/a folder".into(),
        size_bytes: Some(64),
        nodes: vec!["10.0.0.1".parse().unwrap(), "10.0.0.2".parse().unwrap()],
    };
    let words = std::iter::once("bcl-bench".to_owned()).chain(arguments.to_words());
    let parsed = crate::arguments::Arguments::try_parse_from(words).unwrap();
    let Some(crate::arguments::Command::Rank(read)) = parsed.command else {
        panic!("the words name the process of a measurement");
    };
    assert_eq!(read.to_words(), arguments.to_words());
}
