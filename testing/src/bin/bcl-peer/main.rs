//! The helper process of the tests: `bcl-peer ROLE [ARGUMENT...]`. Its settings come from the environment.

mod crowd;
mod flock;
mod hostile;
mod obey;
mod pingpong;
mod scatter;
mod traffic;
mod windows;

use std::env;

fn main() {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let number = |index: usize| -> u64 {
        arguments
            .get(index)
            .and_then(|text| text.parse().ok())
            .unwrap_or_else(|| panic!("argument {index} of bcl-peer is a number"))
    };
    match arguments.first().map(String::as_str) {
        Some("obey") => obey::run(),
        Some("pong") => pingpong::pong(),
        Some("ping") => pingpong::ping(&arguments[1], number(2)),
        Some("crowd") => crowd::run(number(1) as u16, number(2) as u16, number(3)),
        Some("hostile") => hostile::run(&arguments[1], number(2)),
        Some("flock") => flock::run(number(1), &arguments[2], number(3)),
        Some("gather") => flock::gather(number(1), number(2)),
        Some("traffic") => traffic::run(number(1) as u16, &arguments[2], number(3), number(4)),
        other => panic!("bcl-peer has no role {other:?}"),
    }
}
