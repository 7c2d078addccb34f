//! SipHash-2-4 (Aumasson, Bernstein 2012) over whole 64-bit words.

/// The 64-bit hash of `words`, as little-endian bytes, under a key.
#[inline]
pub fn siphash24(key: [u64; 2], words: &[u64]) -> u64 {
    let mut state = State([
        key[0] ^ 0x736f_6d65_7073_6575,
        key[1] ^ 0x646f_7261_6e64_6f6d,
        key[0] ^ 0x6c79_6765_6e65_7261,
        key[1] ^ 0x7465_6462_7974_6573,
    ]);
    for word in words {
        state.absorb(*word);
    }
    // The last block holds the rest of the bytes, none here, and the length modulo 256.
    state.absorb((words.len() as u64 * 8) << 56);
    state.0[2] ^= 0xff;
    for _ in 0..4 {
        state.round();
    }
    state.0[0] ^ state.0[1] ^ state.0[2] ^ state.0[3]
}

struct State([u64; 4]);

impl State {
    #[inline]
    fn absorb(&mut self, word: u64) {
        self.0[3] ^= word;
        self.round();
        self.round();
        self.0[0] ^= word;
    }

    #[inline]
    fn round(&mut self) {
        let [a, b, c, d] = &mut self.0;
        *a = a.wrapping_add(*b);
        *b = b.rotate_left(13) ^ *a;
        *a = a.rotate_left(32);
        *c = c.wrapping_add(*d);
        *d = d.rotate_left(16) ^ *c;
        *a = a.wrapping_add(*d);
        *d = d.rotate_left(21) ^ *a;
        *c = c.wrapping_add(*b);
        *b = b.rotate_left(17) ^ *c;
        *c = c.rotate_left(32);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// From the reference implementation: key 00 01 .. 0f, input 00 01 .. of the given length.
    #[test]
    fn the_reference_vectors() {
        let key = [0x0706_0504_0302_0100, 0x0f0e_0d0c_0b0a_0908];
        let input = [
            0x0706_0504_0302_0100u64,
            0x0f0e_0d0c_0b0a_0908,
            0x1716_1514_1312_1110,
        ];
        let expected = [
            0x726f_db47_dd0e_0e31u64,
            0x93f5_f579_9a93_2462,
            0x3f2a_cc7f_57c2_9bdb,
        ];
        for (words, expected) in expected.iter().enumerate() {
            assert_eq!(siphash24(key, &input[..words]), *expected, "{words} words");
        }
    }
}
