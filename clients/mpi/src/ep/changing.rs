//! `fi_atomic`, `fi_fetch_atomic`, `fi_compare_atomic` and so on.

use std::ffi::c_void;
use std::slice;

use bcl_adi::{Memory, Piece, What};

use super::changes::{self, Form, atomic};
use super::reaching::{Reaching, reach};
use crate::abi::*;
use crate::call::Failure;
use crate::getinfo::limits::RMA_IOV_LIMIT;

pub(super) static OPS: fi_ops_atomic = fi_ops_atomic {
    size: size_of::<fi_ops_atomic>(),
    write: Some(write),
    writev: Some(writev),
    writemsg: Some(writemsg),
    inject: Some(inject),
    readwrite: Some(readwrite),
    readwritev: Some(readwritev),
    readwritemsg: Some(readwritemsg),
    compwrite: Some(compwrite),
    compwritev: Some(compwritev),
    compwritemsg: Some(compwritemsg),
    writevalid: Some(changes::writevalid),
    readwritevalid: Some(changes::readwritevalid),
    compwritevalid: Some(changes::compwritevalid),
};

/// The memory of a call: in pieces, each of so many elements.
#[derive(Clone, Copy)]
struct Vectors {
    operands: (*const fi_ioc, usize),
    compared: (*const fi_ioc, usize),
    found: (*const fi_ioc, usize),
}

const NONE: (*const fi_ioc, usize) = (std::ptr::null(), 0);

/// Where it is done.
#[derive(Clone, Copy)]
struct Target {
    to: u64,
    address: u64,
    key: u64,
    /// So many elements; as many as there are operands, if the call does not say.
    count: Option<usize>,
}

/// What is done there, by libfabric's numbers.
#[derive(Clone, Copy)]
struct Operation {
    form: Form,
    datatype: u32,
    op: u32,
}

/// How it ends.
#[derive(Clone, Copy)]
struct End {
    context: *mut c_void,
    flags: Option<u64>,
    injects: bool,
}

impl End {
    fn with(context: *mut c_void) -> Self {
        Self {
            context,
            flags: None,
            injects: false,
        }
    }
}

/// Runs a call.
///
/// # Safety
/// As libfabric's programs make it.
unsafe fn change(
    name: &str,
    ep: *mut fid_ep,
    operation: Operation,
    vectors: Vectors,
    target: Target,
    end: End,
) -> isize {
    let reaching = || {
        let atomic = atomic(operation.form, operation.datatype, operation.op).ok_or_else(|| {
            Failure::new(
                FI_EOPNOTSUPP,
                format!(
                    "there is no such operation: number {} on type {}; fi_atomicvalid and its like tell",
                    operation.op, operation.datatype
                ),
            )
        })?;
        let size_bytes = atomic.datum().size_bytes();
        // SAFETY: so many pieces, by the contract.
        let memory = |vector| unsafe { memory_of(vector, size_bytes) };
        let (operands, compared) = (memory(vectors.operands)?, memory(vectors.compared)?);
        let found = match operation.form {
            Form::Base => None,
            Form::Fetch | Form::Compare => Some(memory(vectors.found)?),
        };
        let elements = match &found {
            Some(found) if !atomic.function().has_operand() => found.len_bytes() / size_bytes,
            _ => operands.len_bytes() / size_bytes,
        };
        let count = target.count.unwrap_or(elements);
        Ok(Reaching {
            to: target.to,
            key: target.key,
            address: target.address,
            what: What::Atomic {
                atomic,
                count: u32::try_from(count).unwrap_or(u32::MAX),
                operands,
                compared,
                found,
            },
            context: end.context,
            flags: end.flags,
            injects: end.injects,
        })
    };
    // SAFETY: by the contract.
    unsafe { reach(name, ep, reaching) }
}

/// # Safety
/// So many pieces.
unsafe fn memory_of(
    (pieces, count): (*const fi_ioc, usize),
    size_bytes: usize,
) -> Result<Memory, Failure> {
    if count == 0 {
        return Ok(Memory::one(std::ptr::null_mut(), 0));
    }
    // SAFETY: by the contract.
    let pieces = unsafe { slice::from_raw_parts(pieces, count) };
    let piece = |piece: &fi_ioc| Piece {
        start: piece.addr.cast(),
        len_bytes: piece.count.saturating_mul(size_bytes),
    };
    let pieces: Vec<Piece> = pieces.iter().map(piece).collect();
    Memory::several(&pieces).map_err(|error| Failure::invalid(error.to_string()))
}

fn ioc(start: *const c_void, count: usize) -> fi_ioc {
    fi_ioc {
        addr: start.cast_mut(),
        count,
    }
}

unsafe extern "C" fn write(
    ep: *mut fid_ep,
    start: *const c_void,
    count: usize,
    _: *mut c_void,
    to: u64,
    address: u64,
    key: u64,
    datatype: u32,
    op: u32,
    context: *mut c_void,
) -> isize {
    let piece = ioc(start, count);
    // SAFETY: by the contract of the caller.
    unsafe {
        writev(
            ep,
            &piece,
            std::ptr::null_mut(),
            1,
            to,
            address,
            key,
            datatype,
            op,
            context,
        )
    }
}

unsafe extern "C" fn writev(
    ep: *mut fid_ep,
    pieces: *const fi_ioc,
    _: *mut *mut c_void,
    count: usize,
    to: u64,
    address: u64,
    key: u64,
    datatype: u32,
    op: u32,
    context: *mut c_void,
) -> isize {
    let form = Form::Base;
    let vectors = Vectors {
        operands: (pieces, count),
        compared: NONE,
        found: NONE,
    };
    let target = Target {
        to,
        address,
        key,
        count: None,
    };
    let operation = Operation { form, datatype, op };
    // SAFETY: by the contract of the caller.
    unsafe {
        change(
            "fi_atomic",
            ep,
            operation,
            vectors,
            target,
            End::with(context),
        )
    }
}

unsafe extern "C" fn inject(
    ep: *mut fid_ep,
    start: *const c_void,
    count: usize,
    to: u64,
    address: u64,
    key: u64,
    datatype: u32,
    op: u32,
) -> isize {
    let piece = ioc(start, count);
    let vectors = Vectors {
        operands: (&raw const piece, 1),
        compared: NONE,
        found: NONE,
    };
    let target = Target {
        to,
        address,
        key,
        count: None,
    };
    let form = Form::Base;
    let operation = Operation { form, datatype, op };
    let end = End {
        injects: true,
        ..End::with(std::ptr::null_mut())
    };
    // SAFETY: by the contract of the caller.
    unsafe { change("fi_inject_atomic", ep, operation, vectors, target, end) }
}

unsafe extern "C" fn readwrite(
    ep: *mut fid_ep,
    start: *const c_void,
    count: usize,
    _: *mut c_void,
    found: *mut c_void,
    _: *mut c_void,
    to: u64,
    address: u64,
    key: u64,
    datatype: u32,
    op: u32,
    context: *mut c_void,
) -> isize {
    let (operands, mut found) = (ioc(start, count), ioc(found, count));
    let no = std::ptr::null_mut;
    // SAFETY: by the contract of the caller.
    unsafe {
        readwritev(
            ep,
            &operands,
            no(),
            1,
            &mut found,
            no(),
            1,
            to,
            address,
            key,
            datatype,
            op,
            context,
        )
    }
}

unsafe extern "C" fn readwritev(
    ep: *mut fid_ep,
    pieces: *const fi_ioc,
    _: *mut *mut c_void,
    count: usize,
    found: *mut fi_ioc,
    _: *mut *mut c_void,
    found_count: usize,
    to: u64,
    address: u64,
    key: u64,
    datatype: u32,
    op: u32,
    context: *mut c_void,
) -> isize {
    let vectors = Vectors {
        // To read there need be none.
        operands: if op == FI_ATOMIC_READ {
            NONE
        } else {
            (pieces, count)
        },
        compared: NONE,
        found: (found, found_count),
    };
    let target = Target {
        to,
        address,
        key,
        count: None,
    };
    let form = Form::Fetch;
    let operation = Operation { form, datatype, op };
    // SAFETY: by the contract of the caller.
    unsafe {
        change(
            "fi_fetch_atomic",
            ep,
            operation,
            vectors,
            target,
            End::with(context),
        )
    }
}

unsafe extern "C" fn compwrite(
    ep: *mut fid_ep,
    start: *const c_void,
    count: usize,
    _: *mut c_void,
    compared: *const c_void,
    _: *mut c_void,
    found: *mut c_void,
    _: *mut c_void,
    to: u64,
    address: u64,
    key: u64,
    datatype: u32,
    op: u32,
    context: *mut c_void,
) -> isize {
    let (operands, compared, mut found) =
        (ioc(start, count), ioc(compared, count), ioc(found, count));
    let no = std::ptr::null_mut;
    // SAFETY: by the contract of the caller.
    unsafe {
        compwritev(
            ep,
            &operands,
            no(),
            1,
            &compared,
            no(),
            1,
            &mut found,
            no(),
            1,
            to,
            address,
            key,
            datatype,
            op,
            context,
        )
    }
}

unsafe extern "C" fn compwritev(
    ep: *mut fid_ep,
    pieces: *const fi_ioc,
    _: *mut *mut c_void,
    count: usize,
    compared: *const fi_ioc,
    _: *mut *mut c_void,
    compared_count: usize,
    found: *mut fi_ioc,
    _: *mut *mut c_void,
    found_count: usize,
    to: u64,
    address: u64,
    key: u64,
    datatype: u32,
    op: u32,
    context: *mut c_void,
) -> isize {
    let vectors = Vectors {
        operands: (pieces, count),
        compared: (compared, compared_count),
        found: (found, found_count),
    };
    let target = Target {
        to,
        address,
        key,
        count: None,
    };
    let form = Form::Compare;
    let operation = Operation { form, datatype, op };
    // SAFETY: by the contract of the caller.
    unsafe {
        change(
            "fi_compare_atomic",
            ep,
            operation,
            vectors,
            target,
            End::with(context),
        )
    }
}

unsafe extern "C" fn writemsg(ep: *mut fid_ep, msg: *const fi_msg_atomic, flags: u64) -> isize {
    // SAFETY: by the contract of the caller.
    unsafe { change_by("fi_atomicmsg", ep, Form::Base, msg, NONE, NONE, flags) }
}

unsafe extern "C" fn readwritemsg(
    ep: *mut fid_ep,
    msg: *const fi_msg_atomic,
    found: *mut fi_ioc,
    _: *mut *mut c_void,
    count: usize,
    flags: u64,
) -> isize {
    let found = (found.cast_const(), count);
    // SAFETY: by the contract of the caller.
    unsafe {
        change_by(
            "fi_fetch_atomicmsg",
            ep,
            Form::Fetch,
            msg,
            NONE,
            found,
            flags,
        )
    }
}

unsafe extern "C" fn compwritemsg(
    ep: *mut fid_ep,
    msg: *const fi_msg_atomic,
    compared: *const fi_ioc,
    _: *mut *mut c_void,
    compared_count: usize,
    found: *mut fi_ioc,
    _: *mut *mut c_void,
    count: usize,
    flags: u64,
) -> isize {
    let (compared, found) = ((compared, compared_count), (found.cast_const(), count));
    // SAFETY: by the contract of the caller.
    unsafe {
        change_by(
            "fi_compare_atomicmsg",
            ep,
            Form::Compare,
            msg,
            compared,
            found,
            flags,
        )
    }
}

/// # Safety
/// As libfabric's programs make it.
unsafe fn change_by(
    name: &str,
    ep: *mut fid_ep,
    form: Form,
    msg: *const fi_msg_atomic,
    compared: (*const fi_ioc, usize),
    found: (*const fi_ioc, usize),
    flags: u64,
) -> isize {
    // SAFETY: a message, by the contract.
    let msg = unsafe { &*msg };
    if msg.rma_iov_count != RMA_IOV_LIMIT {
        let places = msg.rma_iov_count;
        return crate::call::number(name, || {
            Err(Failure::invalid(format!(
                "{places} places in the peer's memory: an operation is for one"
            )))
        });
    }
    // SAFETY: one place, by the contract.
    let place = unsafe { *msg.rma_iov };
    let target = Target {
        to: msg.addr,
        address: place.addr,
        key: place.key,
        count: Some(place.count),
    };
    let vectors = Vectors {
        operands: if msg.op == FI_ATOMIC_READ {
            NONE
        } else {
            (msg.msg_iov, msg.iov_count)
        },
        compared,
        found,
    };
    let operation = Operation {
        form,
        datatype: msg.datatype,
        op: msg.op,
    };
    let end = End {
        flags: Some(flags),
        ..End::with(msg.context)
    };
    // SAFETY: by the contract.
    unsafe { change(name, ep, operation, vectors, target, end) }
}
