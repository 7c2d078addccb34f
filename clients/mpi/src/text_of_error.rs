//! The text beside an error, where programs look for data of a provider's, and back from there when they ask what it means.

use std::ffi::{CStr, CString, c_char, c_int, c_void};

use crate::abi::fi_version;
use crate::host::Host;

/// The fields of an error's entry in which a program offers memory for the text, or gets a pointer to ours.
#[derive(Debug)]
pub struct Offered {
    /// `err_data`
    pub place: *mut *mut c_void,
    /// `err_data_size`
    pub len: *mut usize,
}

impl Offered {
    /// Puts a text into the program's memory, as much as there is room for, or into `kept`, which is to stay as it is until
    /// the program reads on.
    ///
    /// # Safety
    /// The fields are valid, and so is the memory if the program is of a version that offers some.
    pub unsafe fn put(&self, text: &str, api_version: u32, kept: &mut CString) {
        let text = CString::new(text.replace('\0', " ")).unwrap_or_default();
        // SAFETY: by the contract.
        unsafe {
            // Before 1.5 programs offered no memory, and what is in these fields is anything.
            let room = if api_version < fi_version(1, 5) {
                0
            } else {
                self.len.read()
            };
            if room > 0 && !self.place.read().is_null() {
                let len = fitting(text.as_bytes(), room);
                let place = self.place.read().cast::<u8>();
                place.copy_from_nonoverlapping(text.as_ptr().cast(), len);
                place.add(len).write(0);
                self.len.write(len + 1);
            } else {
                *kept = text;
                self.place.write(kept.as_ptr().cast_mut().cast());
                self.len.write(kept.as_bytes_with_nul().len());
            }
        }
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

/// `fi_cq_strerror` and `fi_eq_strerror`: our text if the program has kept it, else what libfabric says of the number. It is
/// copied into the buffer, if there is one.
///
/// # Safety
/// `err_data` is null or a text of ours, and the buffer has room.
pub unsafe fn get(
    number: c_int,
    err_data: *const c_void,
    buffer: *mut c_char,
    len: usize,
) -> *const c_char {
    // SAFETY: by the contract; what libfabric says stays where it is.
    unsafe {
        let text = match Host::get() {
            _ if !err_data.is_null() => err_data.cast::<c_char>(),
            Some(host) => (host.strerror)(number.saturating_abs()),
            None => c"an error of the provider bcl".as_ptr(),
        };
        if buffer.is_null() || len == 0 {
            return text;
        }
        let bytes = CStr::from_ptr(text).to_bytes();
        let fits = fitting(bytes, len);
        buffer.copy_from(bytes.as_ptr().cast(), fits);
        buffer.add(fits).write(0);
        buffer
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ptr;

    /// What a program of this version gets that offers so many bytes.
    fn put(text: &str, room: usize, api_version: u32) -> (String, bool) {
        let mut memory = [b'#'; 64];
        let mut place: *mut c_void = memory.as_mut_ptr().cast();
        let mut len = room;
        let mut kept = CString::default();
        let offered = Offered {
            place: &raw mut place,
            len: &raw mut len,
        };
        // SAFETY: as much memory as it says, or more.
        let text = unsafe {
            offered.put(text, api_version, &mut kept);
            CStr::from_ptr(place.cast()).to_str().unwrap().to_owned()
        };
        assert_eq!(len, text.len() + 1);
        assert!(
            memory[room..].iter().all(|byte| *byte == b'#'),
            "beyond what was offered"
        );
        (text, memory[0] == b'#')
    }

    #[test]
    fn a_text_goes_where_the_program_offers_memory() {
        assert_eq!(
            put("no room", 64, fi_version(1, 5)),
            ("no room".into(), false)
        );
        assert_eq!(put("no room", 3, fi_version(2, 0)), ("no".into(), false));
        assert_eq!(put("aä", 3, fi_version(2, 0)), ("a".into(), false));
        assert_eq!(
            put("no\0room", 0, fi_version(2, 0)),
            ("no room".into(), true)
        );
        assert_eq!(
            put("no room", 64, fi_version(1, 4)),
            ("no room".into(), true)
        );
    }

    #[test]
    fn a_text_is_had_back() {
        let mut buffer = [0; 4];
        let start = buffer.as_mut_ptr();
        let text = c"broken";
        // SAFETY: a text, and room for so many.
        unsafe {
            assert_eq!(
                get(0, text.as_ptr().cast(), ptr::null_mut(), 0),
                text.as_ptr()
            );
            assert_eq!(get(0, text.as_ptr().cast(), start, 4), start.cast_const());
            assert_eq!(CStr::from_ptr(start), c"bro");
            assert!(!get(1, ptr::null(), ptr::null_mut(), 0).is_null());
        }
    }
}
