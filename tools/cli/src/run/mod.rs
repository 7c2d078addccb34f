//! `bcl run`: starts the processes of a job, on this host or on others, and looks after them to the end.
//!
//! A [`Supervisor`] decides; the processes are at [sites](site): a [`Crew`] on this host, or links to
//! [helpers](remote) on others, each with a crew of its own.

mod arguments;
mod crew;
mod exchange;
pub mod hosts;
mod launch;
mod lines;
mod outcome;
mod outlet;
pub mod remote;
mod signals;
mod site;
mod supervise;

use std::process::ExitCode;

use bcl::{Folder, JobKey};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::failure::{Failure, Result};
pub use arguments::Arguments;
use crew::Crew;
use launch::{Starter, Streams};
use outlet::Outlet;
use signals::Signals;
use supervise::Supervisor;

/// Runs the job; the status is what its processes deserve.
pub fn run(arguments: &Arguments) -> Result<ExitCode> {
    let hosts = arguments.hosts()?;
    arguments.make_output()?;
    raise_descriptor_limit();
    let signals = Signals::take()?;
    let key = JobKey::random().map_err(|error| Failure::new(error.to_string()))?;
    let status = match hosts.is_empty() {
        true => run_here(arguments, &signals, &key),
        false => hosts::run(arguments, &hosts, &signals, &key),
    };
    status.map(ExitCode::from)
}

fn run_here(arguments: &Arguments, signals: &Signals, key: &JobKey) -> Result<u8> {
    let folder =
        Folder::open(Folder::default_path()).map_err(|error| Failure::new(error.to_string()))?;
    let size = arguments.size(&[]);
    let mut environment = arguments.environment();
    environment.push(("BCL_DIR".into(), folder.path().into()));
    let task = arguments.task(size, key, environment);
    let streams = match &arguments.output {
        Some(files) => Streams::Files(files),
        None if arguments.prefix => Streams::PipedOutput,
        None => Streams::Inherited,
    };
    let crew = Crew::start(&Starter::new(&task, streams)?, 0..size)?;
    let homes = vec![0; size as usize];
    let outlet = Outlet::shared(size as usize, arguments.prefix);
    let supervisor = Supervisor::new(arguments, signals, vec![Box::new(crew)], homes, outlet);
    let status = supervisor.sharing_the_terminal().run();
    // What was killed could not take its names with it. That some may stay is no reason to fail.
    let _ = folder.sweep();
    status
}

/// Each connection takes descriptors, and the soft limit is 1024 by tradition only.
fn raise_descriptor_limit() {
    let limit = getrlimit(Resource::Nofile);
    let raised = Rlimit {
        current: limit.maximum,
        maximum: limit.maximum,
    };
    // Where it is not allowed, the job may still be small enough.
    let _ = setrlimit(Resource::Nofile, raised);
}

/// What this host calls itself.
fn host_name() -> String {
    let names = rustix::system::uname();
    names.nodename().to_string_lossy().into_owned()
}
