//! What is bound to an endpoint before it is enabled.

use std::ffi::c_int;
use std::sync::Arc;

use super::Ep;
use crate::abi::*;
use crate::av::{Addresses, Av};
use crate::call::{self, Failure};
use crate::cntr::{Cntr, Tally};
use crate::cq::{Cq, Sink};
use crate::eq::Eq;
use crate::object::{find, of};
use crate::progress::Drivers;

/// Where its operations find addresses, and where they end.
#[derive(Default)]
pub struct Bound {
    pub addresses: Option<Addresses>,
    pub sends: End,
    pub receives: End,
    /// What counts one-sided operations that read, and those that write; their completions go where those of sends do.
    pub reads: Option<Tally>,
    pub writes: Option<Tally>,
    /// Those who have to look for completions.
    pub lookers: Vec<Arc<Drivers>>,
}

/// Where the operations of one kind end.
#[derive(Default)]
pub struct End {
    pub sink: Option<Sink>,
    /// Only operations that ask for it have a completion.
    pub is_selective: bool,
    pub tally: Option<Tally>,
}

pub(super) unsafe extern "C" fn bind(ep: *mut fid, other: *mut fid, flags: u64) -> c_int {
    call::status("fi_ep_bind", || {
        // SAFETY: an endpoint of ours and an open object, by the contract of the caller.
        let ep: &Ep = unsafe { of(ep) };
        if ep.data.get().is_some() {
            return Err(Failure::new(
                FI_EOPBADSTATE,
                "the endpoint is enabled: what it needs is bound before",
            ));
        }
        // SAFETY: as above.
        unsafe {
            if let Some(av) = find::<Av>(other) {
                ep.bound
                    .with(|bound| bound.addresses = Some(av.addresses()));
                return Ok(());
            }
            if let Some(cq) = find::<Cq>(other) {
                return ep.bound.with(|bound| bound.bind_cq(cq, flags));
            }
            if let Some(cntr) = find::<Cntr>(other) {
                return ep.bound.with(|bound| bound.bind_cntr(cntr, flags));
            }
            if find::<Eq>(other).is_some() {
                // Endpoints without connections have no events of their own.
                return Ok(());
            }
        }
        Err(Failure::invalid(
            "an address vector, a completion queue, a counter or an event queue of BCL can be bound to an endpoint",
        ))
    })
}

impl Bound {
    fn bind_cq(&mut self, cq: &Cq, flags: u64) -> Result<(), Failure> {
        const KNOWN: u64 = FI_TRANSMIT | FI_RECV | FI_SELECTIVE_COMPLETION;
        if flags & !KNOWN != 0 || flags & (FI_TRANSMIT | FI_RECV) == 0 {
            return Err(Failure::new(
                FI_EBADFLAGS,
                format!("flags {flags:#x}: a queue is bound for FI_TRANSMIT, FI_RECV or both"),
            ));
        }
        for (bit, end) in [
            (FI_TRANSMIT, &mut self.sends),
            (FI_RECV, &mut self.receives),
        ] {
            if flags & bit != 0 {
                if end.sink.is_some() {
                    return Err(Failure::invalid("a queue is bound for this already"));
                }
                end.sink = Some(cq.sink());
                end.is_selective = flags & FI_SELECTIVE_COMPLETION != 0;
            }
        }
        self.lookers.push(cq.drivers());
        Ok(())
    }

    fn bind_cntr(&mut self, cntr: &Cntr, flags: u64) -> Result<(), Failure> {
        const OURS: u64 = FI_SEND | FI_RECV | FI_READ | FI_WRITE;
        // Nobody without FI_RMA_EVENT can count on these, but programs name them beside others.
        const REMOTE: u64 = FI_REMOTE_READ | FI_REMOTE_WRITE;
        if flags & !(OURS | REMOTE) != 0 || flags & OURS == 0 {
            return Err(Failure::new(
                FI_EBADFLAGS,
                format!(
                    "flags {flags:#x}: a counter is bound for FI_SEND, FI_RECV, FI_READ, FI_WRITE; what others do with our memory is not counted"
                ),
            ));
        }
        for (bit, tally) in [
            (FI_SEND, &mut self.sends.tally),
            (FI_RECV, &mut self.receives.tally),
            (FI_READ, &mut self.reads),
            (FI_WRITE, &mut self.writes),
        ] {
            if flags & bit != 0 {
                *tally = Some(cntr.tally());
            }
        }
        self.lookers.push(cntr.drivers());
        Ok(())
    }
}
