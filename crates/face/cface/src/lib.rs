//! What the C libraries on BCL have in common, so that none has its own: objects behind opaque pointers, their locks, and
//! how calls begin and end.
//!
//! A library implements [`Face`], which says its error codes, and each of its calls runs its body in one of
//! [`Face::status`], [`Face::number`] and those for hot calls. What its program holds pointers to is [`Inside`] a
//! [`Handle`]; if that [has a port](bcl_raw::HasPort), threads wait for its events by [`Handle::wait`]. Arguments are looked at with
//! [`out()`], [`range`] and [`string`]; [`layout`] is for its tests.
//!
//! ```
//! use std::ffi::c_int;
//!
//! use bcl_cface::{Face, Failure, Handle, Inside, out};
//! use bcl_raw::Error;
//!
//! /// The library of counters.
//! struct Counters;
//!
//! impl Face for Counters {
//!     const INVALID: c_int = -1;
//!     const INTERNAL: c_int = -2;
//!
//!     fn code_of(_: &Error) -> c_int {
//!         -3
//!     }
//! }
//!
//! struct Counter {
//!     value: c_int,
//!     closed: bool,
//! }
//!
//! impl Inside for Counter {
//!     type Face = Counters;
//!     const MAGIC: u64 = u64::from_le_bytes(*b"COUNTER1");
//!     const NAME: &str = "counter";
//!     const OPENER: &str = "counter_open";
//!
//!     fn close(&mut self) -> Result<(), Error> {
//!         match std::mem::replace(&mut self.closed, true) {
//!             false => Ok(()),
//!             true => Err(Error::Closed),
//!         }
//!     }
//! }
//!
//! unsafe extern "C" fn counter_open(place: *mut *mut Handle<Counter>) -> c_int {
//!     Counters::status("counter_open", || {
//!         let inside = Counter { value: 0, closed: false };
//!         // SAFETY: by the contract of the header.
//!         unsafe { out(place, "counter") }?.put(Handle::open(inside, false));
//!         Ok(())
//!     })
//! }
//!
//! unsafe extern "C" fn counter_next(counter: *const Handle<Counter>) -> c_int {
//!     Counters::hot_number("counter_next", || {
//!         // SAFETY: by the contract of the header.
//!         let counter = unsafe { Handle::check(counter) }?;
//!         counter.with(|inside| {
//!             inside.value += 1;
//!             Ok(inside.value)
//!         })
//!     })
//! }
//!
//! unsafe extern "C" fn counter_close(counter: *mut Handle<Counter>) -> c_int {
//!     // SAFETY: by the contract of the header.
//!     Counters::status("counter_close", || unsafe { Handle::close(counter) })
//! }
//!
//! let mut counter = std::ptr::null_mut();
//! // SAFETY: a place for the pointer, and then what came into it.
//! unsafe {
//!     assert_eq!(counter_open(&raw mut counter), 0);
//!     assert_eq!(counter_next(counter), 1);
//!     assert_eq!(counter_next(counter), 2);
//!     assert_eq!(counter_close(counter), 0);
//!     assert_eq!(counter_next(counter), -3);
//! }
//! ```

mod arguments;
mod call;
mod growing;
mod handle;
pub mod layout;
mod retired;
#[cfg(test)]
mod tests;
mod wait;

pub use arguments::{Out, out, range, string};
pub use call::{Face, Failure, last_error};
pub use growing::{Growing, read_sized};
pub use handle::{Handle, Inside};
