//! BCL's side: each measurement is a few processes of this very program, one port each.

mod barrier;
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
mod strace;
mod stream;

use std::process::Command;

use crate::cores::{Cores, Place};
use crate::effort::Effort;
use crate::error::{Result, system};
use crate::work::{Kind, Work};
use node_folder::NodeFolder;

/// One figure of BCL.
///
/// # Errors
/// When a process cannot start, fails or hangs.
pub fn measure(work: &'static Work, cores: Cores, effort: Effort) -> Result<f64> {
    let folder = NodeFolder::make()?;
    let ranks = match work.kind {
        Kind::Pairs => 8,
        Kind::Barrier => 4,
        _ => 2,
    };
    let program = std::env::current_exe().map_err(system("find", "this program"))?;
    let command = |rank| {
        let place = if ranks > 2 {
            Place::Either(cores)
        } else {
            cores.of_rank(rank)
        };
        let arguments = rank::Arguments {
            work,
            rank,
            ranks,
            iterations: effort.iterations(work.kind),
            seconds: effort.duration().as_secs(),
            folder: folder.path().to_owned(),
        };
        let mut command = place.command(&program);
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
