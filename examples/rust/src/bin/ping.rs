//! `ping` prints its address and waits for a message; `ping ADDRESS` sends one there and waits for the answer.

use std::error::Error;

use bcl::{Address, Event, Port, QUIET, SystemMessage, Which};

fn main() -> Result<(), Box<dyn Error>> {
    let mut port = Port::open()?;
    let server: Option<Address> = std::env::args()
        .nth(1)
        .map(|text| text.parse())
        .transpose()?;
    match server {
        Some(address) => port.send_system(address, b"ping", QUIET)?,
        None => println!("{}", port.address()),
    }
    let message = next_message(&mut port)?;
    println!("{}", String::from_utf8_lossy(port.data(&message)));
    if server.is_none() {
        port.send_system(message.from(), b"pong", QUIET)?;
    }
    port.release(message)?;
    port.close()?;
    Ok(())
}

/// The next message; a send that fails on the way is an event, too.
fn next_message(port: &mut Port) -> Result<SystemMessage, Box<dyn Error>> {
    loop {
        match port.wait(Which::Any, None)? {
            Some(Event::Message(message)) => return Ok(message),
            Some(Event::Sent { result, .. }) => result?,
            _ => {}
        }
    }
}
