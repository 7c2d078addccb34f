//! Two ports that fall asleep at all moments: each wait ends with an event, never with the timeout.

use std::path::Path;
use std::time::Duration;

use bcl::{Address, CopyMode, Event, Port, Which};
use bcl_types::Random;

/// Long enough for any machine; only a lost wake-up takes it.
const NEVER: Duration = Duration::from_secs(60);
const ROUNDS: u64 = 600;
const CHANNEL: u16 = 1;
/// Inline, eager, and two that are fetched or streamed.
const LENS: [usize; 4] = [8, 3_000, 20_000, 300_000];

#[test]
fn no_wait_sleeps_through_an_event() {
    for mode in [CopyMode::Auto, CopyMode::Single, CopyMode::Stream] {
        let name = format!("bcl-sleepers-{}-{mode:?}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        let (mut caller, mut answerer) = (open(&folder, mode), open(&folder, mode));
        let (to, back) = (answerer.address(), caller.address());
        let thread = std::thread::spawn(move || {
            let mut random = Random::new(7);
            for round in 0..ROUNDS {
                pause(&mut random);
                receive(&mut answerer, round, &mut random);
                if is_answered(round) {
                    send(&mut answerer, back, round);
                }
            }
        });
        let mut random = Random::new(9);
        for round in 0..ROUNDS {
            pause(&mut random);
            send(&mut caller, to, round);
            if is_answered(round) {
                receive(&mut caller, round, &mut random);
            }
        }
        thread.join().expect("the answering thread");
        let _ = std::fs::remove_dir_all(&folder);
    }
}

fn open(folder: &Path, mode: CopyMode) -> Port {
    let options = Port::options().folder(folder).copy_mode(mode);
    options.open().expect("a port opens")
}

fn len_of(round: u64) -> usize {
    LENS[(round % LENS.len() as u64) as usize]
}

/// Few are: an answer would wake the caller, who has to wake when its message is complete.
fn is_answered(round: u64) -> bool {
    round % 8 == 7
}

/// Sends a message and sleeps until it is complete.
fn send(port: &mut Port, to: Address, round: u64) {
    port.send(to, CHANNEL, vec![round as u8; len_of(round)], round)
        .expect("a send");
    loop {
        let event = port.wait(Which::Send, Some(NEVER)).expect("a wait");
        if let Event::Sent { cookie, result, .. } = event.expect("slept through a completion") {
            assert_eq!((cookie, result), (round, Ok(())));
            return;
        }
    }
}

/// Posts a buffer and sleeps until it is filled.
fn receive(port: &mut Port, round: u64, random: &mut Random) {
    port.post(CHANNEL, vec![0; len_of(round)], round)
        .expect("a post");
    // The sender may sleep by the time the message is taken.
    pause(random);
    loop {
        let event = port.wait(Which::Recv, Some(NEVER)).expect("a wait");
        if let Event::Received { result, buffer, .. } = event.expect("slept through a message") {
            assert_eq!(result, Ok(()));
            let buffer = buffer.expect("the buffer that was posted");
            assert!(buffer.as_slice().iter().all(|byte| *byte == round as u8));
            return;
        }
    }
}

/// Now and then the other side gets as far as to sleep, also if it expects something.
fn pause(random: &mut Random) {
    let micros = match random.below(8) {
        0 => 4_000,
        1..4 => random.below(400),
        _ => return,
    };
    std::thread::sleep(Duration::from_micros(micros));
}
