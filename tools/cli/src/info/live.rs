//! What works between two processes, tried with two processes.

use std::time::{Duration, Instant};

use bcl::{Address, Device, Event, Folder, JobKey, Port, QUIET, Which};
use bcl_observe::{Counter, attach};

use super::{Fact, fact};
use crate::failure::{Failure, Result};
use crate::spawn::Partner;

const PATIENCE: Duration = Duration::from_secs(10);
const LOOK: Duration = Duration::from_millis(50);

pub fn facts() -> Result<Vec<Fact>> {
    let failed = |error: &dyn std::fmt::Display| Failure::new(error.to_string());
    let key = JobKey::random().map_err(|error| failed(&error))?;
    let mut port = Port::options().key(key.clone()).open()?;
    let arguments = ["info", "--partner", &port.address().to_string()].map(Into::into);
    let mut partner = Partner::start(arguments, &key)?;
    let (device, copy) = connected(&mut port, &mut partner)?;
    // The port writes its queue depths into its page on the way to sleep.
    while let Some(event) = port.wait(Which::Recv, Some(LOOK))? {
        if let Event::Message(message) = event {
            port.release(message)?;
        }
    }
    let folder = Folder::open(Folder::default_path()).map_err(|error| failed(&error))?;
    let memory = attach(&folder, port.address())
        .map_err(|error| failed(&error))?
        .read(Counter::PeerMemory);
    let is_single = copy.starts_with("single copy");
    Ok(vec![
        fact(
            "tiers",
            vec![device.name()],
            "as two processes have just found each other",
        ),
        fact("single_copy", is_single, copy),
        fact(
            "peer_memory_bytes",
            memory,
            "shared memory for each connected peer",
        ),
    ])
}

/// The partner's part: being there.
pub fn assist(asker: Address) -> Result<()> {
    let mut port = Port::open()?;
    port.send_system(asker, b"here", QUIET)?;
    loop {
        if let Some(Event::PeerGone { .. }) = port.wait(Which::Recv, None)? {
            return Ok(());
        }
    }
}

fn connected(port: &mut Port, partner: &mut Partner) -> Result<(Device, String)> {
    let deadline = Instant::now() + PATIENCE;
    loop {
        match port.wait(Which::Recv, Some(LOOK))? {
            Some(Event::PeerUp { device, copy, .. }) => return Ok((device, copy)),
            Some(Event::Message(message)) => port.release(message)?,
            _ => {}
        }
        if let Some(status) = partner.ended()? {
            return Err(Failure::new(format!(
                "the process that was to connect ended: {status}"
            )));
        }
        if Instant::now() > deadline {
            return Err(Failure::new(
                "two processes of this program could not connect within 10 s",
            ));
        }
    }
}
