//! Frames: what a log consists of ([REFLECT-7.3]). Each is one write.

use bcl_wire::bytes::{get_u64, put_u64};

use crate::memory::Memory;
use crate::names::Geometry;

/// What stands before a frame's bytes.
pub const FRAME_HEADER_BYTES: u64 = 16;

/// A frame's header, for the write of so many bytes at an offset of the region.
pub fn frame_header(offset: u64, len_bytes: u64) -> [u8; FRAME_HEADER_BYTES as usize] {
    let mut bytes = [0; FRAME_HEADER_BYTES as usize];
    put_u64(&mut bytes, 0, offset);
    put_u64(&mut bytes, 8, len_bytes);
    bytes
}

/// How long the frame of a write is.
pub fn frame_bytes(len_bytes: u64) -> u64 {
    FRAME_HEADER_BYTES + len_bytes.next_multiple_of(8)
}

/// A frame that makes no sense, or is not there any more.
#[derive(Debug)]
pub struct Senseless;

/// Where in the region the write begins that a frame tells, and how long it is. A program of this host may have run wild, or one of
/// another.
fn frame_at(
    memory: &impl Memory,
    geometry: &Geometry,
    member: u16,
    position: u64,
) -> Result<(u64, u64), Senseless> {
    let mut header = [0; FRAME_HEADER_BYTES as usize];
    let is_there = memory.read_log(member, position, &mut header);
    let (offset, len_bytes) = (get_u64(&header, 0), get_u64(&header, 8));
    let end = offset.checked_add(len_bytes);
    let fits =
        len_bytes <= geometry.frame_max() && end.is_some_and(|end| end <= geometry.region_bytes);
    match is_there && fits {
        true => Ok((offset, len_bytes)),
        false => Err(Senseless),
    }
}

/// Writes into the region what the log has in whole frames between two positions, and says how far that goes.
///
/// # Errors
/// [`Senseless`], once frames make no sense; those before are in the region.
pub fn apply(
    memory: &impl Memory,
    geometry: &Geometry,
    member: u16,
    mut applied: u64,
    have: u64,
) -> Result<u64, Senseless> {
    while have - applied >= FRAME_HEADER_BYTES {
        let (offset, len_bytes) = frame_at(memory, geometry, member, applied)?;
        let frame = frame_bytes(len_bytes);
        if have - applied < frame {
            break;
        }
        memory.apply(member, applied + FRAME_HEADER_BYTES, offset, len_bytes);
        applied += frame;
        memory.set_applied(member, applied);
    }
    Ok(applied)
}

/// Writes into the region once more what a log says of a part of it, between two positions.
pub(crate) fn apply_again(
    memory: &impl Memory,
    geometry: &Geometry,
    member: u16,
    (mut position, head): (u64, u64),
    (start, end): (u64, u64),
) -> Result<(), Senseless> {
    let mut bytes = Vec::new();
    while position < head {
        let (offset, len_bytes) = frame_at(memory, geometry, member, position)?;
        let (first, last) = (offset.max(start), end.min(offset + len_bytes));
        if first < last {
            bytes.resize((last - first) as usize, 0);
            let at = position + FRAME_HEADER_BYTES + (first - offset);
            if !memory.read_log(member, at, &mut bytes) {
                return Err(Senseless);
            }
            memory.write(first, &bytes);
        }
        position += frame_bytes(len_bytes);
    }
    Ok(())
}
