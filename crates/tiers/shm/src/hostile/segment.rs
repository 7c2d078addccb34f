//! Segments full of any bytes: a reader does nothing that [SHM-8.2] rules out.

use std::ops::Range;
use std::os::fd::AsFd;

use bcl_os::mapping::Mapping;
use bcl_os::memfd::{self, Writers};
use bcl_os::sync::Ordering;
use bcl_rings::Corrupt;
use bcl_rings::bytes::max_len_bytes;
use bcl_rings::pair::{Geometry, PairEnd, Side};
use bcl_tier::page::{Counter, PAGE_LEN, Page};

const GEOMETRY: Geometry = Geometry {
    cells: 16,
    pool_bytes: 16 << 10,
    stream_bytes: 16 << 10,
};

/// One end of a pair on whose segment these bytes are laid, over and over. After each round the peer writes
/// the next bytes.
pub fn pair(bytes: &[u8]) {
    let len_bytes = GEOMETRY.segment_len();
    let (fd, mapping) =
        memfd::create("bcl-fuzz", len_bytes, Writers::Anybody).expect("memory for a segment");
    let peers = memfd::adopt(fd.as_fd(), len_bytes, true).expect("a segment of ours");
    let start = mapping.start().as_ptr() as usize;
    let segment = start..start + len_bytes;
    let mut end = PairEnd::new(mapping, GEOMETRY, Side::Acceptor);
    for chunk in bytes.chunks(256) {
        lay(&peers, chunk);
        if use_once(&mut end, chunk, &segment).is_err() {
            return;
        }
    }
}

/// A port page with these bytes.
pub fn page(bytes: &[u8]) {
    let (fd, mapping) =
        memfd::create("bcl-fuzz", PAGE_LEN, Writers::Anybody).expect("memory for a page");
    let owners = memfd::adopt(fd.as_fd(), PAGE_LEN, true).expect("a segment of ours");
    let page = Page::new(mapping);
    lay(&owners, bytes);
    let _ = page.identity();
    for counter in Counter::ALL {
        std::hint::black_box(page.counter(*counter).load(Ordering::Relaxed));
    }
    std::hint::black_box(page.window_epoch(u16::MAX).load(Ordering::Relaxed));
}

/// Fills the segment with the bytes; the first eight say where the rest goes first.
fn lay(segment: &Mapping, bytes: &[u8]) {
    let Some((place, rest)) = bytes.split_first_chunk::<8>() else {
        return;
    };
    if rest.is_empty() {
        return;
    }
    let first = u64::from_le_bytes(*place) as usize % segment.len_bytes();
    for (offset, byte) in (first..segment.len_bytes()).zip(rest.iter().cycle()) {
        // SAFETY: inside the mapping; nothing else runs meanwhile.
        unsafe { segment.start().add(offset).write(*byte) };
    }
}

/// Does once all that an end can do.
fn use_once(end: &mut PairEnd, bytes: &[u8], segment: &Range<usize>) -> Result<(), Corrupt> {
    let inside = |place: *const u8, len_bytes: u32| {
        let first = place as usize;
        assert!(segment.start <= first && first + len_bytes as usize <= segment.end);
    };
    for _ in 0..end.cells_in.capacity() + 1 {
        let Some(words) = end.cells_in.take() else {
            break;
        };
        assert_eq!(
            words[0] as u32, 0,
            "a sequence number that was not taken out"
        );
        let (place, released) = end.pool_in.take(words[1] as u32)?;
        inside(place, words[1] as u32);
        end.pool_in.release(released);
        let (place, released) = end.stream_in.take((words[1] >> 32) as u32)?;
        inside(place, (words[1] >> 32) as u32);
        end.stream_in.release(released);
    }
    end.cells_in.give_back();
    for byte in bytes {
        let len_bytes = u32::from(*byte) * 32 % (max_len_bytes(GEOMETRY.stream_bytes) + 1);
        if let Some(place) = end.stream_out.reserve(len_bytes)? {
            inside(place, len_bytes);
        }
        let free = end.cells_out.free(1)?;
        assert!(free <= u64::from(GEOMETRY.cells));
        if free > 0 {
            end.cells_out.send(&[u64::from(*byte) << 32; 8]);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn an_end_survives_any_segment() {
        let mut bytes = prop::collection::vec(any::<u8>(), 0..600);
        // Cells that look right to the first look: sequence number 1, and short lengths.
        for lens in [[0u8; 8], [1, 0, 0, 0, 1, 0, 0, 0]] {
            let mut ready = vec![0; 8];
            ready.extend([1, 0, 0, 0, 1, 0, 0, 0]);
            ready.extend(lens);
            ready.extend([0; 48]);
            pair(&ready);
        }
        proptest!(ProptestConfig::with_cases(1_000), |(bytes in &mut bytes)| pair(&bytes));
    }

    #[test]
    fn any_page_can_be_read() {
        let bytes = prop::collection::vec(any::<u8>(), 0..600);
        proptest!(ProptestConfig::with_cases(1_000), |(bytes in bytes)| page(&bytes));
    }
}
