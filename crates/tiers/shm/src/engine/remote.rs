//! Where a payload lies in its sender's address space: in one piece, or as a table of pieces there says ([SHM-4.13]).

use bcl_tier::Piece;
use bcl_tier::pieces::len_of;

use super::transfer::Payload;
use crate::cma::{PeerMemory, ReadError};

/// A payload, and its pieces once they are known.
#[derive(Debug)]
pub struct Remote {
    /// The payload, or the table of its pieces.
    announced: Piece,
    has_table: bool,
    /// What the table has said.
    table: Option<Box<[Piece]>>,
    len_bytes: u64,
}

impl Remote {
    /// As announced.
    pub fn of(payload: &Payload) -> Self {
        let announced_bytes = match payload.pieces {
            0 => payload.len_bytes as usize,
            count => count * size_of::<Piece>(),
        };
        Self {
            announced: Piece::to_read(payload.address as usize as *const u8, announced_bytes),
            has_table: payload.pieces > 0,
            table: None,
            len_bytes: payload.len_bytes,
        }
    }

    /// The pieces; reads their table the first time. One that does not say what was announced counts as none: the sender
    /// is then asked to stream what it takes for the payload.
    pub fn pieces(&mut self, memory: &PeerMemory) -> Result<&[Piece], ReadError> {
        if !self.has_table {
            return Ok(std::slice::from_ref(&self.announced));
        }
        let table = match self.table.take() {
            Some(table) => table,
            None => read(memory, self.announced, self.len_bytes)?,
        };
        Ok(self.table.insert(table))
    }
}

fn read(memory: &PeerMemory, table: Piece, len_bytes: u64) -> Result<Box<[Piece]>, ReadError> {
    let count = table.len_bytes / size_of::<Piece>();
    let mut pieces = vec![Piece::to_read(std::ptr::null(), 0); count].into_boxed_slice();
    let copy = Piece {
        start: pieces.as_mut_ptr().cast(),
        len_bytes: table.len_bytes,
    };
    memory.read(&[table], &[copy], 0, table.len_bytes)?;
    let is_as_announced = len_of(&pieces).is_some_and(|len| len as u64 == len_bytes);
    is_as_announced
        .then_some(pieces)
        .ok_or(ReadError::NotMapped)
}

#[cfg(test)]
mod tests {
    use super::*;
    use bcl_os::process;

    fn me() -> PeerMemory {
        PeerMemory::probe(std::process::id() as i32, process::beacon()).unwrap()
    }

    fn announced(table: &[Piece], len_bytes: usize) -> Remote {
        announced_at(table.as_ptr() as u64, table.len(), len_bytes)
    }

    fn announced_at(address: u64, pieces: usize, len_bytes: usize) -> Remote {
        Remote::of(&Payload {
            channel: 1,
            len_bytes: len_bytes as u64,
            address,
            pieces,
            region: 0,
            offset: 0,
        })
    }

    /// More pieces than one call takes, from there and to here, in ranges that begin and end anywhere.
    #[test]
    fn pieces_are_read_into_pieces() {
        let sent: Vec<u8> = (0..2000u32).map(|n| (n * 7 + n / 256) as u8).collect();
        let table: Vec<_> = sent
            .chunks(9)
            .map(|part| Piece::to_read(part.as_ptr(), part.len()))
            .collect();
        let (memory, mut remote) = (me(), announced(&table, sent.len()));
        for (offset, len) in [(0, 2000), (5, 1990), (1, 0), (1234, 1), (17, 700)] {
            let mut received = vec![0u8; sent.len()];
            let to: Vec<_> = received
                .chunks_mut(11)
                .map(|part| Piece {
                    start: part.as_mut_ptr(),
                    len_bytes: part.len(),
                })
                .collect();
            let from = remote.pieces(&memory).unwrap();
            assert_eq!(memory.read(from, &to, offset, len), Ok(()));
            assert_eq!(received[offset..offset + len], sent[offset..offset + len]);
            assert!(received[..offset].iter().all(|byte| *byte == 0));
            assert!(received[offset + len..].iter().all(|byte| *byte == 0));
        }
    }

    #[test]
    fn a_table_that_says_something_else_is_none() {
        let sent = [1u8; 100];
        let table = [Piece::to_read(sent.as_ptr(), 60); 2];
        let memory = me();
        assert!(announced(&table, 120).pieces(&memory).is_ok());
        for len_bytes in [0, 100, 119, 121] {
            let pieces = announced(&table, len_bytes)
                .pieces(&memory)
                .map(<[Piece]>::len);
            assert_eq!(pieces, Err(ReadError::NotMapped), "{len_bytes}");
        }
        let endless = [Piece::to_read(sent.as_ptr(), usize::MAX / 2 + 61); 2];
        assert!(announced(&endless, 120).pieces(&memory).is_err());
        let pieces = announced_at(8, 2, 120).pieces(&memory).map(<[Piece]>::len);
        assert_eq!(pieces, Err(ReadError::NotMapped));
    }
}
