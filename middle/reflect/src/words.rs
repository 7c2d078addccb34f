//! Bytes of a region as words that are read and written whole ([REFLECT-3.2]).
//!
//! Others write at any moment, so no slice of the region is ever made: each word is an atomic.

use bcl_os::sync::{AtomicU64, Ordering, fence};

const WORD_BYTES: usize = size_of::<u64>();

/// The words that bytes lie in: where in the first they begin, and how many words there are.
fn words_of(offset: usize, len_bytes: usize) -> (usize, usize, usize) {
    let first = offset / WORD_BYTES;
    let end = (offset + len_bytes).div_ceil(WORD_BYTES);
    (first, offset % WORD_BYTES, end.max(first))
}

/// Writes so that who sees any of it sees all that this thread has written before ([REFLECT-3.3]).
///
/// The bytes lie in `words`.
pub fn write(words: &[AtomicU64], offset: usize, data: &[u8]) {
    let (first, within, end) = words_of(offset, data.len());
    if data.is_empty() {
        return;
    }
    let (head, rest) = data.split_at(head_bytes(within, data.len()));
    // Orders the stores below, which are relaxed, behind all before.
    fence(Ordering::Release);
    let words = &words[first..end];
    let whole = rest.chunks_exact(WORD_BYTES);
    let tail = whole.remainder();
    let at = match head.is_empty() {
        true => 0,
        false => {
            merge(&words[0], within, head);
            1
        }
    };
    let whole_words = whole.len();
    for (word, bytes) in words[at..].iter().zip(whole) {
        let mut value = [0; WORD_BYTES];
        value.copy_from_slice(bytes);
        word.store(u64::from_ne_bytes(value), Ordering::Relaxed);
    }
    if !tail.is_empty() {
        merge(&words[at + whole_words], 0, tail);
    }
}

/// How many bytes precede the first whole word.
fn head_bytes(within: usize, len_bytes: usize) -> usize {
    match within {
        0 => 0,
        _ => len_bytes.min(WORD_BYTES - within),
    }
}

/// Some bytes of a word: those that are there are kept.
fn merge(word: &AtomicU64, within: usize, bytes: &[u8]) {
    let mut whole = word.load(Ordering::Relaxed).to_ne_bytes();
    whole[within..][..bytes.len()].copy_from_slice(bytes);
    word.store(u64::from_ne_bytes(whole), Ordering::Relaxed);
}

/// Some bytes of a word.
fn copy_some(word: Option<&AtomicU64>, within: usize, into: &mut [u8]) {
    let bytes = word.map_or([0; WORD_BYTES], |word| {
        word.load(Ordering::Relaxed).to_ne_bytes()
    });
    into.copy_from_slice(&bytes[within..][..into.len()]);
}

/// Reads; what is read afterwards is no older.
pub fn read(words: &[AtomicU64], offset: usize, data: &mut [u8]) {
    let (first, within, end) = words_of(offset, data.len());
    let head_bytes = head_bytes(within, data.len());
    let (head, rest) = data.split_at_mut(head_bytes);
    let mut words = words[first..end].iter();
    if !head.is_empty() {
        copy_some(words.next(), within, head);
    }
    let mut whole = rest.chunks_exact_mut(WORD_BYTES);
    for (bytes, word) in whole.by_ref().zip(words.by_ref()) {
        bytes.copy_from_slice(&word.load(Ordering::Relaxed).to_ne_bytes());
    }
    let tail = whole.into_remainder();
    if !tail.is_empty() {
        copy_some(words.next(), 0, tail);
    }
    fence(Ordering::Acquire);
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn what_was_written_is_read_and_nothing_else_has_changed(
            before in any::<[u64; 8]>(),
            range in (0usize..64).prop_flat_map(|start| (Just(start), start..=64)),
        ) {
            let (start, end) = range;
            let words = before.map(AtomicU64::new);
            let data: Vec<u8> = (start..end).map(|at| at as u8).collect();
            write(&words, start, &data);
            let mut expected: Vec<u8> = before.iter().flat_map(|word| word.to_ne_bytes()).collect();
            expected[start..end].copy_from_slice(&data);
            let mut all = [0; 64];
            read(&words, 0, &mut all);
            prop_assert_eq!(&all[..], &expected[..]);
            let mut part = vec![0; end - start];
            read(&words, start, &mut part);
            prop_assert_eq!(part, data);
        }
    }
}
