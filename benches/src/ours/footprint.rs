//! The memory of this process: what is its own, and every shared segment that it may write, all of it,
//! for BCL reserves segments before they are used. A segment that it may only read is another process's.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufRead, BufReader};

use crate::error::{Error, Result, system};

const MAPS: &str = "/proc/self/smaps";

/// Private memory in use and writable shared segments, in bytes.
///
/// # Errors
/// When the kernel does not tell.
pub fn footprint_bytes() -> Result<u64> {
    let maps = File::open(MAPS).map_err(system("read", MAPS))?;
    sum_bytes(BufReader::new(maps))
}

/// Goes line by line, for the whole text would be part of what it measures.
fn sum_bytes(maps: impl BufRead) -> Result<u64> {
    let mut private = 0;
    // A segment mapped twice is there once.
    let mut segments = BTreeMap::new();
    for line in maps.lines() {
        let line = line.map_err(system("read", MAPS))?;
        if let Some(anonymous) = line.strip_prefix("Anonymous:") {
            private += bytes(anonymous).ok_or_else(|| Error::Unreadable {
                command: MAPS.into(),
                output: line.clone(),
            })?;
        } else if let Some((inode, offset, len_bytes)) = segment(&line) {
            segments.insert((inode, offset), len_bytes);
        }
    }
    Ok(private + segments.values().sum::<u64>())
}

/// The bytes in a text like `12 kB`.
fn bytes(text: &str) -> Option<u64> {
    let kib: u64 = text.trim().strip_suffix(" kB")?.parse().ok()?;
    Some(kib * 1024)
}

/// Inode, offset and length if `line` heads a writable mapping of a memfd.
fn segment(line: &str) -> Option<(u64, u64, u64)> {
    let mut words = line.split_whitespace();
    let (first, last) = words.next()?.split_once('-')?;
    let (permissions, offset, _device) = (words.next()?, words.next()?, words.next()?);
    let (inode, name) = (words.next()?.parse().ok()?, words.next()?);
    let number = |text| u64::from_str_radix(text, 16).ok();
    let len_bytes = number(last)?.checked_sub(number(first)?)?;
    let is_ours = name.starts_with("/memfd:") && permissions.starts_with("rw");
    is_ours.then_some((inode, number(offset)?, len_bytes))
}

#[test]
fn own_segments_count_once_and_whole_and_private_memory_as_used() {
    let maps = "\
00400000-00500000 r-xp 00000000 08:01 17 /usr/bin/program
Anonymous:             4 kB
7f0000000000-7f0000010000 rw-s 00000000 00:01 99 /memfd:bcl (deleted)
Anonymous:             0 kB
7f0000020000-7f0000030000 rw-s 00000000 00:01 99 /memfd:bcl (deleted)
Anonymous:             0 kB
7f0000040000-7f0000041000 rw-s 00010000 00:01 99 /memfd:bcl (deleted)
Anonymous:             0 kB
7f0000050000-7f0000052000 r--s 00000000 00:01 98 /memfd:bcl (deleted)
Anonymous:             0 kB
";
    let sum = sum_bytes(maps.as_bytes()).unwrap();
    assert_eq!(sum, 0x1_0000 + 0x1000 + 4096);
    assert!(footprint_bytes().unwrap() > 0);
}
