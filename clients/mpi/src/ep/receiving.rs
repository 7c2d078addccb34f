//! Receiving, for messages with and without tags; looking for messages, and canceling.

use std::ffi::c_void;

use bcl_adi::{Memory, Probed, Receive, Source, Wanted};

use super::Ep;
use super::data::{Data, MESSAGES, MULTI, TAGGED, WANTED};
use super::refused::failure;
use crate::abi::*;
use crate::call::{self, Failure};
use crate::cq::queue;
use crate::object::of;
use crate::progress::Driver;

/// What a call wants to receive.
pub(super) struct Receiving {
    pub memory: Memory,
    pub from: u64,
    pub tag: u64,
    pub ignore: u64,
    pub context: *mut c_void,
    /// Of the call; the endpoint's own, if it has none.
    pub flags: Option<u64>,
}

/// Runs a call that receives.
///
/// # Safety
/// The pointer is to an endpoint of ours; the memory can be written, and is left alone for as long as libfabric has it.
#[inline]
pub(super) unsafe fn receive(
    name: &str,
    ep: *mut fid_ep,
    space: u8,
    receiving: impl FnOnce() -> Result<Receiving, Failure>,
) -> isize {
    call::number(name, || {
        // SAFETY: by the contract.
        let ep: &Ep = unsafe { of(ep) };
        let (data, receiving) = (ep.data()?, receiving()?);
        let flags = receiving.flags.unwrap_or(ep.rx_flags);
        let wanted = Wanted {
            space,
            source: source(ep, data, receiving.from)?,
            tag: receiving.tag,
            ignore: receiving.ignore,
        };
        if flags & (FI_PEEK | FI_CLAIM) != 0 && space == TAGGED {
            // SAFETY: by the contract.
            return unsafe { look(data, &wanted, flags, receiving) };
        }
        let end = &data.receives;
        let is_wanted = (!end.is_selective || flags & FI_COMPLETION != 0) && end.sink.is_some();
        let is_multi = flags & FI_MULTI_RECV != 0;
        let receive = Receive {
            wanted,
            memory: receiving.memory,
            context: receiving.context as u64,
            mark: if is_wanted { WANTED } else { 0 } | if is_multi { MULTI } else { 0 },
            multi_min_free_bytes: is_multi.then(|| ep.min_multi_recv.with(|least| *least)),
        };
        // SAFETY: by the contract.
        let received = data
            .port
            .with(|endpoint| unsafe { endpoint.receive(receive) });
        received.map(|()| 0).map_err(|error| failure(&error))
    })
}

/// Without `FI_DIRECTED_RECV` the address of a receive means nothing.
#[inline]
fn source(ep: &Ep, data: &Data, from: u64) -> Result<Source, Failure> {
    if ep.caps & FI_DIRECTED_RECV == 0 || from == FI_ADDR_UNSPEC {
        return Ok(Source::Any);
    }
    Ok(Source::Peer(data.addresses.get(from)?))
}

/// Looks for a message, takes it from others, or receives or discards what was taken so.
///
/// # Safety
/// As of [`receive`].
unsafe fn look(
    data: &Data,
    wanted: &Wanted,
    flags: u64,
    receiving: Receiving,
) -> Result<isize, Failure> {
    let context = receiving.context;
    if flags & FI_PEEK == 0 {
        let claimed = data
            .claims
            .with(|claims| claims.remove(&(context as usize)));
        let claim = claimed.ok_or_else(|| {
            Failure::new(
                FI_ENOMSG,
                "no message was claimed with this context: FI_PEEK | FI_CLAIM comes first",
            )
        })?;
        let done = data.port.with(|endpoint| match flags & FI_DISCARD {
            0 => {
                let context = (context as u64, WANTED);
                // SAFETY: by the contract.
                unsafe { endpoint.receive_claimed(claim, receiving.memory, context) }
            }
            _ => endpoint.discard_claimed(claim),
        });
        done.map_err(|error| failure(&error))?;
        if flags & FI_DISCARD != 0 {
            tell_found(data, context, None, wanted);
        }
        return Ok(0);
    }
    let found = data.port.with(|endpoint| {
        if flags & (FI_CLAIM | FI_DISCARD) == 0 {
            return endpoint.probe(wanted);
        }
        let Some((probed, claim)) = endpoint.claim(wanted)? else {
            return Ok(None);
        };
        match flags & FI_DISCARD {
            0 => data
                .claims
                .with(|claims| claims.insert(context as usize, claim))
                .map_or(Ok(()), |before| endpoint.discard_claimed(before))?,
            _ => endpoint.discard_claimed(claim)?,
        }
        Ok(Some(probed))
    });
    match found.map_err(|error| failure(&error))? {
        Some(probed) => tell_found(data, context, Some(&probed), wanted),
        None => tell_not_found(data, context, wanted),
    }
    data.drive();
    Ok(0)
}

fn tell_found(data: &Data, context: *mut c_void, probed: Option<&Probed>, wanted: &Wanted) {
    let Some(sink) = &data.receives.sink else {
        return;
    };
    let completion_data = probed.and_then(|probed| probed.data);
    let with_data = completion_data.map_or(0, |_| FI_REMOTE_CQ_DATA);
    sink.push(queue::Completion {
        context,
        flags: FI_TAGGED | FI_RECV | with_data,
        len: probed.map_or(0, |probed| probed.len_bytes as usize),
        buf: std::ptr::null_mut(),
        data: completion_data.unwrap_or(0),
        tag: probed.map_or(wanted.tag, |probed| probed.tag),
        source: probed.map_or(FI_ADDR_NOTAVAIL, |probed| {
            data.addresses.place_of(probed.from)
        }),
    });
}

fn tell_not_found(data: &Data, context: *mut c_void, wanted: &Wanted) {
    let Some(sink) = &data.receives.sink else {
        return;
    };
    sink.push_failed(queue::Failed {
        operation: queue::Completion {
            context,
            flags: FI_TAGGED | FI_RECV,
            len: 0,
            buf: std::ptr::null_mut(),
            data: 0,
            tag: wanted.tag,
            source: FI_ADDR_NOTAVAIL,
        },
        overflow_len: 0,
        err: FI_ENOMSG,
        text: "no message waits that is looked for".into(),
    });
}

pub(super) unsafe extern "C" fn cancel(ep: *mut fid, context: *mut c_void) -> isize {
    call::number("fi_cancel", || {
        // SAFETY: an endpoint of ours, by the contract of the caller.
        let data = unsafe { of::<Ep, _>(ep) }.data()?;
        let canceled = data.port.with(|endpoint| {
            let in_space = |space| endpoint.cancel(space, context as u64).is_ok();
            Ok([TAGGED, MESSAGES].into_iter().any(in_space))
        });
        match canceled {
            Ok(true) => Ok(0),
            // It has ended, or will: nothing to say to anybody.
            Ok(false) => Ok(-FI_ENOENT as isize),
            Err(error) => Err(failure(&error)),
        }
    })
}
