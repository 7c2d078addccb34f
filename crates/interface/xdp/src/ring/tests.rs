//! The reader against a writer that keeps a ring as the kernel does: same positions, same words, same pages.

use std::os::fd::OwnedFd;

use proptest::prelude::*;
use rustix::fs::{MemfdFlags, ftruncate, memfd_create};
use rustix::io::pwrite;

use bcl_layout::record::HEAD_BYTES;

use super::*;

const SIZE: u64 = 4096;

/// What the kernel does. A file cannot show its data twice, so that records are written where both views lie.
struct Kernel {
    file: OwnedFd,
    written: u64,
    page: u64,
}

impl Kernel {
    fn new() -> (Self, Ring) {
        let page = rustix::param::page_size() as u64;
        let file = memfd_create("ring", MemfdFlags::CLOEXEC).expect("a file");
        ftruncate(&file, 2 * page + 2 * SIZE).expect("room");
        let own = file.try_clone().expect("a second descriptor");
        let ring = Ring::map(Fd::own(own), SIZE as usize).expect("a ring");
        let written = 0;
        (
            Self {
                file,
                written,
                page,
            },
            ring,
        )
    }

    /// A run that ends at the end of the data goes on at its beginning.
    fn bytes(&self, at: u64, bytes: &[u8]) {
        let at = at % SIZE;
        let (head, tail) = bytes.split_at(bytes.len().min((SIZE - at) as usize));
        for view in [0, SIZE] {
            for (at, run) in [(at, head), (0, tail)] {
                pwrite(&self.file, run, 2 * self.page + view + at).expect("written");
            }
        }
    }

    fn word(&self, at: u64, word: u32) {
        self.bytes(at, &word.to_le_bytes());
    }

    /// Reserves and returns where; `None` if the reader is too far behind.
    fn reserve(&mut self, ring: &Ring, len: u32) -> Option<u64> {
        let step = (u64::from(len) + 8).next_multiple_of(8);
        if self.written + step - ring.position > SIZE {
            return None;
        }
        let at = self.written;
        self.word(at, len | BUSY);
        self.written += step;
        pwrite(&self.file, &self.written.to_le_bytes(), self.page).expect("written");
        Some(at)
    }

    fn record(&mut self, ring: &Ring, number: u32, payload_len: u32) -> Option<(u64, u32)> {
        let len = HEAD_BYTES as u32 + payload_len;
        let at = self.reserve(ring, len)?;
        let mut bytes = vec![number as u8; len as usize];
        bytes[18..20].copy_from_slice(&0u16.to_le_bytes());
        bytes[20..24].copy_from_slice(&payload_len.to_le_bytes());
        bytes[28..32].copy_from_slice(&number.to_le_bytes());
        self.bytes(at + 8, &bytes);
        Some((at, len))
    }
}

proptest! {
    /// Records of all lengths, in order, whole, past the end of the data, and none before it is finished.
    #[test]
    fn each_record_is_seen_once(lens in prop::collection::vec((0u32..900, 0u8..8), 1..60)) {
        let (mut kernel, mut ring) = Kernel::new();
        let mut number = 0;
        for (len, what) in lens {
            let Some((at, word)) = kernel.record(&ring, number, len) else {
                continue;
            };
            prop_assert!(ring.first().is_none(), "an unfinished record was shown");
            if what == 0 {
                kernel.word(at, word | DISCARDED);
                prop_assert!(ring.first().is_none(), "an empty record was shown");
                prop_assert_eq!(ring.waiting_bytes(), 0);
                continue;
            }
            kernel.word(at, word);
            for _ in 0..2 {
                let record = ring.first().expect("the record");
                prop_assert_eq!(record.place, number);
                prop_assert_eq!(record.payload.len(), len as usize);
                prop_assert!(record.payload.iter().all(|byte| *byte == number as u8));
            }
            ring.release();
            ring.release();
            prop_assert!(ring.first().is_none());
            prop_assert_eq!(ring.reader_position().load(Ordering::Relaxed), kernel.written);
            number += 1;
        }
    }
}

/// Not before the reader has been past what was unfinished when it asked, whatever has come since.
#[test]
fn an_end_is_passed_by_what_came_before_it() {
    let (mut kernel, mut ring) = Kernel::new();
    assert!(ring.has_passed(ring.end()));
    let (at, word) = kernel.record(&ring, 1, 10).expect("room");
    let end = ring.end();
    let (later, later_word) = kernel.record(&ring, 2, 10).expect("room");
    kernel.word(later, later_word);
    assert!(ring.first().is_none() && !ring.has_passed(end));
    kernel.word(at, word);
    assert!(ring.first().is_some() && !ring.has_passed(end));
    ring.release();
    assert!(ring.has_passed(end) && !ring.has_passed(ring.end()));
}

#[test]
fn what_is_no_record_is_passed_over() {
    let (mut kernel, mut ring) = Kernel::new();
    let at = kernel.reserve(&ring, 8).expect("room");
    kernel.word(at, 8);
    let (at, word) = kernel.record(&ring, 5, 10).expect("room");
    kernel.word(at, word);
    assert_eq!(ring.first().expect("the record after it").place, 5);
}

/// Positions and lengths that no kernel writes end in nothing to read, and not outside the mapping.
#[test]
fn nonsense_is_not_followed() {
    let (mut kernel, mut ring) = Kernel::new();
    let at = kernel.reserve(&ring, 100).expect("room");
    kernel.word(at, 100_000);
    assert!(ring.first().is_none());
    pwrite(&kernel.file, &u64::MAX.to_le_bytes(), kernel.page).expect("written");
    assert!(ring.first().is_none());
    let file = memfd_create("ring", MemfdFlags::CLOEXEC).expect("a file");
    assert_eq!(Ring::map(Fd::own(file), 5000).err(), Some(Errno::INVAL));
}
