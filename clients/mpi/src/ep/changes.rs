//! Which atomic operations there are: of libfabric's, those that the middle layer has.

use std::ffi::c_int;

use bcl_adi::{Atomic, Datum, Function, SHORT_MAX};

use crate::abi::*;

/// By libfabric's number. There is no `long double`, which is another type on each machine.
const DATA: [(u32, Datum); 14] = [
    (FI_INT8, Datum::I8),
    (FI_UINT8, Datum::U8),
    (FI_INT16, Datum::I16),
    (FI_UINT16, Datum::U16),
    (FI_INT32, Datum::I32),
    (FI_UINT32, Datum::U32),
    (FI_INT64, Datum::I64),
    (FI_UINT64, Datum::U64),
    (FI_FLOAT, Datum::F32),
    (FI_DOUBLE, Datum::F64),
    (FI_FLOAT_COMPLEX, Datum::ComplexF32),
    (FI_DOUBLE_COMPLEX, Datum::ComplexF64),
    (FI_INT128, Datum::I128),
    (FI_UINT128, Datum::U128),
];

const FUNCTIONS: [(u32, Function); 19] = [
    (FI_MIN, Function::Min),
    (FI_MAX, Function::Max),
    (FI_SUM, Function::Sum),
    (FI_PROD, Function::Product),
    (FI_LOR, Function::LogicalOr),
    (FI_LAND, Function::LogicalAnd),
    (FI_BOR, Function::BitOr),
    (FI_BAND, Function::BitAnd),
    (FI_LXOR, Function::LogicalXor),
    (FI_BXOR, Function::BitXor),
    (FI_ATOMIC_READ, Function::Read),
    (FI_ATOMIC_WRITE, Function::Write),
    (FI_CSWAP, Function::SwapIfEqual),
    (FI_CSWAP_NE, Function::SwapIfNotEqual),
    (FI_CSWAP_LE, Function::SwapIfLessOrEqual),
    (FI_CSWAP_LT, Function::SwapIfLess),
    (FI_CSWAP_GE, Function::SwapIfGreaterOrEqual),
    (FI_CSWAP_GT, Function::SwapIfGreater),
    (FI_MSWAP, Function::SwapMasked),
];

/// Which calls an operation is made with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// `fi_atomic` and so on.
    Base,
    /// `fi_fetch_atomic`
    Fetch,
    /// `fi_compare_atomic`
    Compare,
}

/// The operation of these numbers, if there is one of this form.
pub(super) fn atomic(form: Form, datatype: u32, op: u32) -> Option<Atomic> {
    let datum = DATA.iter().find(|(number, _)| *number == datatype)?.1;
    let function = FUNCTIONS.iter().find(|(number, _)| *number == op)?.1;
    let is_of_form = match form {
        Form::Base => !function.compares() && function != Function::Read,
        Form::Fetch => !function.compares(),
        Form::Compare => function.compares(),
    };
    Atomic::new(function, datum).filter(|_| is_of_form)
}

/// So many elements can be changed by one operation.
pub(super) fn count_max(atomic: Atomic) -> usize {
    SHORT_MAX / atomic.sent_bytes(1).max(atomic.datum().size_bytes())
}

/// Programs ask this of every operation and type: no reason to say anything.
unsafe fn valid(form: Form, datatype: u32, op: u32, count: *mut usize) -> c_int {
    let Some(atomic) = atomic(form, datatype, op) else {
        return -FI_EOPNOTSUPP;
    };
    // SAFETY: null, or a place for the number, by the contract of the caller.
    if let Some(place) = unsafe { count.as_mut() } {
        *place = count_max(atomic);
    }
    0
}

pub(super) unsafe extern "C" fn writevalid(
    _: *mut fid_ep,
    datatype: u32,
    op: u32,
    count: *mut usize,
) -> c_int {
    // SAFETY: as of a call of libfabric's.
    unsafe { valid(Form::Base, datatype, op, count) }
}

pub(super) unsafe extern "C" fn readwritevalid(
    _: *mut fid_ep,
    datatype: u32,
    op: u32,
    count: *mut usize,
) -> c_int {
    // SAFETY: as of a call of libfabric's.
    unsafe { valid(Form::Fetch, datatype, op, count) }
}

pub(super) unsafe extern "C" fn compwritevalid(
    _: *mut fid_ep,
    datatype: u32,
    op: u32,
    count: *mut usize,
) -> c_int {
    // SAFETY: as of a call of libfabric's.
    unsafe { valid(Form::Compare, datatype, op, count) }
}

/// `fi_query_atomic`
///
/// # Safety
/// As libfabric's programs call it.
pub unsafe extern "C" fn query_atomic(
    _: *mut fid_domain,
    datatype: u32,
    op: u32,
    attr: *mut fi_atomic_attr,
    flags: u64,
) -> c_int {
    let form = match flags {
        0 => Form::Base,
        FI_FETCH_ATOMIC => Form::Fetch,
        FI_COMPARE_ATOMIC => Form::Compare,
        // Those of tagged messages and so on.
        _ => return -FI_EOPNOTSUPP,
    };
    let Some(atomic) = atomic(form, datatype, op) else {
        return -FI_EOPNOTSUPP;
    };
    // SAFETY: null, or a place for the answer, by the contract.
    if let Some(attr) = unsafe { attr.as_mut() } {
        attr.count = count_max(atomic);
        attr.size = atomic.datum().size_bytes();
    }
    0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_form_has_its_operations() {
        let has = |form, datatype, op| atomic(form, datatype, op).is_some();
        assert!(has(Form::Base, FI_DOUBLE, FI_SUM) && has(Form::Fetch, FI_DOUBLE, FI_SUM));
        assert!(!has(Form::Base, FI_INT32, FI_ATOMIC_READ));
        assert!(has(Form::Fetch, FI_INT32, FI_ATOMIC_READ));
        assert!(has(Form::Compare, FI_INT32, FI_CSWAP) && !has(Form::Fetch, FI_INT32, FI_CSWAP));
        assert!(!has(Form::Compare, FI_INT32, FI_SUM) && !has(Form::Base, FI_FLOAT, FI_BOR));
        // FI_LONG_DOUBLE, and what is no operation.
        assert!(!has(Form::Base, 12, FI_SUM) && !has(Form::Base, FI_INT32, 99));
    }

    #[test]
    fn as_many_elements_as_go_both_ways() {
        let count = |form, datatype, op| count_max(atomic(form, datatype, op).unwrap());
        assert_eq!(count(Form::Base, FI_INT64, FI_SUM), 1016);
        assert_eq!(count(Form::Fetch, FI_INT64, FI_ATOMIC_READ), 1016);
        assert_eq!(count(Form::Compare, FI_INT64, FI_CSWAP), 508);
        assert_eq!(count(Form::Base, FI_DOUBLE_COMPLEX, FI_SUM), 508);
    }
}
