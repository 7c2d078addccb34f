//! A ping-pong on the system channel, by polling alone.

use bcl::{Address, Event, Port, QUIET, Which};

/// Answers each message until it is killed.
pub fn pong() {
    let mut port = Port::open().expect("a port opens");
    println!("{}", port.address());
    loop {
        if let Some(Event::Message(message)) = port.poll(Which::Any).expect("the port is open") {
            let from = message.from();
            port.release(message).expect("a message can be released");
            port.send_system(from, b"pong", QUIET)
                .expect("a send starts");
        }
    }
}

/// Sends so many messages, one after the other; a mark that strace shows stands before and after.
pub fn ping(to: &str, count: u64) {
    let to: Address = to.parse().expect("it is an address");
    let mut port = Port::open().expect("a port opens");
    rounds(&mut port, to, 100);
    mark();
    rounds(&mut port, to, count);
    mark();
}

fn rounds(port: &mut Port, to: Address, count: u64) {
    for _ in 0..count {
        port.send_system(to, b"ping", QUIET).expect("a send starts");
        loop {
            let event = port.poll(Which::Any).expect("the port is open");
            if let Some(Event::Message(message)) = event {
                port.release(message).expect("a message can be released");
                break;
            }
        }
    }
}

fn mark() {
    // SAFETY: asks for a number.
    unsafe { libc::getppid() };
}
