//! What went wrong, in words. A program finds a number in `prov_errno`, and asks `fi_cq_strerror` or `fi_eq_strerror` what it means.
//!
//! The words do not go into `err_data`: many programs leave the fields in which they would offer memory for that as they lay on
//! their stack.

use std::collections::VecDeque;
use std::ffi::{CStr, CString, c_char, c_int, c_void};

use crate::abi::fi_version;
use crate::host::Host;

/// The texts of a queue's last errors.
#[derive(Debug, Default)]
pub struct Texts {
    kept: VecDeque<CString>,
    /// Errors so far.
    count: u32,
}

/// So many are known; who reads more errors before asking what one means gets what libfabric says of its number.
const KEPT_MAX: usize = 64;
/// Where their numbers begin, far above those of `FI_E...`, and how many there are before they begin again.
const FIRST: c_int = 1_000_000;
const NUMBERS: u32 = 1_000_000;

impl Texts {
    /// Keeps a text, and gives it a number.
    pub fn keep(&mut self, text: &str) -> c_int {
        if self.kept.len() == KEPT_MAX {
            self.kept.pop_front();
        }
        let text = CString::new(text.replace('\0', " ")).unwrap_or_default();
        self.kept.push_back(text);
        self.count = (self.count + 1) % NUMBERS;
        self.number_of(self.kept.len() - 1)
    }

    fn number_of(&self, at: usize) -> c_int {
        let before_last = (self.kept.len() - 1 - at) as u32;
        FIRST + ((self.count + NUMBERS - before_last) % NUMBERS) as c_int
    }

    fn find(&self, number: c_int) -> Option<&CStr> {
        let at = (0..self.kept.len()).find(|&at| self.number_of(at) == number)?;
        Some(&self.kept[at])
    }

    /// The text of a number, or what libfabric says of it. It is copied into the buffer, if there is one; else it stays where it is
    /// for 64 errors more.
    ///
    /// # Safety
    /// The buffer is null or has room for `len` bytes.
    pub unsafe fn get(&self, number: c_int, buffer: *mut c_char, len: usize) -> *const c_char {
        let text = match (self.find(number), Host::get()) {
            (Some(text), _) => text.as_ptr(),
            // SAFETY: a number is all it takes, and what libfabric says stays where it is.
            (None, Some(host)) => unsafe { (host.strerror)(number.saturating_abs()) },
            (None, None) => c"an error of the provider bcl".as_ptr(),
        };
        if buffer.is_null() || len == 0 {
            return text;
        }
        // SAFETY: a text, and by the contract.
        unsafe {
            let bytes = CStr::from_ptr(text).to_bytes();
            let fits = fitting(bytes, len);
            buffer.copy_from(bytes.as_ptr().cast(), fits);
            buffer.add(fits).write(0);
        }
        buffer
    }
}

/// How many bytes of a text fit besides the zero at its end, with no character cut in two.
fn fitting(text: &[u8], room: usize) -> usize {
    let mut len = text.len().min(room - 1);
    while len < text.len() && text[len] & 0xc0 == 0x80 {
        len -= 1;
    }
    len
}

/// The fields of an error's entry that are for data of a provider's.
#[derive(Debug)]
pub struct ErrData {
    /// `err_data`
    pub place: *mut *mut c_void,
    /// `err_data_size`
    pub len: *mut usize,
}

impl ErrData {
    /// Says that there is none.
    ///
    /// # Safety
    /// The fields are valid as a program of this version has them.
    pub unsafe fn put_none(&self, api_version: u32) {
        // SAFETY: by the contract. Before 1.5 there was no length; since then the place is the program's.
        unsafe {
            match api_version < fi_version(1, 5) {
                true => self.place.write(std::ptr::null_mut()),
                false => self.len.write(0),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ptr;

    fn get(texts: &Texts, number: c_int) -> &CStr {
        // SAFETY: without a buffer; the text stays while it is looked at.
        unsafe { CStr::from_ptr(texts.get(number, ptr::null_mut(), 0)) }
    }

    #[test]
    fn the_last_texts_are_had_by_number() {
        let mut texts = Texts::default();
        let numbers: Vec<c_int> = (0..100)
            .map(|error| texts.keep(&format!("error\0{error}")))
            .collect();
        for (error, &number) in numbers.iter().enumerate() {
            let is_kept = error >= 100 - KEPT_MAX;
            let expected = CString::new(format!("error {error}")).unwrap();
            assert_eq!(get(&texts, number) == &*expected, is_kept, "{error}");
        }
        assert!(!get(&texts, 1).is_empty());
    }

    #[test]
    fn numbers_begin_again_and_none_is_given_twice_meanwhile() {
        let mut texts = Texts {
            count: NUMBERS - 2,
            ..Texts::default()
        };
        let numbers = [1, 2, 3].map(|error| texts.keep(&error.to_string()));
        assert_eq!(numbers, [FIRST + 999_999, FIRST, FIRST + 1]);
        assert_eq!(
            numbers.map(|number| get(&texts, number)),
            [c"1", c"2", c"3"]
        );
    }

    #[test]
    fn a_text_is_cut_to_the_buffer_between_characters() {
        let mut texts = Texts::default();
        let number = texts.keep("aä");
        let mut buffer = [b'#' as c_char; 4];
        let start = buffer.as_mut_ptr();
        // SAFETY: room for more than that.
        unsafe {
            assert_eq!(texts.get(number, start, 3), start.cast_const());
            assert_eq!(CStr::from_ptr(start), c"a");
        }
        assert_eq!(buffer[3], b'#' as c_char);
    }

    /// What a program of this version finds, where nothing was in order before.
    fn put_none(api_version: u32) -> (*mut c_void, usize) {
        let (mut place, mut len) = (ptr::without_provenance_mut(7), 9);
        let err_data = ErrData {
            place: &raw mut place,
            len: &raw mut len,
        };
        // SAFETY: both are there.
        unsafe { err_data.put_none(api_version) };
        (place, len)
    }

    #[test]
    fn no_data_are_put_where_the_program_may_have_no_memory() {
        assert_eq!(put_none(fi_version(1, 4)), (ptr::null_mut(), 9));
        assert_eq!(
            put_none(fi_version(1, 5)),
            (ptr::without_provenance_mut(7), 0)
        );
        assert_eq!(
            put_none(fi_version(2, 5)),
            (ptr::without_provenance_mut(7), 0)
        );
    }
}
