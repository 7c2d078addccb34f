//! Which tier reaches a peer, and why: found out by connecting with it.

use std::time::{Duration, Instant};

use bcl::{Address, Device, Event, Folder, OpError, Port, Which};
use bcl_observe::attach;

use super::{Fact, fact};
use crate::failure::{Failure, Result};

const PATIENCE: Duration = Duration::from_secs(10);
/// An open channel that is asked for nothing: whatever the answer, the peer has been reached.
const WINDOW: u16 = 63;

/// What a port of this process finds out about a peer. The peer gets no message, only news of a connection.
pub fn facts(peer: Address) -> Result<Vec<Fact>> {
    let mut port = Port::open()?;
    let begin = Instant::now();
    port.get(peer, WINDOW, 0, Vec::new(), 1)?;
    let deadline = begin + PATIENCE;
    let answer = loop {
        let left = deadline.saturating_duration_since(Instant::now());
        match port.wait(Which::Any, Some(left))? {
            Some(Event::RmaDone { result, .. }) => break result,
            Some(Event::Message(message)) => port.release(message)?,
            Some(_) => {}
            None => {
                return Err(Failure::new(format!(
                    "{peer} has not answered in {PATIENCE:?}"
                )));
            }
        }
    };
    let connect_us = begin.elapsed().as_micros() as u64;
    let is_answer = matches!(
        answer,
        Ok(()) | Err(OpError::NoWindow | OpError::RmaDenied | OpError::RmaRange)
    );
    if let (false, Err(error)) = (is_answer, answer) {
        return Err(Failure::new(format!("{peer} cannot be reached: {error}")));
    }
    let peers = port.peers();
    let known = peers.iter().find(|known| known.address == peer);
    let known = known.ok_or_else(|| Failure::new(format!("{peer} has answered and gone")))?;
    let mut facts = vec![
        fact("peer", peer.to_string(), ""),
        fact("tier", known.device.name(), known.copy.clone()),
        fact("connect_us", connect_us, "until the first answer"),
    ];
    if known.device == Device::Shm {
        facts.extend(copies(peer));
    }
    Ok(facts)
}

/// Which way the peer has found to be the quickest for long messages that it receives.
fn copies(peer: Address) -> Option<Fact> {
    let folder = Folder::open(Folder::default_path()).ok()?;
    let seen = attach(&folder, peer).ok()?;
    let costs = seen.copy_costs().filter(|cost| cost.best().is_some());
    let costs: Vec<_> = costs.map(|cost| cost.to_string()).collect();
    (!costs.is_empty()).then(|| fact("copies", costs, "as its process has measured"))
}
