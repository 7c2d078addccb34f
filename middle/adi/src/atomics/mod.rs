//! Atomic operations: what they do to the elements of exposed memory ([ADI-8.4]).
//!
//! Read on with `element`, what a function makes of one element; and `cell`, how that takes its place in memory.

mod cell;
mod element;
#[cfg(test)]
mod tests;

use bcl_types::Access;

use cell::Cell;
use element::{Complex, Element};

/// What elements are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
#[expect(missing_docs, reason = "each is the type of that name")]
pub enum Datum {
    I8 = 1,
    U8,
    I16,
    U16,
    I32,
    U32,
    I64,
    U64,
    I128,
    U128,
    F32,
    F64,
    ComplexF32,
    ComplexF64,
}

/// What becomes of an element, an *operand* given; and, of the last ones, what it is compared with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Function {
    /// The lesser one.
    Min = 1,
    /// The greater one.
    Max,
    /// Wrapping.
    Sum,
    /// Wrapping.
    Product,
    /// 1 if one of them is not 0, else 0.
    LogicalOr,
    /// ... if none is 0.
    LogicalAnd,
    /// ... if one of them is 0, and the other is not.
    LogicalXor,
    /// Of each bit.
    BitOr,
    /// Of each bit.
    BitAnd,
    /// Of each bit.
    BitXor,
    /// What it was.
    Read,
    /// The operand.
    Write,
    /// The operand, if what is compared with is equal to the element.
    SwapIfEqual,
    /// ... if it is not.
    SwapIfNotEqual,
    /// ... if what is compared with is less than the element.
    SwapIfLess,
    /// ... if it is that or equal.
    SwapIfLessOrEqual,
    /// ... if what is compared with is greater than the element.
    SwapIfGreater,
    /// ... if it is that or equal.
    SwapIfGreaterOrEqual,
    /// The operand's bits where those of what is compared with are 1.
    SwapMasked,
}

/// A function, of a kind of elements that it is defined for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Atomic {
    datum: Datum,
    function: Function,
}

/// Runs the same with `$T` standing for the type of the elements.
macro_rules! with_type {
    ($datum:expr, $T:ident => $body:expr) => {
        match $datum {
            Datum::I8 => with_type!(@ i8, $T, $body),
            Datum::U8 => with_type!(@ u8, $T, $body),
            Datum::I16 => with_type!(@ i16, $T, $body),
            Datum::U16 => with_type!(@ u16, $T, $body),
            Datum::I32 => with_type!(@ i32, $T, $body),
            Datum::U32 => with_type!(@ u32, $T, $body),
            Datum::I64 => with_type!(@ i64, $T, $body),
            Datum::U64 => with_type!(@ u64, $T, $body),
            Datum::I128 => with_type!(@ i128, $T, $body),
            Datum::U128 => with_type!(@ u128, $T, $body),
            Datum::F32 => with_type!(@ f32, $T, $body),
            Datum::F64 => with_type!(@ f64, $T, $body),
            Datum::ComplexF32 => with_type!(@ Complex<f32>, $T, $body),
            Datum::ComplexF64 => with_type!(@ Complex<f64>, $T, $body),
        }
    };
    (@ $type:ty, $T:ident, $body:expr) => {{
        type $T = $type;
        $body
    }};
}

impl Datum {
    /// All of them.
    pub const ALL: [Self; 14] = [
        Self::I8,
        Self::U8,
        Self::I16,
        Self::U16,
        Self::I32,
        Self::U32,
        Self::I64,
        Self::U64,
        Self::I128,
        Self::U128,
        Self::F32,
        Self::F64,
        Self::ComplexF32,
        Self::ComplexF64,
    ];

    /// Bytes of an element.
    pub fn size_bytes(self) -> usize {
        with_type!(self, T => size_of::<T>())
    }

    fn is_integer(self) -> bool {
        (self as u8) < Self::F32 as u8
    }

    fn is_complex(self) -> bool {
        matches!(self, Self::ComplexF32 | Self::ComplexF64)
    }
}

impl Function {
    /// All of them.
    pub const ALL: [Self; 19] = [
        Self::Min,
        Self::Max,
        Self::Sum,
        Self::Product,
        Self::LogicalOr,
        Self::LogicalAnd,
        Self::LogicalXor,
        Self::BitOr,
        Self::BitAnd,
        Self::BitXor,
        Self::Read,
        Self::Write,
        Self::SwapIfEqual,
        Self::SwapIfNotEqual,
        Self::SwapIfLess,
        Self::SwapIfLessOrEqual,
        Self::SwapIfGreater,
        Self::SwapIfGreaterOrEqual,
        Self::SwapMasked,
    ];

    /// Whether elements are compared with something.
    pub fn compares(self) -> bool {
        self as u8 >= Self::SwapIfEqual as u8
    }

    /// Whether it needs an operand.
    pub fn has_operand(self) -> bool {
        self != Self::Read
    }

    fn needs_order(self) -> bool {
        use Function::*;
        matches!(
            self,
            Min | Max | SwapIfLess | SwapIfLessOrEqual | SwapIfGreater | SwapIfGreaterOrEqual
        )
    }

    fn needs_bits(self) -> bool {
        use Function::*;
        matches!(self, BitOr | BitAnd | BitXor | SwapMasked)
    }
}

impl Atomic {
    /// `None`: the function is not defined for such elements. Bits are those of integers, and complex numbers have no order.
    pub fn new(function: Function, datum: Datum) -> Option<Self> {
        let is_defined = !(function.needs_bits() && !datum.is_integer()
            || function.needs_order() && datum.is_complex());
        is_defined.then_some(Self { datum, function })
    }

    /// What elements are.
    pub fn datum(self) -> Datum {
        self.datum
    }

    /// What becomes of them.
    pub fn function(self) -> Function {
        self.function
    }

    /// Bytes that go to the owner of so many elements.
    pub fn sent_bytes(self, count: usize) -> usize {
        let vectors =
            usize::from(self.function.has_operand()) + usize::from(self.function.compares());
        count * self.datum.size_bytes() * vectors
    }

    /// What has to be permitted.
    pub(crate) fn needs(self, fetches: bool) -> Access {
        let reads = match fetches || !self.function.has_operand() {
            true => Access::GET,
            false => Access::NONE,
        };
        match self.function.has_operand() {
            true => reads | Access::PUT,
            false => reads,
        }
    }

    /// As numbers, function first.
    pub(crate) fn to_bytes(self) -> [u8; 2] {
        [self.function as u8, self.datum as u8]
    }

    /// Reverse of [`to_bytes`](Self::to_bytes).
    pub(crate) fn from_bytes([function, datum]: [u8; 2]) -> Option<Self> {
        let function = *Function::ALL.get(usize::from(function).checked_sub(1)?)?;
        let datum = *Datum::ALL.get(usize::from(datum).checked_sub(1)?)?;
        Self::new(function, datum)
    }

    /// Combines elements of the program's own memory with operands, each with the one at its place. Both may begin anywhere, and are
    /// equally long: whole elements.
    ///
    /// # Panics
    /// If they are not, or the function compares, or has no operand.
    pub fn combine(self, elements: &mut [u8], operands: &[u8]) {
        assert!(self.function.has_operand() && !self.function.compares());
        assert_eq!(elements.len(), operands.len());
        assert!(elements.len().is_multiple_of(self.datum.size_bytes()));
        with_type!(self.datum, T => combine::<T>(self.function, elements, operands));
    }

    /// Changes `count` elements. `sent` has the operands, and behind them what is compared with; what was there before goes
    /// to `found`, if that is wanted.
    ///
    /// # Safety
    /// `at` leads to so many elements, aligned or not, which can be written, or read if the function is to read. `sent` is
    /// [so long](Self::sent_bytes), `found` as long as the elements.
    pub(crate) unsafe fn apply(
        self,
        at: *mut u8,
        count: usize,
        sent: &[u8],
        found: Option<&mut [u8]>,
    ) {
        // SAFETY: by the contract.
        with_type!(self.datum, T => unsafe { change::<T>(self.function, at.cast(), count, sent, found) })
    }
}

/// # Safety
/// As of [`Atomic::apply`].
unsafe fn change<T: Element + Cell>(
    function: Function,
    at: *mut T,
    count: usize,
    sent: &[u8],
    mut found: Option<&mut [u8]>,
) {
    let element = |place: usize| {
        let bytes = &sent[place * size_of::<T>()..][..size_of::<T>()];
        // SAFETY: as long as the type, of which any bytes are a value.
        unsafe { bytes.as_ptr().cast::<T>().read_unaligned() }
    };
    for place in 0..count {
        let operand = function.has_operand().then(|| element(place));
        let compared = function.compares().then(|| element(count + place));
        let change = |old: T| {
            let operand = operand.unwrap_or(old);
            old.changed(function, operand, compared.unwrap_or(old))
        };
        // SAFETY: one of the elements.
        let old = unsafe { T::update(at.wrapping_add(place), change) };
        if let Some(found) = &mut found {
            let to = &mut found[place * size_of::<T>()..][..size_of::<T>()];
            // SAFETY: as long as the type.
            unsafe { to.as_mut_ptr().cast::<T>().write_unaligned(old) };
        }
    }
}

fn combine<T: Element>(function: Function, elements: &mut [u8], operands: &[u8]) {
    let each = elements.chunks_exact_mut(size_of::<T>());
    for (element, operand) in each.zip(operands.chunks_exact(size_of::<T>())) {
        let (element, operand) = (
            element.as_mut_ptr().cast::<T>(),
            operand.as_ptr().cast::<T>(),
        );
        // SAFETY: as long as the type, of which any bytes are a value, and read and written wherever they begin.
        unsafe {
            let operand = operand.read_unaligned();
            let changed = element.read_unaligned().changed(function, operand, operand);
            element.write_unaligned(changed);
        }
    }
}
