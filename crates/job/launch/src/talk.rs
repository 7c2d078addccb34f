//! What a process says to its launcher, taken apart: blobs for an exchange, and requests. The protocol is in `bcl::job`.

use bcl::job::{BLOB_MAX, REQUEST_MAX, request};

/// Bytes that have come from one process, until they are whole.
#[derive(Debug, Default)]
pub struct Talk(Vec<u8>);

/// Something that a process has said.
#[derive(Debug, PartialEq, Eq)]
pub enum Said {
    Blob(Vec<u8>),
    Request { kind: u32, payload: Vec<u8> },
}

/// A process said something else.
#[derive(Debug, PartialEq, Eq)]
pub struct Nonsense;

impl Talk {
    /// Bytes came.
    pub fn push(&mut self, bytes: &[u8]) {
        self.0.extend_from_slice(bytes);
    }

    /// What has come whole, the oldest first.
    pub fn next(&mut self) -> Result<Option<Said>, Nonsense> {
        let Some((first, rest)) = number(&self.0) else {
            return Ok(None);
        };
        let is_request = first >= request::FIRST;
        let (len, behind, len_max) = match is_request {
            false => (first, rest, BLOB_MAX),
            true => match number(rest) {
                Some((len, rest)) => (len, rest, REQUEST_MAX),
                None => return Ok(None),
            },
        };
        let len = len as usize;
        if len > len_max {
            return Err(Nonsense);
        }
        let Some(payload) = behind.get(..len) else {
            return Ok(None);
        };
        let payload = payload.to_vec();
        let taken = self.0.len() - (behind.len() - len);
        self.0.drain(..taken);
        Ok(Some(match is_request {
            false => Said::Blob(payload),
            true => Said::Request {
                kind: first,
                payload,
            },
        }))
    }
}

fn number(bytes: &[u8]) -> Option<(u32, &[u8])> {
    let (number, rest) = bytes.split_first_chunk()?;
    Some((u32::from_le_bytes(*number), rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(numbers: &[u32], text: &[u8]) -> Vec<u8> {
        let numbers = numbers.iter().flat_map(|number| number.to_le_bytes());
        numbers.chain(text.iter().copied()).collect()
    }

    #[test]
    fn blobs_and_requests_are_told_apart_byte_by_byte() {
        let all = [
            bytes(&[1], b"a"),
            bytes(&[request::SPAWN, 2], b"bc"),
            bytes(&[0], b""),
            bytes(&[request::PARENT, 0], b""),
        ];
        let mut talk = Talk::default();
        let mut said = Vec::new();
        for byte in all.concat() {
            talk.push(&[byte]);
            while let Some(next) = talk.next().unwrap() {
                said.push(next);
            }
        }
        let request = |kind, payload: &[u8]| Said::Request {
            kind,
            payload: payload.into(),
        };
        let expected = [
            Said::Blob(b"a".into()),
            request(request::SPAWN, b"bc"),
            Said::Blob(Vec::new()),
            request(request::PARENT, b""),
        ];
        assert_eq!(said, expected);
    }

    #[test]
    fn what_is_too_long_is_nonsense() {
        for wrong in [
            bytes(&[BLOB_MAX as u32 + 1], b""),
            bytes(&[request::SPAWN, REQUEST_MAX as u32 + 1], b""),
        ] {
            let mut talk = Talk::default();
            talk.push(&wrong);
            assert_eq!(talk.next(), Err(Nonsense));
        }
    }
}
