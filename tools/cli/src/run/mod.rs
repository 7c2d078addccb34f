//! `bcl run`: starts the processes of a job, on this host or on others. All of that is `bcl-launch`'s; what the user
//! has to say and is told, is this command's.

mod arguments;
pub mod shell;

use std::process::ExitCode;

use bcl_launch::signals::Signals;
use bcl_launch::{Notice, helper};

use crate::failure::Result;
pub use arguments::Arguments;

/// Runs the job; the status is what its processes deserve.
pub fn run(arguments: &Arguments) -> Result<ExitCode> {
    let launch = arguments.launch()?.signals(Signals::take()?);
    let outcome = launch.on_notice(say).run()?;
    Ok(ExitCode::from(outcome.status))
}

fn say(notice: &Notice) {
    match notice {
        Notice::TimedOut => eprintln!("bcl: the job has reached its --timeout; ending it"),
        notice => eprintln!("bcl: {notice}"),
    }
}

/// `bcl run-remote`, which `bcl run` starts on another host.
pub fn serve() -> Result<ExitCode> {
    helper::serve()?;
    Ok(ExitCode::SUCCESS)
}
