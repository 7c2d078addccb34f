//! What `bcl perf` can be told.

use std::path::PathBuf;

use bcl::{Address, Device};
use bcl_launch::Host;
use clap::{Args, Subcommand, ValueEnum};

use super::bbp;
use crate::failure::{Failure, Result};
use crate::run::shell::ShellOptions;
use crate::size;

/// Measure what processes get out of BCL, on this machine or between hosts.
#[derive(Debug, Args)]
pub struct Arguments {
    #[command(subcommand)]
    pub bench: Bench,
}

#[derive(Debug, Subcommand)]
pub enum Bench {
    #[command(flatten)]
    Pair(Pair),
    /// Time until the last has it, of messages, multicasts and barriers of a billboard (bbp.h).
    ///
    /// Member 0 posts, and all others read and tell when they had it, by the clock that the processes of a machine have in common. A
    /// binomial tree of messages stands beside the multicast, and a barrier of messages beside the one by multicast.
    Bbp(bbp::Arguments),
}

/// What two processes do.
#[derive(Debug, Subcommand)]
pub enum Pair {
    /// Time of a message one way: half a round trip of a ping-pong.
    ///
    /// The clock is read once for a batch of round trips, so that reading it does not count: 100 round trips a
    /// batch below 4 KiB, 10 below 64 KiB, else 1. Minimum and percentiles are those of the batches' means.
    #[command(after_help = EXAMPLES_LATENCY)]
    Latency(Options),
    /// Bytes a second in one direction, several messages in flight.
    Bandwidth(Options),
    /// Messages a second in one direction, several messages in flight.
    Rate(Options),
    /// Time of one-sided operations on the partner's memory, from the call to its completion.
    ///
    /// As with `latency`, the clock is read once for a batch of operations.
    Rma(RmaOptions),
}

const EXAMPLES_LATENCY: &str = "\
Examples:
  bcl perf latency
  bcl perf latency --host right
  bcl perf latency --size 8,1k,64k --json
  bcl perf latency --size 8,64,1k,8k,64k,512k,4m --plot latency.svg";

#[derive(Debug, Args)]
pub struct Options {
    /// Device to measure: auto (the best that reaches the partner), shm, udp (to a partner on this host as well), or xdp (the
    /// same, if the agent opens the port).
    #[arg(long, default_value = "auto", value_parser = device)]
    pub device: DeviceChoice,
    /// Measure between this host and another one, where a partner is started by ssh or the launcher.
    #[arg(long, value_name = "NAME", conflicts_with = "hosts")]
    pub host: Option<Host>,
    /// Measure between two hosts: `netns` makes two of this machine, network namespaces with a virtual link between
    /// (as root).
    #[arg(long, value_enum, value_name = "WHICH")]
    pub hosts: Option<Hosts>,
    /// Where the program at the interfaces is that takes the packets, with --device xdp --hosts netns: in the driver, behind
    /// it, or what the agent chooses. Both hosts get an agent then.
    #[arg(long, value_enum, default_value_t = Mode::Auto)]
    pub mode: Mode,
    #[command(flatten)]
    pub shell: ShellOptions,
    /// How long messages are copied: `single` lets the kernel copy once where it is permitted, `stream` always
    /// goes through shared memory, `auto` finds out which is quicker [default: BCL_COPY, else auto].
    #[arg(long, value_enum)]
    pub copy: Option<Copy>,
    /// Lengths of the messages, with commas; K, M, G are powers of 1024 [default: those that show the most].
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = size::parse)]
    pub size: Vec<usize>,
    /// Round trips, messages or operations for each size [default: less than a second of them].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub iterations: Option<u64>,
    /// The same before anything is measured [default: a tenth of the iterations].
    #[arg(long, value_name = "N")]
    pub warmup: Option<u64>,
    /// Cores of the two processes [default: the first two this process may use].
    #[arg(long, value_name = "A,B", value_parser = parse_pin)]
    pub pin: Option<[usize; 2]>,
    /// How the two processes wait: `poll` never leaves the core, `adaptive` spins, yields, then sleeps; `auto`
    /// polls if each of them has a core.
    #[arg(long, value_enum, default_value_t = Wait::Auto)]
    pub wait: Wait,
    /// Channel: `auto` uses the system channel as far as it reaches, and a normal one for longer messages.
    #[arg(long, value_enum, default_value_t = Channel::Auto)]
    pub channel: Channel,
    /// Memory of the messages on a normal channel.
    #[arg(long, value_enum, default_value_t = Buffers::Normal)]
    pub buffers: Buffers,
    /// Print one JSON object a line.
    #[arg(long)]
    pub json: bool,
    /// Draw the results into this SVG file as well.
    #[arg(long, value_name = "FILE")]
    pub plot: Option<PathBuf>,
    /// Where the measuring process is, for its partner.
    #[arg(long, hide = true)]
    pub partner: Option<Address>,
}

#[derive(Debug, Args)]
pub struct RmaOptions {
    /// Operations to measure, with commas.
    #[arg(long, value_name = "LIST", value_enum, value_delimiter = ',',
          default_values_t = [Operation::Put, Operation::Get, Operation::FetchAdd, Operation::CompareSwap])]
    pub operation: Vec<Operation>,
    /// The partner's memory: on a DMA buffer operations act directly, on normal memory the partner's background
    /// thread or the kernel does them.
    #[arg(long, value_enum, default_value_t = Window::Dma)]
    pub window: Window,
    /// What the partner's process does meanwhile. `computing` looks once in 50 ms; `stopped` (SIGSTOP) does nothing at all, so
    /// that only memory that others reach without it is reached: in the node, or through an agent (--device xdp).
    #[arg(long, value_enum, default_value_t = Target::Sleeping)]
    pub target: Target,
    /// Operations that are under way at a time.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..=1024))]
    pub outstanding: u64,
    #[command(flatten)]
    pub options: Options,
}

/// A device, or `auto`.
#[derive(Debug, Clone, std::marker::Copy)]
pub struct DeviceChoice(pub Option<Device>);

fn device(text: &str) -> std::result::Result<DeviceChoice, String> {
    match Device::from_name(text) {
        _ if text == "auto" => Ok(DeviceChoice(None)),
        Some(device) => Ok(DeviceChoice(Some(device))),
        None => Err("write auto, shm, udp or xdp".into()),
    }
}

#[derive(Debug, Clone, std::marker::Copy, PartialEq, Eq, ValueEnum)]
pub enum Hosts {
    Netns,
}

#[derive(Debug, Clone, std::marker::Copy, PartialEq, Eq, ValueEnum)]
pub enum Mode {
    Auto,
    Native,
    Generic,
}

#[derive(Debug, Clone, std::marker::Copy, PartialEq, Eq, ValueEnum)]
pub enum Copy {
    Auto,
    Single,
    Stream,
}

#[derive(Debug, Clone, std::marker::Copy, PartialEq, Eq, ValueEnum)]
pub enum Wait {
    Auto,
    Poll,
    Adaptive,
}

#[derive(Debug, Clone, std::marker::Copy, PartialEq, Eq, ValueEnum)]
pub enum Channel {
    Auto,
    System,
    Normal,
}

#[derive(Debug, Clone, std::marker::Copy, PartialEq, Eq, ValueEnum)]
pub enum Buffers {
    /// Any memory.
    Normal,
    /// Registered before use.
    Enabled,
    /// Allocated by BCL, read by the receiver where it lies.
    Dma,
}

#[derive(Debug, Clone, std::marker::Copy, PartialEq, Eq, ValueEnum)]
pub enum Window {
    Dma,
    Normal,
}

#[derive(Debug, Clone, std::marker::Copy, PartialEq, Eq, ValueEnum)]
pub enum Target {
    Sleeping,
    Polling,
    Computing,
    Stopped,
}

#[derive(Debug, Clone, std::marker::Copy, PartialEq, Eq, ValueEnum)]
pub enum Operation {
    Put,
    Get,
    FetchAdd,
    CompareSwap,
}

/// The word a user writes for a value, for output.
pub fn word(value: &impl ValueEnum) -> String {
    let possible = value.to_possible_value();
    possible.map_or_else(String::new, |value| value.get_name().to_owned())
}

impl Pair {
    pub fn options(&self) -> &Options {
        match self {
            Self::Latency(options) | Self::Bandwidth(options) | Self::Rate(options) => options,
            Self::Rma(rma) => &rma.options,
        }
    }

    /// Its name in commands and in JSON.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Latency(_) => "latency",
            Self::Bandwidth(_) => "bandwidth",
            Self::Rate(_) => "rate",
            Self::Rma(_) => "rma",
        }
    }

    /// Finds what clap cannot.
    pub fn check(&self) -> Result<()> {
        let options = self.options();
        let longest = options.size.iter().copied().max().unwrap_or(0);
        if options.channel == Channel::System && longest > bcl::SYSTEM_MAX {
            return Err(Failure::usage(format!(
                "the system channel takes messages of at most {} bytes: use --channel normal for {longest}",
                bcl::SYSTEM_MAX
            )));
        }
        if options.mode != Mode::Auto && options.agents().is_none() {
            return Err(Failure::usage(
                "--mode is for agents that are started for the measurement: use it with --device xdp --hosts netns",
            ));
        }
        if let Self::Rma(rma) = self
            && rma.target == Target::Stopped
            && options.host.is_some()
        {
            return Err(Failure::usage(
                "--target stopped needs the partner's process on this machine, to let it go on: leave out --host, or use --hosts netns",
            ));
        }
        Ok(())
    }
}

impl Options {
    /// How the program is attached at the interfaces of hosts that are made for the measurement, if it is to be.
    pub fn agents(&self) -> Option<Mode> {
        let is_wished = self.hosts.is_some() && self.device.0 == Some(Device::Xdp);
        is_wished.then_some(self.mode)
    }
}

fn parse_pin(text: &str) -> std::result::Result<[usize; 2], String> {
    let cores = text.split_once(',').and_then(|(first, second)| {
        Some([first.trim().parse().ok()?, second.trim().parse().ok()?])
    });
    cores.ok_or_else(|| format!("'{text}' does not name two cores: write them as 0,1"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_cores_are_two_numbers() {
        assert_eq!(parse_pin("0,1"), Ok([0, 1]));
        assert_eq!(parse_pin("3, 3"), Ok([3, 3]));
        for text in ["", "1", "0,1,2", "a,b", "-1,0"] {
            assert!(parse_pin(text).unwrap_err().contains("0,1"), "{text}");
        }
    }
}
