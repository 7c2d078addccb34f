//! The byte offsets of a port's page ([SHM-5]).

use std::os::fd::AsFd;

use bcl_os::mapping::Mapping;
use bcl_os::memfd::{self, Writers};
use bcl_os::sync::Ordering;
use bcl_tier::page::{Counter, Identity, PAGE_LEN, Page};

/// A page, and the bytes it lies in.
fn mapped_twice() -> (Page, Mapping) {
    let (fd, page) = memfd::create("bcl-test", PAGE_LEN, Writers::Anybody).unwrap();
    let bytes = memfd::adopt(fd.as_fd(), PAGE_LEN, true).unwrap();
    (Page::new(page), bytes)
}

fn word(bytes: &Mapping, offset: usize) -> u64 {
    assert!(offset + 8 <= bytes.len_bytes());
    // SAFETY: inside the mapping; the tests do not write meanwhile.
    unsafe { bytes.start().add(offset).cast::<u64>().read_unaligned() }
}

fn half_word(bytes: &Mapping, offset: usize) -> u32 {
    word(bytes, offset) as u32
}

#[test]
fn a_page_lies_as_the_specification_says() {
    let (page, bytes) = mapped_twice();
    assert!(
        page.identity().is_none(),
        "a page without a label is nobody's"
    );
    page.label(Identity {
        node: 1,
        port: 2,
        pid: 3,
        uid: 4,
    });
    assert_eq!(&word(&bytes, 0).to_le_bytes(), b"BCLPORT\0");
    assert_eq!(
        [8, 12, 16, 20, 24].map(|at| half_word(&bytes, at)),
        [5, 1, 2, 3, 4]
    );
    page.senders_fence().store(5, Ordering::Relaxed);
    assert_eq!(half_word(&bytes, 28), 5);
    page.sleep_epoch().store(6, Ordering::Relaxed);
    assert_eq!(word(&bytes, 64), 6);
    for (index, counter) in Counter::ALL.iter().enumerate() {
        page.counter(*counter).store(7, Ordering::Relaxed);
        assert_eq!(word(&bytes, 256 + 8 * index), 7, "{}", counter.name());
    }
    for (window, at) in [(0, 1024), (255, 3064), (256, 1024), (4095, 3064)] {
        page.window_epoch(window)
            .store(u64::from(window), Ordering::Relaxed);
        assert_eq!(word(&bytes, at), u64::from(window));
    }
    page.tell_copy_cost(0, [1, 2, 3]);
    page.tell_copy_cost(11, [4, 5, 6]);
    page.tell_copy_cost(12, [7, 7, 7]);
    for (at, ps_per_kib) in [(3072, 1), (3080, 3), (3204, 4), (3212, 6), (3216, 0)] {
        assert_eq!(half_word(&bytes, at), ps_per_kib);
    }
    let told: Vec<_> = page.copy_costs().collect();
    assert_eq!(told.len(), 12);
    assert_eq!(
        (told[11].from_kib, told[11].ps_per_kib),
        (16_384, [4, 5, 6])
    );
}

#[test]
fn a_page_of_another_version_is_nobodys() {
    let (page, bytes) = mapped_twice();
    page.label(Identity {
        node: 1,
        port: 2,
        pid: 3,
        uid: 4,
    });
    // SAFETY: inside the mapping, and nobody reads meanwhile.
    unsafe { bytes.start().add(8).cast::<u32>().write(6) };
    assert!(page.identity().is_none());
}
