//! A process becomes a member once no other host has another that is ([REFLECT-8.5]): it wishes, and who keeps the region answers.

use std::sync::Arc;
use std::time::Duration;

use bcl_os::sync::Ordering;

use super::writing::{request, sleep_unless};
use super::{keeping, keeping::Keeping, report};
use crate::error::Error;
use crate::options::Geometry;
use crate::seat::Host;
use crate::segment::Segment;

/// What a member's wish is.
pub const NONE: u32 = 0;
pub const WANTED: u32 = 1;
pub const GRANTED: u32 = 2;
pub const DENIED: u32 = 3;
pub const WITHDRAWN: u32 = 4;

/// How often is looked whether somebody keeps the region.
const LOOK: Duration = Duration::from_millis(100);

/// Waits until this process may be the member; says as what, by how often somebody has joined as it.
pub fn become_member(
    host: &Host,
    segment: &Arc<Segment>,
    keeping: &mut Keeping,
) -> Result<u32, Error> {
    let member = host.seat().member;
    let geometry = host.geometry();
    let answered = &segment.book(member).answered;
    answered.wish.store(WANTED, Ordering::Release);
    request(segment);
    loop {
        let is_over = || answered.wish.load(Ordering::Acquire) != WANTED;
        sleep_unless(answered, LOOK, &is_over);
        let failed = match answered.wish.load(Ordering::Acquire) {
            GRANTED => {
                answered.wish.store(NONE, Ordering::Release);
                return Ok(answered.writer.load(Ordering::Relaxed) as u32);
            }
            DENIED => taken(segment, geometry, member),
            _ => match looked_after(host, segment, keeping) {
                Ok(()) => continue,
                Err(error) => error,
            },
        };
        answered.wish.store(WITHDRAWN, Ordering::Release);
        request(segment);
        return Err(failed);
    }
}

/// Somebody keeps the region, and nobody has said that it is another.
fn looked_after(host: &Host, segment: &Arc<Segment>, keeping: &mut Keeping) -> Result<(), Error> {
    keeping.look(host, segment)?;
    keeping::check(segment, &host.geometry().name)?;
    let common = segment.common();
    match common.refused_members.load(Ordering::Acquire) {
        0 => Ok(()),
        members => Err(host.geometry().differs_from(&Geometry {
            members: members as u16,
            len_bytes: common.refused_bytes.load(Ordering::Relaxed),
            ..host.geometry().clone()
        })),
    }
}

fn taken(segment: &Segment, geometry: &Geometry, member: u16) -> Error {
    let holder = segment.book(member).answered.holder.load(Ordering::Relaxed);
    let place = report::place_of(holder, &report::hosts(segment));
    Error::Taken {
        name: geometry.name.clone(),
        member,
        place: place.map_or_else(String::new, |place| format!(" on {place}")),
    }
}
