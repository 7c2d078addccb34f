//! What a billboard takes, as `bcl perf bbp` measures it: with hosts of its own, if it is to be between hosts.

use std::process::Command;

use serde::Deserialize;

use crate::command;
use crate::effort::LIMIT;
use crate::error::{Error, Result, system};
use crate::subject::Subject;
use crate::work::{Board, BoardFigure};

/// A line that it prints.
#[derive(Deserialize)]
struct Row {
    until_all_us_p50: Option<f64>,
    delivered_us_p50: Option<f64>,
    post_us_p50: Option<f64>,
}

/// The median.
///
/// # Errors
/// When the `bcl` beside this program is not there, fails, or prints something else.
pub fn measure_us(subject: Subject, board: Board, iterations: usize) -> Result<f64> {
    let (what, members) = match subject {
        Subject::BoardMessage => ("message", 2),
        Subject::BoardTree => ("tree", board.members),
        _ => ("multicast", board.members),
    };
    let own = std::env::current_exe().map_err(system("find", "this program"))?;
    let mut command = Command::new(own.with_file_name("bcl"));
    command.args(["perf", "bbp", "--json", "--size", "8", "--what", what]);
    command.args(["--members", &members.to_string()]);
    command.args(["--iterations", &iterations.to_string()]);
    if board.is_on_hosts {
        command.args(["--hosts", "netns"]);
    }
    if subject == Subject::BoardOneByOne {
        command.env("BCL_MULTICAST", "off");
    }
    let output = command::run(&mut command, "bcl (`make build`)", LIMIT)?;
    let row: Option<Row> = serde_json::from_str(output.trim()).ok();
    let figure = row.and_then(|row| match board.figure {
        BoardFigure::UntilAll => row.until_all_us_p50,
        BoardFigure::Delivered => row.delivered_us_p50,
        BoardFigure::Post => row.post_us_p50,
    });
    figure.ok_or_else(|| Error::Unreadable {
        command: command::describe(&command),
        output,
    })
}
