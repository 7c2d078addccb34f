//! Short runs on random bytes, for machines without a fuzzer. Each run has its own seed, which a failure
//! names.

use bcl_types::Random;

use super::{cell, connection, offer, packet};

/// Names the input of a run that panics.
struct OnPanic(u64);

impl Drop for OnPanic {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("the seed was {}", self.0);
        }
    }
}

fn run(runs: u64, len_max: usize, target: fn(&[u8])) {
    for seed in 1..=runs {
        let _on_panic = OnPanic(seed);
        let mut random = Random::new(seed);
        let len = random.index(len_max + 1);
        let bytes = random.bytes(len);
        target(&bytes);
    }
}

#[test]
fn cells() {
    run(100_000, 64, |bytes| {
        let mut bytes = bytes.to_vec();
        // Kinds and flags that exist, else nearly all are refused at the first look.
        if let Some([kind, flags]) = bytes.get_mut(4..6) {
            *kind %= 11;
            *flags %= 5;
        }
        cell(&bytes);
    });
}

#[test]
fn packets() {
    run(100_000, 128, |bytes| {
        let mut bytes = bytes.to_vec();
        // Small words: the high seven bytes of each are zero.
        for (index, byte) in bytes.iter_mut().enumerate().take(64) {
            if index % 8 != 0 {
                *byte = 0;
            }
        }
        if let Some(kind) = bytes.first_mut() {
            *kind %= 9;
        }
        packet(&bytes);
    });
}

#[test]
fn offers() {
    run(100_000, 8, |bytes| {
        let mut changed = crate::service::offer::Offer::mine().encode();
        for pair in bytes.chunks_exact(2) {
            changed[usize::from(pair[0]) % 48] ^= pair[1];
        }
        offer(&changed);
        offer(bytes);
    });
}

#[test]
fn connections() {
    run(2_000, 3_000, connection);
}
