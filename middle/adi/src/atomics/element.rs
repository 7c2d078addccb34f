//! What becomes of one element.

use std::ops::{Add, Mul, Sub};

use super::Function;

/// One element. Functions that are not defined for its kind leave it as it is: nobody gets so far.
pub trait Element: Copy {
    fn changed(self, function: Function, operand: Self, compared: Self) -> Self;
}

/// What is the same for all kinds.
fn swapped<T: PartialEq>(function: Function, old: T, operand: T, compared: T) -> T {
    let swaps = match function {
        Function::Write => true,
        Function::SwapIfEqual => compared == old,
        Function::SwapIfNotEqual => compared != old,
        _ => false,
    };
    if swaps { operand } else { old }
}

/// What is the same for all kinds that have an order.
fn ordered<T: PartialOrd>(function: Function, old: T, operand: T, compared: T) -> T {
    let swaps = match function {
        Function::Min => operand < old,
        Function::Max => operand > old,
        Function::SwapIfLess => compared < old,
        Function::SwapIfLessOrEqual => compared <= old,
        Function::SwapIfGreater => compared > old,
        Function::SwapIfGreaterOrEqual => compared >= old,
        _ => return swapped(function, old, operand, compared),
    };
    if swaps { operand } else { old }
}

fn logical(function: Function, a: bool, b: bool) -> Option<bool> {
    match function {
        Function::LogicalOr => Some(a || b),
        Function::LogicalAnd => Some(a && b),
        Function::LogicalXor => Some(a != b),
        _ => None,
    }
}

macro_rules! integers {
    ($($type:ty),*) => {$(
        impl Element for $type {
            fn changed(self, function: Function, operand: Self, compared: Self) -> Self {
                if let Some(truth) = logical(function, self != 0, operand != 0) {
                    return Self::from(truth);
                }
                match function {
                    Function::Sum => self.wrapping_add(operand),
                    Function::Product => self.wrapping_mul(operand),
                    Function::BitOr => self | operand,
                    Function::BitAnd => self & operand,
                    Function::BitXor => self ^ operand,
                    Function::SwapMasked => operand & compared | self & !compared,
                    _ => ordered(function, self, operand, compared),
                }
            }
        }
    )*};
}

integers!(i8, u8, i16, u16, i32, u32, i64, u64, i128, u128);

macro_rules! floats {
    ($($type:ty),*) => {$(
        impl Element for $type {
            fn changed(self, function: Function, operand: Self, compared: Self) -> Self {
                if let Some(truth) = logical(function, self != 0.0, operand != 0.0) {
                    return Self::from(truth);
                }
                match function {
                    Function::Sum => self + operand,
                    Function::Product => self * operand,
                    _ => ordered(function, self, operand, compared),
                }
            }
        }
    )*};
}

floats!(f32, f64);

/// A complex number, as C lays it out.
#[derive(Debug, Clone, Copy, PartialEq)]
#[repr(C)]
pub struct Complex<T> {
    pub real: T,
    pub imaginary: T,
}

impl<T> Element for Complex<T>
where
    T: Copy + PartialEq + From<bool> + Add<Output = T> + Sub<Output = T> + Mul<Output = T>,
{
    fn changed(self, function: Function, operand: Self, compared: Self) -> Self {
        let no = T::from(false);
        let is_true = |number: Self| number.real != no || number.imaginary != no;
        if let Some(truth) = logical(function, is_true(self), is_true(operand)) {
            return Self {
                real: truth.into(),
                imaginary: no,
            };
        }
        match function {
            Function::Sum => Self {
                real: self.real + operand.real,
                imaginary: self.imaginary + operand.imaginary,
            },
            Function::Product => Self {
                real: self.real * operand.real - self.imaginary * operand.imaginary,
                imaginary: self.real * operand.imaginary + self.imaginary * operand.real,
            },
            _ => swapped(function, self, operand, compared),
        }
    }
}
