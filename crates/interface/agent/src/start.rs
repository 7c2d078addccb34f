//! From the command line to an agent at work, step by step.

use std::io;
use std::path::Path;
use std::process::ExitCode;

use bcl_agent_messages::InterfaceStatus;
use bcl_daemon::{Signals, background, privileges};
use clap::{CommandFactory, Parser};
use rustix::fs::Mode;
use rustix::thread::CapabilitySet;

use crate::LOG;
use crate::arguments::{Arguments, Command};
use crate::check::{self, Finding};
use crate::ledger::Ledger;
use crate::registry::Registry;
use crate::server::{Door, Server};
use crate::settings::Settings;
use crate::tables::Tables;

/// Where the tables are: the interface program's in `bcld`, something simpler in tests.
#[derive(Clone, Copy)]
pub struct Backend {
    /// Capabilities that it needs all the time.
    pub needs: CapabilitySet,
    /// Done with all privileges that the agent was started with.
    pub prepare: fn(&Settings) -> Result<(), String>,
    /// Opens the tables that an earlier agent has left, or makes new ones.
    pub open: fn(&Settings) -> Result<Box<dyn Tables>, String>,
    /// What `bcld check` finds besides.
    pub check: fn(&Settings) -> Vec<Finding>,
}

/// `bcld`.
pub fn main(backend: &Backend) -> ExitCode {
    let arguments = Arguments::parse();
    // Others have to come through the folder of the socket, whoever starts the agent.
    rustix::process::umask(Mode::from_raw_mode(0o022));
    let outcome = match arguments.command {
        Some(Command::Man { folder }) => manual(&folder).map_err(|error| error.to_string()),
        Some(Command::Check) => return check::run(&arguments.options, backend),
        Some(Command::Withdraw) => settings(&arguments).and_then(|own| withdraw(own, backend)),
        None => settings(&arguments).and_then(|own| serve(&own, backend)),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(text) => {
            LOG.note(format_args!("{text}"));
            ExitCode::FAILURE
        }
    }
}

fn settings(arguments: &Arguments) -> Result<Settings, String> {
    Settings::gather(&arguments.options).map_err(|error| error.to_string())
}

fn serve(settings: &Settings, backend: &Backend) -> Result<(), String> {
    let listener = Door::passed().map_err(|error| error.to_string())?;
    let mut registry = open(settings, backend)?;
    let is_ours = listener.is_none();
    let listener = match listener {
        Some(listener) => listener,
        None => Door::make(&settings.socket).map_err(|error| error.to_string())?,
    };
    let door = Door {
        group: settings.group.clone(),
        gid: settings.gid,
    };
    if settings.gid.is_none() {
        LOG.note(format_args!(
            "there is no group {}: only root may open ports (`groupadd --system {}`, or --group)",
            settings.group, settings.group
        ));
    }
    LOG.note(format_args!(
        "ready at {}, on {}",
        settings.socket.display(),
        InterfaceStatus::list(&registry.interfaces())
    ));
    if !settings.foreground && !background::is_awaited() {
        // SAFETY: no thread has been started yet.
        unsafe { background::enter() }
            .map_err(|error| format!("cannot go into the background: {error}; use --foreground"))?;
        registry.now_of_this_process();
    }
    let signals = Signals::block().map_err(|error| format!("cannot wait for signals: {error}"))?;
    LOG.failed(background::notify_ready());
    let server = Server::new(registry, listener, door, signals)
        .map_err(|error| format!("cannot hear of interfaces: {error}"))?;
    let outcome = server.run();
    if is_ours {
        let _ = std::fs::remove_file(&settings.socket);
    }
    outcome
        .map(drop)
        .map_err(|error| format!("cannot wait for requests: {error}"))
}

/// With fewer privileges afterwards.
fn open(settings: &Settings, backend: &Backend) -> Result<Registry, String> {
    let missing = privileges::missing(backend.needs)
        .map_err(|error| format!("cannot look at the own capabilities: {error}"))?;
    if !missing.is_empty() {
        return Err(format!(
            "{} missing: start bcld as root, or give it them (`setcap cap_bpf,cap_net_admin,cap_perfmon+ep $(command -v bcld)`)",
            privileges::names(missing)
        ));
    }
    privileges::raise_descriptor_limit();
    let ledger = Ledger::open(&settings.state).map_err(|error| error.to_string())?;
    (backend.prepare)(settings)?;
    privileges::keep_only(backend.needs)
        .map_err(|error| format!("cannot give privileges up: {error}"))?;
    let tables = (backend.open)(settings)?;
    Registry::adopt(tables, ledger, settings.limits.clone(), &settings.name)
}

fn withdraw(mut settings: Settings, backend: &Backend) -> Result<(), String> {
    // What was attached to one that is gone can be forgotten.
    settings.waits = true;
    open(&settings, backend)?.withdraw()
}

fn manual(folder: &Path) -> io::Result<()> {
    std::fs::create_dir_all(folder)?;
    let mut text = Vec::new();
    let manual = clap_mangen::Man::new(Arguments::command())
        .section("8")
        .title("BCLD");
    manual.render(&mut text)?;
    std::fs::write(folder.join("bcld.8"), text)
}
