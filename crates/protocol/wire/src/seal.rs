//! The check of a packet: NH over the payload, SipHash over the header and that ([WIRE-3.1]).

use crate::bytes::get_u64;
use crate::header::{CHECK_AT, HEADER_LEN};
use crate::keys::{CheckKey, JobKeys};
use crate::nh::nh;
use crate::siphash::siphash24;

/// Writes the check into a header whose payload this is.
#[inline]
pub fn seal(header: &mut [u8; HEADER_LEN], payload: &[u8], job: &JobKeys, key: &CheckKey) {
    seal_hashed(header, nh(&job.nh, payload), key);
}

/// The same for a packet without payload, which the job's keys have no part in.
pub(crate) fn seal_empty(header: &mut [u8; HEADER_LEN], key: &CheckKey) {
    seal_hashed(header, 0, key);
}

#[inline]
fn seal_hashed(header: &mut [u8; HEADER_LEN], nh: u64, key: &CheckKey) {
    let check = check(header, nh, key);
    header[CHECK_AT..].copy_from_slice(&check.to_le_bytes());
}

/// Whether the check of a datagram is right. It is believed for no packet of which this is false.
#[inline]
pub fn verify(datagram: &[u8], job: &JobKeys, key: &CheckKey) -> bool {
    let Some((header, payload)) = datagram.split_first_chunk::<HEADER_LEN>() else {
        return false;
    };
    check(header, nh(&job.nh, payload), key) == get_u64(header, CHECK_AT)
}

#[inline]
fn check(header: &[u8; HEADER_LEN], nh: u64, key: &CheckKey) -> u64 {
    let mut words = [0; HEADER_LEN / 8];
    for (index, word) in words.iter_mut().enumerate() {
        *word = get_u64(header, 8 * index);
    }
    words[CHECK_AT / 8] = nh;
    siphash24(key.0, &words)
}
