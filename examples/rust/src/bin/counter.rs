//! A counter in the memory of one process that others increase without its help.
//!
//! `counter` owns it, prints its address, and its value when a client has left; `counter ADDRESS N` adds 1 to it N
//! times and prints the value that it found last.

use std::error::Error;

use bcl::{Access, Address, DmaBuffer, Event, Port, Which};

const WINDOW: u16 = 0;

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let mut port = Port::open()?;
    match arguments.next() {
        None => own(&mut port)?,
        Some(owner) => {
            let times = arguments.next().map_or(Ok(1), |text| text.parse())?;
            println!("{}", increase(&mut port, owner.parse()?, times)?);
        }
    }
    port.close()?;
    Ok(())
}

/// A window on a DMA buffer: clients act on it directly, whatever this process does meanwhile.
fn own(port: &mut Port) -> Result<(), bcl::Error> {
    port.bind(WINDOW, DmaBuffer::new(8)?, Access::GET | Access::ATOMIC)?;
    println!("{}", port.address());
    while !matches!(port.wait(Which::Recv, None)?, Some(Event::PeerGone { .. })) {}
    println!("{}", port.window(WINDOW)?.load_u64(0)?);
    Ok(())
}

fn increase(port: &mut Port, owner: Address, times: u64) -> Result<u64, Box<dyn Error>> {
    let mut found = 0;
    for cookie in 0..times {
        port.fetch_add(owner, WINDOW, 0, 1, cookie)?;
        found = loop {
            if let Some(Event::RmaDone { value, result, .. }) = port.wait(Which::Send, None)? {
                result?;
                break value;
            }
        };
    }
    Ok(found)
}
