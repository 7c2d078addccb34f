//! `bcld` itself, where the tests of this package find it.

use std::process::ExitCode;

fn main() -> ExitCode {
    bcl_agent::main(&bcl_agent::KERNEL)
}
