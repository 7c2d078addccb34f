//! A fast checksum of a stream, the same however the stream is cut (FNV-1a over words of 8 bytes).

const START: u64 = 0xcbf2_9ce4_8422_2325;
const PRIME: u64 = 0x0100_0000_01b3;

/// Of what has gone by so far.
#[derive(Debug)]
pub struct Checksum {
    state: u64,
    /// Bytes that do not make up a word yet.
    rest: Vec<u8>,
}

impl Checksum {
    pub fn new() -> Self {
        Self {
            state: START,
            rest: Vec::with_capacity(8),
        }
    }

    pub fn add(&mut self, mut bytes: &[u8]) {
        if !self.rest.is_empty() {
            let missing = (8 - self.rest.len()).min(bytes.len());
            self.rest.extend_from_slice(&bytes[..missing]);
            bytes = &bytes[missing..];
            if let Some(word) = self.rest.first_chunk::<8>() {
                self.word(*word);
                self.rest.clear();
            }
        }
        let mut rest = bytes;
        while let Some((word, after)) = rest.split_first_chunk::<8>() {
            self.word(*word);
            rest = after;
        }
        self.rest.extend_from_slice(rest);
    }

    fn word(&mut self, word: [u8; 8]) {
        self.state = (self.state ^ u64::from_le_bytes(word)).wrapping_mul(PRIME);
        // Multiplying carries upwards only; the high bits come back down here.
        self.state ^= self.state >> 32;
    }

    pub fn finish(mut self) -> u64 {
        let mut last = [0; 8];
        last[..self.rest.len()].copy_from_slice(&self.rest);
        self.word(last);
        self.state
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(pieces: &[&[u8]]) -> u64 {
        let mut checksum = Checksum::new();
        pieces.iter().for_each(|piece| checksum.add(piece));
        checksum.finish()
    }

    #[test]
    fn cuts_do_not_matter() {
        let bytes: Vec<u8> = (0..100).collect();
        let whole = of(&[&bytes]);
        for cut in 0..=100 {
            assert_eq!(of(&[&bytes[..cut], &bytes[cut..]]), whole);
        }
        assert_eq!(of(&bytes.chunks(3).collect::<Vec<_>>()), whole);
    }

    #[test]
    fn each_byte_matters() {
        let bytes = vec![7; 100];
        for place in 0..100 {
            let mut changed = bytes.clone();
            changed[place] ^= 0x80;
            assert_ne!(of(&[&changed]), of(&[&bytes]));
        }
    }
}
