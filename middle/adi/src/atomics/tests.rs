use proptest::prelude::*;

use super::*;

/// Applies it to elements that begin `skew` bytes behind an aligned address; returns what is there then, and what was found.
fn apply<T: Copy>(
    function: Function,
    datum: Datum,
    skew: usize,
    elements: &[T],
    operands: &[T],
    compared: &[T],
) -> (Vec<T>, Vec<T>) {
    let bytes_of = |values: &[T]| -> Vec<u8> {
        // SAFETY: plain numbers without gaps.
        unsafe { std::slice::from_raw_parts(values.as_ptr().cast(), size_of_val(values)) }.to_vec()
    };
    let values_of = |bytes: &[u8]| -> Vec<T> {
        let each = bytes.chunks_exact(size_of::<T>());
        // SAFETY: as long as the type, of which any bytes are a value.
        each.map(|bytes| unsafe { bytes.as_ptr().cast::<T>().read_unaligned() })
            .collect()
    };
    let atomic = Atomic::new(function, datum).unwrap();
    assert_eq!(Atomic::from_bytes(atomic.to_bytes()), Some(atomic));
    let mut sent = Vec::new();
    if function.has_operand() {
        sent.extend(bytes_of(operands));
    }
    if function.compares() {
        sent.extend(bytes_of(compared));
    }
    assert_eq!(sent.len(), atomic.sent_bytes(elements.len()));
    let len_bytes = size_of_val(elements);
    let mut place = vec![0u128; len_bytes / 16 + 2];
    let start = place.as_mut_ptr().cast::<u8>().wrapping_add(skew);
    let mut found = vec![0; len_bytes];
    // SAFETY: inside of `place`, which is long enough.
    unsafe {
        start.copy_from(bytes_of(elements).as_ptr(), len_bytes);
        atomic.apply(start, elements.len(), &sent, Some(&mut found));
        let after = std::slice::from_raw_parts(start, len_bytes);
        (values_of(after), values_of(&found))
    }
}

proptest! {
    /// ADI-8.4: aligned or not, each element becomes what the function says, and what was there is found.
    #[test]
    fn elements_become_what_functions_say(
        elements in prop::collection::vec((-3i32..4, -3i32..4, -3i32..4), 0..9),
        skew in 0usize..4,
    ) {
        let old: Vec<i32> = elements.iter().map(|element| element.0).collect();
        let operands: Vec<i32> = elements.iter().map(|element| element.1).collect();
        let compared: Vec<i32> = elements.iter().map(|element| element.2).collect();
        for function in Function::ALL {
            let due = |&(old, operand, compared): &(i32, i32, i32)| match function {
                Function::Min => old.min(operand),
                Function::Max => old.max(operand),
                Function::Sum => old + operand,
                Function::Product => old * operand,
                Function::LogicalOr => i32::from(old != 0 || operand != 0),
                Function::LogicalAnd => i32::from(old != 0 && operand != 0),
                Function::LogicalXor => i32::from((old != 0) ^ (operand != 0)),
                Function::BitOr => old | operand,
                Function::BitAnd => old & operand,
                Function::BitXor => old ^ operand,
                Function::Read => old,
                Function::Write => operand,
                Function::SwapIfEqual => if compared == old { operand } else { old },
                Function::SwapIfNotEqual => if compared != old { operand } else { old },
                Function::SwapIfLess => if compared < old { operand } else { old },
                Function::SwapIfLessOrEqual => if compared <= old { operand } else { old },
                Function::SwapIfGreater => if compared > old { operand } else { old },
                Function::SwapIfGreaterOrEqual => if compared >= old { operand } else { old },
                Function::SwapMasked => (operand & compared) | (old & !compared),
            };
            let due: Vec<i32> = elements.iter().map(due).collect();
            let (after, found) = apply(function, Datum::I32, skew, &old, &operands, &compared);
            prop_assert_eq!(&after, &due, "{:?}", function);
            prop_assert_eq!(&found, &old, "{:?}", function);
            // The same numbers as another type are the same, where signs and fractions do not matter.
            if Atomic::new(function, Datum::F64).is_none() {
                continue;
            }
            let float = |numbers: &[i32]| numbers.iter().map(|number| f64::from(*number)).collect::<Vec<_>>();
            let (after, found) =
                apply(function, Datum::F64, skew, &float(&old), &float(&operands), &float(&compared));
            prop_assert_eq!(after, float(&due), "{:?}", function);
            prop_assert_eq!(found, float(&old), "{:?}", function);
        }
    }
}

#[test]
fn signs_count_sums_wrap_and_complex_numbers_multiply() {
    fn one<T: Copy>(function: Function, datum: Datum, old: T, operand: T) -> T {
        apply(function, datum, 0, &[old], &[operand], &[operand]).0[0]
    }
    assert_eq!(one(Function::Max, Datum::I8, 0xffu8, 1), 1);
    assert_eq!(one(Function::Max, Datum::U8, 0xffu8, 1), 0xff);
    assert_eq!(one(Function::Sum, Datum::U16, u16::MAX, 2), 1);
    assert_eq!(one(Function::Product, Datum::I64, i64::MAX, 2), -2);
    assert_eq!(one(Function::Sum, Datum::U128, u128::MAX, 3), 2);
    assert_eq!(one(Function::Min, Datum::I128, -1i128, 3), -1);
    let number = |real, imaginary| Complex { real, imaginary };
    for (function, due) in [
        (Function::Product, number(-5.0, 10.0)),
        (Function::Sum, number(4.0, 6.0)),
        (Function::LogicalAnd, number(1.0, 0.0)),
    ] {
        let after = one(
            function,
            Datum::ComplexF64,
            number(1.0, 2.0),
            number(3.0, 4.0),
        );
        assert_eq!(after, due, "{function:?}");
    }
}

#[test]
fn only_what_is_defined_is_offered() {
    let is_defined = |function, datum| Atomic::new(function, datum).is_some();
    assert!(!is_defined(Function::BitOr, Datum::F32) && is_defined(Function::BitOr, Datum::U128));
    assert!(!is_defined(Function::SwapMasked, Datum::F64));
    assert!(!is_defined(Function::Min, Datum::ComplexF32) && is_defined(Function::Min, Datum::F64));
    assert!(!is_defined(Function::SwapIfLess, Datum::ComplexF64));
    assert!(is_defined(Function::SwapIfEqual, Datum::ComplexF64));
    for (place, datum) in Datum::ALL.into_iter().enumerate() {
        assert_eq!(datum as usize, place + 1);
    }
    for (place, function) in Function::ALL.into_iter().enumerate() {
        assert_eq!(function as usize, place + 1);
    }
    for bytes in [
        [0, 1],
        [1, 0],
        [20, 1],
        [1, 15],
        [Function::BitOr as u8, Datum::F32 as u8],
    ] {
        assert_eq!(Atomic::from_bytes(bytes), None);
    }
}

/// No change of another thread is lost: of numbers for which there is an instruction, of long ones, and of such that are not
/// aligned.
#[test]
fn threads_lose_no_change() {
    const EACH: usize = 20_000;
    for (datum, skew) in [
        (Datum::U64, 0),
        (Datum::F64, 0),
        (Datum::I32, 2),
        (Datum::U128, 0),
    ] {
        let sum = Atomic::new(Function::Sum, datum).unwrap();
        let mut memory = [0u128; 2];
        let at = memory.as_mut_ptr() as usize + skew;
        let one = match datum {
            Datum::F64 => 1f64.to_le_bytes().to_vec(),
            _ => (1u128.to_le_bytes()[..datum.size_bytes()]).to_vec(),
        };
        std::thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| {
                    for _ in 0..EACH {
                        // SAFETY: inside of `memory`.
                        unsafe { sum.apply(at as *mut u8, 1, &one, None) };
                    }
                });
            }
        });
        // SAFETY: inside of `memory`.
        let count = unsafe {
            match datum {
                Datum::F64 => (at as *const f64).read() as usize,
                Datum::I32 => (at as *const i32).read_unaligned() as usize,
                _ => (at as *const u64).read() as usize,
            }
        };
        assert_eq!(count, 2 * EACH, "{datum:?}");
    }
}
