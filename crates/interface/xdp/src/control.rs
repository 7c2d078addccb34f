//! What the program says to the interface program: the control page ([MCP-6.2], [MCP-6.3]).
//!
//! What stands here can harm nobody but the program itself: it speaks of memory and connections of its own port.

use std::os::fd::AsFd;

use bcl_layout::PAGE_BYTES;
use bcl_layout::control::{
    GIVEN_BACK_AT, GRANT_BYTES, GRANT_CONNECTION_AT, GRANT_COUNT_AT, GRANT_LEN_AT,
    GRANT_MESSAGE_AT, GRANT_PLACE_AT, GRANT_WINDOW_AT, GRANTS, GRANTS_AT, Grant, OFFERED_AT,
    REFUSE_EARLY_AT, REFUSE_SYSTEM_AT, SLEEPS_AT, TELL_PUTS_AT, WINDOWS, given_back_slot,
};
use bcl_os::Fd;
use bcl_os::mapping::Mapping;
use bcl_os::sync::{AtomicU8, AtomicU32, AtomicU64, Ordering, fence};
use rustix::io::Errno;

/// The control page of a port, mapped to be written.
#[derive(Debug)]
pub struct Control(Mapping);

impl Control {
    /// Maps the page and says nothing yet.
    ///
    /// # Errors
    /// What the kernel says of a descriptor that is no such page.
    pub fn map(fd: Fd) -> Result<Self, Errno> {
        let page_bytes = PAGE_BYTES.next_multiple_of(rustix::param::page_size());
        let control = Self(Mapping::new(fd.as_fd(), 0, page_bytes, true)?);
        let count = control.word(GRANT_COUNT_AT);
        count.store(GRANTS as u32, Ordering::Release);
        Ok(control)
    }

    /// The next record is to wake whoever sleeps on the ring's descriptor. Look into the ring once more after this
    /// ([MCP-6.5]).
    pub fn sleep(&self) {
        self.word(SLEEPS_AT).store(1, Ordering::Relaxed);
        fence(Ordering::SeqCst);
    }

    /// Nobody sleeps on the ring any more.
    pub fn wake(&self) {
        self.word(SLEEPS_AT).store(0, Ordering::Relaxed);
    }

    /// Whether system messages are to be refused from now on.
    pub fn refuse_system(&self, refuse: bool) {
        self.word(REFUSE_SYSTEM_AT)
            .store(u32::from(refuse), Ordering::Release);
    }

    /// Whether packets that come before others are to be dropped from now on.
    pub fn refuse_early(&self, refuse: bool) {
        self.word(REFUSE_EARLY_AT)
            .store(u32::from(refuse), Ordering::Release);
    }

    /// Whether there is to be a record when a long PUT begins.
    pub fn tell_puts(&self, tell: bool) {
        self.word(TELL_PUTS_AT)
            .store(u32::from(tell), Ordering::Release);
    }

    /// Writes a grant into a slot below [`GRANTS`].
    pub fn grant(&self, slot: usize, grant: Grant) {
        let at = grant_at(slot);
        let word = |field: usize| self.word(at + field);
        let long = |field: usize| self.long(at + field);
        word(GRANT_CONNECTION_AT).store(0, Ordering::Release);
        word(GRANT_MESSAGE_AT).store(grant.message, Ordering::Relaxed);
        word(GRANT_WINDOW_AT).store(grant.window, Ordering::Relaxed);
        long(GRANT_PLACE_AT).store(grant.place, Ordering::Relaxed);
        long(GRANT_LEN_AT).store(grant.len_bytes, Ordering::Relaxed);
        word(GRANT_CONNECTION_AT).store(grant.connection, Ordering::Release);
    }

    /// Takes a grant back. A packet that the interface program is dealing with may still be put into place.
    pub fn revoke(&self, slot: usize) {
        self.word(grant_at(slot)).store(0, Ordering::SeqCst);
    }

    /// Whether the program has given a connection back: the interface program leaves its packets alone.
    pub fn give_back(&self, connection: u32, is_given_back: bool) {
        let byte = self.byte(GIVEN_BACK_AT + given_back_slot(connection));
        byte.store(u8::from(is_given_back), Ordering::SeqCst);
    }

    /// Whether peers may be served from a window below [`WINDOWS`] that the agent has entered. A packet that the interface
    /// program is dealing with may still be, after it was said that they may not.
    pub fn offer(&self, window: u16, is_offered: bool) {
        let window = usize::from(window);
        assert!(window < WINDOWS, "there are {WINDOWS} windows");
        let (byte, bit) = (self.byte(OFFERED_AT + window / 8), 1 << (window % 8));
        match is_offered {
            true => byte.fetch_or(bit, Ordering::SeqCst),
            false => byte.fetch_and(!bit, Ordering::SeqCst),
        };
    }

    fn byte(&self, at: usize) -> &AtomicU8 {
        assert!((GIVEN_BACK_AT..PAGE_BYTES).contains(&at));
        // SAFETY: within the page, as just asserted; bytes of this part are only used as atomics.
        unsafe { self.0.start().add(at).cast().as_ref() }
    }

    fn word(&self, at: usize) -> &AtomicU32 {
        assert!(at.is_multiple_of(4) && at < GIVEN_BACK_AT);
        // SAFETY: within the page and aligned, as just asserted; words of it are only used as atomics.
        unsafe { self.0.start().add(at).cast().as_ref() }
    }

    fn long(&self, at: usize) -> &AtomicU64 {
        assert!(at.is_multiple_of(8) && at < GIVEN_BACK_AT);
        // SAFETY: as above; no word of a grant is used both as one and as two.
        unsafe { self.0.start().add(at).cast().as_ref() }
    }
}

fn grant_at(slot: usize) -> usize {
    assert!(slot < GRANTS, "there are {GRANTS} grants");
    GRANTS_AT + slot * GRANT_BYTES
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::fs::{MemfdFlags, ftruncate, memfd_create};
    use rustix::io::pread;

    #[test]
    fn each_word_is_where_the_rule_says() {
        let file = memfd_create("control", MemfdFlags::CLOEXEC).expect("a file");
        ftruncate(&file, 4096).expect("room");
        let control =
            Control::map(Fd::second(&file).expect("a second descriptor")).expect("a page");
        control.sleep();
        control.refuse_system(true);
        control.tell_puts(true);
        control.grant(
            15,
            Grant {
                connection: 0x0102_0304,
                message: 5,
                window: 6,
                place: 7,
                len_bytes: 8,
            },
        );
        control.give_back(1024 + 9, true);
        for window in [0, 13, 4095] {
            control.offer(window, true);
        }
        control.offer(0, false);
        let mut page = [0u8; 4096];
        assert_eq!(pread(&file, &mut page, 0), Ok(4096));
        let word = |at: usize| u32::from_le_bytes(page[at..at + 4].try_into().unwrap());
        assert_eq!([word(0), word(4), word(8), word(16)], [1, 1, 16, 1]);
        let grant: Vec<u32> = (0..8).map(|index| word(64 + 15 * 32 + 4 * index)).collect();
        assert_eq!(grant, [0x0102_0304, 5, 6, 0, 7, 0, 8, 0]);
        assert_eq!(page.iter().skip(1024).filter(|byte| **byte != 0).count(), 3);
        assert_eq!(
            [page[1024 + 9], page[2048 + 1], page[2048 + 511]],
            [1, 32, 128]
        );
        control.wake();
        control.revoke(15);
        assert_eq!(pread(&file, &mut page, 0), Ok(4096));
        assert_eq!([page[0], page[64 + 15 * 32]], [0, 0]);
    }
}
