//! What has to be true of what hosts see: no write of a member is lost, torn or out of order.

use std::collections::BTreeMap;

use bcl_mirror::Geometry;
use bcl_types::{Random, scrambled};

/// Something that was put into the region of a host.
#[derive(Debug)]
pub enum Applied {
    /// A write of another host's member.
    Frame {
        member: u16,
        offset: u64,
        bytes: Vec<u8>,
    },
    /// A member's log goes on elsewhere than it was: what lies between comes with the region.
    Skipped { member: u16 },
}

/// Which write of a member: by the how many-eth process it was, and counted from 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Write {
    pub process: u32,
    pub number: u32,
}

/// What each host has seen of each member.
#[derive(Debug, Default)]
pub struct Ledger {
    seen: BTreeMap<(usize, u16), Seen>,
    /// By member, and which process of it: what all others had.
    completed: BTreeMap<(u16, u32), Completed>,
    /// By member: how many processes it has been.
    processes: BTreeMap<u16, u32>,
    pub frames: u64,
    pub skips: u64,
}

#[derive(Debug, Clone, Copy, Default)]
struct Seen {
    last: Option<Write>,
    has_skipped: bool,
}

/// Who had it.
#[derive(Debug)]
struct Completed {
    /// Its last such write.
    number: u32,
    /// As long as one of these is there, it is not lost.
    with: Vec<usize>,
}

/// Every word of a write: the first tells which it is, and all others follow from it.
pub fn write_bytes(member: u16, write: Write, offset: u64, words: usize) -> Vec<u8> {
    let first = u64::from(write.process) << 40 | u64::from(write.number) << 8 | 0x80;
    let rest = (1..words as u64)
        .map(|index| scrambled(first ^ scrambled(u64::from(member) << 40 ^ offset ^ index)));
    [first]
        .into_iter()
        .chain(rest)
        .flat_map(u64::to_le_bytes)
        .collect()
}

/// Whose partition an offset lies in.
pub fn partition_of(geometry: &Geometry, at: u64) -> Option<u16> {
    let mut all = 0..geometry.members;
    all.find(|member| at < geometry.partition(*member).1)
}

/// Whose word of another's partition this is, if it is one that a single other member writes.
pub fn guest_of(geometry: &Geometry, at: u64) -> Option<u16> {
    let of = partition_of(geometry, at)?;
    let (start, own, shared) = own_words(geometry, of);
    let word = (at - start) / 8;
    (shared > 0 && word >= own).then(|| (word - own) as u16)
}

/// Where a partition begins, the words of it that are only its member's, and those that follow: one for each other member, if it is
/// long enough.
fn own_words(geometry: &Geometry, of: u16) -> (u64, u64, u64) {
    let members = u64::from(geometry.members);
    let (start, end) = geometry.partition(of);
    let words = (end - start) / 8;
    let shared = if words > 2 * members { members } else { 0 };
    (start, words - shared, shared)
}

/// Where a member may write a word, or several: its own partition, or words of others' that only it writes.
pub fn choose_place(
    geometry: &Geometry,
    member: u16,
    anywhere: bool,
    random: &mut Random,
) -> Option<(u64, usize)> {
    let members = u64::from(geometry.members);
    if anywhere && random.one_in(4) {
        let of = random.below(members) as u16;
        let (start, own, shared) = own_words(geometry, of);
        if of != member && shared > 0 {
            return Some((start + 8 * (own + u64::from(member)), 1));
        }
    }
    let (start, own, _) = own_words(geometry, member);
    let most = (geometry.frame_max() / 8).min(own);
    if most == 0 {
        return None;
    }
    let words = 1 + match random.one_in(4) {
        true => random.below(most),
        false => random.below(most.min(8)),
    };
    let first = random.below(own - words + 1);
    Some((start + 8 * first, words as usize))
}

impl Ledger {
    /// Another process has become a member.
    pub fn next_process(&mut self, member: u16) -> u32 {
        let processes = self.processes.entry(member).or_default();
        *processes += 1;
        *processes
    }

    /// A host has the member now, and hears these, itself among them. What none of them has is not in the log that goes on, however many
    /// have it elsewhere.
    pub fn begin(&mut self, member: u16, heard: &[usize]) {
        let is_heard =
            |completed: &Completed| completed.with.iter().any(|host| heard.contains(host));
        self.completed
            .retain(|(of, _), completed| *of != member || is_heard(completed));
    }

    /// A process has lost its place to one that was the member where it was not heard: its log is given up.
    pub fn usurp(&mut self, member: u16, process: u32) {
        self.completed.remove(&(member, process));
    }

    /// All these had this write of a member.
    pub fn complete(&mut self, member: u16, write: Write, with: Vec<usize>) {
        let Write { process, number } = write;
        let completed = self.completed.get(&(member, process));
        if completed.is_none_or(|completed| completed.number < number) {
            let completed = Completed { number, with };
            self.completed.insert((member, process), completed);
        }
    }

    /// A host ends.
    pub fn forget(&mut self, host: usize) {
        self.seen.retain(|(seen_by, _), _| *seen_by != host);
        self.completed.retain(|_, completed| {
            completed.with.retain(|with| *with != host);
            !completed.with.is_empty()
        });
    }

    /// A host has the member now: what it sees of it itself, it writes.
    pub fn lives_at(&mut self, host: usize, member: u16, write: Write) {
        let seen = self.seen.entry((host, member)).or_default();
        seen.last = Some(write);
    }

    /// Something was put into the region of a host.
    pub fn apply(&mut self, host: usize, applied: &Applied) -> Result<(), String> {
        let (member, offset, bytes) = match applied {
            Applied::Frame {
                member,
                offset,
                bytes,
            } => (*member, *offset, bytes),
            Applied::Skipped { member } => {
                self.skips += 1;
                self.seen.entry((host, *member)).or_default().has_skipped = true;
                return Ok(());
            }
        };
        self.frames += 1;
        let first = bytes
            .first_chunk()
            .map_or(0, |first| u64::from_le_bytes(*first));
        let write = Write {
            process: (first >> 40) as u32,
            number: (first >> 8) as u32,
        };
        if *bytes != write_bytes(member, write, offset, bytes.len() / 8) {
            return Err(format!(
                "host {host} got a torn write of member {member}: {write:?}"
            ));
        }
        let seen = self.seen.entry((host, member)).or_default();
        let is_next = match seen.last {
            _ if seen.has_skipped => true,
            None => write.number == 0,
            Some(last) if last.process == write.process => write.number == last.number + 1,
            Some(last) => write.process > last.process && write.number == 0,
        };
        let before = std::mem::replace(
            seen,
            Seen {
                last: Some(write),
                has_skipped: false,
            },
        );
        match is_next {
            true => Ok(()),
            false => Err(format!(
                "host {host} got {write:?} of member {member} after {before:?}"
            )),
        }
    }

    /// A host that hears of the end of a process, whose last write this was, must have seen that, unless it came with the region.
    pub fn check_ended(&self, host: usize, member: u16, last: Write) -> Result<(), String> {
        match self.seen.get(&(host, member)) {
            Some(Seen {
                last: Some(seen),
                has_skipped: false,
            }) if *seen < last => Err(format!(
                "host {host} hears of the end of member {member} after {seen:?}, before {last:?}"
            )),
            _ => Ok(()),
        }
    }

    /// At the end a host must have seen all that was complete, unless it came with the region.
    pub fn check_end(&self, host: usize) -> Result<(), String> {
        for ((member, process), completed) in &self.completed {
            let (process, number) = (*process, completed.number);
            let seen = self.seen.get(&(host, *member)).copied().unwrap_or_default();
            // What came with the region nobody has counted.
            let is_missing = match seen.last {
                Some(last) => !seen.has_skipped && last < Write { process, number },
                None => completed.with.contains(&host),
            };
            if is_missing {
                return Err(format!(
                    "host {host} has {:?} of member {member}, and of process {process} {completed:?}",
                    seen.last
                ));
            }
        }
        Ok(())
    }
}
