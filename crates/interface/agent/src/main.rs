//! `bcld`, with the interface program's own tables. All else is in the library.

use std::process::ExitCode;

fn main() -> ExitCode {
    bcl_agent::main(&bcl_agent::KERNEL)
}
