//! BCL's side: each measurement is a few processes of this very program, one port each.

mod barrier;
mod board;
mod ensemble;
mod exchange;
mod footprint;
mod idle;
mod latency;
mod memory;
mod node_folder;
mod pairs;
mod player;
pub mod rank;
mod rate;
mod reflected;
mod strace;
mod stream;
mod streams;
mod turns;

use std::process::Command;

use bcl::NodeId;

use crate::cores::Place;
use crate::effort::Effort;
use crate::error::{Result, system};
use crate::site::Site;
use crate::subject::Subject;
use crate::work::{Kind, Work};
use node_folder::NodeFolder;

/// Of the job that a measurement between hosts is.
const JOB_KEY: &str = "6263206c62656e63686d61726b7320617265206a6f6273206c696b6520616e79";

/// The figures of BCL: one, or one for each size.
///
/// # Errors
/// When a process cannot start, fails or hangs.
pub fn measure(
    subject: Subject,
    work: &'static Work,
    site: &Site,
    effort: Effort,
) -> Result<Vec<f64>> {
    let sizes = work.kind.sizes().into_iter();
    sizes
        .map(|size_bytes| measure_at(subject, work, size_bytes, site, effort))
        .collect()
}

fn measure_at(
    subject: Subject,
    work: &'static Work,
    size_bytes: Option<usize>,
    site: &Site,
    effort: Effort,
) -> Result<f64> {
    let iterations = match (work.kind, size_bytes) {
        (Kind::BySize(series), Some(size_bytes)) => effort.iterations_at(series, size_bytes),
        _ => effort.iterations(work.kind),
    };
    if let Kind::Board(board) = work.kind {
        return board::measure_us(subject, board, iterations);
    }
    let folder = NodeFolder::make()?;
    let ranks = match work.kind {
        Kind::Pairs | Kind::Streams { .. } => 8,
        Kind::Barrier => 4,
        _ => 2,
    };
    let program = std::env::current_exe().map_err(system("find", "this program"))?;
    let command = |rank| {
        let place = if ranks > 2 {
            Place::Either(site.cores)
        } else {
            site.cores.of_rank(rank)
        };
        let mut command = site.command_at(rank, place, &program.to_string_lossy());
        let mut folder = folder.path().to_owned();
        if site.has_two_hosts() {
            // Hosts do not share their folders, and without a key of its own a job stays on its node.
            folder.push(rank.to_string());
            command.env("BCL_JOB_KEY", JOB_KEY);
            command.env("BCL_AGENT", site.agent(rank));
        }
        let arguments = rank::Arguments {
            work,
            rank,
            ranks,
            iterations,
            seconds: effort.duration().as_secs(),
            folder,
            size_bytes,
            nodes: [0, 1].map(|rank| NodeId(site.address(rank))).into(),
        };
        command.args(arguments.to_words());
        command
    };
    let mut commands: Vec<Command> = (0..ranks).map(command).collect();
    if work.kind != Kind::SystemCalls {
        return ensemble::sum_of_figures(commands);
    }
    let log = folder.path().join("strace");
    commands[0] = strace::wrap(&commands[0], &log)?;
    ensemble::sum_of_figures(commands)?;
    strace::calls_between_marks(&log)
}
