//! `bcld` without an interface program: all that it does but the program's own part, on any machine and for any user.
//!
//! The pinned maps are files in the folder that `--bpffs` names.

mod tables;

use std::process::ExitCode;

use bcl_agent::Backend;
use rustix::thread::CapabilitySet;

fn main() -> ExitCode {
    bcl_agent::main(&Backend {
        needs: CapabilitySet::empty(),
        prepare: |settings| {
            std::fs::create_dir_all(settings.pins()).map_err(|error| error.to_string())
        },
        open: |settings| Ok(Box::new(tables::Files::new(settings))),
        check: |_| Vec::new(),
    })
}
